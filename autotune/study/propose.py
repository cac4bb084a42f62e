"""Optuna proposes what to measure next; its study lives in memory, since the record is the truth."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState, create_trial

from autotune.config.search import Sampler, SearchConfig
from autotune.space.space import Space
from autotune.study.ruled_out import RuledOut
from autotune.trial import Candidate, FailureKind, LeftOut, Policy, Xla

# How often TPE may propose what was measured already before an unmeasured candidate is drawn instead.
_MOST_REPEATS = 20

_STARTUP_TRIALS = 4

_CONSTRAINT = "measurable"


class Proposer:
    """Proposes candidates that were not measured yet and are not ruled out by failures.

    Nothing but the seed and the sequence of calls decides what comes next.

    Args:
        space: what there is to propose.
        search: sampler, its seed, and how many trials there are; a space no larger than that is measured whole.
    """

    def __init__(self, space: Space, search: SearchConfig) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._left = dict.fromkeys(space.candidates())  # a dict keeps the order
        self._whole = len(self._left) <= search.trials
        self._random = random.Random(search.seed)
        self._first = list(first_guesses(space))
        self._distributions = distributions(space)
        self._rules = RuledOut()
        self._rules.measured(space.baseline)
        self._pending: optuna.Trial | None = None
        self._study = optuna.create_study(direction="maximize", sampler=_sampler(search))

    @property
    def ruled_out(self) -> tuple[LeftOut, ...]:
        """Candidates that were never proposed because of what others failed at, by reason."""
        return self._rules.told(self._left)

    def ask(self) -> Candidate | None:
        """The next candidate, or None when every one was proposed or ruled out."""
        worthwhile = dict.fromkeys(one for one in self._left if self._rules.reason(one) is None)
        if not worthwhile:
            return None
        candidate = next((guess for guess in self._first if guess in worthwhile), None)
        if candidate is None and not self._whole:
            candidate = self._ask_sampler(worthwhile)
        if candidate is None:
            candidate = next(iter(worthwhile)) if self._whole else self._random.choice(list(worthwhile))
        del self._left[candidate]
        return candidate

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """A candidate's measured speedup."""
        self._rules.measured(candidate)
        self._teach(candidate, speedup, {})

    def fail(self, candidate: Candidate, kind: FailureKind) -> None:
        """A candidate without a result: what it rules out is not proposed, and the sampler avoids its like."""
        self._rules.failed(candidate, kind)
        # Samplers ignore a failed trial and would come back to it. One that violates a constraint is complete: TPE
        # puts it among the bad ones, whatever its value, which it only must have.
        self._teach(candidate, 0.0, {_CONSTRAINT: 1.0})

    def _teach(self, candidate: Candidate, value: float, constraints: dict[str, float]) -> None:
        if self._pending is None:
            kinds = self._distributions
            self._study.add_trial(
                create_trial(params=params(candidate), distributions=kinds, value=value, constraints=constraints)
            )
            return
        for name, violation in constraints.items():
            self._pending.set_constraint(name, violation)
        self._study.tell(self._pending, value)
        self._pending = None

    def _ask_sampler(self, worthwhile: Collection[Candidate]) -> Candidate | None:
        for _ in range(_MOST_REPEATS):
            trial = self._study.ask(self._distributions)
            candidate = from_params(trial.params)
            if candidate in worthwhile:
                self._pending = trial
                return candidate
            # TPE does not learn from a failed trial, so what is known already does not count twice.
            self._study.tell(trial, state=TrialState.FAIL)
        return None


def first_guesses(space: Space) -> Iterator[Candidate]:
    """What a person would try first, at the user's own widths.

    The first of these is also the answer to the question that people ask: "what did mixed precision alone do?" Then the
    next batch, which changes least and so keeps the accuracy best, in 16 bit and in float32; then what large batches
    could give; then more steps per call where accuracy is safest.
    """
    own, sizes = space.baseline, sorted(space.batch_sizes)
    middle, largest = sizes[len(sizes) // 2], sizes[-1]
    following = next((size for size in sizes if size > own.batch_size), own.batch_size)
    steps = max(space.steps_per_execution)
    xla = Xla.OFF if Xla.OFF in space.xla else space.xla[0]
    low = [policy for policy in space.policies if not policy.is_float32] or list(space.policies)
    order = [(policy, batch, 1) for batch in (own.batch_size, following) for policy in low]
    order.append((Policy("float32"), following, 1))
    order += [(policy, batch, 1) for batch in (largest, middle) for policy in low]
    order += [(low[0], batch, steps) for batch in (own.batch_size, following)]
    guesses = [Candidate(policy, batch, xla, own.widths, calls) for policy, batch, calls in order]
    held = (guess for guess in guesses if guess.policy in space.policies and space.holds(guess))
    return iter(dict.fromkeys(held))


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """The space as Optuna's distributions; widths are one dimension, as `3000-1000`."""
    return {
        "policy": CategoricalDistribution([policy.name for policy in space.policies]),
        "batch_size": CategoricalDistribution(list(space.batch_sizes)),
        "xla": CategoricalDistribution([xla.value for xla in space.xla]),
        "steps_per_execution": CategoricalDistribution(list(space.steps_per_execution)),
        "widths": CategoricalDistribution([_joined(widths) for widths in space.widths]),
    }


def params(candidate: Candidate) -> dict[str, Any]:
    """A candidate as Optuna's parameters."""
    return {
        "policy": candidate.policy.name,
        "batch_size": candidate.batch_size,
        "xla": candidate.xla.value,
        "steps_per_execution": candidate.steps_per_execution,
        "widths": _joined(candidate.widths),
    }


def from_params(values: dict[str, Any]) -> Candidate:
    """The candidate of Optuna's parameters."""
    widths = tuple(int(width) for width in values["widths"].split("-") if width)
    return Candidate(
        Policy(values["policy"]), values["batch_size"], Xla(values["xla"]), widths, values["steps_per_execution"]
    )


def _joined(widths: tuple[int, ...]) -> str:
    return "-".join(map(str, widths))


def _sampler(search: SearchConfig) -> optuna.samplers.BaseSampler:
    if search.sampler is Sampler.random:
        return optuna.samplers.RandomSampler(seed=search.seed)
    return optuna.samplers.TPESampler(seed=search.seed, n_startup_trials=_STARTUP_TRIALS, multivariate=True)
