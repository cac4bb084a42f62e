"""How long each request may take: what the configuration says, or more where what was measured lets expect more."""

from __future__ import annotations

from autotune.trial import Candidate, Recipe

# Importing the framework takes 5 to 10 s here, and can take a minute from a cold network disk.
_START_S = 300.0

# The first load may download gigabytes over a slow line; a later one finds them on the disk.
_FIRST_LOAD_S = 3600.0

# What takes this many times its expected time hangs.
_SLACK = 20.0


class TimeLimits:
    """Limits of one study.

    Args:
        trial_timeout_s: `search.trial_timeout_s`; no limit is shorter.
    """

    def __init__(self, trial_timeout_s: float) -> None:
        self.trial_s = trial_timeout_s
        self._load_s: float | None = None
        self._longest_s = 0.0
        self._step_time_ms: dict[Candidate, float] = {}

    def loaded(self, took_s: float) -> None:
        """The data was loaded once."""
        self._load_s = took_s if self._load_s is None else self._load_s

    def probed(self, candidate: Candidate, step_time_ms: float) -> None:
        """A candidate's step time is known."""
        self._step_time_ms[candidate] = step_time_ms

    def answered(self, took_s: float) -> None:
        """A request was answered."""
        self._longest_s = max(self._longest_s, took_s)

    @property
    def load_s(self) -> float:
        """For loading the data."""
        return max(self.trial_s, _FIRST_LOAD_S if self._load_s is None else _SLACK * self._load_s)

    @property
    def start_s(self) -> float:
        """For importing the framework, and for finding builder and metric."""
        return max(self.trial_s, _START_S)

    def training_s(self, candidate: Candidate, recipe: Recipe) -> float | None:
        """For a whole training; None for a candidate whose step time is not known: then its silence has the limit."""
        step_ms = self._step_time_ms.get(candidate)
        return None if step_ms is None else max(self.trial_s, _SLACK * recipe.total_steps * step_ms / 1e3)

    @property
    def after_training_s(self) -> float:
        """For exporting, reloading or registering a model: none takes longer than what came before it."""
        return max(self.trial_s, self._longest_s)
