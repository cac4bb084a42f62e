"""Stage 2: candidates through the accuracy gate, best first, no more of them than the confirmation asks for."""

from __future__ import annotations

from autotune.config.search import Verify
from autotune.record.events import TrialJudged
from autotune.record.view import TrialView
from autotune.study import costs, gate, vouching
from autotune.study.challenge import challengers, preferred
from autotune.study.context import StudyContext
from autotune.study.fallback import Fallback
from autotune.study.ranking import best_first, gain_of, is_16_bits_fault, no_less_accurate
from autotune.study.screen import Screening
from autotune.trial import Candidate, Stage, TrialState

_ALIKE = "of no larger batch and no fewer bits"


class Verification:
    """Hands out candidates that went through the gate, one at a time, so that none is trained in vain.

    Throughput is cheap to measure and accuracy is not, so the fastest is trained first, and the next one only when it
    is asked for; one that trains identically to another is not trained at all (`autotune.study.vouching`). With
    `search.verify=all`, and where the objective itself is read from trainings, all are trained before the first is
    handed out.

    One that clearly loses accuracy takes its like out of the running, most of what was screened among them. So what
    else may be the fastest is then screened.

    Args:
        context: of the study.
        screening: measures further candidates; None if there are none.
    """

    def __init__(self, context: StudyContext, screening: Screening | None = None) -> None:
        self._context, self._screening = context, screening
        self._tie = context.config.objective.tie
        self._fallback = Fallback(context)
        self._fallback.after_screening()
        self._queue = self._better_than_baseline()
        self._passed = self._passed_before()  # and not handed out yet, best first
        self._handed_out: list[TrialView] = []
        self._trains_all = context.times_trainings or context.config.search.verify is Verify.all
        # Clearly less accurate, in the order in which that was seen; those of a front are no reason to doubt others.
        seen = [] if screening is None else list(context.view.trials.values())
        self._lost = [trial for trial in seen if gate.clearly_lost(context, trial) and self._tells_of_others(trial)]
        for trial in list(self._lost):
            self._fall_back(trial)
        self._queue.sort(key=self._put_off)

    def next(self) -> TrialView | None:
        """The best candidate that has passed and was not handed out yet, or None when there is none left."""
        self._learn()
        self._passed = [trial for trial in self._passed if not self._is_refuted(trial)]
        if not self._passed and self._queue:
            seeds = self._context.config.search.gate_seeds
            self._context.stage(Stage.VERIFY, (len(self._queue) if self._trains_all else 1) * seeds)
            self._train()
        if not self._passed:
            return None
        self._challenge()
        found = self._passed.pop(0)
        self._handed_out.append(found)
        return found

    def close(self, reason: str) -> None:
        """Judge those that were never trained; `reason` is why no more of them are."""
        confirmed = [trial for trial in self._handed_out if trial.confirmation and trial.confirmation.succeeded]
        passed = [*confirmed, *self._passed]
        slowest = min(passed, key=gain_of) if passed else None
        for trial in self._queue:
            if slowest is None or self._trains_all or gain_of(trial) > gain_of(slowest) * self._tie:
                put_off = ""
                if (loser := self._put_off_by(trial)) is not None:
                    put_off = f"put off since one with no larger batch {gate.what_it_lost(loser)}, and "
                self._skip(trial, f"{put_off}{reason}")
                continue
            text = f"not faster than trial {slowest.number}, which passed the gate: it was not worth training"
            self._context.record.append(TrialJudged(trial.number, TrialState.DOMINATED, text))
        self._queue = []

    def _learn(self) -> None:
        """The last one was not confirmed, or no other were asked for: what it lost on new seeds its like will lose."""
        trial = None if self._trains_all or not self._handed_out else self._handed_out[-1]
        if trial is None or trial.confirmation is None:
            return
        accuracy = trial.confirmation.accuracy
        if accuracy is not None and accuracy.delta.estimate <= -accuracy.margin:
            self._has_lost(trial)
        else:
            self._refused(trial)

    def _has_lost(self, trial: TrialView) -> None:
        """It clearly lost accuracy: what is alike comes last, and what else may be the fastest is measured."""
        if not self._tells_of_others(trial):
            self._refused(trial)
            return
        self._lost.append(trial)
        self._screen_again(trial)
        self._queue.sort(key=self._put_off)

    def _tells_of_others(self, trial: TrialView) -> bool:
        """Whether its batch or its 16 bit may be to blame; in float32 at the user's own batch, neither is."""
        candidate, own = trial.candidate, self._context.baseline
        return not candidate.policy.is_float32 or candidate.batch_size > own.batch_size

    def _is_refuted(self, trial: TrialView) -> bool:
        """Whether one that passed the gate is not worth a confirmation after what another's has shown."""
        if vouching.drop_if_refuted(self._context, trial):
            return True
        if (known := self._lost_alike(trial)) is None or self._trains_all:
            return False
        reason = f"not confirmed: trial {known.number}, {_ALIKE}, {gate.what_it_lost(known)}"
        self._context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, reason, trial.accuracy))
        return True

    def _train(self) -> None:
        while self._queue:
            trial = self._queue.pop(0)
            if not self._goes_through(trial):
                continue
            self._passed.append(trial)
            if not self._trains_all:
                return
        self._passed = best_first(self._passed, self._context.own, self._tie)

    def _challenge(self) -> None:
        """Whether one that screening could not tell apart is the better one to confirm; then it has to pass too."""
        others = self._challengers([*self._passed[1:], *self._queue])
        while others:
            other, leader = others.pop(0), self._passed[0]
            if self._refusal(other, first_s=costs.process_s(self._context)):
                return
            if preferred(self._context, other, leader) is not other:
                continue
            if other in self._passed:
                self._passed.remove(other)
                self._passed.insert(0, other)
                continue
            self._queue.remove(other)
            before = list(self._queue)
            if self._goes_through(other):
                self._passed.insert(0, other)
            # A refusal may have had others screened.
            others = self._challengers([*others, *(trial for trial in self._queue if trial not in before)])

    def _challengers(self, others: list[TrialView]) -> list[TrialView]:
        running = [trial for trial in others if trial in self._passed or not self._put_off(trial)]
        return challengers(self._context, self._passed[0], running)

    def _goes_through(self, trial: TrialView) -> bool:
        context = self._context
        if (twin := self._twin(trial)) is not None:
            if vouching.vouch(context, trial, twin):
                return True
            self._refused(trial)
            return False
        if not self._trains_all and (known := self._lost_alike(trial)) is not None:
            self._skip(trial, f"trial {known.number}, {_ALIKE}, {gate.what_it_lost(known)}")
            return False
        if refusal := self._refusal(trial):
            self._skip(trial, refusal)
            return False
        if gate.passes(context, trial):
            return True
        if gate.clearly_lost(context, trial):
            self._has_lost(trial)
        elif trial.state in (TrialState.REJECTED, TrialState.FAILED):
            self._refused(trial)
        self._fall_back(trial)
        return False

    def _refused(self, trial: TrialView) -> None:
        """It cannot be used, which hardly tells of others: what else may be the fastest is measured."""
        self._screen_again(trial, alone=True)
        self._queue.sort(key=self._put_off)

    def _screen_again(self, lost: TrialView, *, alone: bool = False) -> None:
        """Measure what else may be the fastest, and put it where its speed belongs; `alone`: its like stays."""
        if self._screening is None:
            return
        running = [trial for trial in self._queue if alone or not no_less_accurate(lost.candidate, trial.candidate)]
        speedup = max((trial.speedup.estimate for trial in running if trial.speedup is not None), default=1.0)
        found = self._screening.again(lost, costs.answer_s(self._context, speedup), alone=alone)
        if found:
            self._context.stage(Stage.VERIFY, self._context.config.search.gate_seeds)
        better = [trial for trial in found if self._may_be_better(trial)]
        self._queue = best_first([*self._queue, *better], self._context.own, self._tie)

    def _fall_back(self, trial: TrialView) -> None:
        """Put what is tried in place of a trial that lost accuracy where its speed belongs, if it is faster at all."""
        found = self._fallback.instead_of(trial)
        if found is not None and found.state is TrialState.SCREENED and self._may_be_better(found):
            self._queue = best_first([*self._queue, found], self._context.own, self._tie)
            self._queue.sort(key=self._put_off)

    def _twin(self, trial: TrialView) -> TrialView | None:
        """One that makes training it needless, unless every one is to be trained."""
        return None if self._trains_all else vouching.trained_twin(self._context, trial)

    def _put_off(self, trial: TrialView) -> bool:
        """Whether it comes last."""
        return self._put_off_by(trial) is not None

    def _put_off_by(self, trial: TrialView) -> TrialView | None:
        """One with no larger batch that has lost: what a batch costs in accuracy hardly depends on the policy.

        One that is tried since 16 bit may be to blame is to show whether it is.
        """
        if trial.candidate.policy.float32_layers:
            return None
        batch = trial.candidate.batch_size
        losers = (found for found in self._lost if batch >= found.candidate.batch_size)
        return next((found for found in losers if self._batch_may_be_to_blame(found.candidate)), None)

    def _batch_may_be_to_blame(self, lost: Candidate) -> bool:
        """Unless its policy loses next to the user's own batch, too, or another has passed at no smaller one."""
        if is_16_bits_fault(lost, [trial.candidate for trial in self._lost], self._context.own):
            return False
        passed = [trial for trial in [*self._handed_out, *self._passed] if trial not in self._lost]
        return not any(trial.candidate.batch_size >= lost.batch_size for trial in passed)

    def _lost_alike(self, trial: TrialView) -> TrialView | None:
        """A trial that should have been no less accurate, and clearly lost accuracy."""
        return next((found for found in self._lost if no_less_accurate(found.candidate, trial.candidate)), None)

    def _skip(self, trial: TrialView, reason: str) -> None:
        self._context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, f"not trained: {reason}"))

    def _refusal(self, trial: TrialView, first_s: float = 0.0) -> str:
        """Why the budget has no room for its gate, after something that takes `first_s`, and for all that follows."""
        context = self._context
        assert trial.speedup is not None
        speedup = trial.speedup.estimate
        gate_s = 0.0 if self._twin(trial) is not None else costs.gate_s(context, speedup)
        return context.budget.refusal(first_s + gate_s + costs.confirmed_s(context, speedup, trial))

    def _passed_before(self) -> list[TrialView]:
        """Those that went through the gate already, where a whole front was looked for (`autotune.study.front`)."""
        context = self._context
        threshold = context.config.objective.threshold
        passed = [trial for trial in context.view.trials.values() if trial.state is TrialState.PASSED]
        better = [trial for trial in passed if not trial.is_baseline and gain_of(trial) > threshold]
        return best_first(better, context.own, self._tie)

    def _better_than_baseline(self) -> list[TrialView]:
        """Screened trials that may be better, best first; the others are judged SLOWER here."""
        context = self._context
        screened = [
            trial
            for trial in list(context.view.trials.values())
            if not trial.is_baseline and trial.state is TrialState.SCREENED and trial.gain is not None
        ]
        better = [trial for trial in screened if self._may_be_better(trial)]
        return best_first(better, context.own, self._tie)

    def _may_be_better(self, trial: TrialView) -> bool:
        """Whether a screened trial may be better than the baseline; one that is not is judged SLOWER."""
        context = self._context
        if gain_of(trial) > context.config.objective.threshold or context.times_trainings:
            return True
        what = "throughput" if trial.objective_gain is None else context.config.objective.name.value
        reason = f"x{gain_of(trial):.2f} the baseline's {what}: nothing to verify"
        context.record.append(TrialJudged(trial.number, TrialState.SLOWER, reason))
        return False
