"""Anatomies made by hand, for which every figure can be worked out on paper."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autotune.config.hardware import DeviceKind
from autotune.hardware.profile import Profile
from autotune.trial.anatomy import LayerAnatomy, ModelAnatomy, Numbers, Product, Ranges, StepAnatomy, Targets

# 1 TFLOP/s in float32 and 4 in float16, 100 GB/s, no multiprocessors that are known.
CARD = Profile(
    name="card",
    title="A card",
    kind=DeviceKind.gpu,
    compute_capability=(7, 5),
    bandwidth_gb_s=100.0,
    peaks=(("float16", 4.0), ("float32", 1.0)),
    tensor_cores=frozenset({"float16"}),
    memory_gb=6.0,
    source="made up",
)


def product(m: int, n: int, k: int, size: int = 4, **more: Any) -> Product:
    """A dense product of a batch of m: weights of k x n."""
    dtype = {4: "float32", 2: "float16"}[size]
    return Product("MatMul", dtype, m, n, k, weight_bytes=size * k * n, batch_bytes=size * m * (k + n), **more)


def dense(batch: int, inputs: int, units: int, size: int = 4, name: str = "dense") -> LayerAnatomy:
    forward = product(batch, units, inputs, size)
    kernel = replace(forward, m=inputs, n=units, k=batch, grows="k", backward=True)
    below = replace(forward, m=batch, n=inputs, k=units, backward=True)
    three = (forward, kernel, below)
    dtype = {4: "float32", 2: "float16"}[size]
    return LayerAnatomy(
        name=name,
        kind="Dense",
        own=False,
        compute_dtype=dtype,
        variable_dtype="float32",
        inputs=((batch, inputs),),
        output=(batch, units),
        input_dtypes=(dtype,),
        output_dtype=dtype,
        parameters=inputs * units,
        trainable=inputs * units,
        settings={"units": units},
        products=three,
        operations=5,
        weight_bytes=sum(one.weight_bytes for one in three),
        batch_bytes=sum(one.batch_bytes for one in three),
    )


def outside(name: str, weight_bytes: int = 0, batch_bytes: int = 0, operations: int = 4) -> LayerAnatomy:
    return LayerAnatomy(
        name, "step", False, "", "", operations=operations, weight_bytes=weight_bytes, batch_bytes=batch_bytes
    )


def step(policy: str, batch: int, size: int, *sizes: tuple[int, int]) -> StepAnatomy:
    layers = [dense(batch, inputs, units, size, f"dense_{place}") for place, (inputs, units) in enumerate(sizes)]
    weights = sum(layer.parameters for layer in layers)
    return StepAnatomy(
        policy=policy,
        batch_size=batch,
        layers=(*layers, outside("(loss)", batch_bytes=8 * batch), outside("(rest of the step)", 20 * weights)),
        output_dtypes=("float32",),
        output_layers=(layers[-1].name,),
        loss_dtype="float32",
    )


def model(batch: int, *sizes: tuple[int, int], **more: Any) -> ModelAnatomy:
    numbers = {f"dense_{place}": Numbers(1.0, 0.0) for place in range(len(sizes))}
    made = ModelAnatomy(
        float32=step("float32", batch, 4, *sizes),
        reduced=step("mixed_float16", batch, 2, *sizes),
        targets=Targets(45_000, 0.0, 1.0, 0.0, 9.0, 2.9, labels=True),
        ranges=Ranges(batch, numbers, numbers, 0.001, 0.0, 2.0**15, 0.0, 1.0, 0.0),
        reused=False,
        compiled=None,
        optimizer="SGD",
        epsilon=None,
        variables_per_weight=0,
        feed_ms=0.5,
        deterministic=False,
        failures={},
        seconds={"build in float32": 0.1},
    )
    return replace(made, **more)


def cifar_mlp(batch: int = 32) -> ModelAnatomy:
    """Products of the 3072-3000-1000-10 perceptron."""
    return model(batch, (3072, 3000), (3000, 1000), (1000, 10))
