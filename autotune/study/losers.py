"""Candidates that clearly lost accuracy, and which others will lose it, too."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autotune.study.ranking import is_16_bits_fault, no_less_accurate
from autotune.trial import Candidate, Policy


@dataclass(frozen=True, slots=True)
class _Loser:
    """One of them.

    Attributes:
        what: it has shown, after "which", for a reader.
        by_batch: whether its batch may be to blame, whatever its policy.
    """

    candidate: Candidate
    what: str
    by_batch: bool


class Losers:
    """Those of one study so far.

    Args:
        own: the user's own settings.
    """

    def __init__(self, own: Candidate) -> None:
        self._own = own
        self._found: list[_Loser] = []

    def add(self, candidate: Candidate, what: str) -> None:
        """It clearly lost accuracy by its batch or by 16 bit, and so will what is no more accurate.

        Where float32 has lost as well, it is the batch that loses, and 16 bit at a smaller one tells of float32 too, if
        that is larger than the user's own; until 16 bit is seen to lose next to the user's own, which clears batches.

        Args:
            candidate: that has lost.
            what: it has shown, after "which", for a reader.
        """
        float32_too = any(loser.candidate.policy.is_float32 for loser in self._found)
        by_batch = float32_too and candidate.batch_size > self._own.batch_size
        self._found.append(_Loser(candidate, what, by_batch))

    def reason(self, candidate: Candidate) -> str | None:
        """Why a candidate will lose accuracy, or None if nothing says so."""
        for loser in self._found:
            if no_less_accurate(self._blamed(loser), candidate):
                alike = no_less_accurate(loser.candidate, candidate)
                like = "no more accurate than" if alike else "no smaller a batch than"
                return f"{like} {loser.candidate.short}, which {loser.what}"
        return None

    def _blamed(self, loser: _Loser) -> Candidate:
        """What is no more accurate than this will lose, too."""
        all_of_them = [one.candidate for one in self._found]
        if not loser.by_batch or is_16_bits_fault(loser.candidate, all_of_them, self._own):
            return loser.candidate
        return replace(loser.candidate, policy=Policy("float32"))
