"""What the jobs of one call with `-m` have in common, and what tells one from another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from autotune.cli.flags import override_key
from autotune.sweep import Sweep


def sweep_of(overrides: Sequence[str], job: Sequence[str], began: datetime) -> Sweep:
    """The multirun of a job, without credentials.

    Args:
        overrides: as typed, for all jobs.
        job: the job's own, with one value each.
        began: when the call was made.
    """
    from autotune.config.environment import without_secrets
    from autotune.masking import masked

    keys = _swept(overrides)
    own = " ".join(override for override in job if override_key(override) in keys)
    over = f" over {', '.join(keys)}" if keys else ""
    return Sweep(f"{began:%Y-%m-%d %H:%M:%S}{over}", without_secrets(masked(own)))


def _swept(overrides: Sequence[str]) -> list[str]:
    """Keys that were given several values."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides(list(overrides))
    except (HydraException, ValueError):
        return []
    return [override_key(str(override.input_line)) for override in parsed if override.is_sweep_override()]
