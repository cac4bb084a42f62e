"""Which registry alias an export is entitled to. Pure."""

from __future__ import annotations

from autotune.record.events import BASELINE_TRIAL
from autotune.record.view import StudyView

PRODUCTION = "production"
CANDIDATE = "candidate"


def alias_for(view: StudyView) -> tuple[str, str]:
    """The alias and why: `production` only for an on-target run on real data whose winner passed."""
    assert view.started is not None
    assert view.worker is not None
    assert view.decided is not None
    against = []
    if not view.started.on_target:
        against.append("it was not measured on the target")
    if view.worker.data.stand_in:
        against.append("it was trained on stand-in data")
    if view.decided.winner == BASELINE_TRIAL:
        against.append("no candidate was confirmed, so this is the float32 baseline")
    if not against:
        return PRODUCTION, "measured on the target, on real data, confirmed FASTER and PASS"
    return CANDIDATE, "; ".join(against) + ": promoting it is a person's decision (task=promote)"
