from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace

import pytest

from autotune import codec
from autotune.trial import (
    AccuracyVerdict,
    Candidate,
    Confirmation,
    Effect,
    Failure,
    FailureKind,
    Interval,
    LayerEffect,
    Policy,
    Probe,
    Products,
    Recipe,
    TimingVerdict,
    Xla,
)
from tests.sample_study import sample_events


def layer(dtype: str, flops: int | None, parameters: int = 0) -> LayerEffect:
    return LayerEffect("layer", "Dense", dtype, "float32", parameters, flops, 1)


def effect(*layers: LayerEffect) -> Effect:
    return Effect(False, layers, "float32", False, "SGD", None, False, "CPU")


CANDIDATE = Candidate(Policy("mixed_bfloat16"), 128, Xla.ON, (3008, 1024), 8)
PROBE = Probe(CANDIDATE, effect(), (4.0, 2.0, 9.0), (), 10, (30.0,), 0.5, 2.0, None, 1.0, True)


@pytest.mark.parametrize(
    ("name", "is_float32", "dtype"),
    [
        ("float32", True, "float32"),
        ("mixed_float16", False, "float16"),
        ("mixed_bfloat16", False, "bfloat16"),
        ("bfloat16", False, "bfloat16"),
    ],
)
def test_policy(name: str, is_float32: bool, dtype: str) -> None:
    policy = Policy(name)
    assert (policy.is_float32, policy.compute_dtype, str(policy)) == (is_float32, dtype, name)


def test_a_policy_names_the_layers_that_it_leaves_in_float32() -> None:
    policy = Policy("mixed_float16", ("dense_2", "block/norm"))
    assert str(policy) == "mixed_float16 (float32: dense_2, block/norm)"
    assert (policy.is_float32, policy.compute_dtype) == (False, "float16")
    assert policy != Policy("mixed_float16")


def test_a_policy_of_an_older_record_leaves_none_in_float32() -> None:
    plain = codec.plain(CANDIDATE)
    assert plain["policy"].pop("float32_layers") == []
    assert plain["policy"] == {"name": "mixed_bfloat16"}
    assert codec.restore(Candidate, plain) == CANDIDATE


def test_a_candidate_is_named_by_all_its_settings() -> None:
    assert str(CANDIDATE) == "mixed_bfloat16 batch=128 xla=on widths=3008-1024 steps_per_execution=8"
    assert str(Candidate(Policy("float32"), 32, Xla.AUTO, ())) == (
        "float32 batch=32 xla=auto widths=none steps_per_execution=1"
    )
    others = [
        replace(CANDIDATE, policy=Policy("float32")),
        replace(CANDIDATE, batch_size=64),
        replace(CANDIDATE, xla=Xla.OFF),
        replace(CANDIDATE, widths=(3008,)),
        replace(CANDIDATE, steps_per_execution=1),
    ]
    assert len({str(candidate) for candidate in [CANDIDATE, *others]}) == 6, "predictions are keyed by it"


def test_values_are_frozen_and_hashable() -> None:
    assert len({CANDIDATE, replace(CANDIDATE)}) == 1
    with pytest.raises(FrozenInstanceError):
        CANDIDATE.batch_size = 1  # type: ignore[misc]


def test_a_failure_is_named_by_its_kind() -> None:
    assert str(Failure(FailureKind.OOM, "no memory", "a long trace")) == "oom: no memory"


@pytest.mark.parametrize(
    ("blocks", "median"),
    [((7.0,), 7.0), ((4.0, 2.0, 9.0), 4.0), ((4.0, 1.0, 2.0, 9.0), 3.0), ((2.0, 2.0, 2.0, 200.0), 2.0)],
)
def test_step_time_is_the_median_over_blocks(blocks: tuple[float, ...], median: float) -> None:
    assert replace(PROBE, block_step_ms=blocks).step_time_ms == median


def test_throughput_is_examples_a_second() -> None:
    assert PROBE.examples_per_s == pytest.approx(32_000)  # 128 in 4 ms
    assert replace(PROBE, candidate=replace(CANDIDATE, batch_size=32)).examples_per_s == pytest.approx(8_000)


