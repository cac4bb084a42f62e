"""What taking the sample study's model apart gave, and an anatomy in which every field is used."""

from __future__ import annotations

from dataclasses import replace

from autotune.trial.anatomy import Calibration, Compiled, Constant, ModelAnatomy, Numbers
from tests.explain.made import cifar_mlp, model

# 0.1 TFLOP/s in float32 and a fifth more in bfloat16, no float16.
CALIBRATION = Calibration(
    {"float32": 10.0, "bfloat16": 12.0}, bandwidth_gb_s=2000.0, operation_us=5.0, call_ms=1.5, new_memory_gb_s=300.0
)


def sample_anatomy() -> ModelAnatomy:
    """Of the 3072-3000-1000-10 perceptron at batch 32; no GPU is calibrated."""
    return cifar_mlp()


def rich_anatomy() -> ModelAnatomy:
    """No optional field of it is at its default."""
    made = model(8, (16, 8), (8, 4), calibration=CALIBRATION, loss="mse", compiled=Compiled("mse", "Adam", False))
    first, *others = made.float32.layers
    products = (replace(first.products[0], count=2, times=3, backward=True, grows="count"), *first.products[1:])
    odd = replace(
        first,
        settings={"units": 8, "activation": "relu", "nested": {"rate": 0.5, "axes": [1, 2]}},
        products=products,
        casts=2,
        float64=1,
        python=1,
        softmax_dtypes=("float16",),
        constants=(Constant(None, "float32"), Constant(1e-9, "float16")),
        compiles=False,
    )
    step = replace(
        made.float32,
        layers=(odd, *others),
        not_mended="it has two outputs",
        own_train_step=True,
        loss_scaling=True,
        scales_loss=True,
        clips_scaled=True,
        loss_of=("log of softmax",),
    )
    assert made.ranges is not None
    numbers = {"dense_0": Numbers(None, 0.25, finite=False, vanishing_scaled=0.125, present=7)}
    compiled = Compiled("mine", "Adam", run_eagerly=True, known=False, from_logits=True)
    return replace(
        made,
        float32=step,
        targets=replace(made.targets, whole_x=True),
        ranges=replace(made.ranges, activations=numbers),
        compiled=compiled,
        failures={"16 bit": "no such kernel"},
    )
