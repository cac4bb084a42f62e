"""Writing a study's report into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autotune.record.view import StudyView
from autotune.report.page.document import report_page
from autotune.report.summary import summary_markdown
from autotune.report.table import trials_csv
from autotune.report.tradeoff import tradeoff

PAGE, SUMMARY, TABLE, PICTURE = "report.html", "summary.md", "trials.csv", "tradeoff.png"


def write_report(view: StudyView, folder: Path, remarks: Sequence[str] = ()) -> dict[str, Path]:
    """Write `report.html`, `summary.md`, `trials.csv` and `tradeoff.png`.

    The picture is left out when the study ended before its baseline was timed and trained. Each file is replaced
    whole: whoever reads one meanwhile sees the old one or the new one.

    Args:
        view: a study in whatever state.
        folder: made if it is not there.
        remarks: what a reader must know beside the record, one line each.

    Returns:
        File name to absolute path of what was written, the page first.

    Raises:
        OSError: a file cannot be written.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / name for name in (PAGE, SUMMARY, TABLE)}
    _replace(files[PAGE], report_page(view, remarks))
    _replace(files[SUMMARY], summary_markdown(view, remarks))
    _replace(files[TABLE], trials_csv(view))
    content = tradeoff(view)
    if content is not None:
        # The plotting library takes a second to import; a study without a plot does without it.
        from autotune.report.picture import write_tradeoff_picture

        files[PICTURE] = folder / PICTURE
        drawn = _beside(files[PICTURE])
        write_tradeoff_picture(content, drawn)
        drawn.replace(files[PICTURE])
    return files


def _replace(path: Path, text: str) -> None:
    """A path in the text may hold bytes that are no text."""
    new = _beside(path)
    new.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
    new.replace(path)


def _beside(path: Path) -> Path:
    """Where a file is written until it is whole."""
    return path.with_name(f".{path.name}.new")
