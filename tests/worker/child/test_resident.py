"""Training arrays that live on the device: the same examples in the same order, gathered by the training step."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autotune.decide import health
from autotune.trial import Candidate, Pipeline, Xla
from autotune.worker.protocol import ProbeArgs
from tests.worker import people
from tests.worker.child.test_accumulate import trained

pytestmark = pytest.mark.slow


def on_device(candidate: Candidate) -> Candidate:
    return replace(candidate, pipeline=Pipeline.DEVICE)


@pytest.mark.parametrize(
    "candidate",
    [
        people.candidate(),
        people.candidate(batch=50),  # two whole batches, and 20 examples that are left
        people.candidate(per_execution=6),
        people.candidate(per_execution=5),  # which does not divide an epoch
        people.candidate("mixed_float16", xla=Xla.ON),
        replace(people.candidate(batch=20), accumulation=4),
    ],
    ids=str,
)
def test_it_trains_on_the_same_examples_in_the_same_order(candidate: Candidate) -> None:
    settings = people.config()
    (host, expected), (device, found) = trained(candidate, settings), trained(on_device(candidate), settings)
    assert (host.effect.pipeline, device.effect.pipeline) == (Pipeline.HOST, Pipeline.DEVICE)
    assert host.iterations == device.iterations
    assert [p.train_loss for p in device.curve] == pytest.approx([p.train_loss for p in host.curve], rel=1e-5)
    exact = candidate.xla is not Xla.ON  # XLA may fuse the gather with what follows
    for ours, theirs in zip(found.get_weights(), expected.get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-7 if exact else 1e-3)
    assert health.training_failure(device, 0.2) is None


def test_the_step_is_fed_rows_and_a_persons_own_step_gets_the_batch() -> None:
    settings = people.config(build="tests.worker.child.test_accumulate.own_step")
    host, device = (trained(one, settings) for one in (people.candidate(), on_device(people.candidate())))
    for ours, theirs in zip(device[1].get_weights(), host[1].get_weights(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-7)
    assert device[0].effect.own_train_step


def test_its_steps_are_timed_beside_a_baseline_that_the_host_feeds() -> None:
    from autotune.worker.child.build import ModelBuilder
    from autotune.worker.child.feed import Feed
    from autotune.worker.child.probe import Prober

    settings, own = people.config(), people.candidate()
    device = on_device(own)
    prober = Prober(ModelBuilder(settings, (4,), 3), Feed(people.dataset().train, 0))
    recipe = people.recipe(own, settings)
    probe = prober.probe(ProbeArgs(device, recipe, own, recipe, 0, 0.01, 6, 8, 0.5, 1.0, pipeline=True))
    assert health.probe_failure(probe) is None
    assert probe.effect.pipeline is Pipeline.DEVICE
    assert len(probe.baseline_step_ms) == len(probe.block_step_ms)
    assert probe.pipeline is not None, "one batch, gathered once, beside the rows of each"


def test_an_accelerators_memory_is_the_models_that_is_fed_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a CPU nothing is copied. Elsewhere there is one copy, for all that use it, and none after them."""
    import tensorflow as tf

    from autotune.worker.child import feed, framework

    made = feed.Feed(people.dataset().train, 0)
    assert made._arrays_on_device() == (made._x, made._y)
    if framework.accelerator() == "CPU":
        monkeypatch.setattr(framework, "accelerator", lambda: "GPU")
        monkeypatch.setattr(tf, "device", Nowhere)  # there is no GPU to copy to
    first, second = made._arrays_on_device(), made._arrays_on_device()
    assert first[0] is second[0] is not made._x
    np.testing.assert_array_equal(first[0], made._x)
    del first, second
    gc.collect()
    assert [reference() for reference in made._on_device] == [None, None]


class Nowhere:
    """Stands for the scope of a device that is not here."""

    def __init__(self, name: str) -> None:
        assert name == "/GPU:0"

    def __enter__(self) -> None: ...

    def __exit__(self, *_: Any) -> None: ...
