"""What a person brings to a worker: a data source, builders, a callback, a metric; and the configuration for them.

write(tmp_path); monkeypatch.chdir(tmp_path)      a worker finds `source` and `nets` in its working directory
config(mode="segfault")                           a data source that does that
config(build="nets.mlp")                          120 examples to train on, 4 features, 3 classes
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autotune.config.constraint import ConstraintConfig
from autotune.config.data import DataConfig
from autotune.config.hardware import DeviceKind, HardwareConfig
from autotune.config.model import ModelConfig
from autotune.config.schema import Config
from autotune.config.search import SearchConfig, TimingConfig
from autotune.config.train import TrainConfig
from autotune.data import Dataset, Part
from autotune.space.recipe import Fidelity, recipe_for
from autotune.trial import Candidate, Policy, Recipe, Xla

SOURCE = '''
"""A data source that does what `mode` says before it returns; it runs before the framework is imported."""

import atexit
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from autotune.data import LoadedData



class Slow:
    """What takes its time to go, as a framework that frees its memory does."""

    def __del__(self):
        Path("freed").touch()


X = np.arange(80, dtype="float32").reshape(20, 4)
Y = np.arange(20) % 2


def load(*, seed, mode="fine", value=None):
    if mode == "raise":
        raise RuntimeError("no\\nsuch table")
    if mode == "sleep":
        grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path("grandchild").write_text(str(grandchild.pid))
        time.sleep(600)
    if mode == "registered":
        atexit.register(Path("registered").touch)
        global kept
        kept = Slow()
    if mode == "signal":
        os.kill(os.getpid(), value)
    if mode == "fork":  # the forked process holds the worker's pipes open
        if os.fork() == 0:
            time.sleep(600)
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "close":
        os.closerange(3, 4096)
        time.sleep(600)
    if mode == "grow":
        block = np.ones((value, 1_000_000 // 8))
        time.sleep(600)
    if mode == "exit":
        sys.exit(value)
    if mode == "print":
        for _ in range(value):
            print("{not the protocol}" * 4000)
            print("{nor this}" * 4000, file=sys.stderr)
    if mode == "wrong":
        return (X, Y), (X + 100, Y[:-1])
    if mode == "counted":
        return LoadedData(train=(X, Y), test=(X + 100, Y), num_classes=Y.max() + 1)
    return (X, Y), (X + 100, Y)
'''

NETS = '''
import keras
import numpy as np
from keras import layers


def mlp(*, widths, input_shape, num_classes):
    """The last layer says nothing of a dtype."""
    inputs = keras.Input(input_shape)
    x = inputs
    for width in widths:
        x = layers.Dense(width, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax")(x))


def sequential(*, widths, input_shape, num_classes):
    made = [layers.Dense(width, activation="relu") for width in widths]
    return keras.Sequential([keras.Input(input_shape), *made, layers.Dense(num_classes, activation="softmax")])


def without_input(*, widths, input_shape, num_classes):
    made = [layers.Dense(width, activation="relu") for width in widths]
    return keras.Sequential([*made, layers.Dense(num_classes, activation="softmax", dtype="float32")])


class HeadFirst(keras.Model):
    def __init__(self, widths, num_classes, head_dtype):
        super().__init__()
        self.head = layers.Dense(num_classes, activation="softmax", dtype=head_dtype)
        self.body = layers.Dense(widths[0], activation="relu")

    def call(self, x):
        return self.head(self.body(x))


def subclassed(*, widths, input_shape, num_classes):
    return HeadFirst(widths, num_classes, "float32")


def subclassed_16_bit(*, widths, input_shape, num_classes):
    return HeadFirst(widths, num_classes, None)


def nested(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    return keras.Model(inputs, keras.Sequential([layers.Dense(num_classes)])(inputs))


def ending_in_an_operation(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    return keras.Model(inputs, keras.ops.softmax(layers.Dense(num_classes)(inputs)))


def all_float32(*, widths, input_shape, num_classes):
    made = [layers.Dense(width, activation="relu", dtype="float32") for width in widths]
    return keras.Sequential([keras.Input(input_shape), *made, layers.Dense(num_classes, dtype="float32")])


class TinyEpsilon(layers.Layer):
    """sqrt of a number that float16 flushes to zero: its value is finite, its gradient is not."""

    def call(self, x):
        return keras.ops.sqrt(keras.ops.sigmoid(x) * keras.ops.cast(1e-9, x.dtype))


def collapsing(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape)
    x = TinyEpsilon()(layers.Dense(widths[0])(inputs))
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax", dtype="float32")(x))


def blank(*, widths, input_shape, num_classes):
    """Predicts NaN."""
    inputs = keras.Input(input_shape)
    x = layers.Dense(num_classes, dtype="float32", bias_initializer=keras.initializers.Constant(float("nan")))(inputs)
    return keras.Model(inputs, x)


class OnTheHost(layers.Layer):
    """A Python function in the graph, which XLA cannot compile."""

    def call(self, x):
        import tensorflow as tf

        return tf.ensure_shape(tf.numpy_function(lambda value: value, [x], x.dtype), x.shape)


def not_for_xla(*, widths, input_shape, num_classes):
    inputs = keras.Input(input_shape, batch_size=None)
    x = OnTheHost()(inputs)
    return keras.Model(inputs, layers.Dense(num_classes, activation="softmax", dtype="float32")(x))


def raising(*, widths, input_shape, num_classes):
    raise KeyError("no such block")


def huge(*, widths, input_shape, num_classes):
    return np.ones(1 << 58)


def nothing(*, widths, input_shape, num_classes):
    return None


def without_num_classes(*, widths, input_shape):
    return None


class Seen(keras.callbacks.Callback):
    """Keeps what it was made with."""

    made = []

    def __init__(self, warm, marks, name):
        super().__init__()
        Seen.made.append({"warm": warm, "marks": marks, "name": name})


def squared_error(y_true, y_pred):
    return np.mean((y_true - y_pred) ** 2)


def constant(y_true, y_pred):
    return 0.25


def only_once(y_true, y_pred, asked=[]):
    asked.append(y_true)
    return 1 / (len(asked) == 1)


def in_words(y_true, y_pred):
    return "0.9"
'''

MODULES = ("source", "nets", "lonely")
"""Names that the person trusts."""

TIMING = TimingConfig(block_s=0.01, min_pairs=6, max_pairs=8, screen_half_width=0.5, screen_max_s=0.5)


def write(folder: Path) -> None:
    """The person's two modules."""
    (folder / "source.py").write_text(SOURCE, encoding="utf-8")
    (folder / "nets.py").write_text(NETS, encoding="utf-8")


