"""`search.fallback=true`: what lost accuracy in 16 bit is tried again with its most harmful layers in float32.

The worker measures once for a policy and widths how much each layer harms by itself (`autotune.worker.child.harm`).
Then the candidate is screened with the 1, 2, 4, ... most harmful layers in float32, each as a trial of its own beyond
`search.trials`, until one goes through the accuracy gate, is no longer faster than float32, or has no 16-bit layer with
weights left. Harm adds up roughly, for small errors; nothing but the gate says that it was enough.

It is not tried where 16 bit is not to blame: where float32 clearly lost as well, at no larger a batch.
"""

from __future__ import annotations

from dataclasses import replace

from autotune.errors import TrialFault
from autotune.record.events import HarmMeasured
from autotune.record.view import TrialView
from autotune.study import costs
from autotune.study.context import StudyContext
from autotune.study.gate import clearly_lost
from autotune.study.screen import measure
from autotune.trial import Candidate, Failure, FailureKind, LayerHarm, TrialState
from autotune.trial.harm import most_harmful_first

_Kind = tuple[str, tuple[int, ...]]


class Fallback:
    """Screens what is tried next in place of trials that lost accuracy; nothing unless `search.fallback` asks for it.

    Args:
        context: of the study.
    """

    def __init__(self, context: StudyContext) -> None:
        self._context = context
        self._harms: dict[_Kind, list[LayerHarm]] = {}  # the most harmful first
        self._is_over = False  # there is no budget left for it, and that was noted

    def after_screening(self) -> None:
        """Screen in place of those whose loss was not finite; what comes of it is in the record."""
        for trial in list(self._context.view.trials.values()):
            self.instead_of(trial)

    def instead_of(self, trial: TrialView) -> TrialView | None:
        """Screen the next ones in place of a trial until one has a result; that one, or None if there is none."""
        found: TrialView | None = trial
        while found is not None and self._lost(found) and (candidate := self._next(found)) is not None:
            found = self._screened(found, candidate)
        return None if found is trial else found

    def _lost(self, trial: TrialView) -> bool:
        """Whether it lost accuracy in 16 bit: rejected at the gate, or not finite."""
        if not self._context.config.search.fallback or trial.is_baseline or trial.candidate.policy.is_float32:
            return False
        if trial.vouched_by is not None:
            return False  # the one that was trained in its place is tried again
        nan = trial.state is TrialState.FAILED and trial.failure is not None and trial.failure.kind is FailureKind.NAN
        return (nan or trial.state is TrialState.REJECTED) and not self._float32_lost_too(trial.candidate)

    def _float32_lost_too(self, candidate: Candidate) -> bool:
        for other in self._context.view.trials.values():
            own = other.candidate
            alike = own.policy.is_float32 and own.batch_size <= candidate.batch_size and own.widths == candidate.widths
            nan = other.failure is not None and other.failure.kind is FailureKind.NAN
            if alike and not other.is_baseline and (nan or clearly_lost(self._context, other)):
                return True
        return False

    def _next(self, trial: TrialView) -> Candidate | None:
        """The candidate with twice as many of the most harmful layers in float32, if that is another and new one."""
        if not self._affordable(trial):
            return None
        harms = self._harms_of(trial)
        kept = trial.candidate.policy.float32_layers
        count = 2 * len(kept) if kept else 1
        if not any(harm.parameters for harm in harms[count:]):  # else it is float32, but for what has no weights
            return None
        layers = tuple(harm.layer for harm in harms[:count])
        candidate = replace(trial.candidate, policy=replace(trial.candidate.policy, float32_layers=layers))
        known = {other.candidate for other in self._context.view.trials.values()}
        return None if candidate in known else candidate

    def _screened(self, trial: TrialView, candidate: Candidate) -> TrialView:
        context, number = self._context, max(self._context.view.trials) + 1
        layers = ", ".join(candidate.policy.float32_layers)
        context.note("fallback", f"trial {number} is trial {trial.number} with its most harmful in float32: {layers}")
        measure(context, number, candidate)
        return context.view.trials[number]

    def _harms_of(self, trial: TrialView) -> list[LayerHarm]:
        kind = trial.candidate.policy.name, trial.candidate.widths
        if kind not in self._harms:
            self._harms[kind] = most_harmful_first(self._measured(trial))
        return self._harms[kind]

    def _measured(self, trial: TrialView) -> tuple[LayerHarm, ...]:
        """What the worker measures; nothing after a failure, which is recorded and noted."""
        context, began = self._context, self._context.clock()
        layers: tuple[LayerHarm, ...] = ()
        failure = None
        try:
            layers = context.executor.harms(trial.candidate, context.recipe(trial.candidate))
        except TrialFault as fault:
            failure = Failure(FailureKind(fault.kind), fault.message, fault.detail)
        duration_s = context.clock() - began
        context.record.append(HarmMeasured(trial.number, trial.candidate, layers, failure, duration_s))
        if failure is not None:
            text = f"how much each layer harms in {trial.candidate.policy.name} could not be measured: {failure}"
            context.note("fallback", text, "warning")
        return layers

    def _affordable(self, trial: TrialView) -> bool:
        """Whether the budget has room for one more screening, and for a gate and a confirmation after it."""
        context = self._context
        speedup = max(1.0, trial.speedup.estimate) if trial.speedup else 1.0
        refusal = context.budget.refusal(costs.process_s(context) + costs.answer_s(context, speedup))
        if not refusal:
            return True
        if not self._is_over:
            text = f"trial {trial.number}, and what comes after it, is not tried with layers in float32"
            context.note("budget", f"{text}: {refusal}")
        self._is_over = True
        return False
