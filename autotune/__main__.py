"""`python -m autotune` and the `autotune` command."""

from __future__ import annotations

import gc
import os
import sys

# What is imported and composed stays until the end: to look for garbage among it takes a tenth of the time in which a
# typo is answered. A job has it on again (`autotune.cli.command`).
gc.disable()

# `python -m` puts the current folder first on the path, where a `yaml.py` or a Hydra plugin would be imported into this
# process, which needs nothing from there: to find a person's own modules is the worker's, if they are trusted.
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109 (the path holds text)
    del sys.path[0]

from autotune.cli.command import main  # noqa: E402 (collected for while it is imported, otherwise)

if __name__ == "__main__":
    sys.exit(main())
