"""What a reader must know of a study that did not come to its end."""

from __future__ import annotations

from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.trial import Stage


def unfinished(view: StudyView) -> tuple[str, ...]:
    """One line each; nothing for a study that was decided by itself."""
    if view.started is None:
        return ("nothing was recorded: the study had not started",)
    if view.decided is None and view.space is not None and view.started.config.get("task") == "plan":
        return ("this is a plan (task=plan): float32 was timed to make it, and nothing was searched or trained",)
    if view.decided is None:
        where = f"in its stage {view.stage.stage.value}" if view.stage is not None else "before its first stage"
        return (
            f"unfinished: the record ends {where}, and nothing was decided; figures are of what was measured by then",
        )
    if view.decided.interrupted:
        return (
            f"ended early ({phrases.one_line(view.decided.interrupted)}): what was not measured by then is missing",
        )
    if export_is_missing(view):
        return ("decided, but ended before the export was finished: what it would have written is missing",)
    return ()


def export_is_missing(view: StudyView) -> bool:
    """Whether the study ended in its export, which has told neither what it has written nor why it could not."""
    in_export = view.stage is not None and view.stage.stage is Stage.EXPORT
    return in_export and view.exported is None and not any(note.topic == "export" for note in view.notes)
