"""Which multirun a study belongs to: known to the whole process, since its jobs run in it one after another.

It is no key of the configuration: a study that is run again from its exported configuration belongs to no multirun.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sweep:
    """One call with `-m`.

    Attributes:
        name: shared by its jobs: when it began, and what it goes over.
        job: this job's values of that.
    """

    name: str
    job: str


_current: list[Sweep] = []


@contextmanager
def within(sweep: Sweep | None) -> Iterator[None]:
    """Belong to a multirun, or to none, for a while."""
    before = list(_current)
    _current[:] = [] if sweep is None else [sweep]
    try:
        yield
    finally:
        _current[:] = before


def current() -> Sweep | None:
    """The multirun that is running in this process."""
    return _current[-1] if _current else None
