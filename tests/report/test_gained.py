from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.explain.ablation import Decomposition, Factor
from autotune.report import gained
from tests.sample_values import one_process

STEPS = (
    Factor("batch 32 -> 128", 2, 0, 2.49, 2.40, 2.56),
    Factor("XLA off -> on", 4, 2, 1.03, None, None),
)
WHOLE = Decomposition(STEPS, one_process((2.5, 2.6, 2.7)), 1.014, ("widths: no two trials differ in it alone",))


def test_in_short_it_is_the_factors_and_where_they_are_from():
    expected = "batch 32 -> 128 2.49x, XLA off -> on 1.03x, not accounted for 1.01x (screening)"
    assert gained.in_short(WHOLE) == expected


@pytest.mark.parametrize("rest", [None, 1.0, 1.004])
def test_a_rest_that_is_rounding_is_not_told(rest: float | None):
    found = replace(WHOLE, rest=rest)
    assert "accounted" not in " ".join([gained.in_short(found), *gained.lines(found)])


def test_each_line_names_both_trials_and_an_interval_only_where_there_is_one():
    first, second, together, rest, missing = gained.lines(WHOLE)
    assert first == "batch 32 -> 128: 2.49x [2.40, 2.56] (trial 2 over trial 0)"
    assert second == "XLA off -> on: 1.03x (trial 4 over trial 2)"
    assert together.startswith("together: 2.60x [2.50, 2.70], trial 4 over the baseline; screening")
    assert rest == "not accounted for by these: 1.01x"
    assert missing == "not told apart: widths: no two trials differ in it alone"
