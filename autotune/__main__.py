"""`python -m autotune` and the `autotune` command."""

from __future__ import annotations

import sys

from autotune.cli.command import main

if __name__ == "__main__":
    sys.exit(main())
