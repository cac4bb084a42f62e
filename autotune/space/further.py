"""The dimensions that are searched only when asked for: accumulation, TF32, and where batches are put together.

Each starts from the user's own setting and says what is left out of what was asked. None is asked for by default, so
that the default study is no larger.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from autotune.config.schema import Config
from autotune.trial import DatasetFacts, LeftOut, Pipeline, Probe

# Float32 inputs, and targets of at most 8 bytes.
_INPUT_BYTES, _TARGET_BYTES = 4, 8


def accumulations(config: Config, batches: Sequence[int], left_out: list[LeftOut]) -> tuple[int, ...]:
    """Micro-batches per optimizer step; one of one size is as many as divide the batch.

    Args:
        config: the run's configuration.
        batches: that are searched.
        left_out: grows by what is not tried, and why.
    """
    asked = config.search.accumulation
    if config.train.optimizer_args.get("use_ema") and max(asked) > 1:
        reason = "Keras takes the moving average of the weights (use_ema) after each micro-batch, not after each step"
        left_out.append(LeftOut("accumulation above 1", reason))
        return (1,)
    left_out += [
        LeftOut(f"accumulation {parts} at batch {batch}", f"{parts} does not divide {batch}")
        for parts, batch in itertools.product(asked, batches)
        if batch % parts
    ]
    return tuple(parts for parts in asked if any(batch % parts == 0 for batch in batches)) or (1,)


def tf32_settings(config: Config, baseline: Probe, left_out: list[LeftOut]) -> tuple[bool | None, ...]:
    """TF32 for float32: the user's own setting, and what else was asked for where the device has a choice."""
    own, in_force = baseline.candidate.tf32, baseline.effect.tf32
    asked = config.search.tf32
    if asked is None:
        return (own,)
    if in_force is None:
        reason = "the device has no TF32, which begins at NVIDIA's compute capability 8.0"
        left_out.append(LeftOut("TF32 on or off", reason))
        return (own,)
    if own is not False and not in_force:
        left_out.append(LeftOut("TF32 on", "NVIDIA_TF32_OVERRIDE=0 forbids it"))
        return (own,)
    return (own, *(value for value in asked if value != in_force))


def pipelines(config: Config, bounds: Sequence[int | None], left_out: list[LeftOut]) -> tuple[Pipeline, ...]:
    """Where batches are put together.

    Args:
        config: the run's configuration.
        bounds: for each policy, the largest batch that fits beside the training arrays; None where it is not known.
        left_out: grows by the device, where the arrays leave no room there.
    """
    asked = tuple(Pipeline(choice.value) for choice in config.search.pipeline)
    if Pipeline.DEVICE in asked and all(bound is not None and bound < 1 for bound in bounds):
        left_out.append(LeftOut("pipeline device", "the training examples do not fit into its memory beside the model"))
        return (Pipeline.HOST,)
    return asked or (Pipeline.HOST,)


def arrays_gb(data: DatasetFacts | None, baseline: Probe) -> float:
    """What the training arrays take of the device's memory [1e9 bytes]; on a CPU both pipelines read the same ones."""
    if data is None or baseline.effect.placed_on == "CPU":
        return 0.0
    return data.train * (_INPUT_BYTES * math.prod(data.input_shape) + _TARGET_BYTES) / 1e9
