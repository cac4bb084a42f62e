"""Stage 1: throughput of many candidates, each against the baseline right beside it in time."""

from __future__ import annotations

from autotune.config.search import Sampler
from autotune.space.build import optimizer_slots
from autotune.space.space import Space
from autotune.study import prior
from autotune.study.compare import probed
from autotune.study.context import StudyContext
from autotune.study.propose import Proposer
from autotune.trial import Candidate, Failure, Stage


def screen(context: StudyContext, space: Space) -> None:
    """Measure candidates until the trials, the space or this stage's share of the budget are used up."""
    search = context.config.search
    proposer = _proposer(context, space)
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
        if proposer.told is not None:
            context.note("batch", proposer.told)
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
    for text in proposer.largest_batches:
        context.note("batch", text)


def _proposer(context: StudyContext, space: Space) -> Proposer:
    """What is proposed first is told by the device's own peaks and by the record, which names an earlier study's."""
    search, size = context.config.search, space.summary().size
    assert context.baseline_probe is not None
    if search.sampler is Sampler.grid and size > search.trials:
        text = f"search.sampler=grid takes the first {search.trials} of {size} candidates in their order"
        context.note("sampler", f"{text}; search.trials={size} takes all of them", "warning")
    slots = optimizer_slots(context.config)
    expected = prior.expected(space, context.device.profile, context.baseline_probe, optimizer_slots=slots)
    earlier = context.view.earlier
    proposer = Proposer(space, search, earlier.candidates if earlier else (), expected)
    if earlier and proposer.begins_with:
        what = "; ".join(map(str, proposer.begins_with))
        text = f"the first candidates are the best of the study {earlier.study}, measured anew: {what}"
        context.note("warm_start", f"{text} (search.warm_start=false begins without it)")
    return proposer


def measure(context: StudyContext, number: int, candidate: Candidate) -> float | Failure:
    """Probe one candidate; its gain over the baseline, or why there is none. Both are recorded."""
    found = probed(context, number, candidate, Stage.SCREEN)
    return found if isinstance(found, Failure) else found.gain.estimate
