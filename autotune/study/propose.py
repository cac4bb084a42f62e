"""Optuna proposes what to measure next; its study lives in memory, since the record is the truth."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields

import optuna
from optuna.study import StudyDirection
from optuna.trial import TrialState, create_trial

from autotune.config.search import Sampler, SearchConfig
from autotune.space.space import Space
from autotune.study.batch_sizes import BatchSizes, Found, could_hold
from autotune.study.guesses import first_guesses, next_batch, opening, own_where_searched, where_16_bit_pays
from autotune.study.losers import Losers
from autotune.study.parameters import distributions, from_params, params
from autotune.study.prior import Expected
from autotune.study.ruled_out import RuledOut, grouped
from autotune.study.samplers import optuna_sampler, sampler_for
from autotune.study.together import at_most, knows, likeliest
from autotune.trial import Candidate, FailureKind, LeftOut

# How often a sampler may propose what was measured already before any unmeasured candidate is taken instead.
_MOST_REPEATS = 20

# Those that take long for a proposal, and mostly repeat themselves, are asked once, and what is most like it is taken.
# Replayed on a recorded landscape, TPE comes no less often upon the best than when it is asked three times.
_ASKED_ONCE = frozenset({Sampler.gp, Sampler.tpe})

_CONSTRAINT = "measurable"


class Proposer:
    """Proposes candidates that were not measured yet and are not ruled out by what was measured or failed.

    Nothing but the arguments and the sequence of calls decides what comes next: what should come first, what a person
    would try first, batch sizes that are found between one that fitted and one that did not, what likely goes best
    together (of `auto`), then the sampler. `grid` and `random` are what their names say: their order knows nothing.

    Args:
        space: what there is to propose.
        search: sampler, its seed, and how many trials there are; a space no larger than that is measured whole.
        first: comes before all else, as far as this space could hold it.
        expected: throughput by policy and batch that the device's peaks let expect; orders the first guesses.
        front: whether Optuna's study has two values, speedup and accuracy; each candidate is then first `measured`, and
            told by `learn` once both are known.
        ends: whether `auto` ends before all is proposed, once nothing that is left is likely to be faster, and is told
            what has `lost` accuracy. If not, near the user's own batch is looked in turn with everywhere.

    Attributes:
        ends: whether it does.
        begins_with: those of `first` that are proposed.
        told: why the candidate that was asked last is one that the space did not plan, or None.
    """

    def __init__(
        self,
        space: Space,
        search: SearchConfig,
        first: Iterable[Candidate] = (),
        expected: Expected | None = None,
        *,
        front: bool = False,
        ends: bool = False,
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._own = own_where_searched(space)  # what is no parameter of Optuna's need not be the user's own
        self._left = dict.fromkeys(space.candidates())  # a dict keeps the order
        self._whole = len(self._left) <= search.trials
        self._sampler = sampler_for(search, len(self._left), front=front)
        self._random = random.Random(search.seed)
        # A sampler that was asked for by name is asked; a front is not found where throughput alone is highest.
        alone = search.sampler is Sampler.auto and not front
        self.begins_with: tuple[Candidate, ...] = ()
        self._first: list[Candidate] = []
        if search.sampler.informed:
            self.begins_with = tuple(one for one in first if could_hold(space, one, search))
            guesses = first_guesses(space, expected)
            self._first = [*self.begins_with, *(opening(guesses, space) if alone else guesses)]
        self._left |= dict.fromkeys(self.begins_with)  # a batch size that was found is none of the planned ones
        self._distributions = distributions(space)
        self._planned = frozenset(space.batch_sizes)
        self._rules, self._trainings = RuledOut(), RuledOut()
        self._rules.measured(space.baseline)
        most = space.baseline.batch_size * search.max_batch_factor
        self._sizes = BatchSizes(space, most) if search.batch_sizes is None else None
        self._speedups: dict[Candidate, float] | None = {space.baseline: 1.0} if alone else None
        self._near_next = False
        self.ends, self._ended = ends and alone, False
        self._losers = Losers(self._own)
        self._refused: set[Candidate] = set()
        self._nearest_batch = next_batch(space)
        self._pending: dict[Candidate, optuna.Trial] = {}
        self._worst = [0.0] * (2 if front else 1)
        directions = [StudyDirection.MAXIMIZE] * len(self._worst)
        self._study = optuna.create_study(directions=directions, sampler=optuna_sampler(self._sampler, search))
        self.told: str | None = None

    @property
    def ruled_out(self) -> tuple[LeftOut, ...]:
        """Candidates that were never proposed because of what others showed, by reason."""
        return grouped(self._left, self._reason)

    @property
    def unlikely(self) -> tuple[LeftOut, ...]:
        """Candidates that were never proposed since none of them is likely to be the fastest."""
        if not self._ended or self._speedups is None:
            return ()
        left = [one for one in self._left if self._reason(one) is None]
        if not left:
            return ()
        most = at_most(self._speedups, left)
        why = f"not likely to be the fastest: {most:.2f}x at most, by what their settings gained in others"
        return grouped(left, lambda _: why)

    @property
    def largest_batches(self) -> tuple[str, ...]:
        """The largest batches that were found to fit, for a reader."""
        return tuple(self._sizes.largest()) if self._sizes else ()

    @property
    def has_guesses(self) -> bool:
        """Whether some of what comes first was not proposed yet."""
        return any(guess in self._left and self._reason(guess) is None for guess in self._guesses())

    def lost(self, candidate: Candidate, what: str) -> None:
        """It clearly lost accuracy, and others are like it: see `Losers.add`."""
        self._losers.add(candidate, what)
        self._ended = False  # it was, for something to be faster than this

    def refused(self, candidate: Candidate, failed: FailureKind | None = None) -> None:
        """It cannot be used, which hardly tells of others: what else may be the fastest need not be faster.

        Args:
            candidate: that is refused.
            failed: how its training failed, which may rule out its like as a failed probe would; None if it did not.
        """
        self._refused.add(candidate)
        self._ended = False
        if failed is not None:
            self._trainings.failed(candidate, failed)

    def put_back(self, candidate: Candidate) -> None:
        """It was asked for and not measured: it is one of those that are left."""
        self._left = {candidate: None, **self._left}

    def ask(self) -> Candidate | None:
        """The next candidate, or None when every one was proposed or ruled out, or when it `ends`."""
        worthwhile = dict.fromkeys(one for one in self._left if self._reason(one) is None)
        candidate = next((guess for guess in self._guesses() if guess in worthwhile), None)
        found = self._found() if candidate is None and not self._whole else None
        if candidate is None and found is None:
            candidate = self._chosen(worthwhile)
        if candidate is None and self._whole:
            found = self._found()
        if found is not None:
            candidate = found.candidate
        self.told = found.reason if found else None
        if candidate is not None:
            self._left.pop(candidate, None)
            planned = candidate.batch_size in self._planned
            if candidate not in self._pending and self._sampler is Sampler.nsga2 and planned:
                self._pending[candidate] = self._enqueued(candidate)
        return candidate

    def _guesses(self) -> Iterator[Candidate]:
        """What comes first, in the light of what was measured since it was thought of."""
        begins = len(self.begins_with)
        yield from self._first[:begins]
        for guess in self._first[begins:]:
            yield guess if self._speedups is None else where_16_bit_pays(guess, self._speedups)

    @property
    def learns(self) -> bool:
        """Whether what comes next depends on the values that were told."""
        return not self._whole and self._sampler not in (Sampler.grid, Sampler.random)

    def tell(self, candidate: Candidate, speedup: float) -> None:
        """A candidate's measured speedup, where that is all that counts."""
        self.measured(candidate, speedup)
        self.learn(candidate, speedup)

    def measured(self, candidate: Candidate, speedup: float) -> None:
        """It ran: what that says of other candidates; the sampler is told later."""
        self._rules.measured(candidate)
        if self._speedups is not None:
            self._speedups[candidate] = speedup
        if self._sizes:
            self._sizes.measured(candidate, speedup)

    def learn(self, candidate: Candidate, *values: float) -> None:
        """Tell the sampler a candidate's values, one for each direction of the study."""
        self._worst = [min(worst, value) for worst, value in zip(self._worst, values, strict=True)]
        # A Gaussian process refuses trials of which only some have the constraint.
        self._teach(candidate, values, {_CONSTRAINT: -1.0} if self._sampler is Sampler.gp else {})

    def learn_unknown(self, candidate: Candidate) -> None:
        """Tell the sampler that a candidate that was measured has not all values."""
        self._teach(candidate, self._worst, {_CONSTRAINT: 1.0})

    def fail(self, candidate: Candidate, kind: FailureKind) -> None:
        """A candidate without a result: what it rules out is not proposed, and the sampler avoids its like."""
        self._rules.failed(candidate, kind)
        if self._sizes:
            self._sizes.failed(candidate, kind)
        # Samplers ignore a failed trial and would come back to it. One that violates a constraint is complete: TPE
        # puts it among the bad ones, whatever its value, which it only must have.
        self._teach(candidate, self._worst, {_CONSTRAINT: 1.0})

    def _reason(self, candidate: Candidate) -> str | None:
        """Why a candidate is not worth a trial, or None if it is."""
        found = self._losers.reason(candidate) or self._rules.reason(candidate) or self._trainings.reason(candidate)
        return found or (self._sizes.reason(candidate) if self._sizes else None)

    def _found(self) -> Found | None:
        return self._sizes.next(self._reason) if self._sizes else None

    def _chosen(self, worthwhile: Collection[Candidate]) -> Candidate | None:
        """What likely goes best together, else the sampler's choice, else any; the next in order for a grid."""
        if not worthwhile:
            return None
        in_order = self._sampler is Sampler.grid
        if self._speedups is not None and knows(self._speedups) and (self.ends or not in_order):
            likely = self._likely(self._speedups, worthwhile)
            self._ended = self.ends and likely is None
            if likely is not None or self._ended:
                return likely
        if in_order:
            return next(iter(worthwhile))
        return self._ask_sampler(worthwhile) or self._random.choice(list(worthwhile))

    def _likely(self, speedups: dict[Candidate, float], worthwhile: Collection[Candidate]) -> Candidate | None:
        """What likely goes best of all; in turn with near the user's own batch, if that is not asked for later."""
        if self.ends:
            running = [one for one in speedups if one not in self._refused and self._losers.reason(one) is None]
            return likeliest(speedups, worthwhile, max(speedups[one] for one in running))
        self._near_next = not self._near_next
        sets = [(self._near(worthwhile), self._near(speedups)), (worthwhile, speedups)]
        for candidates, measured in sets if self._near_next else reversed(sets):
            least = max((speedups[one] for one in measured), default=0.0)
            if (found := likeliest(speedups, candidates, least)) is not None:
                return found
        return None

    def _near(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        return [one for one in candidates if one.batch_size <= self._nearest_batch]

    def _teach(self, candidate: Candidate, values: Sequence[float], constraints: dict[str, float]) -> None:
        trial = self._pending.pop(candidate, None)
        if trial is not None:
            for name, violation in constraints.items():
                trial.set_constraint(name, violation)
            self._study.tell(trial, list(values))
        elif candidate.batch_size in self._planned:  # else it has no place among the sampler's choices
            kinds = self._distributions
            told = params(candidate, kinds)
            self._study.add_trial(
                create_trial(params=told, distributions=kinds, values=list(values), constraints=constraints)
            )

    def _enqueued(self, candidate: Candidate) -> optuna.Trial:
        """The sampler's own trial of what it did not choose: NSGA-II breeds from no others."""
        self._study.enqueue_trial(params(candidate, self._distributions))
        trial = self._study.ask(self._distributions)
        _ = trial.relative_params  # where all is given Optuna does not ask the sampler, which then counts it nowhere
        return trial

    def _ask_sampler(self, worthwhile: Collection[Candidate]) -> Candidate | None:
        for _ in range(1 if self._sampler in _ASKED_ONCE else _MOST_REPEATS):
            trial = self._study.ask(self._distributions)
            candidate = from_params(trial.params, self._own)
            if candidate in worthwhile:
                self._pending[candidate] = trial
                return candidate
            # No sampler learns from a failed trial, so what is known already does not count twice.
            self._study.tell(trial, state=TrialState.FAIL)
        if self._sampler not in _ASKED_ONCE:
            return None
        return min(worthwhile, key=lambda one: _differences(one, candidate))


def _differences(one: Candidate, other: Candidate) -> int:
    """In how many settings two candidates differ."""
    return sum(getattr(one, field.name) != getattr(other, field.name) for field in fields(one))
