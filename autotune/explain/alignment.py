"""The sizes of a layer's product against the multiples that a target works best on, for each dtype."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from autotune.hardware.profile import Profile
from autotune.trial.anatomy import LayerAnatomy


@dataclass(frozen=True, slots=True)
class Aligned:
    """One size; `better` is the next multiple, the size itself where it is one."""

    what: str
    dtype: str
    size: int
    multiple: int
    better: int

    def __str__(self) -> str:
        return f"{self.what} {self.size} -> {self.better} ({self.dtype}, multiple of {self.multiple})"


def aligned_sizes(layer: LayerAnatomy, target: Profile, dtypes: Iterable[str], batch: int) -> tuple[Aligned, ...]:
    """Batch, inputs and outputs of the layer's forward product; nothing for a layer without one.

    Of a convolution only the channels count: its product has as many rows as the batch has positions.
    """
    product = next((one for one in layer.products if not one.backward), None)
    if product is None:
        return ()
    inputs = layer.inputs[0][-1] if layer.inputs and product.is_convolution else product.k
    found = []
    for dtype in dtypes:
        rated = "tf32" if dtype == "float32" and target.has_tensor_cores("tf32") else dtype
        rows = () if product.is_convolution else (("batch", batch, target.batch_alignment(rated)),)
        for what, size, multiple in (
            *rows,
            ("inputs", inputs, target.alignment(rated)),
            ("outputs", product.n, target.alignment(rated)),
        ):
            found.append(Aligned(what, dtype, size, multiple, math.ceil(size / multiple) * multiple))
    return tuple(found)
