"""The framework as a worker has it."""

from __future__ import annotations

import gc
from functools import cache


@cache
def set_aside() -> None:
    """Keep TensorFlow's own objects out of the collections that each model brings; see `framework.start`."""
    gc.collect()
    gc.freeze()
