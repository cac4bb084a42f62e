from __future__ import annotations

import pytest

from autotune.cli.override import check_jobs
from autotune.errors import ConfigError


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["a=1", "b=[1,2]", "~c"],
        ["a=1,2,3", "b=range(0,300)"],
        ["a=range(0,1,0.001)"],
        ["a=range(5,1)"],
        ["a=range(10000,0,-10)"],
        ["a=glob(*)", "b=interval(0,1)"],
        ["a=[1,"],
    ],
)
def test_a_thousand_jobs_are_allowed(overrides):
    check_jobs(overrides)


@pytest.mark.parametrize(
    ("overrides", "jobs"),
    [
        (["a=range(1001)"], "1,001"),
        (["a=range(0,40)", "b=" + ",".join(map(str, range(40)))], "1,600"),
        (["a=range(0,1,1e-12)"], "1,000,000,000,000"),
        (["a=range(0,1e30)"], "but got"),
        (["a=range(0,1,0)"], "inf"),
    ],
)
def test_more_jobs_are_refused_without_making_them(overrides, jobs):
    with pytest.raises(ConfigError, match="at most 1,000 jobs") as error:
        check_jobs(overrides)
    assert jobs in str(error.value)
