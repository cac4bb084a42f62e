"""`model=...`: which builder, and which of its widths may be searched."""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from autotune.config.checks import MISSING, require


@dataclass
class ModelConfig:
    """A model's builder.

    Attributes:
        name: a short name, used in folders and records.
        _target_: dotted name of the builder, `builder(*, widths, input_shape, num_classes, **args) -> keras.Model`.
        widths: the user's own layer widths, in the builder's order; empty for a model without any.
        widths_without_accelerator: the user's own widths on a device without an accelerator, if they differ.
        width_bounds: one `[lowest, highest]` per width; only wider, aligned values within them are searched.
        args: further keyword arguments of the builder.
    """

    name: str = MISSING
    _target_: str = MISSING
    widths: List[int] = field(default_factory=list)
    widths_without_accelerator: Optional[List[int]] = None
    width_bounds: List[List[int]] = field(default_factory=list)
    args: Dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self._target_ == MISSING:
            return
        require(
            "." in self._target_,
            "model._target_ must be a dotted name such as my_package.my_module.build",
            self._target_,
        )
        for key, widths in (("widths", self.widths), ("widths_without_accelerator", self.widths_without_accelerator)):
            require(
                all(width >= 1 for width in widths or ()), f"model.{key} must be whole numbers of at least 1", widths
            )
        other = self.widths_without_accelerator
        require(
            other is None or len(other) == len(self.widths),
            f"model.widths_without_accelerator must have as many entries as model.widths ({len(self.widths)})",
            other,
        )
        require(
            len(self.width_bounds) in (0, len(self.widths)),
            f"model.width_bounds must have one [lowest, highest] per width ({len(self.widths)})",
            self.width_bounds,
        )
        for bounds in self.width_bounds:
            require(
                len(bounds) == 2 and 1 <= bounds[0] <= bounds[1],
                "each of model.width_bounds must be [lowest, highest]",
                bounds,
            )
