"""What MLflow is told of the whole study, on the parent run. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from autotune.record.view import StudyView
from autotune.report import blocks
from autotune.report.markdown import text
from autotune.tracking.metrics import Metrics, blocks_metrics, confirmed_metrics, interval_metrics, short_names
from autotune.tracking.names import name
from autotune.tracking.rows import Row, candidate_params, comparisons, row, study_tags, title, verdict
from autotune.trial import TrialState


def study_row(view: StudyView) -> Row:
    """All that is known of a study that has started. The winner's parameters have the names that its trial's have.

    They wait for a decision that stands: parameters cannot be changed, and a study that was interrupted may go on.
    """
    assert view.started is not None
    config = view.started.config
    metric = str(config["constraint"]["metric"])
    params = _study_params(config)
    if view.winner is not None and view.decided is not None and view.decided.interrupted is None:
        params |= candidate_params(view.winner.candidate)
    # In the order in which the run's page shows them.
    metrics = _winner_metrics(view, metric) | _baseline_metrics(view, metric) | _test_metrics(view, metric)
    metrics |= _counts(view)
    return row(params, metrics, study_tags(view) | _study_tags(view), set())


def status(view: StudyView) -> str:
    """MLflow's word for how the study ended: without a decision it was a fault."""
    if view.decided is None:
        return "FAILED"
    return "KILLED" if view.decided.interrupted == "interrupt" else "FINISHED"


def description(view: StudyView) -> str:
    """Markdown for the parent run's page."""
    if view.decided is None:
        stage = f"in stage **{view.stage.stage.value}**" if view.stage else "starting"
        device = f" on {title(view.started.device)}" if view.started else ""
        return f"Not decided yet: {stage}{device}, {len(view.trials)} trials so far.{_of_sweep(view)}"
    from autotune.report.summary import summary_markdown

    # Large headings overlap on that page.
    smaller = re.sub(r"^(#+ )", r"##\1", summary_markdown(view, brief=True), flags=re.MULTILINE)
    return smaller.replace("\n", f"\n{_of_sweep(view)}", 1)


def _of_sweep(view: StudyView) -> str:
    """Which multirun the study is a job of, as a paragraph."""
    sweep = view.started.sweep if view.started else None
    if sweep is None:
        return ""
    job = f"Job {text(sweep.job)}" if sweep.job else "A job"
    return f"\n{job} of the multirun {text(sweep.name)}: its studies have the same tag `sweep`.\n"


def _study_params(config: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    constraint, search = config["constraint"], config["search"]
    return {
        "model": config["model"]["name"],
        "dataset": config["data"]["name"],
        "hw": config["hw"]["name"],
        "constraint_metric": constraint["metric"],
        "margin": constraint["margin"],
        "margin_is_relative": constraint["relative"],
        "constraint_seeds": constraint["seeds"],
        "search_trials": search["trials"],
        "search_budget": search["budget"],
    }


def _counts(view: StudyView) -> Metrics:
    if view.decided is None:
        return {}
    states = [trial.state for trial in view.trials.values() if not trial.is_baseline]
    counts: Metrics = {"trials": len(states)}
    for state in TrialState:
        if state is not TrialState.SCREENED:
            counts[f"trials_{state.value}"] = states.count(state)
    counts["study_s"] = view.decided.duration_s
    return counts


def _baseline_metrics(view: StudyView, metric: str) -> Metrics:
    """Of float32 beside the confirmed winner; without one, of the baseline's own probe and trainings."""
    baseline, winner = view.baseline, view.winner
    if winner is not None and (confirmed := winner.confirmation) is not None:
        step_ms, rate = confirmed.baseline_step_time_ms, None
        if step_ms and baseline is not None:
            rate = baseline.candidate.batch_size / step_ms * 1e3
        reached = confirmed.baseline_metric
    elif baseline is not None:
        probe = baseline.probe
        step_ms, rate = (probe.step_time_ms, probe.examples_per_s) if probe else (None, None)
        reached = baseline.latest_metric
    else:
        return {}
    return {
        "baseline_step_time_ms": step_ms,
        "baseline_examples_per_s": rate,
        f"baseline_val_{name(metric)}": reached,
    }


def _winner_metrics(view: StudyView, metric: str) -> Metrics:
    """The confirmed figures, and the same under short names, so that one column sorts studies and confirmed trials."""
    winner = view.winner
    if winner is None:
        return {}
    if winner.is_baseline:
        probe = winner.probe
        return {
            "speedup": 1.0,  # itself over itself
            "step_time_ms": probe.step_time_ms if probe else None,
            "examples_per_s": probe.examples_per_s if probe else None,
            f"val_{name(metric)}": winner.latest_metric,
        }
    confirmed = winner.confirmation
    if confirmed is None:
        return {}
    return (
        confirmed_metrics(confirmed, metric)
        | short_names(confirmed)
        | blocks_metrics("confirmed", blocks.confirmation(winner))
        | {
            f"val_{name(metric)}": confirmed.metric,
            "accuracy_delta": confirmed.accuracy.delta.estimate if confirmed.accuracy else None,
        }
    )


def _test_metrics(view: StudyView, metric: str) -> Metrics:
    exported = view.exported
    if exported is None:
        return {}
    return {
        f"test_{name(metric)}": exported.test_metric,
        f"baseline_test_{name(metric)}": exported.baseline_test_metric,
        **interval_metrics("test_delta", exported.test_delta),
        **{f"export/reload_difference_{name(key)}": value for key, value in exported.reload_difference.items()},
    }


def _study_tags(view: StudyView) -> dict[str, object]:
    tags: dict[str, object] = {
        "role": "study",
        "stage": view.stage.stage if view.stage else None,
        "warnings": "; ".join(note.text for note in view.notes if note.level == "warning") or None,
        "compared": comparisons(view),
        "mlflow.note.content": description(view),
    }
    return tags | _origin_tags(view) | _outcome_tags(view)


def _origin_tags(view: StudyView) -> dict[str, object]:
    tags: dict[str, object] = {"recipe": view.fidelity.recipe} if view.fidelity else {}
    versions: dict[str, str] = {}
    if started := view.started:
        versions |= started.versions
        tags |= {
            "target_note": started.target_note,
            "command": started.command,
            "output_dir": started.output_dir,
        }
    if worker := view.worker:
        versions |= worker.facts.versions
        tags |= {
            "accelerator": worker.facts.accelerator,
            "data_origin": worker.data.origin,
            "data_fingerprint": worker.data.fingerprint,
        }
    return tags | {f"version.{name(package)}": version for package, version in versions.items()}


def _outcome_tags(view: StudyView) -> dict[str, object]:
    if view.decided is None:
        return {"state": "running"}
    winner, exported = view.winner, view.exported
    confirmed = winner.confirmation if winner else None
    tags: dict[str, object] = {
        "state": "baseline kept" if winner is None or winner.is_baseline else "faster",
        "winner": view.decided.winner,
        "reason": view.decided.reason,
        "interrupted": view.decided.interrupted,
    }
    if confirmed:
        tags |= {
            "timing_verdict": confirmed.timing,
            "gain_verdict": confirmed.verdict,
            "verdict": verdict(confirmed.accuracy),
        }
    if exported and exported.registered:
        tags |= {"alias": exported.alias, "alias_reason": exported.alias_reason}
    return tags
