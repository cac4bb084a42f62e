"""Stage 1: throughput of many candidates, each against the baseline right beside it in time."""

from __future__ import annotations

import math

from autotune.config.search import Sampler, Verify
from autotune.space.build import optimizer_slots
from autotune.space.space import Space
from autotune.study import costs, prior
from autotune.study.compare import probed
from autotune.study.context import StudyContext
from autotune.study.propose import Proposer
from autotune.trial import Candidate, Failure, Stage

# A busy machine takes longer for a probe than was planned, which must not end the stage while there is time. Beyond its
# share the later stages keep this multiple of what they should take, since they may turn out to be slower too.
_SPARED = 1.25


# Once the gate has refused a batch, this share of the trials is added for smaller ones.
_AGAIN = 1 / 3


def screen(context: StudyContext, space: Space) -> Screening:
    """Measure candidates until the trials, the space or what the budget has for this stage are used up."""
    screening = Screening(context, space)
    screening.measure(context.config.search.trials)
    screening.close()
    return screening


class Screening:
    """Measures candidates in as many rounds as are asked for.

    Args:
        context: of the study.
        space: what there is to measure.
        front: whether each round is followed by trainings, of whose results the proposer is told; see `aside`.

    Attributes:
        proposer: what it asks.
    """

    def __init__(self, context: StudyContext, space: Space, *, front: bool = False) -> None:
        self._context, self._front = context, front
        self.proposer = _proposer(context, space, front=front)
        self._planned = min(context.config.search.trials, space.summary().size)
        context.stage(Stage.SCREEN, self._planned)
        assert context.plan is not None
        self._shares_s, self._after_s = context.plan.shares_s, context.plan.after_screening_s
        self._began_s, self._aside_s, self._longest_s = context.busy_s, 0.0, 0.0
        self._number, self._over = 0, False

    @property
    def is_over(self) -> bool:
        """Whether no further candidate is measured."""
        return self._over or self._number >= self._context.config.search.trials

    def measure(self, most: int) -> list[int]:
        """Up to so many further candidates; the numbers of the trials that have a result."""
        found: list[int] = []
        trials = min(self._context.config.search.trials, self._number + most)
        while not self._over and self._number < trials:
            candidate = self.proposer.ask()
            self._over = candidate is None or self._is_late()
            if candidate is None or self._over:
                break
            if self.proposer.told is not None:
                self._context.note("batch", self.proposer.told)
            self._number += 1
            found += self._measured(self._number, candidate)
        return found

    def below(self, batch: int, reserve_s: float) -> list[int]:
        """What may be the fastest of smaller batches than one that lost accuracy; the trials that have a result.

        Args:
            batch: which the gate has refused.
            reserve_s: what is kept back of the budget for what follows [s].
        """
        context, found = self._context, []
        most = math.ceil(_AGAIN * context.config.search.trials)
        for count in range(most):
            affordable = context.budget.allows(self._longest_s, reserve_s)
            candidate = self.proposer.ask_below(batch) if affordable else None
            if candidate is None:
                break
            if count == 0:
                context.note("screen", f"batch {batch} lost accuracy: what may be the fastest below it is measured")
                context.stage(Stage.SCREEN, most)
            found += self._measured(max(context.view.trials) + 1, candidate)
        return found

    def _measured(self, number: int, candidate: Candidate) -> list[int]:
        """Its number, if it has a result."""
        started_s = self._context.busy_s
        result = measure(self._context, number, candidate)
        self._longest_s = max(self._longest_s, self._context.busy_s - started_s)
        if isinstance(result, Failure):
            self.proposer.fail(candidate, result.kind)
            return []
        (self.proposer.measured if self._front else self.proposer.tell)(candidate, result)
        return [number]

    def aside(self, spent_s: float) -> None:
        """Go on after so long a time that was the verify stage's [s]."""
        self._aside_s += spent_s
        if not self.is_over:
            self._context.stage(Stage.SCREEN, max(1, self._planned - self._number))

    def close(self) -> None:
        """Note what was left out for what was measured, and what was found."""
        for left_out in self.proposer.ruled_out:
            self._context.note("ruled_out", f"{left_out.what}: {left_out.reason}")
        for left_out in self.proposer.unlikely:
            told = f"{left_out.what}: {left_out.reason} (search.sampler=grid and enough search.trials measure all)"
            self._context.note("unlikely", told)
        for text in self.proposer.largest_batches:
            self._context.note("batch", text)

    def _is_late(self) -> bool:
        """Whether the budget has no room for a further candidate, which is then noted."""
        context = self._context
        spent_s = context.busy_s - self._began_s - self._aside_s
        beyond = spent_s + self._longest_s > self._shares_s["screen"]
        reserve_s = self._reserve_s() * costs.slowness(context) * (_SPARED if beyond else 1.0)
        if self._number < 1 or context.budget.allows(self._longest_s, reserve_s):
            return False
        context.note(
            "budget",
            f"screening ended after {self._number} of {self._planned} trials: what is left of the budget is kept for"
            " the stages after it",
        )
        return True

    def _reserve_s(self) -> float:
        """What is kept back as planned; of a front's trainings, for the candidates so far and the next one [s]."""
        if not self._front:
            return self._after_s
        verify_s = self._shares_s["verify"]
        share = min(1.0, (self._number + 1) / self._context.config.search.trials)
        return self._after_s - verify_s + max(0.0, share * verify_s - self._aside_s)


def _proposer(context: StudyContext, space: Space, *, front: bool) -> Proposer:
    """What is proposed first is told by the device's own peaks and by the record, which names an earlier study's."""
    search, size = context.config.search, space.summary().size
    assert context.baseline_probe is not None
    if search.sampler is Sampler.grid and size > search.trials:
        text = f"search.sampler=grid takes the first {search.trials} of {size} candidates in their order"
        context.note("sampler", f"{text}; search.trials={size} takes all of them", "warning")
    slots = optimizer_slots(context.config)
    expected = prior.expected(space, context.device.profile, context.baseline_probe, optimizer_slots=slots)
    earlier = context.view.earlier
    # Where all are trained the best of these measurements is not all that is asked for.
    ends = search.verify is Verify.fastest and not context.times_trainings and not front
    begins = earlier.candidates if earlier else ()
    proposer = Proposer(space, search, begins, expected, front=front, ends=ends)
    if earlier and proposer.begins_with:
        what = "; ".join(map(str, proposer.begins_with))
        text = f"the first candidates are the best of the study {earlier.study}, measured anew: {what}"
        context.note("warm_start", f"{text} (search.warm_start=false begins without it)")
    return proposer


def measure(context: StudyContext, number: int, candidate: Candidate) -> float | Failure:
    """Probe one candidate; its gain over the baseline, or why there is none. Both are recorded."""
    found = probed(context, number, candidate, Stage.SCREEN)
    return found if isinstance(found, Failure) else found.gain.estimate
