"""Stage 1: throughput of many candidates, each against the baseline right beside it in time."""

from __future__ import annotations

from autotune.decide import health, timing
from autotune.errors import TrialFault
from autotune.record.events import Probed, TrialStarted
from autotune.space.space import Space
from autotune.study.context import StudyContext
from autotune.study.propose import Proposer
from autotune.trial import Candidate, Failure, Interval, Probe, Stage, TimingVerdict


def screen(context: StudyContext, space: Space) -> None:
    """Measure candidates until the trials, the space or this stage's share of the budget are used up."""
    search = context.config.search
    proposer = Proposer(space, search)
    planned = min(search.trials, space.summary().size)
    context.stage(Stage.SCREEN, planned)
    assert context.plan is not None
    began, number, longest_s = context.clock(), 0, 0.0
    while number < search.trials and (candidate := proposer.ask()) is not None:
        spent_s = context.clock() - began
        must_follow_s = context.plan.must_follow_s(Stage.SCREEN)
        late = spent_s + longest_s > context.plan.shares_s["screen"] and context.budget.total_s is not None
        if number >= 1 and (late or not context.budget.allows(longest_s, must_follow_s)):
            context.note(
                "budget", f"screening ended after {number} of {planned} trials: its share of the budget is used"
            )
            return
        number += 1
        started = context.clock()
        result = measure(context, number, candidate)
        longest_s = max(longest_s, context.clock() - started)
        if isinstance(result, Failure):
            proposer.fail(candidate, result.kind)
        else:
            proposer.tell(candidate, result)


def measure(context: StudyContext, number: int, candidate: Candidate) -> float | Failure:
    """Probe one candidate; its speedup over the baseline, or why there is none. Both are recorded."""
    context.record.append(TrialStarted(number, Stage.SCREEN, candidate))
    began = context.clock()
    with context.faults(number, candidate, Stage.SCREEN) as fault:
        reference = (context.baseline, context.recipe(context.baseline))
        probe = context.executor.probe(candidate, context.recipe(candidate), reference, Stage.SCREEN)
        if (failure := health.probe_failure(probe)) is not None:
            raise TrialFault(failure.kind, failure.message)
    if fault:
        return fault[0]
    interval, verdict = compare(probe, context)
    context.record.append(Probed(number, Stage.SCREEN, probe, interval, verdict, context.clock() - began))
    return interval.estimate


def compare(probe: Probe, context: StudyContext) -> tuple[Interval, TimingVerdict]:
    """Speedup of a paired probe over the baseline's neighbouring blocks, and its verdict."""
    ratios = timing.log_ratios(
        probe.baseline_step_ms, probe.block_step_ms, context.baseline.batch_size, probe.candidate.batch_size
    )
    interval = timing.speedup(ratios)
    return interval, timing.verdict(interval, context.config.objective.threshold)
