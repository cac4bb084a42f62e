from __future__ import annotations

import pytest

from autotune.cli.status import JobResult, summary, worst


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([0], 0),
        ([0, 3], 3),
        ([3, 2, 0], 2),
        ([2, 1, 3], 1),
        ([1, 130], 130),
        ([0, 77], 1),
        ([], 1),
    ],
)
def test_the_worst_status_is_returned(statuses, expected):
    assert worst(statuses) == expected


def test_the_summary_has_one_line_a_job():
    text = summary([JobResult("job 0", "model=a", 0), JobResult("job 1", "model=b", 3)])
    assert text.strip().splitlines() == [
        "job 0: done (0): model=a",
        "job 1: none beat the float32 baseline (3): model=b",
    ]
