"""How much a layer harms the training when it computes in 16 bit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerHarm:
    """One layer in 16 bit while all others are in float32.

    Attributes:
        layer: its path in the model, as `Policy.float32_layers` names it.
        error: how far the gradient of the loss is then from the one in float32, by its length over that one's; None if
            it is not finite.
        parameters: weights that it holds.
    """

    layer: str
    error: float | None
    parameters: int


def most_harmful_first(harms: tuple[LayerHarm, ...]) -> list[LayerHarm]:
    """Those that harm at all; what is not finite comes first, and of equals what the model has first."""
    harmful = [harm for harm in harms if harm.error is None or harm.error > 0]
    return sorted(harmful, key=lambda harm: (harm.error is not None, -(harm.error or 0.0)))
