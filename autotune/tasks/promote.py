"""`task=promote`: a person moves the registry's alias `production` to the candidate version."""

from __future__ import annotations

import sys
from pathlib import Path

from autotune.config.schema import Config
from autotune.tracking import names
from autotune.tracking.promote import promote as move_alias
from autotune.tracking.promote import proposed
from autotune.tracking.uri import store_in_force


def promote(config: Config) -> int:
    """Show the evidence of the version with the alias `candidate`, point `production` at it and return 0.

    Raises:
        UserError: there is no such model or version.
    """
    store = store_in_force(config.tracking, Path(config.output.root))
    asked = proposed(store, names.registered_model(config))
    sys.stdout.write(f"{asked.registered_model}: the evidence for version {asked.version}\n")
    for key, value in sorted(asked.evidence.items()):
        sys.stdout.write(f"  {key} = {value}\n")
    sys.stdout.flush()
    move_alias(store, asked)
    before = f" (before: version {asked.previous})" if asked.previous else ""
    sys.stdout.write(f"{asked.registered_model}: production is now version {asked.version}{before}\n")
    return 0
