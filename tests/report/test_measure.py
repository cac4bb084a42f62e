from __future__ import annotations

from autotune.report.measure import Measure
from autotune.trial import Interval

ACCURACY = Measure("accuracy", True, 0.01)
RMSE = Measure("rmse", False, 0.25)


def test_accuracy_is_in_per_cent_and_its_differences_in_percentage_points():
    assert ACCURACY.value(0.44196) == "44.20 %"
    assert ACCURACY.delta(-0.0018) == "-0.18 pp"
    assert ACCURACY.delta(0.0) == "+0.00 pp"
    assert ACCURACY.size(0.01) == "1.00 pp"
    assert ACCURACY.delta_interval(Interval(-0.0018, -0.0052, 0.0016, 0.955, 3, "t")) == "-0.18 pp [-0.52, +0.16]"


def test_another_metric_is_plain():
    assert RMSE.value(3.14159) == "3.142"
    assert RMSE.delta(-0.1234) == "-0.123"
    assert RMSE.size(0.25) == "0.25"


def test_unknown_is_never_a_zero():
    assert (ACCURACY.value(None), ACCURACY.delta(None), ACCURACY.size(None)) == ("-", "-", "-")


def test_a_better_difference_lowers_a_metric_that_is_better_low():
    assert ACCURACY.shifted(0.44, 0.01) == 0.45
    assert RMSE.shifted(3.0, 0.5) == 2.5
