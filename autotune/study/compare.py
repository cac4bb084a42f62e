"""A paired probe against the baseline: speedup, the objective's gain, and what disturbed."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config.objective import Objective
from autotune.decide import gain, health, suspicion, timing
from autotune.errors import TrialFault
from autotune.record.events import Probed, TrialStarted
from autotune.study.context import StudyContext
from autotune.study.racing import hopeless_below
from autotune.trial import Candidate, Failure, FailureKind, Interval, Probe, Stage, Suspicion, TimingVerdict

_READ_FROM_A_PROBE = (Objective.energy, Objective.memory)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one paired probe says. `gain` is what candidates are ranked by."""

    probe: Probe
    speedup: Interval
    timing: TimingVerdict
    gain: Interval
    suspicious: tuple[Suspicion, ...]


def probed(context: StudyContext, trial: int, candidate: Candidate, stage: Stage) -> Comparison | Failure:
    """Time a candidate against the baseline; the comparison, or why there is none. Both are recorded."""
    context.record.append(TrialStarted(trial, stage, candidate))
    began = context.clock()
    with context.faults(trial, candidate, stage) as fault:
        reference = (context.baseline, context.recipe(context.baseline))
        below = hopeless_below(context, candidate) if stage is Stage.SCREEN else None
        probe = context.executor.probe(candidate, context.recipe(candidate), reference, stage, below)
        found = _judged(context, trial, stage, probe, began)
    return fault[0] if fault else found


def _judged(context: StudyContext, trial: int, stage: Stage, probe: Probe, began: float) -> Comparison:
    """The comparison. One that failed is recorded too, with what was in force: what was measured is not lost.

    Raises:
        TrialFault: the candidate did not get what it asked for, or the device did not report what the objective needs.
    """
    objective = context.config.objective
    speedup = gain.speedup(probe, context.baseline.batch_size)
    verdict = timing.verdict(speedup, objective.threshold)
    read = objective.name in _READ_FROM_A_PROBE
    reached = gain.gain(probe, objective.name.value) if read else speedup
    suspicious = suspicion.suspicions(probe)
    told = reached if read else None
    context.record.append(Probed(trial, stage, probe, speedup, verdict, context.clock() - began, told, suspicious))
    if (failure := health.probe_failure(probe)) is not None:
        raise TrialFault(failure.kind, failure.message)
    if reached is None:
        raise TrialFault(FailureKind.UNSUPPORTED, f"the device did not report its {objective.name.value}")
    return Comparison(probe, speedup, verdict, reached, suspicious)
