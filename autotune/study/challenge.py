"""Candidates that screening cannot tell apart, timed against one another in one process.

Each was compared with the baseline, by a few per cent: which of two is faster is then a matter of noise, and would be
another one in each run of the same study. Head to head, in alternating blocks, a few seconds settle it.
"""

from __future__ import annotations

from autotune.decide import gain, timing
from autotune.errors import TrialFault
from autotune.record.events import FinalistsCompared
from autotune.record.view import TrialView
from autotune.study.context import StudyContext
from autotune.study.ranking import departures
from autotune.trial import Interval, Stage, TimingVerdict

# The third best of several equals is as good; each comparison costs as much as a screening.
_MOST = 2


def challengers(context: StudyContext, leader: TrialView, others: list[TrialView]) -> list[TrialView]:
    """Those among `others` whose screening interval reaches into the leader's: the two that may be the fastest."""
    if not context.config.objective.name.is_of_throughput:
        return []
    assert leader.gain is not None
    low = leader.gain.low
    highest = {trial.number: trial.gain.high for trial in others if trial.gain is not None and _fits_beside(trial)}
    near = [trial for trial in others if highest.get(trial.number, 0.0) >= low]
    return sorted(near, key=lambda trial: -highest[trial.number])[:_MOST]


def _fits_beside(trial: TrialView) -> bool:
    """Whether it was alive beside the baseline; else one process does not hold two models."""
    return trial.probe is not None and not trial.probe.apart_pairs


def preferred(context: StudyContext, trial: TrialView, leader: TrialView) -> TrialView:
    """The one to go on with: the faster, or the simpler one where they are as good as equal.

    A comparison that fails leaves the leader, and is noted: neither of the two has failed at what it is measured for.
    """
    began = context.clock()
    try:
        reference = (leader.candidate, context.recipe(leader.candidate))
        probe = context.executor.probe(trial.candidate, context.recipe(trial.candidate), reference, Stage.VERIFY)
    except TrialFault as fault:
        told = f"trial {trial.number} could not be timed against trial {leader.number}: {fault.kind}: {fault.message}"
        context.note("comparison", told, "warning")
        return leader
    against = gain.speedup(probe, leader.candidate.batch_size)
    verdict = timing.verdict(against, context.config.objective.tie)
    chosen, reason = _choice(context, trial, leader, verdict, against)
    duration_s = context.clock() - began
    context.record.append(
        FinalistsCompared(trial.number, leader.number, probe, against, verdict, chosen.number, reason, duration_s)
    )
    return chosen


def _choice(
    context: StudyContext, trial: TrialView, leader: TrialView, verdict: TimingVerdict, against: Interval
) -> tuple[TrialView, str]:
    """Who goes first and why. Where it stays unclear, an estimate beyond a tie decides: it is the best guess."""
    tie, unclear = context.config.objective.tie, verdict is TimingVerdict.UNCLEAR
    faster = "it seems faster" if unclear else "it is faster"
    if verdict is TimingVerdict.FASTER or (unclear and against.estimate > tie):
        return trial, faster
    if verdict is TimingVerdict.SLOWER or (unclear and against.estimate < 1 / tie):
        return leader, faster
    own, other = (departures(found.candidate, context.own) for found in (trial, leader))
    if own == other:
        return leader, "it was ahead in the screening"
    return (trial if own < other else leader), "it changes fewer of your settings"