def arrays(count: int, seed: int) -> tuple[Any, Any]:
    """Three classes that two of four features tell apart."""
    x = np.random.default_rng(seed).normal(size=(count, 4)).astype("float32")
    return x, ((x[:, 0] > 0).astype("int64") + (x[:, 1] > 0))


def write_arrays(path: Path, seed: int = 0) -> None:
    """An .npz of 120 training, 40 validation and 40 test examples."""
    names = {"train": 120, "val": 40, "test": 40}
    pairs = {name: arrays(count, seed + offset) for offset, (name, count) in enumerate(names.items())}
    np.savez(path, **{f"{axis}_{name}": pair[i] for name, pair in pairs.items() for i, axis in enumerate("xy")})


def dataset() -> Dataset:
    """The same examples as `write_arrays` writes, already prepared."""
    parts = [Part(x, y.astype("int32")) for x, y in (arrays(120, 0), arrays(40, 1), arrays(40, 2))]
    return Dataset("mine", *parts, num_classes=3, input_shape=(4,), stand_in=None, origin="made", fingerprint="made")


def config(
    *,
    build: str = "nets.mlp",
    npz: Path | None = None,
    train: TrainConfig | None = None,
    metric: str = "autotune.worker.metrics.accuracy",
    max_worker_growth_mb: float = 4000.0,
    **source: Any,
) -> Config:
    """The configuration of a run on the person's own source, or on an .npz file."""
    if npz is None:
        data = DataConfig(name="mine", _target_="source.load", args=source)
    else:
        data = DataConfig(name="mine", _target_="autotune.data.npz.load", args={"path": str(npz)})
    return Config(
        model=ModelConfig(name="net", _target_=build, widths=[16]),
        data=data,
        hw=HardwareConfig(name="auto", title="this machine", kind=DeviceKind.auto),
        search=SearchConfig(timing=replace(TIMING), trial_timeout_s=120, max_worker_growth_mb=max_worker_growth_mb),
        constraint=ConstraintConfig(_target_=metric),
        train=train or TrainConfig(batch_size=10, learning_rate=0.1),
    )


def candidate(policy: str = "float32", batch: int = 10, xla: Xla = Xla.OFF, per_execution: int = 1) -> Candidate:
    """One of width 16."""
    return Candidate(Policy(policy), batch, xla, (16,), per_execution)


def recipe(of: Candidate, settings: Config, examples: int = 120, epochs: int = 2) -> Recipe:
    """How it is trained."""
    return recipe_for(settings.train, of, Fidelity(examples, epochs))
