"""Which registry alias an export is entitled to. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from autotune.record.events import BASELINE_TRIAL, CHANCE
from autotune.record.view import StudyView
from autotune.report.objective import Goal
from autotune.tracking.names import CANDIDATE, PRODUCTION
from autotune.trial import TimingVerdict
from autotune.worker.protocol import Evaluation

# Outputs of the same weights, evaluated in another batch and another process, differ by rounding: by about 2**-24 in
# float32 and 2**-8 in bfloat16 per operation, relative to the outputs. More than this is another model.
_MOST_DIFFERENCE = 0.05


def predicts_otherwise(differences: Mapping[str, float]) -> list[str]:
    """The exported forms that, reloaded, are another model; `differences` is relative, by name."""
    return [name for name, difference in differences.items() if not difference <= _MOST_DIFFERENCE]


def alias_for(view: StudyView, differences: Mapping[str, float], evaluation: Evaluation) -> tuple[str, str]:
    """The alias and why: `production` only for an on-target run on real data whose winner passed, predicts and reloads.

    Args:
        view: a study that is decided.
        differences: of each exported form's predictions when it was reloaded, relative.
        evaluation: of the exported model on the test part.
    """
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
    if any(note.topic == CHANCE for note in view.notes):
        against.append("float32 itself shows no learning at this recipe")
    if evaluation.metric is None:
        against.append("its metric on the test part is not finite")
    if changed := predicts_otherwise(differences):
        against.append(f"reloaded, it predicts otherwise ({', '.join(changed)})")
    if not against:
        return PRODUCTION, f"measured on the target, on real data, confirmed {_gained(Goal.of(view))} and PASS"
    return CANDIDATE, "; ".join(against) + ": promoting it is a person's decision (task=promote)"


def _gained(goal: Goal) -> str:
    """What a winner was confirmed to be; with less memory or energy it may well be slower."""
    word = goal.word(TimingVerdict.FASTER)
    return word if goal.is_throughput else f"{word} in {goal.label}"
