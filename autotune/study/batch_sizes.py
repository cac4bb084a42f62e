"""Batch sizes that are found, not listed: the largest that fits where more still pays, and no larger where it does not.

The space holds the user's own batch, doubled. What measurements say beyond that, for each pair of policy and XLA (and
each setting of what else is searched, but widths and steps per call):

1. It does not pay. Two doublings in a row that gained less than 2 % each and 1 % together, with nothing else changed:
   all larger batches of that pair are ruled out. Larger batches train differently, and are tried for throughput alone.
   Screening is off by a few per cent: of pairs that truly gain 3 % a doubling it rules out about one in twenty-five.
2. It did not fit. Between the largest batch that fitted and the smallest that did not, multiples of 8 are tried by
   bisection, as long as throughput still grew with the batch and could become the best of all. The multiples are an
   eighth of the smaller batch apart, at least 8: a doubling that fails takes three probes at most. The same where the
   estimated bound of the memory, and nothing else, ended the doubling: there the bound itself is tried first, which
   makes it four.

A size that is no divisor of an epoch's examples leaves some of them out; none that leaves out more than
`_MOST_LEFT_OUT` of them is tried.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from autotune.config.search import SearchConfig
from autotune.space.build import FEWEST_STEPS_PER_EPOCH
from autotune.space.space import Space
from autotune.trial import Candidate, FailureKind, Pipeline

# A doubling that gains less than this is no gain: what FASTER asks for, and what screening can tell at best. Of two in
# a row one is likely to be measured low, so both together have to gain even less.
_PAYS, _TWO_PAY = 1.02, 1.01

# Multiples in which hardware counts: rows of a tensor core's tile; also what published advice says.
_ALIGNMENT = 8
_PARTS = 8

_MOST_LEFT_OUT = 1 / 32


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate outside of the doubled sizes, and why it is tried, for a reader."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True, slots=True)
class _Gap:
    """A batch that fits, the smallest above it that does not, and what is known of the gain.

    Attributes:
        low: the measured candidate.
        high: the batch that did not fit; of an estimate, the first one above the bound.
        estimated: whether `high` is an estimate and was not tried.
        growth: by which factor the gain grew in the last doubling; None where no smaller batch was measured.
    """

    low: Candidate
    high: int
    estimated: bool
    growth: float | None


class BatchSizes:
    """What was measured so far, by batch size, and what follows from it.

    Args:
        space: with the doubled sizes.
        most: the largest batch that the configuration allows.
    """

    def __init__(self, space: Space, most: int) -> None:
        self._space, self._most = space, most
        self._bounded = any(bound is not None for _, bound in space.largest_batch)
        self._gains: dict[Candidate, float] = {}
        self._lines: dict[Candidate, list[Candidate]] = {}  # what differs in its batch alone, the smallest first
        self._outgrown: dict[Candidate, tuple[int, str]] = {}
        self._too_large: set[Candidate] = set()
        self._failed: set[Candidate] = set()

    def measured(self, candidate: Candidate, gain: float) -> None:
        """It ran, with this gain over the baseline."""
        self._gains[candidate] = gain
        line = self._lines.setdefault(replace(candidate, batch_size=0), [])
        bisect.insort(line, candidate, key=lambda one: one.batch_size)
        for third in line:
            # Found sizes lie between the doubled ones and must not hide them.
            second = self._half_of(third, line)
            first = self._half_of(second, line) if second else None
            if first is None or second is None:
                continue
            flat = self._gains_nothing(first, second) and self._gains_nothing(second, third)
            if flat and self._gains[third] < _TWO_PAY * self._gains[first]:
                gains = ", ".join(f"{one.batch_size}: {self._gains[one]:.2f}x" for one in (first, second, third))
                text = f"larger batches gained nothing: {_pair(candidate)}, batch {gains}"
                kind, outgrown = _kind(candidate), (third.batch_size, text)
                self._outgrown[kind] = min(self._outgrown.get(kind, outgrown), outgrown)
                break

    def failed(self, candidate: Candidate, kind: FailureKind) -> None:
        """It did not run."""
        self._failed.add(candidate)
        if kind is FailureKind.OOM:
            self._too_large.add(candidate)

    def reason(self, candidate: Candidate) -> str | None:
        """Why a larger batch is not worth a trial, or None if it is."""
        largest, text = self._outgrown.get(_kind(candidate), (candidate.batch_size, ""))
        return text if candidate.batch_size > largest else None

    def next(self, refused: Callable[[Candidate], str | None] = lambda _: None) -> Found | None:
        """A size worth trying between one that fitted and one that did not, or None.

        Args:
            refused: why a candidate is not worth a trial for what is known elsewhere, or None if it is.
        """
        if not self._bounded and not self._too_large:
            return None
        for gap in self._gaps():
            candidate = self._between(gap) if self._may_be_best(gap) else None
            if candidate is not None and refused(candidate) is None:
                return Found(candidate, self._told(gap, candidate))
        return None

    def largest(self) -> Iterator[str]:
        """For a reader, the largest batch that fitted of each pair in which a batch was looked for."""
        for gap in self._gaps():
            if gap.low.batch_size not in self._space.batch_sizes:
                beyond = f"{gap.high} did not" if not gap.estimated else "more would not by the estimated bound"
                yield f"{_pair(gap.low)}: batch {gap.low.batch_size} is the largest that fitted into memory, {beyond}"

    def _half_of(self, larger: Candidate, line: list[Candidate]) -> Candidate | None:
        """Of those that differ in their batch alone, the largest that is half as large at most."""
        half = [one for one in line if 2 * one.batch_size <= larger.batch_size]
        return half[-1] if half else None

    def _gains_nothing(self, smaller: Candidate, larger: Candidate) -> bool:
        return self._gains[larger] < _PAYS * self._gains[smaller]

    def _gaps(self) -> Iterator[_Gap]:
        """One for each kind and each widths; the fastest first."""
        groups: dict[tuple[Candidate, tuple[int, ...]], list[Candidate]] = {}
        for one in sorted(self._gains, key=lambda one: -self._gains[one]):
            groups.setdefault((_kind(one), one.widths), []).append(one)
        for group, fitted in groups.items():
            size = max(one.batch_size for one in fitted)
            low = next(one for one in fitted if one.batch_size == size)
            alike = [one.batch_size for one in self._too_large if (_kind(one), one.widths) == group]
            above = [other for other in alike if other > size]
            high = min(above, default=None)
            bound = self._bound(low)
            if high is not None:
                yield _Gap(low, high, False, self._growth(low))
            elif bound is not None:
                yield _Gap(low, bound + 1, True, self._growth(low))

    def _bound(self, low: Candidate) -> int | None:
        """The memory's estimated bound, where nothing else kept the next doubling out of the space."""
        if low.accumulation > 1 or low.pipeline is not Pipeline.HOST:  # another bound holds for the parts of a batch
            return None
        bound = dict(self._space.largest_batch).get(low.policy)
        within = [size for size in self._space.batch_sizes if bound is not None and size <= bound]
        if bound is None or not within or low.batch_size < max(within):
            return None
        following = 2 * max(within)
        enough = self._space.examples // following >= FEWEST_STEPS_PER_EPOCH
        return bound if bound < following <= self._most and enough else None

    def _growth(self, low: Candidate) -> float | None:
        smaller = [one for one in self._lines[replace(low, batch_size=0)] if one.batch_size < low.batch_size]
        if not smaller:
            return None
        # From the largest that is half as large at most: neighbours in a bisection are too near to tell by.
        half = [one for one in smaller if 2 * one.batch_size <= low.batch_size] or smaller
        before = half[-1]
        doublings = math.log2(low.batch_size / before.batch_size)
        return math.pow(self._gains[low] / self._gains[before], 1 / doublings)

    def _may_be_best(self, gap: _Gap) -> bool:
        """Whether more would still pay, and whether it could reach the best that was measured at all."""
        growth = 2.0 if gap.growth is None else gap.growth
        room = math.pow(growth, math.log2(gap.high / gap.low.batch_size))
        return room > _PAYS and self._gains[gap.low] * room > max(self._gains.values())

    def _between(self, gap: _Gap) -> Candidate | None:
        """The next size of the bisection: the doubled ones that are left, then multiples; None when they are done."""
        low, high = gap.low.batch_size, gap.high
        doubled = [size for size in self._space.batch_sizes if low < size < high]
        base = max(size for size in self._space.batch_sizes if size <= low)
        part = -(-base // (_PARTS * _ALIGNMENT)) * _ALIGNMENT
        sizes = doubled or [size for size in range(part, high, part) if size > low]
        sound = [one for size in sizes if (one := self._at(gap.low, size)) is not None]
        if not sound:
            return None
        return sound[-1] if gap.estimated else sound[len(sound) // 2]

    def _at(self, low: Candidate, size: int) -> Candidate | None:
        """The same with another batch; with one step a call where an epoch is no multiple of its steps."""
        for steps in dict.fromkeys((low.steps_per_execution, 1)):
            candidate = replace(low, batch_size=size, steps_per_execution=steps)
            if self._space.holds(candidate) and self._is_sound(candidate):
                return candidate
        return None

    def _is_sound(self, candidate: Candidate) -> bool:
        """Whether an epoch of it is like the user's, and it has not failed already."""
        batch = candidate.batch_size
        return _keeps_an_epoch(self._space.examples, batch) and batch <= self._most and candidate not in self._failed

    def _told(self, gap: _Gap, candidate: Candidate) -> str:
        beyond = f"{gap.high - 1}, the memory's estimated bound" if gap.estimated else f"{gap.high}, which did not"
        text = (
            f"batch {candidate.batch_size} is tried with {_pair(candidate)}: between {gap.low.batch_size}, which fitted"
        )
        text += f" into memory, and {beyond}"
        if gap.growth is not None:
            text += f"; a doubling still gained {(gap.growth - 1) * 100:.0f} %"
        if left := self._space.examples % candidate.batch_size:
            text += f"; {left} of {self._space.examples:,} examples are left out of each of its epochs"
        return text


def could_hold(space: Space, candidate: Candidate, search: SearchConfig) -> bool:
    """Whether a candidate is one of the space, or would be with a batch size that can be found in it."""
    if not space.holds(candidate):
        return False
    planned = replace(candidate, batch_size=0) in {replace(one, batch_size=0) for one in space.candidates()}
    if candidate.batch_size in space.batch_sizes or not planned:
        return planned
    most = space.baseline.batch_size * search.max_batch_factor
    within = search.batch_sizes is None and min(space.batch_sizes) < candidate.batch_size <= most
    return within and _keeps_an_epoch(space.examples, candidate.batch_size)


def _keeps_an_epoch(examples: int, batch: int) -> bool:
    """Whether an epoch in this batch has enough steps, and nearly all examples."""
    return examples // batch >= FEWEST_STEPS_PER_EPOCH and examples % batch <= _MOST_LEFT_OUT * examples


def _kind(candidate: Candidate) -> Candidate:
    """What a candidate shares with all that differ in batch, steps per call and widths alone."""
    return replace(candidate, batch_size=0, steps_per_execution=1, widths=())


def _pair(candidate: Candidate) -> str:
    return f"{candidate.policy}, XLA {candidate.xla.value}"
