"""Stage 1: throughput of many candidates, each against the baseline right beside it in time."""

from __future__ import annotations

from autotune.space.space import Space
from autotune.study.compare import probed
from autotune.study.context import StudyContext
from autotune.study.propose import Proposer
from autotune.trial import Candidate, Failure, Stage


def screen(context: StudyContext, space: Space) -> None:
    """Measure candidates until the trials, the space or this stage's share of the budget are used up."""
    search = context.config.search
    proposer = Proposer(space, search)
    planned = min(search.trials, space.summary().size)
    context.stage(Stage.SCREEN, planned)
    assert context.plan is not None
    began_s, number, longest_s = context.busy_s, 0, 0.0
    while number < search.trials and (candidate := proposer.ask()) is not None:
        spent_s = context.busy_s - began_s
        late = spent_s + longest_s > context.plan.shares_s["screen"] and context.budget.total_s is not None
        if number >= 1 and (late or not context.budget.allows(longest_s, context.plan.after_screening_s)):
            context.note(
                "budget", f"screening ended after {number} of {planned} trials: its share of the budget is used"
            )
            break
        number += 1
        started_s = context.busy_s
        result = measure(context, number, candidate)
        longest_s = max(longest_s, context.busy_s - started_s)
        if isinstance(result, Failure):
            proposer.fail(candidate, result.kind)
        else:
            proposer.tell(candidate, result)
    for left_out in proposer.ruled_out:
        context.note("ruled_out", f"{left_out.what}: {left_out.reason}")


def measure(context: StudyContext, number: int, candidate: Candidate) -> float | Failure:
    """Probe one candidate; its gain over the baseline, or why there is none. Both are recorded."""
    found = probed(context, number, candidate, Stage.SCREEN)
    return found if isinstance(found, Failure) else found.gain.estimate
