"""How much is tried: a few cases, the same in every run, or with `make fuzz` as many new ones as are asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.fuzz.terminal import Terminal

_CASES = int(os.environ.get("FUZZ_CASES", "0"))
_EVERY = {
    "deadline": None,  # the verdict has a limit of its own, on processor time
    "print_blob": True,
    # Without `explain`, which traces every line of Hydra and makes a case take a hundred times as long.
    "phases": [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    # A case takes a quarter of a second, and some are a hundred kilobytes long: both on purpose.
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
}

settings.register_profile("short", max_examples=6, derandomize=True, database=None, **_EVERY)
settings.register_profile(
    "long",
    max_examples=max(1, _CASES),
    # What failed comes first the next time, until it is mended.
    database=DirectoryBasedExampleDatabase(Path(__file__).parents[2] / ".pytest_cache" / "fuzz"),
    **_EVERY,
)
settings.load_profile("long" if _CASES else "short")


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with Terminal(tmp_path_factory.mktemp("fuzz")).opened() as terminal:
        yield terminal
