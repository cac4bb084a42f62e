from __future__ import annotations

import pytest

from autotune import sweep
from autotune.sweep import Sweep

MULTIRUN = Sweep("2026-11-30 08:46:14 over model", "model=cifar_mlp")


def test_a_process_belongs_to_a_multirun_for_as_long_as_it_lasts() -> None:
    assert sweep.current() is None
    with sweep.within(MULTIRUN):
        assert sweep.current() is MULTIRUN
        with sweep.within(None):
            assert sweep.current() is None
        assert sweep.current() is MULTIRUN
    assert sweep.current() is None


def test_a_job_that_fails_leaves_nothing_behind() -> None:
    with pytest.raises(KeyError), sweep.within(MULTIRUN):
        raise KeyError
    assert sweep.current() is None
