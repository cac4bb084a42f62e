"""Dimensions that are searched only when asked for, on real profiles and with bounds worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autotune.config.schema import Config
from autotune.config.search import InputPipeline
from autotune.hardware.device import Device
from autotune.space.build import baseline_candidate, build_space
from autotune.space.space import Space
from autotune.trial import Candidate, DatasetFacts, LeftOut, Pipeline, Probe
from tests.space.test_space import BOUNDS, CPU, F16, F32, HEAVY, OWN, PLENTY, RTX2060, RTX3090, config, probe, reasons

BOTH = [InputPipeline.host, InputPipeline.device]


def facts(train: int, inputs: int) -> DatasetFacts:
    return DatasetFacts("mine", train, 10, 10, (inputs,), 10, "made", "made")


def space(
    asked: Config,
    here: Device = RTX2060,
    data: DatasetFacts | None = None,
    effect: dict[str, Any] | None = None,
    own: Candidate | None = None,
    **baseline: Any,
) -> Space:
    own = own or baseline_candidate(asked, "GPU")
    measured: Probe = probe(own=own, **baseline)
    measured = replace(measured, effect=replace(measured.effect, **(effect or {})))
    return build_space(asked, here, here.profile, measured, PLENTY, data)


def of(built: Space, **settings: Any) -> set[int]:
    """Batches of float32 candidates of these settings."""
    return {
        one.batch_size
        for one in built.candidates()
        if one.policy == F32 and all(getattr(one, name) == value for name, value in settings.items())
    }


def test_nothing_of_it_is_searched_unless_asked_for() -> None:
    built = space(config(), effect={"tf32": True})
    assert (built.accumulations, built.tf32, built.pipelines) == ((1,), (None,), (Pipeline.HOST,))
    assert not any(one.further for one in built.candidates())
    assert not any(word in str(built.left_out) for word in ("accumulation", "TF32", "pipeline"))


def test_micro_batches_are_all_of_one_size() -> None:
    built = space(config(search={"accumulation": [1, 2, 3], "batch_sizes": [32, 48]}))
    assert of(built, accumulation=2) == {32, 48}
    assert of(built, accumulation=3) == {48}
    assert reasons(built)["accumulation 3 at batch 32"] == "3 does not divide 32"
    assert space(config(search={"accumulation": [1, 5], "batch_sizes": [32, 48]})).accumulations == (1,)


def test_a_batch_that_does_not_fit_at_once_is_tried_in_parts() -> None:
    """What is held at once is the micro-batch: 460 of float32 fit, and 410 beside one more value per weight."""
    built = space(config(search={"accumulation": [1, 2, 4], "batch_sizes": [256, 1024]}), **HEAVY)
    assert BOUNDS[F32] == 460
    assert of(built, accumulation=1) == {256}
    assert of(built, accumulation=2) == {256}
    assert of(built, accumulation=4) == {256, 1024}
    assert reasons(built)["batch 1024 in float32, in micro-batches above 460"] == "above the memory bound"
    # 0.9 x 6e9 B less 12 B for each of 100 million parameters, by 10 million B an example.
    assert dict(built.largest_micro_batch)[F32, True, Pipeline.HOST] == 420
    plain = space(config(search={"batch_sizes": [256, 1024]}), **HEAVY)
    assert reasons(plain)["batch 1024"].startswith("above the memory bound")


def test_a_moving_average_of_the_weights_leaves_accumulation_out() -> None:
    asked = config(search={"accumulation": [1, 2]}, train={"optimizer_args": {"use_ema": True}})
    built = space(asked)
    assert built.accumulations == (1,)
    assert "after each micro-batch" in reasons(built)["accumulation above 1"]


def test_tf32_is_a_choice_of_float32_where_the_device_has_it() -> None:
    """TensorFlow's default and `on` are one thing there: it is not measured twice."""
    built = space(config(search={"tf32": [True, False]}), RTX3090, effect={"tf32": True})
    assert built.tf32 == (None, False)
    assert {one.tf32 for one in built.candidates() if one.policy == F32} == {None, False}
    assert {one.tf32 for one in built.candidates() if one.policy == F16} == {None}


def test_tf32_departs_from_the_users_own_setting() -> None:
    asked = config(search={"tf32": [True, False]}, train={"tf32": False})
    built = space(asked, RTX3090, effect={"tf32": False})
    assert built.baseline.tf32 is False
    assert built.tf32 == (False, True)
    assert {one.tf32 for one in built.candidates() if one.policy == F16} == {False}


@pytest.mark.parametrize(
    ("here", "in_force", "what", "why"),
    [
        (CPU, None, "TF32 on or off", "compute capability 8.0"),
        (RTX2060, None, "TF32 on or off", "compute capability 8.0"),
        (RTX3090, False, "TF32 on", "NVIDIA_TF32_OVERRIDE"),
    ],
)
def test_where_there_is_no_choice_of_tf32_it_is_said(here: Device, in_force: bool | None, what: str, why: str) -> None:
    built = space(config(search={"tf32": [True, False]}), here, effect={"tf32": in_force})
    assert built.tf32 == (None,)
    assert why in reasons(built)[what]


def test_data_on_the_device_leave_less_room_for_the_batch() -> None:
    """100,000 examples of 5,000 inputs are 2.0008e9 B: of 4.6e9 B for activations 2.5992e9 are left, so 279."""
    asked = config(search={"pipeline": BOTH, "batch_sizes": [256, 320]})
    built = space(asked, data=facts(100_000, 5_000), **HEAVY)
    assert of(built, pipeline=Pipeline.HOST) == {256, 320}
    assert of(built, pipeline=Pipeline.DEVICE) == {256}
    assert dict(built.largest_micro_batch)[F32, False, Pipeline.DEVICE] == 279


def test_the_users_own_batch_is_bound_too_where_the_data_are_beside_it() -> None:
    """It has run here, but without them: 2.3e9 B leave 2.3e9 B / 10 million B = 229 of float32."""
    asked = config(search={"pipeline": BOTH, "batch_sizes": [256]}, train={"batch_size": 256})
    built = space(asked, data=facts(100_000, 5_750), **HEAVY)
    assert of(built, pipeline=Pipeline.DEVICE) == set()
    assert of(built, pipeline=Pipeline.HOST) == {256}


def test_data_that_do_not_fit_are_left_to_the_host() -> None:
    asked = config(search={"pipeline": BOTH})
    built = space(asked, data=facts(1_000_000, 5_000), **HEAVY)
    assert built.pipelines == (Pipeline.HOST,)
    assert (
        LeftOut("pipeline device", "the training examples do not fit into its memory beside the model")
        in built.left_out
    )


def test_on_a_cpu_the_data_are_there_already() -> None:
    asked = config(search={"pipeline": BOTH, "batch_sizes": [256]})
    built = space(asked, CPU, facts(10_000_000, 5_000), effect={"placed_on": "CPU"}, xla=False)
    assert of(built, pipeline=Pipeline.DEVICE) == {256}


def test_the_summary_tells_the_choices() -> None:
    asked = config(search={"accumulation": [1, 2], "pipeline": BOTH, "tf32": [False]})
    told = space(asked, RTX3090, effect={"tf32": True}).summary()
    assert (told.accumulation, told.tf32, told.pipeline) == ((1, 2), (None, False), ("host", "device"))
    assert told.size == len(set(space(asked, RTX3090, effect={"tf32": True}).candidates()))
    assert OWN in told.widths
