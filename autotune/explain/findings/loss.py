"""Outputs against losses and targets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from autotune.config.schema import Config
from autotune.config.train import OPTIMIZERS
from autotune.explain.findings.registry import Found, Severity, kind, named
from autotune.explain.situation import Situation
from autotune.trial.anatomy import LayerAnatomy

_CATEGORICAL = ("categorical_crossentropy", "sparse_categorical_crossentropy", "categorical_focal_crossentropy")
_SPARSE = "sparse_categorical_crossentropy"
_SQUARED = ("mean_squared_error", "mse")
_PROBABILITY = 1e-3
_LARGE = 256.0  # whose square is 65536
_SPREAD = 30.0


def loss_name(config: Config, situation: Situation) -> str:
    """The loss in force, as Keras spells it."""
    name = config.train.loss
    if name == "auto":
        return _SPARSE if situation.facts.targets.labels else "mean_squared_error"
    lower = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
    return lower.replace("cross_entropy", "crossentropy")


def output(situation: Situation) -> LayerAnatomy | None:
    """The layer that makes the output, if there is one."""
    names = situation.facts.float32.output_layers
    return situation.facts.float32.layer(names[0]) if len(names) == 1 else None


@kind("loss-16-bit")
def loss_16_bit(situation: Situation) -> Iterator[Found]:
    """What is differentiated is a 16-bit number."""
    step = situation.facts.reduced
    if step is not None and step.loss_dtype in ("float16", "bfloat16"):
        yield (
            Severity.PROBLEM,
            "",
            f"the loss that the step differentiates is {step.loss_dtype}"
            + (": above 65504 it is infinite, and it is scaled on top of that" if step.loss_dtype == "float16" else ""),
            'compute the loss in float32: keras.ops.cast(y_pred, "float32")',
        )


@kind("sigmoid-categorical")
def sigmoid_categorical(situation: Situation) -> Iterator[Found]:
    """A sigmoid for each class, under a loss that wants one distribution."""
    last, name = output(situation), loss_name(situation.config, situation)
    of_sigmoid = {"sigmoid", "log of sigmoid"} & set(situation.facts.float32.loss_of)
    sigmoid = last is not None and last.settings.get("activation") == "sigmoid"
    if name in _CATEGORICAL and (sigmoid or of_sigmoid) and last is not None and last.output[-1:] != (1,):
        yield (
            Severity.PROBLEM,
            last.name,
            f"{last.output[-1]} independent sigmoids under {name}, which takes one distribution over the classes",
            f'activation="softmax" in {last.name}, or train.loss=binary_crossentropy for labels that exclude no other',
        )


@kind("double-softmax")
def double_softmax(situation: Situation) -> Iterator[Found]:
    """A cross-entropy that takes logits is given a softmax."""
    last, layers = output(situation), situation.facts.float32.layers[:-2]
    twice = [
        layer.name
        for before, layer in itertools.pairwise(layers)
        if before.softmax_dtypes and layer.softmax_dtypes and before.output == layer.output
    ]
    if "softmax" in situation.facts.float32.loss_of or (last is not None and last.name in twice):
        yield (
            Severity.PROBLEM,
            last.name if last is not None else "",
            "softmax is applied twice: to the outputs, and once more to its result"
            + (" by a layer" if twice else " by a cross-entropy that takes logits")
            + ": probabilities can no longer come near 0 or 1",
            'leave out one activation="softmax", or from_logits=True',
        )


@kind("logits-as-probabilities")
def logits_as_probabilities(situation: Situation) -> Iterator[Found]:
    """Outputs that are no probabilities, under a loss that takes probabilities."""
    ranges, last = situation.facts.ranges, output(situation)
    name = loss_name(situation.config, situation)
    crossentropy = name in _CATEGORICAL or name == "binary_crossentropy"
    if ranges is None or last is None or not crossentropy or ranges.output_low is None or ranges.output_high is None:
        return
    if situation.facts.float32.own_train_step:
        return  # whose loss is its own
    low, high, off = ranges.output_low, ranges.output_high, ranges.output_sum_off or 0.0
    if low < 0 or high > 1 + _PROBABILITY:
        evidence = f"outputs reach from {low:.3g} to {high:.3g} on a real batch"
    elif name in _CATEGORICAL and off > _PROBABILITY and last.settings.get("activation") != "sigmoid":
        evidence = f"the outputs of an example sum to 1 only within {off:.3g} on a real batch"
    else:
        return
    yield (
        Severity.PROBLEM,
        last.name,
        f"{evidence}, but {name} takes probabilities here: it clips them to [1e-7, 1], and most gradients are lost",
        f'activation="{"sigmoid" if name == "binary_crossentropy" else "softmax"}", dtype="float32" in {last.name}',
    )


@kind("labels-beyond-outputs")
def labels_beyond_outputs(situation: Situation) -> Iterator[Found]:
    """Class labels that no output stands for."""
    targets, last = situation.facts.targets, output(situation)
    sparse = targets.labels and loss_name(situation.config, situation) == _SPARSE
    if sparse and last is not None and last.output and targets.y_high >= last.output[-1]:
        yield (
            Severity.PROBLEM,
            last.name,
            f"labels go up to {targets.y_high:g}, but it has {last.output[-1]} outputs: the loss of such a label is not"
            " a number",
            f"num_classes outputs in {last.name}",
        )


@kind("targets-unscaled")
def targets_unscaled(situation: Situation) -> Iterator[Found]:
    """Regression targets whose squares leave float16, or that are far from the size of a fresh model's outputs."""
    targets = situation.facts.targets
    largest = max(abs(targets.y_low), abs(targets.y_high))
    if targets.labels or not (largest > _LARGE or targets.y_spread > _SPREAD):
        return
    squared = loss_name(situation.config, situation) in _SQUARED
    yield (
        Severity.WARNING,
        "",
        f"targets range from {targets.y_low:.4g} to {targets.y_high:.4g} (standard deviation {targets.y_spread:.3g}),"
        f" where a fresh model gives about 1" + (f": squared errors of {largest**2:.2g}" if squared else ""),
        "standardise the targets in your data source: (y - mean) / deviation",
    )


