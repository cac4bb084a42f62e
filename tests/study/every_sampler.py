"""Every sampler there is, for tests that hold for all of them."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from autotune.config.search import Sampler

# With torch it takes about a second for each candidate.
_with_torch = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="a Gaussian process needs torch"),
]

EVERY_SAMPLER = [pytest.param(sampler, marks=_with_torch) if sampler is Sampler.gp else sampler for sampler in Sampler]
EVERY_THAT_LEARNS = [one for one, sampler in zip(EVERY_SAMPLER, Sampler, strict=True) if sampler.informed]
