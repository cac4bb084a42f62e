"""Findings and advice at their edges: facts made by hand, each with and without what a finding is about."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from autotune.config.hardware import DeviceKind
from autotune.explain.advice import advise, batch_sizes, conclusion
from autotune.explain.alignment import aligned_sizes
from autotune.explain.assumed import Host
from autotune.explain.findings import Severity
from autotune.explain.forecast import Forecaster, Setting
from autotune.explain.situation import Situation
from autotune.hardware.catalogue import bundled
from autotune.hardware.profile import Profile
from autotune.trial.anatomy import Compiled, LayerAnatomy, ModelAnatomy, Numbers, Ranges, StepAnatomy
from tests.explain.inspected import config, found
from tests.explain.made import CARD, cifar_mlp, model

QUICK = Host(0.0, 0.0, 0.0, "a host that takes no time")


def of(facts: ModelAnatomy, target: str | Profile = "rtx2080", host: Host | None = None, **settings: Any) -> Situation:
    profile = bundled(target) if isinstance(target, str) else target
    forecaster = Forecaster(facts, profile) if host is None else Forecaster(facts, profile, host)
    return Situation.of(config("made", **settings), facts, forecaster)


def ranges_of(facts: ModelAnatomy) -> Ranges:
    assert facts.ranges is not None
    return facts.ranges


def reduced_of(facts: ModelAnatomy) -> StepAnatomy:
    assert facts.reduced is not None
    return facts.reduced


def with_gradients(**gradients: Numbers) -> ModelAnatomy:
    facts = model(32, (16, 16), (16, 3))
    return replace(facts, ranges=replace(ranges_of(facts), gradients=gradients))


def test_a_zero_gradient_at_the_initial_weights_is_no_dead_weight() -> None:
    (zero,) = found("untrained-weights", of(with_gradients(dense_0=Numbers(0.0, 0.0), dense_1=Numbers(1.0, 0.0))))
    assert (zero.severity, zero.layer) == (Severity.HINT, "dense_0")
    assert "at the initial weights" in zero.why
    assert "trainable=False" not in zero.fix
    (none,) = found("untrained-weights", of(with_gradients(dense_1=Numbers(1.0, 0.0))))
    assert (none.severity, none.layer) == (Severity.WARNING, "dense_0")
    assert "trainable=False" in none.fix


def test_no_policy_is_advised_whose_trials_all_fail() -> None:
    facts = cifar_mlp()
    half = replace(reduced_of(facts), not_mended="the output is made by code", output_dtypes=("float16",))
    broken = of(replace(facts, reduced=half), batch_size=16384)
    assert any("mixed_float16" in one.override for one in advise(of(facts, batch_size=16384)))
    assert not any("mixed_float16" in one.override for one in advise(broken))
    assert "every trial in 16 bit would fail (the output is made by code)" in conclusion(broken)
    (finding,) = found("output-16-bit", broken)
    assert "every trial in it fails" in finding.why


@pytest.mark.parametrize("measured", [False, True])
def test_an_input_pipeline_that_is_slower_than_all_else_is_found(measured: bool) -> None:
    """Of a host measured here, the pipeline's own time is part of the step already."""
    facts = replace(cifar_mlp(), feed_ms=20.0)
    host = Host(0.5, 20.0, 1.0, "measured", 32) if measured else None
    assert found("input-bound", of(facts, host=host))
    quick = Host(0.5, 0.1, 1.0, "measured", 32) if measured else None
    assert not found("input-bound", of(replace(facts, feed_ms=0.1), host=quick))


def test_an_input_pipeline_that_is_too_slow_for_the_advised_batch_is_found() -> None:
    facts = cifar_mlp()
    (hit,) = found("input-bound", of(replace(facts, feed_ms=3.0)))
    assert hit.severity is Severity.HINT
    assert "3 ms on this host, so that one of 512 takes about 40.5 ms" in hit.why
    (own,) = found("input-bound", of(replace(facts, feed_ms=20.0)))
    assert own.severity is Severity.WARNING
    assert not found("input-bound", of(replace(facts, feed_ms=3.0), examples=500))  # no larger batch is advised


