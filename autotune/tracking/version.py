"""The evidence for a registered version as a text for its page. Light, since the worker imports it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

_BETTER = " better than float32's (below zero: worse)"


def version_description(tags: Mapping[str, str]) -> str:
    """A few lines of Markdown; empty where the tags are not those of a study.

    Args:
        tags: as `evidence.version_tags` made them; what is missing is left out.
    """
    if "decided" not in tags:
        return ""
    rows = (
        ("settings", tags.get("settings")),
        ("speed", _bounded(tags, "confirmed_speedup", "x float32's", "timing_verdict")),
        (
            "accuracy",
            _bounded(tags, "confirmed_accuracy_delta", _BETTER, "accuracy_verdict"),
        ),
        ("recipe", tags.get("recipe")),
        ("device", tags.get("device")),
        ("target", None if tags.get("on_target", "True").casefold() == "true" else f"{tags.get('target')}: OFF TARGET"),
        ("data", None if tags.get("stand_in", "no") == "no" else f"STAND-IN: {tags['stand_in']}"),
        ("study", tags.get("study")),
    )
    lines = [f"- **{name}**: {text}" for name, text in rows if text]
    return "\n".join([f"Decided: {tags['decided']}.", "", *lines])


def _bounded(tags: Mapping[str, str], key: str, unit: str, verdict: str) -> str | None:
    """A confirmed figure with its interval and its verdict."""
    if key not in tags:
        return None
    interval = f" [{tags[f'{key}_low']}, {tags[f'{key}_high']}]" if f"{key}_low" in tags else ""
    return f"{tags[key]}{unit}{interval}, {tags.get(verdict, 'no verdict')}"
