"""Writing a study's report into a folder."""

from __future__ import annotations

from pathlib import Path

from autotune.record.view import StudyView
from autotune.report.summary import summary_markdown
from autotune.report.table import trials_csv
from autotune.report.tradeoff import tradeoff


def write_report(view: StudyView, folder: Path) -> dict[str, Path]:
    """Write `trials.csv`, `summary.md`, `tradeoff.html` and `tradeoff.png`.

    The two plots are left out when the study ended before its baseline was timed and trained.

    Args:
        view: a study in whatever state.
        folder: made if it is not there.

    Returns:
        File name to absolute path of what was written.

    Raises:
        OSError: a file cannot be written.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / name for name in ("trials.csv", "summary.md")}
    files["trials.csv"].write_text(trials_csv(view), encoding="utf-8", errors="surrogateescape", newline="")
    files["summary.md"].write_text(summary_markdown(view), encoding="utf-8", errors="surrogateescape")
    content = tradeoff(view)
    if content is not None:
        # Plotting libraries take a second each to import; a study without a plot does without them.
        from autotune.report.page import tradeoff_page
        from autotune.report.picture import write_tradeoff_picture

        files |= {name: folder / name for name in ("tradeoff.html", "tradeoff.png")}
        files["tradeoff.html"].write_text(tradeoff_page(content), encoding="utf-8", errors="surrogateescape")
        write_tradeoff_picture(content, files["tradeoff.png"])
    return files
