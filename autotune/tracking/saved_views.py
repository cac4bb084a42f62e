"""How an experiment's runs are looked at: views that MLflow's UI offers by name and opens from an address. Pure.

MLflow keeps a view as a tag of the experiment: which runs, in which order, with which columns and charts. The format is
its UI's own, as seen in 3.17: an envelope with the view's name, and the state within it. A version that cannot read it
says so and shows its own default page.
"""

from __future__ import annotations

import json
from typing import Any

from autotune.tracking.pages import of_study

TAG = "mlflow.sharedViewState."
"""Before the view's key, the name of the tag."""

TRIALS, STUDIES, LAST = "autotune-trials", "autotune-studies", "autotune-last-study"

_SPEED, _ACCURACY = "screen_speedup", "accuracy_delta"
_SEARCHED = ("policy", "batch_size", "xla", "steps_per_execution", "widths")
_TRIAL_COLUMNS = (
    *(f"metrics.`{name}`" for name in (_SPEED, "speedup", _ACCURACY, "screen_step_time_ms", "screen_examples_per_s")),
    *(f"params.`{name}`" for name in _SEARCHED),
    *(f"tags.`{name}`" for name in ("state", "gate", "verdict", "why", "study")),
)
_STUDY_COLUMNS = (
    *(f"metrics.`{name}`" for name in ("speedup", "accuracy_delta", "step_time_ms", "examples_per_s", "trials")),
    *(f"params.`{name}`" for name in _SEARCHED),
    *(f"tags.`{name}`" for name in ("state", "verdict", "device", "target", "sweep")),
    "attributes.`Models`",
)
_CHARTS = "autotune-charts"
# Sections that MLflow makes of all metrics; folded, they are there for whoever looks for them.
_FOLDED = ("Model metrics", "by_seed", "timing", "training", "structure", "export", "System metrics")


def standing_views() -> dict[str, str]:
    """Tags of every experiment of ours: all trials, and all studies."""
    return {
        TAG + TRIALS: _tag("Trials: speed against accuracy", _trials("tags.role != 'study'"), 1),
        TAG + STUDIES: _tag("Studies: what each came to", _studies(), 2),
    }


def last_study_view(study: str, started_ms: int) -> str:
    """The tag `TAG + LAST`: the trials of one study, the latest that began."""
    return _tag("Last study: speed against accuracy", _trials(of_study(study)), started_ms)


def made_ms(tag: str) -> int:
    """When the study of a `last_study_view` began, Unix time; 0 if the tag cannot be read."""
    try:
        return int(json.loads(tag)["createdAt"])
    except (ValueError, KeyError, TypeError):  # of another version, or edited by a person
        return 0


def _tag(name: str, state: dict[str, Any], made_ms: int) -> str:
    return json.dumps({"name": name, "createdAt": made_ms, "state": json.dumps(state, separators=(",", ":"))})


def _trials(condition: str) -> dict[str, Any]:
    charts = [
        _scatter("speed-accuracy", _SPEED, _ACCURACY),
        _parallel("settings", _SEARCHED, (_SPEED,)),
        _bar("speeds", _SPEED),
        _bar("confirmed", "speedup"),
    ]
    return _state(condition, _SPEED, _TRIAL_COLUMNS, charts)


def _studies() -> dict[str, Any]:
    charts = [
        _bar("speedups", "speedup"),
        _scatter("studies", "speedup", _ACCURACY),
        _parallel("winners", _SEARCHED, ("speedup",)),
    ]
    return _state("tags.role = 'study'", None, _STUDY_COLUMNS, charts)


def _state(
    condition: str, metric: str | None, columns: tuple[str, ...], charts: list[dict[str, Any]]
) -> dict[str, Any]:
    """What MLflow's page of runs is made of; fastest first, or newest first without a metric."""
    return {
        "searchFilter": condition,
        "orderByKey": f"metrics.`{metric}`" if metric else "attributes.start_time",
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "modelVersionFilter": "All Runs",
        "datasetsFilter": [],
        "selectedColumns": list(columns),
        "columnOrder": list(columns),
        "columnWidths": {"attributes.`Run Name`": 320},
        "runsHiddenMode": "SHOW_ALL",
        "groupBy": None,
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "compareRunCharts": charts,
        "compareRunSections": [_section(_CHARTS, "Speed against accuracy", unfolded=True)]
        + [_section(f"autotune-{name}", name, unfolded=False) for name in _FOLDED],
    }


def _section(uuid: str, name: str, *, unfolded: bool) -> dict[str, Any]:
    generated = {"isReordered": False, "deleted": False, "isGenerated": not unfolded}
    return {"uuid": uuid, "name": name, "display": unfolded, "columns": 2, "cardHeight": 400} | generated


def _chart(kind: str, key: str) -> dict[str, Any]:
    of_section = {"metricSectionId": _CHARTS, "deleted": False, "isGenerated": False}
    return {"uuid": f"autotune-{key}", "type": kind, "runsCountToCompare": 100} | of_section


def _scatter(key: str, x: str, y: str) -> dict[str, Any]:
    axes = {"xaxis": {"key": x, "type": "METRIC"}, "yaxis": {"key": y, "type": "METRIC"}}
    return _chart("SCATTER", key) | axes


def _parallel(key: str, params: tuple[str, ...], metrics: tuple[str, ...]) -> dict[str, Any]:
    chosen = {"selectedParams": list(params), "selectedMetrics": list(metrics), "showAllRuns": False}
    return _chart("PARALLEL", key) | chosen


def _bar(key: str, metric: str) -> dict[str, Any]:
    return _chart("BAR", key) | {"metricKey": metric}