@kind("compile-ignored")
def compile_ignored(situation: Situation) -> Iterator[Found]:
    """The builder compiled the model with something else than what it is trained with."""
    compiled = situation.facts.compiled
    if compiled is None or not compiled.loss:
        return
    name, optimizer = situation.facts.loss or loss_name(situation.config, situation), situation.facts.optimizer
    differs, overrides = [], []
    if compiled.loss != name or compiled.from_logits:
        differs.append(f"loss {compiled.loss}{' of logits' if compiled.from_logits else ''} (here: {name})")
        named_alone = compiled.known and not compiled.from_logits
        overrides += [f"train.loss={compiled.loss}"] if named_alone and compiled.loss != name else []
    if compiled.optimizer.lower() != optimizer.lower():
        differs.append(f"optimizer {compiled.optimizer} (here: {optimizer})")
        known = compiled.optimizer.lower() in OPTIMIZERS
        overrides += [f"train.optimizer={compiled.optimizer.lower()}"] if known else []
    if differs:
        yield (
            Severity.WARNING,
            "",
            f"the builder compiles its model with {named(differs)}: every candidate is compiled anew, from train.*",
            " ".join(overrides)
            or "train.loss takes the bare name of one of Keras's losses: let the model's output fit one",
        )


@kind("run-eagerly")
def run_eagerly(situation: Situation) -> Iterator[Found]:
    """The builder asks for eager execution: every operation is a call from Python."""
    if situation.facts.compiled is not None and situation.facts.compiled.run_eagerly:
        operations = situation.facts.float32.operations
        yield (
            Severity.PROBLEM,
            "",
            f"the builder sets run_eagerly: each of {operations:,} operations a step is then a call from Python, in"
            " your own script; it is left out here",
            "compile without run_eagerly=True",
        )