def test_a_measured_feed_grows_with_the_batch() -> None:
    facts = cifar_mlp()
    forecaster = Forecaster(facts, bundled("rtx2080"), Host(0.5, 2.0, 1.0, "measured", 32))
    own, larger = (forecaster.forecast(Setting("float32", size)) for size in (32, 256))
    assert own is not None
    assert larger is not None
    assert (own.input_ms, larger.input_ms) == (2.0, 16.0)


def test_no_batch_is_advised_that_train_examples_refuses() -> None:
    facts = cifar_mlp()
    assert facts.targets.examples == 45_000
    assert batch_sizes(of(facts, examples=1000)) == (32, 64)
    assert batch_sizes(of(facts))[-1] == 512


def test_tf32_that_is_turned_off_is_out_of_every_judgement() -> None:
    facts = cifar_mlp()
    on, off = (of(facts, "a100_sxm4_40gb", batch_size=16384, tf32=tf32) for tf32 in (None, False))
    (hint,) = found("tf32-already", on)
    assert hint.fix.startswith("train.tf32=false")
    assert not found("tf32-already", off)
    own, slower = on.own(), off.own()
    assert own is not None
    assert slower is not None
    assert slower.device_ms > 2 * own.device_ms
    half = [where.own("mixed_float16") for where in (on, off)]
    assert half[0] is not None
    assert half[1] is not None
    assert half[0].step_ms == half[1].step_ms


@pytest.mark.parametrize(
    ("compiled", "fix"),
    [
        (Compiled("mean_squared_error", "Adam", False), None),
        (Compiled("huber", "Adam", False), "train.loss=huber"),
        (Compiled("huber", "SGD", False), "train.loss=huber train.optimizer=sgd"),
        (Compiled("<lambda>", "SGD", False, known=False), "train.optimizer=sgd"),
        (Compiled("<lambda>", "Adam", False, known=False), "bare name"),
        (Compiled("mean_squared_error", "MyOwn", False), "bare name"),
        (Compiled("mean_squared_error", "Adam", False, from_logits=True), "bare name"),
    ],
)
def test_what_a_builder_compiles_with_is_compared_as_keras_spells_it(compiled: Compiled, fix: str | None) -> None:
    facts = replace(cifar_mlp(), compiled=compiled, optimizer="Adam", loss="mean_squared_error")
    hits = found("compile-ignored", of(facts, loss="mse", optimizer="adam"))
    assert [fix in hit.fix for hit in hits] == ([] if fix is None else [True])
    assert not any("<lambda>" in hit.fix for hit in hits)


def test_gradients_are_judged_where_they_are_float16() -> None:
    large = Numbers(1e6, 0.5, True, 0.5, 100)
    facts = with_gradients(dense_0=Numbers(1.0, 0.0, True, 0.0, 100), dense_1=large)
    where = of(facts)
    assert [hit.layer for hit in found("gradients-overflow", where)] == ["dense_1"]
    assert found("gradients-vanish-scaled", where)
    half = reduced_of(facts)
    last = replace(half.layers[1], output_dtype="float32")
    in_float32 = of(replace(facts, reduced=replace(half, layers=(half.layers[0], last, *half.layers[2:]))))
    assert not found("gradients-overflow", in_float32)
    assert not found("gradients-vanish-scaled", in_float32)
    assert not found("gradients-need-scaling", in_float32)


@pytest.mark.parametrize("target", ["tpu_v5e", "tpu_v6e"])
def test_a_matrix_unit_gains_nothing_from_less_than_its_width(target: str) -> None:
    """304 are padded to as many as 300."""
    assert not found("width-misaligned", of(model(128, (300, 300), (300, 10)), target))
    (hit,) = found("width-misaligned", of(model(128, (300, 1000), (1000, 10)), target))
    assert "1000 is no multiple of" in hit.why
    assert "the matrix unit is" in hit.why
    assert "1024 units" in hit.fix


