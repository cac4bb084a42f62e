"""What a registered version carries: the evidence for it, as tags, to be read before it is promoted."""

from __future__ import annotations

from autotune.record.view import StudyView
from autotune.tracking.metrics import confirmed_metrics
from autotune.tracking.rows import study_tags


def version_tags(view: StudyView) -> dict[str, str]:
    """Tags of the exported model's version; figures are the confirmed ones, none where there are none."""
    assert view.started is not None
    assert view.decided is not None
    winner = view.trials[view.decided.winner]
    confirmation = winner.confirmation
    metric = str(view.started.config["constraint"]["metric"])
    tags: dict[str, object] = dict(study_tags(view))
    tags |= {
        "trial": winner.number,
        "settings": str(winner.candidate),
        "decided": view.decided.reason,
        "recipe": str(view.fidelity.recipe) if view.fidelity else None,
    }
    if confirmation is not None:
        tags |= {"timing_verdict": confirmation.timing.value, "gain_verdict": confirmation.verdict.value}
        tags |= {"accuracy_verdict": confirmation.accuracy.verdict.value if confirmation.accuracy else None}
        figures = confirmed_metrics(confirmation, metric)
        tags |= {name: f"{value:.5g}" for name, value in figures.items() if value is not None}
    return {name: str(value) for name, value in tags.items() if value is not None}
