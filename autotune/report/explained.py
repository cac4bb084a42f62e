"""`explain.json` and `explain.md` in a run's folder."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from autotune import codec
from autotune.explain.explanation import Explanation, LayerRow, Predicted
from autotune.report.markdown import text
from autotune.report.phrases import three_digits

FORMAT = 1
"""1: first."""

JSON, MARKDOWN = "explain.json", "explain.md"


def write(explanation: Explanation, folder: Path, about: dict[str, Any]) -> None:
    """Write both files.

    Args:
        explanation: to write.
        folder: of the run.
        about: what a reader must know of how it was made: versions, data, device, command.
    """
    content = {"format": FORMAT, **about, **codec.plain(explanation)}
    plain = json.dumps(_finite(content), ensure_ascii=False, indent=1, allow_nan=False)
    (folder / JSON).write_text(plain + "\n", encoding="utf-8")
    (folder / MARKDOWN).write_text(markdown(explanation, about), encoding="utf-8")


def markdown(explanation: Explanation, about: dict[str, Any]) -> str:
    """The same for a person."""
    e = explanation
    lines = [
        f"# {text(e.model)} on {text(e.target)}: predicted, nothing was trained",
        "",
        text(e.answer) + ".",
        "",
        "## Findings",
        "",
        *(_findings(e) or ["None."]),
        "",
        "## What would gain",
        "",
        *_table(("change", "set", "throughput, predicted"), ((a.change, a.override, a.gain) for a in e.advice)),
        "",
        f"## Steps, predicted at batch {e.batch_size} and larger ones",
        "",
        *_table(("policy", "batch", "XLA", "ms/step", "band", "host", "bound", "throughput"), map(_step, e.predicted)),
        *[f"- not predicted: {text(reason)}" for reason in e.left_out],
        "",
        f"## Layers at batch {e.batch_size}" + (f", float32 / {e.policy}" if e.policy else ""),
        "",
        *_table(LAYER_COLUMNS, (layer_cells(row) for row in e.rows)),
        *_numbers(e),
        "",
        "## How",
        "",
        *[f"- {text(one)}" for one in e.assumptions],
        *[f"- {text(what)} could not be had: {text(reason)}" for what, reason in e.failures.items()],
        *[f"- {text(key)}: {text(str(value))}" for key, value in about.items() if value],
        "- " + ", ".join(f"{part} {took_s:.1f} s" for part, took_s in e.seconds.items()),
        "",
    ]
    return "\n".join(lines)


LAYER_COLUMNS = (
    "layer",
    "output",
    "parameters",
    "MFLOP forward",
    "MFLOP backward",
    "MB moved",
    "FLOP/byte",
    "bound by",
    "tile x wave",
    "ms at full rates",
    "nearest better sizes",
)


def layer_cells(row: LayerRow) -> tuple[str, ...]:
    """One layer's cells; pairs are float32 / 16 bit."""
    full, half = row.float32, row.reduced
    tiling = (half or full).tiling
    return (
        f"{row.anatomy.name} ({row.anatomy.kind})",
        "x".join(map(str, row.anatomy.output)) or "-",
        f"{row.anatomy.parameters:,}",
        three_digits(full.forward_flops / 1e6) if full.flops else "-",
        three_digits(full.backward_flops / 1e6) if full.flops else "-",
        _pair(*(None if cost is None else three_digits(cost.moved_bytes / 1e6) for cost in (full, half))),
        _pair(*(None if cost is None or not cost.flops else three_digits(cost.intensity) for cost in (full, half))),
        _pair(full.bound, half.bound if half else None),
        f"{tiling.tile_efficiency:.0%} x {tiling.wave_efficiency:.0%}" if tiling else "-",
        _pair(*(None if cost is None or cost.time_ms is None else three_digits(cost.time_ms) for cost in (full, half))),
        "; ".join(str(size) for size in row.sizes if size.better != size.size) or "-",
    )


def _pair(full: str | None, half: str | None) -> str:
    if full is None and half is None:
        return "-"
    return f"{full or '-'} / {half}" if half is not None and half != full else f"{full or '-'}"


def _findings(e: Explanation) -> list[str]:
    return [
        f"- **{one.severity.value}** `{one.kind}`{' in ' + text(one.layer) if one.layer else ''}: {text(one.why)}."
        f" Fix: {text(one.fix)}"
        for one in e.findings
    ]


def _step(one: Predicted) -> tuple[Any, ...]:
    forecast, setting = one.forecast, one.forecast.setting
    low, high = forecast.band_ms
    return (
        setting.policy,
        setting.batch_size,
        "on" if setting.xla else "off",
        three_digits(forecast.step_ms),
        f"{three_digits(low)} to {three_digits(high)}",
        f"{forecast.host_ms / forecast.step_ms:.0%}",
        forecast.bound,
        one.gain,
    )


def _numbers(e: Explanation) -> list[str]:
    if e.ranges is None:
        return []
    r = e.ranges
    columns = ("layer", "largest output", "outputs that float16 makes 0", "largest gradient", "gradients ... 0")
    rows = []
    for name, numbers in r.activations.items():
        gradient = r.gradients.get(name)
        cells = [_number(numbers.largest), f"{numbers.vanishing:.1%}"]
        cells += [_number(gradient.largest), f"{gradient.vanishing:.1%}"] if gradient else ["-", "-"]
        rows.append((name, *cells))
    said = (
        f"{r.vanishing:.2%} of all gradients that are not zero would be zero in float16; {r.vanishing_scaled:.2%} at"
        f" the loss scale of {r.scale:g} that Keras begins with."
    )
    return [
        "",
        f"## Numbers on a real batch of {r.examples}, float32, initial weights",
        "",
        said,
        "",
        *_table(columns, rows),
    ]


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3g}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [" | ".join(text(str(cell)) for cell in row) for row in rows]
    if not lines:
        return ["Nothing."]
    head = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return [*head, *(f"| {line} |" for line in lines)]


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
