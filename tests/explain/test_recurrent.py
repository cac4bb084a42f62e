"""LSTM and GRU: a loop on a CPU, a few kernels of cuDNN's on a GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.explain.advice import advise
from autotune.explain.explanation import explain
from autotune.explain.findings import Severity
from autotune.explain.forecast import Forecaster
from autotune.explain.recurrent import in_cudnn
from autotune.explain.situation import Situation
from autotune.hardware.catalogue import bundled
from autotune.trial.anatomy import LayerAnatomy, ModelAnatomy
from tests.explain.inspected import config, found
from tests.explain.made import dense, model

SETTINGS = {
    "activation": "tanh",
    "recurrent_activation": "sigmoid",
    "recurrent_dropout": 0.0,
    "unroll": False,
    "use_bias": True,
}


def recurrent(**settings: object) -> LayerAnatomy:
    """As a CPU runs 20 steps of it: 1,260 operations."""
    layer = dense(32, 16, 64, name="cells")
    looped = tuple(replace(one, times=20) for one in layer.products)
    moved = 10 * layer.batch_bytes * 20
    return replace(
        layer, kind="LSTM", operations=1260, products=looped, settings={**SETTINGS, **settings}, batch_bytes=moved
    )


def facts(**settings: object) -> ModelAnatomy:
    made = model(32, (16, 64), (64, 3))
    cells = recurrent(**settings)
    steps = [replace(one, layers=(cells, *one.layers[1:])) for one in (made.float32, made.reduced) if one is not None]
    return replace(made, float32=steps[0], reduced=steps[1])


def situation(target: str, **settings: object) -> Situation:
    made = facts(**settings)
    return Situation.of(config(), made, Forecaster(made, bundled(target)))


@pytest.mark.parametrize(("use_cudnn", "by_cudnn"), [("auto", True), (True, True), (False, False)])
def test_a_layer_that_refuses_cudnn_runs_its_loop(use_cudnn: object, by_cudnn: bool) -> None:
    assert in_cudnn(recurrent(use_cudnn=use_cudnn), bundled("rtx2060")) is by_cudnn


def test_a_gpu_runs_it_in_a_few_kernels() -> None:
    gpu, loop = situation("rtx2060"), situation("rtx2060", recurrent_dropout=0.2)
    cells, looped = gpu.facts.float32.layers[0], loop.facts.float32.layers[0]
    assert cells.operations < looped.operations / 10
    assert cells.flops == looped.flops
    own, slow = gpu.own(), loop.own()
    assert own is not None
    assert slow is not None
    assert own.kernels_ms < slow.kernels_ms / 10
    assert not found("many-small-kernels", gpu)
    assert found("many-small-kernels", loop)
    assert not found("rnn-without-cudnn", gpu)
    assert found("rnn-without-cudnn", loop)


@pytest.mark.parametrize("policy", ["mixed_float16"])
def test_the_16_bit_step_too(policy: str) -> None:
    step = situation("rtx2060").forecaster.step_of(policy)
    assert step is not None
    assert step.layers[0].operations < 100


def test_no_xla_is_advised_beside_cudnn_and_it_is_said_why() -> None:
    gpu = situation("rtx2060")
    assert not any("xla" in one.override for one in advise(gpu))
    assert not any("search.xla=[true]" in one.fix for one in explain(gpu).findings)
    assert not any(one.forecast.setting.xla for one in explain(gpu).predicted)
    assert any("XLA is not predicted: cells" in said for said in explain(gpu).assumptions)
    assert not found("last-batch-partial", gpu)  # which XLA would compile again
    assert found("last-batch-partial", situation("rtx2060", recurrent_dropout=0.2))
    (hint,) = found("xla-refused", gpu)
    assert hint.severity is Severity.HINT
    assert "cuDNN" in hint.why
    assert any("xla" in one.override for one in advise(situation("rtx2060", recurrent_dropout=0.2)))


def test_a_cpu_runs_the_loop() -> None:
    assert situation("cpu_zen4").facts == facts()
    assert not in_cudnn(recurrent(), bundled("cpu_zen4"))
    assert not in_cudnn(replace(recurrent(), own=True), bundled("rtx2060"))
    assert not in_cudnn(dense(32, 16, 64), bundled("rtx2060"))
