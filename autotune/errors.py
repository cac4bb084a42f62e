"""Every error that this package raises on purpose.

    AutotuneError
    |-- UserError            a person's mistake: one line, exit status 2, nothing written
    |   |-- ConfigError      a key, value or combination in the configuration
    |   |-- DataError        a dataset that is missing, unreadable, corrupt or not what was declared
    |   `-- HardwareError    a device that is absent, or a profile that cannot be honoured
    |-- TrackingError        runs that cannot be written to their store: they wait, and the study goes on
    `-- TrialFault           local to one trial: recorded with its failure kind, the study goes on

A message states the rule, then "but got" and the value, then the remedy, in one line.
"""

from __future__ import annotations


class AutotuneError(Exception):
    """Base of the tree; never raised itself."""


class UserError(AutotuneError):
    """A person's mistake. Its text is one line: what is wrong and what to do about it."""

    def __str__(self) -> str:
        return " ".join(super().__str__().split())


class ConfigError(UserError):
    """A configuration key, value or combination of values that cannot work."""


class DataError(UserError):
    """A dataset that is missing, unreadable, corrupt or not what was declared."""


class HardwareError(UserError):
    """A device that is not there, or a hardware profile that cannot be honoured."""


class TrackingError(AutotuneError):
    """Runs that cannot be written to their store. The local record has everything; the study goes on."""


class TrialFault(AutotuneError):
    """A trial that could not be measured.

    Args:
        kind: a value of `autotune.trial.FailureKind`.
        message: what happened, for a person; one line.
        detail: more evidence, such as the tail of a traceback.
    """

    def __init__(self, kind: str, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.detail = detail
