from __future__ import annotations

import math

import pytest

from autotune.report.pareto import pareto_front


def test_front_is_what_no_point_beats_in_order_of_the_first_coordinate():
    points = [(1.0, 0.44), (5.9, 0.4402), (5.0, 0.437), (8.4, 0.418), (3.0, 0.4403)]
    assert pareto_front(points) == [4, 1, 3]


def test_a_point_that_beats_all_is_the_whole_front():
    assert pareto_front([(1.0, 1.0), (2.0, 2.0), (2.0, 1.0), (1.0, 2.0)]) == [1]


def test_of_equal_first_coordinates_the_better_second_stays():
    assert pareto_front([(1.0, 0.1), (1.0, 0.3), (1.0, 0.2)]) == [1]


def test_equal_points_do_not_beat_each_other():
    assert sorted(pareto_front([(1.0, 0.3), (1.0, 0.3), (0.5, 0.3)])) == [0, 1]


def test_every_point_left_out_is_beaten_and_none_of_the_front_is():
    points = [((i * 37) % 11 / 2, (i * 53) % 13 / 4) for i in range(40)]

    def beaten(point: tuple[float, float]) -> bool:
        return any(o[0] >= point[0] and o[1] >= point[1] and o != point for o in points)

    front = pareto_front(points)
    assert all(beaten(points[i]) != (i in front) for i in range(len(points)))
    assert [points[i][0] for i in front] == sorted(points[i][0] for i in front)


def test_no_points_have_no_front():
    assert pareto_front([]) == []


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_point_without_a_figure_is_refused(bad: float):
    with pytest.raises(ValueError, match="finite"):
        pareto_front([(1.0, 0.5), (2.0, bad)])
