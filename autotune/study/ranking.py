"""In which order candidates are tried: fastest first, and the simpler of those that are as fast."""

from __future__ import annotations

from collections.abc import Iterable

from autotune.record.view import TrialView
from autotune.trial import Candidate


def departures(candidate: Candidate, baseline: Candidate) -> int:
    """In how many settings a candidate departs from the user's: ties go to the fewest.

    Args:
        candidate: of whatever settings.
        baseline: the user's, with XLA on or off, as it ran: see `StudyContext.own`.
    """
    return sum(
        (
            candidate.policy != baseline.policy,
            candidate.batch_size != baseline.batch_size,
            candidate.xla != baseline.xla,
            candidate.widths != baseline.widths,
            candidate.steps_per_execution != baseline.steps_per_execution,
            candidate.accumulation != baseline.accumulation,
            candidate.tf32 != baseline.tf32,
            candidate.pipeline != baseline.pipeline,
        )
    )


def no_less_accurate(one: Candidate, other: Candidate) -> bool:
    """Whether one candidate is no less accurate than another, as far as that can be told before anything is trained.

    A larger batch, and fewer bits, are no more accurate than a smaller one and more bits.
    """
    precise = one.policy == other.policy or one.policy.is_float32
    return precise and one.batch_size <= other.batch_size


def _loses_by_16_bit(loser: Candidate, own: Candidate) -> bool:
    """Whether 16 bit alone is to blame for what it lost: its batch is the user's own, or next to it.

    Twice the user's own batch may cost accuracy too, where trainings are short. Then float32 there is trained in vain;
    the other way round the best would never be looked at.
    """
    return not loser.policy.is_float32 and loser.batch_size <= 2 * own.batch_size


def is_16_bits_fault(loser: Candidate, losers: Iterable[Candidate], own: Candidate) -> bool:
    """Whether its policy is seen to lose next to the user's own batch, among all losers: then no batch is to blame."""
    return any(one.policy == loser.policy and _loses_by_16_bit(one, own) for one in losers)


def gain_of(trial: TrialView) -> float:
    """What screening measured of the objective; such a trial was measured."""
    assert trial.gain is not None
    return trial.gain.estimate


def best_first(trials: Iterable[TrialView], baseline: Candidate, tie: float) -> list[TrialView]:
    """Best first; of those within a factor `tie` of the best that is left, the one that changes least comes first.

    Screening tells candidates apart by a few per cent. Within that, a name picked by noise would be another in each
    run of one study, and simpler settings have fewer ways to surprise.
    """
    left = sorted(trials, key=lambda trial: -gain_of(trial))
    order: list[TrialView] = []
    while left:
        near = [trial for trial in left if gain_of(trial) * tie >= gain_of(left[0])]
        chosen = min(near, key=lambda trial: (departures(trial.candidate, baseline), -gain_of(trial)))
        left.remove(chosen)
        order.append(chosen)
    return order
