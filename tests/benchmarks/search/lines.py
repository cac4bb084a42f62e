"""The file of a landscape: JSON lines, the head first, floats of five digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from autotune import codec
from autotune.trial import Candidate
from tests.benchmarks.search.landscape import FORMAT, Head, InForce, Landscape, Measurement, Start, Timing, Training

FOLDER = Path(__file__).resolve().parents[1] / "landscapes"

_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Head, Start, Timing, Training, InForce)}


def recorded() -> list[Path]:
    """Every landscape that is there."""
    return sorted(FOLDER.glob("*.jsonl"))


def encoded(found: Head | Measurement) -> str:
    """One line, without its end.

    Raises:
        ValueError: a candidate of more than the five dimensions that a line tells.
    """
    short = _short(codec.plain(found))
    candidate = getattr(found, "candidate", None)
    if candidate is not None and codec.restore(Candidate, _long(dict(short))["candidate"]) != candidate:
        raise ValueError(f"a landscape has no room for {candidate}: its lines hold five dimensions")
    return json.dumps({"is": type(found).__name__, **short}, separators=(",", ":"))


def read(path: Path) -> Landscape:
    """What was written.

    Raises:
        ValueError: another format.
    """
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]  # one that was cut by a kill has no end
    head, *found = (_decoded(line) for line in lines)
    if head.format != FORMAT:
        raise ValueError(f"{path.name} has format {head.format}, but {FORMAT} is read; record it anew")
    landscape = Landscape(head)
    for one in found:
        landscape.take(one)
    return landscape


def write(landscape: Landscape, path: Path) -> Path:
    """The whole landscape."""
    lines = [encoded(landscape.head), *(encoded(one) for one in landscape)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _decoded(line: str) -> Any:
    fields = json.loads(line)
    return codec.restore(_KINDS[fields.pop("is")], _long(fields))


def _long(fields: dict[str, Any]) -> dict[str, Any]:
    if isinstance(fields.get("candidate"), list):
        policy, batch, xla, widths, steps = fields["candidate"]
        fields["candidate"] = {
            "policy": {"name": policy},
            "batch_size": batch,
            "xla": xla,
            "widths": widths,
            "steps_per_execution": steps,
        }
    return fields


def _short(plain: dict[str, Any]) -> dict[str, Any]:
    """Floats of five digits, and no field that says nothing."""
    kept = {key: _rounded(value) for key, value in plain.items() if value is not None}
    if "candidate" in kept:
        one = kept["candidate"]
        kept["candidate"] = [
            one["policy"]["name"],
            one["batch_size"],
            one["xla"],
            one["widths"],
            one["steps_per_execution"],
        ]
    return kept


def _rounded(plain: Any) -> Any:
    if isinstance(plain, float):
        return float(f"{plain:.5g}")
    if isinstance(plain, dict):
        return {key: _rounded(value) for key, value in plain.items()}
    return [_rounded(value) for value in plain] if isinstance(plain, list | tuple) else plain
