from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.decide.health import departure, probe_failure, training_failure
from autotune.trial import (
    Candidate,
    Effect,
    EpochPoint,
    FailureKind,
    LayerEffect,
    Pipeline,
    Policy,
    Probe,
    Products,
    Recipe,
    TrainingRun,
    Xla,
)

F32, F16, BF16 = Policy("float32"), Policy("mixed_float16"), Policy("mixed_bfloat16")


def layer(dtype: str, flops: int | None, kind: str = "Dense", parameters: int = 10) -> LayerEffect:
    return LayerEffect(kind.lower(), kind, dtype, "float32", parameters, flops, 4)


def weightless(dtype: str) -> LayerEffect:
    return layer(dtype, 0, "Activation", parameters=0)


def effect(*layers: LayerEffect, xla: bool = False, output: str = "float32", deterministic: bool = False) -> Effect:
    return Effect(xla, layers, output, False, "SGD", None, deterministic, "CPU")


def candidate(policy: Policy, xla: Xla = Xla.OFF) -> Candidate:
    return Candidate(policy, 32, xla, (8,))


MIXED16 = effect(layer("float16", 100), layer("float32", 10))
MIXED_BF16 = effect(layer("bfloat16", 100), layer("float32", 10))
PLAIN = effect(layer("float32", 100), layer("float32", 10))


@pytest.mark.parametrize(
    ("asked", "got"),
    [
        (candidate(F32), PLAIN),
        (candidate(F16), MIXED16),
        (candidate(BF16), MIXED_BF16),
        (candidate(F32, Xla.ON), replace(PLAIN, xla=True)),
        (candidate(F32, Xla.AUTO), PLAIN),
        (candidate(F32, Xla.AUTO), replace(PLAIN, xla=True)),  # auto asks for nothing
    ],
)
def test_what_was_asked_for_is_in_force(asked: Candidate, got: Effect) -> None:
    assert departure(asked, got) is None


@pytest.mark.parametrize(
    ("asked", "got", "kind", "words"),
    [
        (candidate(F16), replace(MIXED16, output_dtype="float16"), FailureKind.INVALID, "output is float16"),
        (candidate(F32, Xla.ON), PLAIN, FailureKind.UNSUPPORTED, "asked to be on but is off"),
        (candidate(F32, Xla.OFF), replace(PLAIN, xla=True), FailureKind.UNSUPPORTED, "asked to be off but is on"),
        (candidate(F32, Xla.ON), replace(PLAIN, deterministic=True), FailureKind.UNSUPPORTED, "determinism"),
        (candidate(F16), PLAIN, FailureKind.UNSUPPORTED, "no layer computes in float16"),
        (candidate(BF16), PLAIN, FailureKind.UNSUPPORTED, "no layer computes in bfloat16"),
        (candidate(F32), MIXED16, FailureKind.INVALID, "float32 was asked for"),
    ],
)
def test_a_departure_is_typed_and_explained(asked: Candidate, got: Effect, kind: FailureKind, words: str) -> None:
    failure = departure(asked, got)
    assert failure is not None
    assert failure.kind is kind
    assert words in failure.message


def test_a_model_whose_flops_are_unknown_may_compute_in_16_bit() -> None:
    transformer = effect(layer("float16", None, "EinsumDense"), layer("float32", 10))  # its head is float32, as it must
    assert departure(candidate(F16), transformer) is None


def test_float32_is_not_float32_when_an_attention_layer_computes_in_float16() -> None:
    assert departure(candidate(F32), effect(layer("float16", None, "EinsumDense"), layer("float32", 10))) is not None


def test_float16_layers_are_not_what_bfloat16_asked_for() -> None:
    failure = departure(candidate(BF16), MIXED16)
    assert failure is not None
    assert "no layer computes in bfloat16" in failure.message
    assert "(float16, float32)" in failure.message, "what they compute in instead"


def test_one_layer_with_another_16_bit_dtype_is_a_departure() -> None:
    failure = departure(candidate(BF16), effect(layer("bfloat16", 100), layer("float16", 1)))
    assert failure is not None
    assert failure.kind is FailureKind.INVALID
    assert failure.message == "bfloat16 was asked for, but some layers compute in float16"


