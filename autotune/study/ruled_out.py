"""What failures say about candidates that were not measured: which of them are not worth a trial, and why.

Three rules, from what is nearly certain to what needs to be seen twice. None speaks of a candidate that has nothing in
common with a failure but its policy or its XLA: each pair of the two gets a trial of its own.

1. Memory. What did not fit bounds all that is as large, in batch and in every width, for that policy; where gradients
   accumulate it is the micro-batch that counts. Arrays on the device only add to it. XLA may need less
   memory or more, so the same point stays open with the other setting; what is larger is open there only once that much
   has fitted there. Steps per call do not count: they are a loop on the device, which holds one step at a time.
   No policy bounds another: float32 keeps larger activations, mixed precision keeps 16-bit copies of the weights beside
   the float32 ones, and which of the two is more depends on the model.
2. The program. What cannot be compiled, is not supported or is invalid fails through the operations of one step, so
   through policy and XLA together; a shape decides only sometimes. So a failure rules out its own shape at once, and
   its pair of policy and XLA when it is seen again: in the same pair at another shape, or in a pair that shares the
   policy or XLA. A pair in which anything was measured stays. Were one failure enough, one bad kernel at one shape
   would cost the best candidate there is; so a pair that cannot work costs two trials, and one where its policy or XLA
   failed elsewhere too costs one.
3. Size. Whatever else goes wrong twice, such as a crash, a time limit or a loss that is not finite, is likely to go
   wrong again wherever nothing is smaller than where it first did. Once it may have been an accident. The second one
   counts as in rule 2, and anything as large that was measured takes it back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from autotune.trial import Candidate, FailureKind, LeftOut, Pipeline

_PROGRAM = (FailureKind.COMPILE, FailureKind.UNSUPPORTED)
_PROGRAM_OR_INVALID = (*_PROGRAM, FailureKind.INVALID)

_Test = Callable[[Candidate, Candidate], bool]


class RuledOut:
    """Failures and measurements of one study so far, and what follows from them. Nothing depends on their order."""

    def __init__(self) -> None:
        self._measured: list[Candidate] = []
        self._failed: dict[Candidate, FailureKind] = {}

    def measured(self, candidate: Candidate) -> None:
        """It has a result, whatever that is."""
        self._measured.append(candidate)

    def failed(self, candidate: Candidate, kind: FailureKind) -> None:
        """It has none."""
        self._failed[candidate] = kind

    def reason(self, candidate: Candidate) -> str | None:
        """Why a candidate is not worth a trial, or None if it is."""
        if not self._failed:
            return None
        return self._too_large(candidate) or self._no_program(candidate) or self._keeps_failing(candidate)

    def _too_large(self, candidate: Candidate) -> str | None:
        for failed in self._of((FailureKind.OOM,)):
            if candidate.policy != failed.policy or not _takes_as_much(candidate, failed):
                continue
            same_point = (candidate.micro_batch, candidate.widths) == (failed.micro_batch, failed.widths)
            if same_point and candidate.xla is not failed.xla:
                continue
            if not any(_alike(other, candidate) and _takes_as_much(other, failed) for other in self._measured):
                return f"did not fit into memory: {failed.short}"
        return None

    def _no_program(self, candidate: Candidate) -> str | None:
        for failed in self._of(_PROGRAM):
            if _alike(candidate, failed) and _shape(candidate) == _shape(failed):
                return self._because([failed])
        return self._twice(candidate, _PROGRAM_OR_INVALID, _always, lambda one, other: _shape(one) != _shape(other))

    def _keeps_failing(self, candidate: Candidate) -> str | None:
        return self._twice(candidate, tuple(FailureKind), _as_much, lambda one, other: one != other)

    def _twice(self, candidate: Candidate, kinds: Collection[FailureKind], reaches: _Test, differ: _Test) -> str | None:
        """A failure in the candidate's own pair of policy and XLA that reaches it, and another that bears it out."""
        standing = [one for one in self._of(kinds) if _shares(candidate, one) and not self._refuted(one, reaches)]
        standing.sort(key=lambda failed: not _alike(candidate, failed))  # what is nearer is told
        for own in standing:
            if _alike(candidate, own) and reaches(candidate, own):
                for second in standing:
                    if differ(own, second) and (reaches(second, own) or reaches(candidate, second)):
                        return self._because([own, second])
        return None

    def _refuted(self, failed: Candidate, reaches: _Test) -> bool:
        """Whether something was measured that this failure reaches."""
        return any(_alike(other, failed) and reaches(other, failed) for other in self._measured)

    def _of(self, kinds: Collection[FailureKind]) -> list[Candidate]:
        return [candidate for candidate, kind in self._failed.items() if kind in kinds]

    def _because(self, failures: Iterable[Candidate]) -> str:
        return "failed: " + "; ".join(f"{one.short} ({self._failed[one].value})" for one in failures)


def grouped(candidates: Iterable[Candidate], reason_of: Callable[[Candidate], str | None]) -> tuple[LeftOut, ...]:
    """Those of the candidates that are ruled out, one entry for each reason.

    Args:
        candidates: of whatever kind.
        reason_of: why one is ruled out, or None.
    """
    groups: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if (reason := reason_of(candidate)) is not None:
            groups.setdefault(reason, []).append(candidate)
    return tuple(LeftOut(_described(group), reason) for reason, group in groups.items())


def _always(*_: Candidate) -> bool:
    return True


def _alike(one: Candidate, other: Candidate) -> bool:
    """Whether both are of the same policy and XLA."""
    return one.policy == other.policy and one.xla is other.xla


def _shares(one: Candidate, other: Candidate) -> bool:
    """Whether both are of the same policy, or have the same XLA."""
    return one.policy == other.policy or one.xla is other.xla


def _shape(candidate: Candidate) -> tuple[int, tuple[int, ...]]:
    return candidate.micro_batch, candidate.widths


def _as_large(one: Candidate, other: Candidate) -> bool:
    """Whether no batch and no width is smaller than the other's."""
    wide = all(width >= least for width, least in zip(one.widths, other.widths, strict=True))
    return wide and one.batch_size >= other.batch_size


def _takes_as_much(one: Candidate, other: Candidate) -> bool:
    """Whether it takes as much memory at once: no micro-batch, no width, and nothing beside them is less."""
    wide = all(width >= least for width, least in zip(one.widths, other.widths, strict=True))
    beside = one.pipeline is other.pipeline or other.pipeline is Pipeline.HOST
    accumulates = one.accumulation > 1 or other.accumulation == 1  # in one more value per weight
    return wide and beside and accumulates and one.micro_batch >= other.micro_batch


def _as_much(one: Candidate, other: Candidate) -> bool:
    """Whether it is as large, and as long in one call."""
    return _as_large(one, other) and one.steps_per_execution >= other.steps_per_execution


def _described(group: Collection[Candidate]) -> str:
    def values(found: Iterable[object]) -> str:
        return " or ".join(str(value) for value in dict.fromkeys(found))

    count = f"{len(group)} candidate{'s' if len(group) > 1 else ''}"
    policies, xla = values(one.policy for one in group), values(one.xla.value for one in group)
    return f"{count}: {policies}, XLA {xla}, batch {values(sorted(one.batch_size for one in group))}"
