"""Models taken apart in this process, each once, and the situation that a person with such a model is in."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import numpy as np

from autotune.config.data import DataConfig
from autotune.config.model import ModelConfig
from autotune.config.schema import Config
from autotune.config.train import TrainConfig
from autotune.explain.findings import KINDS, Finding
from autotune.explain.forecast import Forecaster
from autotune.explain.situation import Situation
from autotune.hardware.catalogue import bundled
from autotune.space.recipe import Fidelity, recipe_for
from autotune.trial import Candidate, Policy, Xla
from autotune.trial.anatomy import ModelAnatomy
from autotune.worker.protocol import InspectArgs

EXAMPLES = 256
FEED_MS = 0.05


def config(
    builder: str = "sound", *, batch_size: int = 32, optimizer: str = "adam", loss: str = "auto", **train: Any
) -> Config:
    target = builder if "." in builder else f"tests.explain.faulty.{builder}"
    return Config(
        model=ModelConfig(name=builder, _target_=target),
        data=DataConfig(name="made", _target_="tests.made", args={}, validation_examples=10),
        train=TrainConfig(optimizer=optimizer, batch_size=batch_size, loss=loss, **train),
    )


def dataset(kind: str) -> Any:
    """Of 256 examples and three classes, or a regression."""
    from autotune.data import Dataset, Part

    rng = np.random.default_rng(0)
    y: Any = np.arange(EXAMPLES, dtype=np.int32) % 3
    shapes = {"images": (16, 16, 3), "small images": (32, 32, 3), "grey": (28, 28, 1), "series": (6, 4), "ids": (10,)}
    x = rng.random((EXAMPLES, *shapes.get(kind, (16,))), dtype=np.float32)
    if kind == "ids":
        x = np.floor(x * 5000).astype(np.float32)
    if kind == "large inputs":
        x *= 1e4
    if kind == "far targets":
        y = (1e6 * rng.random(EXAMPLES)).astype(np.float32)
    if kind == "targets":
        y = rng.random(EXAMPLES).astype(np.float32)
    part = Part(x, y)
    classes = None if y.dtype.kind == "f" else 3
    return Dataset("made", part, part, part, classes, x.shape[1:], None, "here", "0")


@cache
def facts(
    builder: str,
    data: str = "features",
    policy: str = "mixed_float16",
    batch_size: int = 32,
    optimizer: str = "adam",
    loss: str = "auto",
    widths: tuple[int, ...] = (),
) -> ModelAnatomy:
    from autotune.worker.child.inspection import Inspector

    made = config(builder, batch_size=batch_size, optimizer=optimizer, loss=loss)
    own = Candidate(Policy("float32"), batch_size, Xla.OFF, widths)
    recipe = recipe_for(made.train, own, Fidelity(EXAMPLES, 1))
    args = InspectArgs(own, replace(own, policy=Policy(policy)), recipe)
    with mock.patch.object(Inspector, "_feed_ms", return_value=FEED_MS):  # a busy machine's would be a finding
        return Inspector(made, dataset(data)).inspect(args)


def situation(anatomy: ModelAnatomy, target: str = "rtx2060", **settings: Any) -> Situation:
    return Situation.of(config(**settings), anatomy, Forecaster(anatomy, bundled(target)))


def found(kind: str, where: Situation) -> list[Finding]:
    return list(KINDS[kind](where))