def test_layers_without_weights_neither_meet_a_policy_nor_depart_from_it() -> None:
    failure = departure(candidate(F16), effect(weightless("float16"), layer("float32", 100)))
    assert failure is not None
    assert failure.kind is FailureKind.UNSUPPORTED
    assert departure(candidate(F32), effect(weightless("float16"), layer("float32", 100))) is None
    assert departure(candidate(F16), effect(layer("float16", 100), weightless("bfloat16"))) is None
    assert departure(candidate(F16), effect(weightless("float32"))) is None, "nothing that could depart"


TRACED_F32 = (Products("float32", 3, 900),)
TRACED_F16 = (Products("float16", 2, 800), Products("float32", 1, 100))


def test_layers_that_cast_all_they_multiply_do_not_compute_in_16_bit() -> None:
    failure = departure(candidate(F16), replace(MIXED16, products=TRACED_F32))
    assert failure is not None
    assert failure.kind is FailureKind.UNSUPPORTED
    assert "layers say that they compute in float16, but the training step multiplies in float32 alone" in str(failure)
    assert departure(candidate(F16), replace(MIXED16, products=TRACED_F16)) is None
    assert departure(candidate(BF16), replace(MIXED_BF16, products=TRACED_F16)) is not None


@pytest.mark.parametrize("products", [(), (Products("float32", 3, 0),)])
def test_a_step_of_which_nothing_is_known_is_no_departure(products: tuple[Products, ...]) -> None:
    assert departure(candidate(F16), replace(MIXED16, products=products)) is None


def test_a_persons_own_cast_is_part_of_their_float32_model() -> None:
    assert departure(candidate(F32), replace(PLAIN, products=TRACED_F16)) is None


SCALING = replace(MIXED16, loss_scaling=True, own_train_step=True, scales_loss=True)


def test_an_own_step_that_does_not_scale_its_loss_is_told_what_to_add() -> None:
    failure = departure(candidate(F16), replace(SCALING, scales_loss=False))
    assert failure is not None
    assert failure.kind is FailureKind.INVALID
    assert "does not scale its loss, so that SGD gets gradients divided by" in failure.message
    assert "`loss = self.optimizer.scale_loss(loss)`" in failure.message
    assert probe_failure(probe(candidate(F16), replace(SCALING, scales_loss=False))) == failure
    assert training_failure(replace(GOOD, effect=replace(SCALING, scales_loss=False)), 0.2) == failure


@pytest.mark.parametrize(
    "effect",
    [SCALING, replace(SCALING, scales_loss=None), replace(SCALING, loss_scaling=False, scales_loss=False)],
)
def test_a_step_that_scales_or_need_not_or_does_not_tell(effect: Effect) -> None:
    assert departure(candidate(F16), effect) is None


@pytest.mark.parametrize(
    ("asked", "got", "words"),
    [
        ({"accumulation": 4}, {}, "micro-batches per optimizer step: 4 was asked for, but is 1"),
        ({}, {"accumulation": 2}, "micro-batches per optimizer step: 1 was asked for, but is 2"),
        ({"tf32": False}, {"tf32": True}, "TF32: off was asked for, but is on"),
        ({"tf32": True}, {"tf32": False}, "TF32: on was asked for, but is off"),
        ({"pipeline": Pipeline.DEVICE}, {}, "input pipeline: device was asked for, but is host"),
        ({"tf32": False}, {"tf32": None}, None),  # a device without TF32 does as asked
        ({}, {"tf32": True}, None),  # left to the framework
        ({"accumulation": 2, "tf32": True}, {"accumulation": 2, "tf32": True}, None),
    ],
)
def test_a_setting_that_is_searched_only_when_asked_for_is_in_force(asked: dict, got: dict, words: str | None) -> None:
    failure = departure(replace(candidate(F32), **asked), replace(effect(layer("float32", 10)), **got))
    assert (failure.message if failure else None) == words


def probe(asked: Candidate, got: Effect, *, finite: bool = True) -> Probe:
    return Probe(asked, got, (1.0,), (), 1, (), 0.1, 0.1, None, 1.0 if finite else None, finite)


def test_a_probe_counts_when_it_did_what_was_asked_with_a_finite_loss() -> None:
    assert probe_failure(probe(candidate(F16), MIXED16)) is None
    failure = probe_failure(probe(candidate(F16), MIXED16, finite=False))
    assert failure is not None
    assert failure.kind is FailureKind.NAN


def test_a_departure_explains_more_than_a_loss_that_is_not_finite() -> None:
    failure = probe_failure(probe(candidate(F16), replace(MIXED16, output_dtype="float16"), finite=False))
    assert failure is not None
    assert failure.kind is FailureKind.INVALID


