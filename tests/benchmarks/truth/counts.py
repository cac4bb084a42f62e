"""How often something happened, with the interval that the count allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Count:
    """`hits` of `of` independent cases."""

    hits: int
    of: int

    @classmethod
    def over(cls, cases: Iterable[bool]) -> Count:
        """How many of the cases are true."""
        seen = list(cases)
        return cls(sum(seen), len(seen))

    @property
    def share(self) -> float:
        """Hits over cases."""
        return self.hits / self.of

    @property
    def bounds(self) -> tuple[float, float]:
        """The exact two-sided 95 % interval of the share (Clopper and Pearson 1934), which covers at least that."""
        from scipy.stats import beta

        tail = (1 - LEVEL) / 2
        low = float(beta.ppf(tail, self.hits, self.of - self.hits + 1)) if self.hits else 0.0
        high = float(beta.ppf(1 - tail, self.hits + 1, self.of - self.hits)) if self.hits < self.of else 1.0
        return low, high

    def __str__(self) -> str:
        """Share and interval in per cent, such as `1.5 % [0.3, 4.3]`."""
        low, high = self.bounds
        return f"{100 * self.share:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
