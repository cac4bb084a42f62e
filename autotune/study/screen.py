"""Stage 1: throughput of many candidates, each against the baseline right beside it in time."""

from __future__ import annotations

import math

from autotune.config.search import Sampler, Verify
from autotune.record.view import TrialView
from autotune.space.build import optimizer_slots
from autotune.space.space import Space
from autotune.study import costs, gate, prior
from autotune.study.compare import probed
from autotune.study.context import StudyContext
from autotune.study.guesses import next_batch
from autotune.study.propose import Proposer
from autotune.study.ranking import gain_of
from autotune.trial import Candidate, Failure, Stage, TrialState

# A busy machine takes longer for a probe than was planned, which must not end the stage while there is time. Beyond its
# share the later stages keep this multiple of what they should take, since they may turn out to be slower too.
_SPARED = 1.25

# Each time that accuracy takes candidates out of the running, this share of the trials is added for the others.
_AGAIN = 1 / 3


def screen(context: StudyContext, space: Space) -> Screening:
    """Measure candidates until the trials, the space or what the budget has for this stage are used up.

    What was left out is final, and told by `Screening.close`, once no accuracy can ask for more.
    """
    screening = Screening(context, space)
    screening.measure()
    return screening


class Screening:
    """Measures candidates, in as many rounds as are asked for, and what large batches lose, where `auto` may end early.

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
        self._number, self._refused, self._over = 0, 0, False
        self._after_near_misses = 0
        # The largest batch that may keep its accuracy: it is near the user's own, or was trained.
        self._looked_at = next_batch(space)

    @property
    def is_over(self) -> bool:
        """Whether no further candidate is measured."""
        return self._over or self._number >= self._trials

    @property
    def _trials(self) -> int:
        """How many are measured at most: one more for each that was refused meanwhile."""
        return self._context.config.search.trials + self._refused

    def measure(self, most: int | None = None) -> list[int]:
        """Further candidates, up to so many or all; the numbers of the trials that have a result."""
        found: list[int] = []
        end = math.inf if most is None else self._number + most
        while not self.is_over and self._number < end:
            candidate = self.proposer.ask()
            if candidate is not None and self._is_late():
                self.proposer.put_back(candidate)  # it may be what is worth measuring once another was refused
                candidate = None
            self._over = candidate is None
            if candidate is None:
                break
            if self.proposer.told is not None:
                self._context.note("batch", self.proposer.told)
            self._number += 1
            found += self._measured(self._number, candidate)
            if self.proposer.ends and not self.proposer.has_guesses:
                self._look_at_accuracy()
        return found

    def again(self, lost: TrialView, reserve_s: float, *, alone: bool = False) -> list[TrialView]:
        """What may be the fastest beside one that was refused, and its like if that is; the trials that have a result.

        Args:
            lost: it was refused in the gate, or on new seeds.
            reserve_s: what is kept back of the budget for what follows [s].
            alone: whether that tells nothing of its like.
        """
        context, found = self._context, []
        self._refuse(lost, alone=alone)
        why = f"trial {lost.number} {_why_it_is_out(lost) if alone else 'lost accuracy'}"
        for count in range(self._most_again(alone=alone)):
            candidate = self.proposer.ask()
            if candidate is None:
                break
            if not context.budget.allows(self._longest_s, reserve_s):
                self.proposer.put_back(candidate)
                if count == 0:
                    text = "the budget has no room to measure what else may be the fastest"
                    context.note("budget", f"{why}, and {text}", "warning")
                break
            if count == 0:
                context.note("screen", f"{why}: what else may be the fastest is measured")
                context.stage(Stage.SCREEN, self._most_again(alone=alone))
            self._after_near_misses += alone
            found += self._measured(max(context.view.trials) + 1, candidate)
        return [context.view.trials[number] for number in found]

    def _most_again(self, *, alone: bool) -> int:
        """How many may be measured after one that was refused; for all that tell nothing of their like, `trials`."""
        trials = self._context.config.search.trials
        most = math.ceil(_AGAIN * trials) if self.proposer.ends else 0
        return min(most, trials - self._after_near_misses) if alone else most

    def _refuse(self, trial: TrialView, *, alone: bool) -> None:
        if alone:
            failure = trial.failure if trial.state is TrialState.FAILED else None
            self.proposer.refused(trial.candidate, failure.kind if failure else None)
        else:
            self.proposer.lost(trial.candidate, gate.what_it_lost(trial))

    def _look_at_accuracy(self) -> None:
        """Train the fastest so far on one seed if its batch is larger than any that was: it may lose all at once.

        Large batches are the fastest and the first to lose accuracy. One short training tells, or, where it is below
        the gate, those on the gate's other seeds, before trial after trial goes to what the gate will refuse.
        """
        context = self._context
        best = self._best()
        if best is None or best.candidate.batch_size <= self._looked_at:
            return
        if gain_of(best) <= context.config.objective.threshold or not context.budget.allows(
            costs.gate_s(context, gain_of(best)), self._after_s * costs.slowness(context)
        ):
            return
        began_s = context.busy_s
        context.stage(Stage.VERIFY, 1)
        if gate.may_pass(context, best):
            self._looked_at = best.candidate.batch_size
        elif (lost := gate.clearly_lost(context, best)) or best.state in (TrialState.REJECTED, TrialState.FAILED):
            # There may be many that tell nothing of their like, as of near misses: see `_most_again`.
            more = lost or self._after_near_misses < context.config.search.trials
            self._refused += more
            self._after_near_misses += more and not lost
            self._refuse(best, alone=not lost)
        self.aside(context.busy_s - began_s)

    def _best(self) -> TrialView | None:
        """The one that gains the most of those that were measured."""
        screened = [trial for trial in self._context.view.trials.values() if trial.state is TrialState.SCREENED]
        return max((trial for trial in screened if trial.gain is not None), key=gain_of, default=None)

    def _answer_s(self) -> float:
        """What one of those measured takes to be the answer, which may be more than was planned for it [s]."""
        best = self._best()
        speedup = best.speedup.estimate if best is not None and best.speedup is not None else 1.0
        return costs.answer_s(self._context, max(1.0, speedup), best)

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
        if self._number < 1 or context.budget.allows(self._longest_s, max(reserve_s, self._answer_s())):
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


def _why_it_is_out(trial: TrialView) -> str:
    return "failed" if trial.state is TrialState.FAILED else "was refused"


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
