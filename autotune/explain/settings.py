"""A trial's settings as they were in force, by name, so that trials can be compared one setting at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autotune.record.view import TrialView
from autotune.trial import Xla

NAMES = ("policy", "batch", "XLA", "widths", "steps per execution", "accumulation", "TF32", "pipeline")
"""As reports call them."""

_ORDERED = tuple(map(NAMES.index, ("batch", "steps per execution", "accumulation")))


@dataclass(frozen=True, slots=True)
class Settings:
    """One value for each of `NAMES`, in their order."""

    values: tuple[Any, ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[NAMES.index(name)]

    def text(self, name: str) -> str:
        """A value as people write it."""
        value = self[name]
        if value is None:
            return "default"
        if isinstance(value, bool):
            return "on" if value else "off"
        return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)

    def is_mixed_of(self, one: Settings, other: Settings) -> bool:
        """Whether each setting is one of theirs."""
        return all(value in pair for value, *pair in zip(self.values, one.values, other.values, strict=True))

    def lies_between(self, one: Settings, other: Settings) -> bool:
        """Whether each setting is one of theirs, or a number between them."""
        for place, (value, low, high) in enumerate(zip(self.values, one.values, other.values, strict=True)):
            if value in (low, high):
                continue
            if place not in _ORDERED or not min(low, high) < value < max(low, high):
                return False
        return True

    def progress(self, start: Settings, end: Settings) -> tuple[int, int]:
        """Sorts what lies between them: whatever lies between `start` and another comes before that one."""
        settled = len(changed(start, self)) - len(changed(self, end))
        return settled, sum(abs(self.values[place] - start.values[place]) for place in _ORDERED)


def settings_of(trial: TrialView) -> Settings:
    """As in force where the trial was measured, else as asked for."""
    asked, effect = trial.candidate, trial.probe.effect if trial.probe is not None else None
    return Settings(
        (
            str(asked.policy),
            asked.batch_size,
            effect.xla if effect is not None else asked.xla is Xla.ON,
            asked.widths,
            asked.steps_per_execution,
            asked.accumulation,
            effect.tf32 if effect is not None else asked.tf32,
            asked.pipeline,
        )
    )


def changed(old: Settings, new: Settings) -> tuple[str, ...]:
    """Names of the settings that differ."""
    pairs = zip(NAMES, old.values, new.values, strict=True)
    return tuple([name for name, before, after in pairs if before != after])
