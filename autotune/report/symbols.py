"""How each kind of point looks: told apart by shape first, so that the plot reads without colour too."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.report.tradeoff import Kind


@dataclass(frozen=True, slots=True)
class Style:
    """A symbol in both plotting libraries.

    Attributes:
        plotly: name of the marker in plotly.
        matplotlib: the marker's code in matplotlib.
        colour: from the palette of Okabe and Ito (jfly.uni-koeln.de/color), safe for colour-blind readers.
        size: of the marker [px].
    """

    plotly: str
    matplotlib: str
    colour: str
    size: int = 11


STYLES = {
    Kind.BASELINE: Style("diamond", "D", "#000000"),
    Kind.WINNER: Style("star", "*", "#009e73", 18),
    Kind.FINALIST: Style("circle", "o", "#0072b2"),
    Kind.PASSED: Style("circle", "o", "#56b4e9"),
    Kind.REJECTED: Style("x-thin", "x", "#d55e00"),
    Kind.DOMINATED: Style("triangle-down", "v", "#777777"),
    Kind.SLOWER: Style("triangle-left", "<", "#777777"),
    Kind.UNJUDGED: Style("square", "s", "#777777"),
    Kind.FAILED: Style("cross-thin", "+", "#cc0000"),
}
