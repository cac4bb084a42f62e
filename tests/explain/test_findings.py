"""Every kind of finding on a small model that has the fault, and on one that has not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from autotune.config.schema import CandidateConfig
from autotune.explain.assumed import PUBLISHED_HOST, Host
from autotune.explain.findings import KINDS, Severity
from autotune.explain.situation import Situation
from tests.explain.inspected import facts, found, situation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Gradients do not exist:UserWarning"),  # it is what two of the faults are about
    pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning"),  # and another
]


@dataclass(frozen=True)
class Case:
    """A builder, the data it is for, and how it is asked."""

    builder: str = "sound"
    data: str = "features"
    target: str = "rtx2060"
    policy: str = "mixed_float16"
    batch_size: int = 32
    optimizer: str = "adam"
    loss: str = "auto"
    at_batch: int | None = None  # what the forecast is made for, without another trace
    asked: str = "float32"
    host: Host = PUBLISHED_HOST
    more: dict[str, Any] = field(default_factory=dict)

    def situation(self) -> Situation:
        anatomy = facts(self.builder, self.data, self.policy, self.batch_size, self.optimizer, self.loss)
        batch = self.at_batch or self.batch_size
        made = situation(
            replace(anatomy, **self.more), self.target, batch_size=batch, optimizer=self.optimizer, loss=self.loss
        )
        made = replace(made, forecaster=replace(made.forecaster, host=self.host))
        made.config.candidate = CandidateConfig(policy=self.asked)
        return made


QUICK = Host(0.01, 0.0, 0.1, "a host that takes no time")
FAR = {"data": "far targets", "optimizer": "sgd"}
IMAGES, SERIES = {"data": "images"}, {"data": "series"}

# kind: with the fault, the layer it is found in, without the fault
CASES: dict[str, tuple[Case, str, Case]] = {
    "output-16-bit": (Case("plain_head"), "head", Case()),
    "softmax-16-bit": (Case("softmax_in_policy"), "probabilities", Case()),
    "never-16-bit": (Case("all_float32"), "", Case()),
    "layer-never-16-bit": (Case("one_float32"), "full", Case()),
    "dtype-changes": (Case("float32_between"), "between", Case()),
    "own-casts": (Case("own_casts"), "own", Case("own_sound")),
    "weights-16-bit": (Case("weights_in_float16"), "hidden", Case()),
    "optimizer-epsilon": (Case("weights_in_float16"), "hidden", Case("weights_in_float16", optimizer="sgd")),
    "baseline-16-bit": (Case("weights_in_float16"), "hidden", Case()),
    "constant-overflows": (Case("overflowing"), "own", Case("own_sound")),
    "mask-overflows": (Case("masked"), "own", Case("mask_sound")),
    "constant-vanishes": (Case("vanishing"), "own", Case("epsilon_sound")),
    "float64": (Case("in_float64"), "own", Case("own_sound")),
    "policy-fails": (Case("only_float32"), "", Case()),
    "model-reused": (Case("reused"), "", Case()),
    "activation-overflows": (Case("huge_weights"), "hidden", Case()),
    "not-finite": (Case("undefined"), "own", Case("epsilon_sound")),
    "activation-vanishes": (Case("tiny"), "own", Case("own_sound")),
    "gradients-vanish-scaled": (Case("hardly"), "", Case("own_sound")),
    "gradients-need-scaling": (Case("little"), "", Case("own_sound")),
    "gradients-overflow": (Case("regression", **FAR), "hidden", Case("regression", "targets")),
    "inputs-unscaled": (Case(data="large inputs"), "", Case()),
    "loss-16-bit": (Case("half_step"), "", Case("own_step")),
    "no-loss-scaling": (Case("unscaled_step"), "", Case("own_step")),
    "clips-scaled-gradients": (Case("clipped_step"), "", Case("own_step")),
    "sigmoid-categorical": (Case("sigmoids"), "head", Case()),
    "double-softmax": (Case("twice"), "head", Case()),
    "logits-as-probabilities": (Case("logits"), "head", Case()),
    "labels-beyond-outputs": (Case("too_few"), "head", Case()),
    "targets-unscaled": (Case("regression", **FAR), "", Case("regression", "targets")),
    "compile-ignored": (Case("compiled_otherwise"), "", Case("compiled_alike")),
    "run-eagerly": (Case("eager"), "", Case("compiled_alike")),
    "width-misaligned": (Case("width_1003"), "hidden", Case("width_1008")),
    "batch-misaligned": (Case(batch_size=30), "", Case()),
    "vocabulary-misaligned": (Case("embedding_5003", "ids"), "tokens", Case("embedding_5008", "ids")),
    "few-channels": (Case("three_channels", **IMAGES), "first", Case("many_channels", **IMAGES)),
    "grouped-convolution": (Case("depthwise", **IMAGES), "deep", Case("three_channels", **IMAGES)),
    "last-batch-partial": (Case(batch_size=30), "", Case()),
    "policy-without-hardware": (
        Case(policy="mixed_bfloat16", asked="mixed_bfloat16"),
        "",
        Case(policy="mixed_bfloat16", asked="mixed_bfloat16", target="a100_sxm4_40gb"),
    ),
    "no-16-bit-hardware": (Case(target="p100_sxm2_16gb"), "", Case()),
    "tf32-already": (Case(target="a100_sxm4_40gb"), "", Case()),
    "xla-refused": (Case("without_xla"), "stubborn", Case()),
    "determinism": (Case(more={"deterministic": True}), "", Case()),
    "rnn-without-cudnn": (Case("lstm_dropping", **SERIES), "cells", Case("lstm", **SERIES)),
    "stateful-rnn": (Case("lstm_stateful", **SERIES), "cells", Case("lstm", **SERIES)),
    "python-in-step": (Case("in_python"), "own", Case("own_sound")),
    "preprocessing-in-policy": (Case("rescaling", **IMAGES), "pixels", Case("rescaling_sound", **IMAGES)),
    "augmentation-in-model": (Case("flipping", **IMAGES), "flip", Case("three_channels", **IMAGES)),
    "ids-rounded": (Case("ids_through_a_layer", "ids"), "tokens", Case("embedding_5008", "ids")),
    "untrained-weights": (Case("cut_off"), "hidden", Case()),
    "host-bound": (Case("wide"), "", Case("wide", at_batch=2**17)),
    "steps-per-call": (Case("wide"), "", Case("wide", at_batch=2**17)),
    "many-small-kernels": (Case("many_operations"), "", Case("wide")),
    "memory-bound": (Case("normalised", at_batch=2**15, **IMAGES), "", Case("wide", at_batch=2**17)),
    "optimizer-traffic": (Case("wide", host=QUICK), "", Case("wide", host=QUICK, at_batch=2**15)),
    "input-bound": (Case(more={"feed_ms": 100.0}), "", Case()),
}


def test_every_kind_is_tried() -> None:
    assert set(CASES) == set(KINDS)
    assert len(KINDS) >= 25


@pytest.mark.parametrize("kind", CASES)
def test_a_fault_is_found_where_it_is_and_nowhere_else(kind: str) -> None:
    faulty, layer, sound = CASES[kind]
    hits = found(kind, faulty.situation())
    assert hits, f"{kind} was not found"
    assert all(layer in hit.layer for hit in hits), [hit.layer for hit in hits]
    assert all(hit.kind == kind and hit.why and hit.fix for hit in hits)
    assert not found(kind, sound.situation())


def test_a_recurrent_layer_that_refuses_cudnn_is_found() -> None:
    """Keras does not tell of it in the layer's configuration."""
    (hit,) = found("rnn-without-cudnn", Case("lstm_refusing", "series").situation())
    assert hit.layer == "cells"
    assert "use_cudnn=False" in hit.why
    assert hit.fix == 'use_cudnn="auto"'


def test_an_overflow_is_found_beside_a_sound_layer_of_the_same_name() -> None:
    assert [hit.layer for hit in found("activation-overflows", Case("blocks").situation())] == ["fc"]


@pytest.mark.parametrize("kind", [kind for kind, (_, layer, _) in CASES.items() if layer])
def test_the_evidence_holds_a_figure_or_a_dtype_of_this_model(kind: str) -> None:
    for hit in found(kind, CASES[kind][0].situation()):
        assert any(letter.isdigit() for letter in hit.why), hit.why
        assert hit.severity in Severity