def test_the_reason_for_a_width_is_that_of_its_multiple() -> None:
    (coarse,) = found("width-misaligned", of(model(128, (130, 130), (130, 10)), "a100_sxm4_40gb"))
    assert "130 is no multiple of 8 (tensor cores work best on multiples of 16 bytes)" in coarse.why
    (fine,) = found("width-misaligned", of(model(128, (130, 1000), (1000, 10)), "a100_sxm4_40gb"))
    assert "1000 is no multiple of 64 (data-centre parts work best on multiples of 128 bytes)" in fine.why


def as_convolution(layer: LayerAnatomy) -> LayerAnatomy:
    return replace(layer, products=tuple(replace(one, operation="Conv2D") for one in layer.products))


def test_a_batch_off_the_multiple_does_not_matter_to_convolutions() -> None:
    """Their products have as many rows as the batch has positions."""
    facts, settings = model(100, (64, 64), (64, 64), (64, 10)), {"target": "a100_sxm4_40gb", "batch_size": 100}
    assert found("batch-misaligned", of(facts, **settings))
    half = reduced_of(facts)
    first, second, *others = half.layers
    mixed = replace(half, layers=(as_convolution(first), second, *others))
    assert found("batch-misaligned", of(replace(facts, reduced=mixed), **settings))
    large = as_convolution(replace(first, products=tuple(replace(one, count=100) for one in first.products)))
    convolutional = replace(half, layers=(large, second, *others))
    assert not found("batch-misaligned", of(replace(facts, reduced=convolutional), **settings))
    sizes = aligned_sizes(large, bundled("a100_sxm4_40gb"), ["float16"], 100)
    assert [size.what for size in sizes] == ["inputs", "outputs"]


def test_large_inputs_matter_to_float16_alone() -> None:
    facts = cifar_mlp()
    facts = replace(facts, targets=replace(facts.targets, x_high=1e5))
    assert found("inputs-unscaled", of(facts))
    bfloat16 = replace(reduced_of(facts), policy="mixed_bfloat16")
    assert not found("inputs-unscaled", of(replace(facts, reduced=bfloat16)))


@pytest.mark.parametrize(("target", "xla"), [(CARD, True), (replace(CARD, kind=DeviceKind.cpu), False)])
def test_fixes_can_be_pasted_and_offer_what_can_be_had(target: Profile, xla: bool) -> None:
    facts = cifar_mlp()
    slow = Host(100.0, 10.0, 50.0, "a slow host")
    (hit,) = found("host-bound", of(facts, target, slow))
    words = hit.fix.split()
    assert words[:2] == ["train.batch_size=512", "search.steps_per_execution=[8]"]
    assert ("search.xla=[true]" in words) is xla
    assert all("=" in word and not word.endswith(",") for word in words)
    layers = facts.float32.layers
    stubborn = replace(facts, float32=replace(facts.float32, layers=(replace(layers[0], compiles=False), *layers[1:])))
    (refused,) = found("host-bound", of(stubborn, target, slow, examples=256))
    assert refused.fix == "search.steps_per_execution=[8]"  # no batch but one's own leaves enough steps
    assert not any("xla" in hit.fix for hit in found("many-small-kernels", of(stubborn, target, slow)))


def test_an_override_in_braces_is_quoted_for_a_shell() -> None:
    facts = replace(cifar_mlp(), epsilon=1e-7)
    half = reduced_of(facts)
    weights = replace(half.layers[0], variable_dtype="float16")
    (hit,) = found("optimizer-epsilon", of(replace(facts, reduced=replace(half, layers=(weights, *half.layers[1:])))))
    assert shlex.split(hit.fix)[0].rstrip(",") == "train.optimizer_args={epsilon: 1e-4}"
