"""Points and ceilings, worked out by hand for the 3072-3000-1000-10 perceptron."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.explain.roofline import Ceiling, least_ms, measured_roofline, moved_bytes, rates, step_flops
from autotune.hardware.catalogue import bundled
from autotune.record import events as ev
from autotune.record.view import StudyView
from tests.explain.studies import candidate, started, study
from tests.sample_anatomy import CALIBRATION, sample_anatomy
from tests.sample_study import WINNER, sample_events
from tests.sample_values import BF16

WEIGHTS = 3072 * 3000 + 3000 * 1000 + 1000 * 10
# Two products for the first layer, three for each other one.
FLOPS_AN_EXAMPLE = 2 * (2 * 3072 * 3000 + 3 * 3000 * 1000 + 3 * 1000 * 10)
# What the layers give and take: 3072 to 3000, 3000 to 1000, 1000 to 10.
ACTIVATIONS = (3072 + 3000) + (3000 + 1000) + (1000 + 10)


def bytes_of_a_step(batch: int, size: int) -> int:
    """Three passes of each layer, 8 bytes an example of the loss, and SGD: a weight read and written, its gradient."""
    return 3 * size * (batch * ACTIVATIONS + WEIGHTS) + 8 * batch + 12 * WEIGHTS


def inspected(view: StudyView, *, calibrated: bool = True) -> StudyView:
    anatomy = sample_anatomy()
    view.apply(ev.Inspected(replace(anatomy, calibration=CALIBRATION) if calibrated else anatomy, None))
    return view


def test_what_was_measured_on_the_machine_is_the_roof() -> None:
    found = measured_roofline(inspected(study((candidate(batch_size=128), 2.0))))
    assert found is not None
    source = "measured on this machine at the end of the study"
    assert found.ceilings == (Ceiling("float32", 10.0, source), Ceiling("bfloat16", 12.0, source))
    assert (found.bandwidth_gb_s, found.bandwidth_source) == (2000.0, source)


def test_a_point_is_flops_over_time_and_bytes() -> None:
    """Batch 128 at twice the speed: its step takes 2.1 ms x 4 / 2."""
    found = measured_roofline(inspected(study((candidate(batch_size=128), 2.0))))
    assert found is not None
    own, larger = found.points
    assert (own.trial, own.dtype, larger.trial, larger.dtype) == (0, "float32", 1, "float32")
    assert own.tflops == pytest.approx(32 * FLOPS_AN_EXAMPLE / 2.1e-3 / 1e12)
    assert larger.tflops == pytest.approx(128 * FLOPS_AN_EXAMPLE / 4.2e-3 / 1e12)
    assert own.flop_per_byte == pytest.approx(32 * FLOPS_AN_EXAMPLE / bytes_of_a_step(32, 4))
    assert larger.flop_per_byte == pytest.approx(128 * FLOPS_AN_EXAMPLE / bytes_of_a_step(128, 4))


def test_the_share_is_of_the_lower_roof() -> None:
    """Products' 10 TFLOP/s where 2,000 GB/s would allow more, and bandwidth's at 1 GB/s."""
    found = measured_roofline(inspected(study((candidate(batch_size=128), 2.0))))
    assert found is not None
    for point in found.points:
        assert 2.0 * point.flop_per_byte > 10
        assert point.share == pytest.approx(point.tflops / 10)
    slow = replace(CALIBRATION, bandwidth_gb_s=1.0)
    view = study((candidate(batch_size=128), 2.0))
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=slow), None))
    bound = measured_roofline(view)
    assert bound is not None
    assert bound.points[0].share == pytest.approx(bound.points[0].tflops / (0.001 * bound.points[0].flop_per_byte))


def test_flops_in_two_dtypes_each_run_at_their_own_rate() -> None:
    """Under a mixed policy the last layer stays in float32: 3 products of 1000 x 10."""
    view = inspected(study((candidate(policy=BF16), 1.1)))
    flops = step_flops(view.trials[1])
    last = 2 * 32 * 3 * 1000 * 10
    assert flops == {"bfloat16": 32 * FLOPS_AN_EXAMPLE - last, "float32": last}
    found = rates(view)
    assert found is not None
    assert least_ms(flops, found.profile) == pytest.approx((flops["bfloat16"] / 12e12 + last / 10e12) * 1e3)
    point = measured_roofline(view)
    assert point is not None
    assert point.points[1].dtype == "bfloat16"
    assert point.points[1].flop_per_byte == pytest.approx(32 * FLOPS_AN_EXAMPLE / bytes_of_a_step(32, 2))


def test_micro_batches_move_the_weights_once_each_and_the_optimizer_once() -> None:
    view = inspected(study((candidate(batch_size=64, accumulation=2), 1.1)))
    own = moved_bytes(view, view.trials[0], bundled("cpu_zen4"))
    parts = moved_bytes(view, view.trials[1], bundled("cpu_zen4"))
    assert own == bytes_of_a_step(32, 4)
    assert parts == 2 * (bytes_of_a_step(32, 4) - 12 * WEIGHTS) + 12 * WEIGHTS


def test_other_widths_than_the_users_own_have_no_bytes_and_no_point() -> None:
    view = inspected(study((candidate(widths=(3008, 1008)), 1.1)))
    assert moved_bytes(view, view.trials[1], bundled("cpu_zen4")) is None
    found = measured_roofline(view)
    assert found is not None
    assert [point.trial for point in found.points] == [0]


def test_a_policy_that_leaves_layers_in_float32_has_no_point() -> None:
    view = inspected(study((candidate(policy=replace(BF16, float32_layers=("class",))), 1.1)))
    found = measured_roofline(view)
    assert found is not None
    assert [point.trial for point in found.points] == [0]


def test_a_gpus_roof_is_as_published_and_float32_may_be_tf32() -> None:
    found = measured_roofline(StudyView.of(sample_events(inspected=True)))
    assert found is not None
    published = dict(bundled("rtx3090").peaks)
    assert {ceiling.dtype: ceiling.tflops for ceiling in found.ceilings} == published
    assert {ceiling.source for ceiling in found.ceilings} == {"published for NVIDIA GeForce RTX 3090"}
    assert found.bandwidth_gb_s == 936
    points = {point.trial: point for point in found.points}
    assert points[0].dtype == "tf32"
    assert WINNER not in points, "its widths are not the user's own"
    assert set(points) == {0, 1, 2, 5, 7, 8}


def test_a_rate_that_is_not_known_is_no_share() -> None:
    """float16 was not timed, since it is emulated."""
    view = inspected(study((candidate(policy=replace(BF16, name="mixed_float16")), 0.5)))
    found = measured_roofline(view)
    assert found is not None
    assert [point.share is None for point in found.points] == [False, True]


def test_without_an_anatomy_or_a_known_device_there_is_no_roofline() -> None:
    trials = (candidate(batch_size=128), 2.0)
    assert measured_roofline(StudyView()) is None
    assert measured_roofline(study(trials)) is None
    failed = study(trials)
    failed.apply(ev.Inspected(None, "oom: no memory"))
    assert measured_roofline(failed) is None
    assert measured_roofline(inspected(study(trials), calibrated=False)) is None, "a Zen 4's clock is not published"
    unknown = inspected(study(trials), calibrated=False)
    unknown.apply(started({"name": "something"}))
    assert measured_roofline(unknown) is None


def test_a_step_that_could_not_be_traced_has_no_point() -> None:
    view = inspected(study((candidate(batch_size=128), 2.0)))
    probe = view.trials[1].probe
    assert probe is not None
    view.trials[1].probe = replace(probe, effect=replace(probe.effect, products=()))
    found = measured_roofline(view)
    assert found is not None
    assert [point.trial for point in found.points] == [0]


def test_a_measured_rate_that_a_trial_has_beaten_is_not_used() -> None:
    """Others had the machine when it was measured: a step of 0.69 TFLOP/s is no 7 times what it can do."""
    view = study((candidate(batch_size=128), 2.0))
    busy = replace(CALIBRATION, tflops={"float32": 0.1, "bfloat16": 0.12})
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=busy), None))
    found = rates(view)
    assert found is not None
    assert not found.measured
    assert all(ceiling.source.startswith("published") for ceiling in found.ceilings)