def test_neither_warm_up_nor_steps_a_call_enter_the_step_time() -> None:
    other = replace(PROBE, warmup_step_ms=(1e6,), steps_per_block=999, candidate=replace(CANDIDATE, batch_size=128))
    assert other.step_time_ms == PROBE.step_time_ms
    single = replace(PROBE, candidate=replace(CANDIDATE, steps_per_execution=1))
    assert single.examples_per_s == PROBE.examples_per_s


def test_compile_time_is_the_first_call_less_its_steps() -> None:
    # The call of 2 s holds 8 steps of 4 ms.
    assert PROBE.compile_s == pytest.approx(2.0 - 0.032)
    assert replace(PROBE, candidate=replace(CANDIDATE, steps_per_execution=1)).compile_s == pytest.approx(1.996)
    assert replace(PROBE, first_step_s=0.01).compile_s == 0, "a first call shorter than a later one is noise"


def test_share_of_16_bit_is_by_flops() -> None:
    mixed = effect(layer("float16", 600), layer("bfloat16", 150), layer("float32", 250))
    assert mixed.share_16bit == 0.75
    assert mixed.flops_per_example == 1000
    assert effect(layer("float32", 10)).share_16bit == 0
    assert effect(layer("float16", 10)).share_16bit == 1


def test_layers_of_unknown_flops_are_not_guessed() -> None:
    known = effect(layer("float16", 300), layer("float32", 100), layer("float32", None))
    assert known.share_16bit == 0.75
    assert known.flops_per_example == 400
    assert effect(layer("float16", None)).share_16bit == 0
    assert effect().share_16bit == 0


def test_a_traced_step_is_believed_before_its_layers() -> None:
    declared = effect(layer("float16", 600), layer("float32", 400))
    assert not declared.is_traced
    traced = replace(declared, products=(Products("float32", 4, 900), Products("bfloat16", 1, 100)))
    assert traced.is_traced
    assert (traced.share_16bit, traced.effective_dtype) == (0.1, "float32")
    unknown = replace(declared, products=(Products("float32", 4, 0),))
    assert not unknown.is_traced
    assert (unknown.share_16bit, unknown.effective_dtype) == (0.6, "float16")


@pytest.mark.parametrize(
    ("layers", "dtype"),
    [
        ((), "float32"),
        ((layer("float16", 600), layer("float32", 400)), "float16"),
        ((layer("float32", 400), layer("float16", 600)), "float16"),
        ((layer("float32", 300), layer("bfloat16", 250), layer("float32", 100)), "float32"),
        ((layer("float16", 100), layer("bfloat16", 60), layer("bfloat16", 60)), "bfloat16"),
        ((layer("bfloat16", None), layer("float32", 1)), "float32"),
    ],
)
def test_the_effective_dtype_is_that_of_most_flops(layers: tuple[LayerEffect, ...], dtype: str) -> None:
    assert effect(*layers).effective_dtype == dtype


def test_parameters_are_those_of_all_layers() -> None:
    assert effect(layer("float32", 1, 30), layer("float16", None, 12)).parameters == 42


def test_half_width_is_relative_to_the_estimate() -> None:
    assert Interval(2.0, 1.9, 2.3, 0.95, 10, "").relative_half_width == pytest.approx(0.1)
    assert Interval(-2.0, -2.3, -1.9, 0.95, 10, "").relative_half_width == pytest.approx(0.1)
    assert Interval(0.0, -1.0, 1.0, 0.95, 10, "").relative_half_width == math.inf


def test_a_recipe_says_how_long_it_is() -> None:
    assert str(Recipe(45000, 50, 32, "sgd", 0.01, 0.01, "linear", "cosine", 0, 70300)) == "45,000 examples x 50 epochs"


def confirmations() -> list[Confirmation]:
    return [event.confirmation for event in sample_events() if hasattr(event, "confirmation")]


def test_success_is_faster_and_pass() -> None:
    winner = confirmations()[0]
    assert winner.succeeded
    assert winner.accuracy is not None
    for timing in TimingVerdict:
        assert replace(winner, verdict=timing).succeeded is (timing is TimingVerdict.FASTER)
    for verdict in AccuracyVerdict:
        accuracy = replace(winner.accuracy, verdict=verdict)
        assert replace(winner, accuracy=accuracy).succeeded is (verdict is AccuracyVerdict.PASS)
    assert not replace(winner, accuracy=None).succeeded