RECIPE = Recipe(3200, 1, 32, "sgd", 0.01, 0.01, "linear", "cosine", 0, 100)
GOOD = TrainingRun(candidate(F16), 0, RECIPE, 0.9, (), 98, 2, 8192.0, True, 1.0, "w", MIXED16)


@pytest.mark.parametrize(
    "run",
    [
        GOOD,
        replace(GOOD, iterations=100, skipped_steps=0, loss_scale=None),
        replace(GOOD, iterations=80, skipped_steps=20),  # just within a fifth
        replace(GOOD, loss_scale=1.0),
    ],
)
def test_a_training_that_counts(run: TrainingRun) -> None:
    assert training_failure(run, max_skipped_share=0.2) is None


@pytest.mark.parametrize(
    ("run", "kind", "words"),
    [
        (replace(GOOD, iterations=0, skipped_steps=100, loss_scale=0.5), FailureKind.NAN, "collapse"),
        (replace(GOOD, iterations=79, skipped_steps=21), FailureKind.NAN, "skipped 21 of 100 steps"),
        (replace(GOOD, iterations=104, skipped_steps=0), FailureKind.INVALID, "104 optimizer steps"),
        (replace(GOOD, iterations=96, skipped_steps=2), FailureKind.INVALID, "96 optimizer steps"),
        (replace(GOOD, loss_finite=False), FailureKind.NAN, "training loss"),
        (replace(GOOD, metric=None), FailureKind.NAN, "metric"),
        # One that was stopped was not evaluated at its end, unless what stopped it was a loss of NaN.
        (replace(GOOD, iterations=48, metric=None), FailureKind.INVALID, "48 optimizer steps"),
        (replace(GOOD, iterations=48, metric=None, loss_finite=False), FailureKind.NAN, "training loss"),
        (replace(GOOD, effect=PLAIN), FailureKind.UNSUPPORTED, "float16"),
    ],
)
def test_a_training_that_does_not_count_although_its_metric_may_look_fine(
    run: TrainingRun, kind: FailureKind, words: str
) -> None:
    failure = training_failure(run, max_skipped_share=0.2)
    assert failure is not None
    assert failure.kind is kind
    assert words in failure.message


def test_the_share_that_may_be_skipped_is_the_users() -> None:
    run = replace(GOOD, iterations=50, skipped_steps=50)
    assert training_failure(run, max_skipped_share=0.5) is None
    assert training_failure(run, max_skipped_share=0.49) is not None


def scales(*by_epoch: float | None) -> tuple[EpochPoint, ...]:
    return tuple(EpochPoint(epoch, 1.0, 0.9, 1.0 * epoch, scale) for epoch, scale in enumerate(by_epoch, start=1))


def test_a_scale_that_collapsed_and_came_back_has_collapsed() -> None:
    failure = training_failure(replace(GOOD, curve=scales(1024.0, 0.25, 4.0), loss_scale=4.0), 0.2)
    assert failure is not None
    assert failure.kind is FailureKind.NAN
    assert failure.message.startswith("loss-scale collapse: the scale fell to 0.25 in epoch 2, and 2 of 100 steps")


def test_the_end_of_training_is_told_by_its_epoch() -> None:
    failure = training_failure(replace(GOOD, curve=scales(1024.0, 0.5), loss_scale=0.5), 0.2)
    assert failure is not None
    assert "fell to 0.5 in epoch 2" in failure.message


def test_a_low_scale_is_no_collapse() -> None:
    assert training_failure(replace(GOOD, curve=scales(1024.0, 1.0, 2.0), loss_scale=2.0), 0.2) is None
    unscaled = replace(GOOD, curve=scales(None, None), loss_scale=None, iterations=100, skipped_steps=0)
    assert training_failure(unscaled, 0.2) is None


@pytest.mark.parametrize("path", ["dense", "block/dense"])
def test_a_layer_that_was_to_stay_in_float32_has_to(path: str) -> None:
    asked = candidate(Policy("mixed_float16", (path,)))
    other = layer("float16", 100, "Conv2D")
    assert departure(asked, effect(other, layer("float32", 100))) is None
    failure = departure(asked, effect(other, layer("float16", 100)))
    assert failure is not None
    assert failure.kind is FailureKind.UNSUPPORTED
    assert failure.message == "dense was asked to compute in float32, but computes in float16"
