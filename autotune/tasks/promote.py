"""`task=promote`: a person moves the registry's alias `production` to the candidate version."""

from __future__ import annotations

import sys
from pathlib import Path

from autotune.config.schema import Config
from autotune.tracking import names
from autotune.tracking.promote import promote as move_alias
from autotune.tracking.uri import store_in_force


def promote(config: Config) -> int:
    """Point `production` at the version with the alias `candidate`, show its evidence and return 0.

    Raises:
        UserError: there is no such model or version.
    """
    store = store_in_force(config.tracking, Path(config.output.root))
    done = move_alias(store, names.registered_model(config))
    before = f" (before: version {done.previous})" if done.previous else ""
    sys.stdout.write(f"{done.registered_model}: production is now version {done.version}{before}\n")
    for key, value in sorted(done.evidence.items()):
        sys.stdout.write(f"  {key} = {value}\n")
    return 0
