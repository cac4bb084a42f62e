"""Exports the winner. The test part is touched here for the first time, and once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autotune import codec
from autotune.config.schema import Config
from autotune.decide.accuracy import paired_proportion
from autotune.errors import TrialFault
from autotune.export.entitlement import alias_for, predicts_otherwise
from autotune.export.settings import FILE_NAME as SETTINGS
from autotune.export.settings import write_settings
from autotune.masking import masked_values
from autotune.record.events import BASELINE_TRIAL, Exported, Note
from autotune.record.record import Record
from autotune.record.view import StudyView, TrialView
from autotune.study.context import MODELS
from autotune.trial import Interval, Policy, Recipe, Stage, TrainingRun
from autotune.worker.bare import BareWorker
from autotune.worker.executor import LocalExecutor
from autotune.worker.protocol import EvaluateArgs, Evaluation, ExportArgs, ReloadArgs

FOLDER = "export"

Register = Callable[[BareWorker, StudyView, Path, Path, str], str | None]
"""Registers a model: (worker, study, model file, reload reference, alias) -> the registry's entry, or None."""


def export_winner(config: Config, record: Record, executor: LocalExecutor, register: Register) -> None:
    """Write the winner's files, evaluate it, check that it reloads, register it, and record all that.

    A fault on the way is noted in the record; what was written until then stays.
    """
    view = record.view
    assert view.started is not None
    assert view.decided is not None
    trial = view.trials[view.decided.winner]
    run = kept_run(trial)
    if run is None or run.model_path is None:
        record.append(Note("export", "nothing to export: no trained model was kept", "warning"))
        return
    folder = record.path.parent / FOLDER
    shutil.rmtree(folder, ignore_errors=True)  # a killed session's, which was not recorded as complete
    folder.mkdir()
    files = _Files(folder)
    study = view.started.study
    write_settings(folder, config, trial.candidate, run.recipe, study, is_baseline=trial.is_baseline)
    _link(Path(run.model_path), files.model)
    baseline_run = None if trial.is_baseline else _on_seed(view.trials[BASELINE_TRIAL], run.seed)
    try:
        evaluation = executor.evaluate(
            EvaluateArgs(str(files.model), baseline_run.model_path if baseline_run else None)
        )
        executor.export(ExportArgs(str(files.model), str(files.saved_model), str(files.reference)))
        with executor.aside() as worker:
            differences = _reload(worker, files, trial.candidate.policy, config.model._target_)
            _note_faults(record, config.constraint.metric, evaluation, differences)
            alias, reason = alias_for(view, differences, evaluation)
            registered = register(worker, view, files.model, files.reference, alias)
    except TrialFault as fault:
        record.append(Note("export", f"the export is not complete: {fault.kind}: {fault.message}", "warning"))
        return
    finally:
        files.reference.unlink(missing_ok=True)  # it holds examples, which stay where the data is
    _write_evidence(files, view, run.recipe, evaluation, differences, alias)
    record.append(
        Exported(
            trial=trial.number,
            folder=str(folder),
            files=files.exported(),
            test_metric=evaluation.metric,
            baseline_test_metric=evaluation.baseline_metric,
            test_delta=_test_delta(evaluation),
            reload_difference=differences,
            alias=alias,
            alias_reason=reason,
            registered=registered,
        )
    )
    # The exported model has a link of its own; the others served the paired evaluation and are large.
    shutil.rmtree(record.path.parent / MODELS, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class _Files:
    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model.keras"

    @property
    def saved_model(self) -> Path:
        return self.folder / "saved_model"

    @property
    def reference(self) -> Path:
        return self.folder / "reload_check.npz"

    @property
    def evidence(self) -> Path:
        return self.folder / "evidence.json"

    def exported(self) -> dict[str, str]:
        paths = (self.folder / SETTINGS, self.model, self.saved_model, self.evidence)
        return {path.name: str(path) for path in paths}


def _link(source: Path, target: Path) -> None:
    """A second name for a large file; a copy where the file system has no links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def _reload(worker: BareWorker, files: _Files, policy: Policy, builder: str) -> dict[str, float]:
    """Both forms of the model under another global policy than they were trained under."""
    other = "mixed_bfloat16" if policy.is_float32 else "float32"
    return {
        path.name: worker.reload(ReloadArgs(str(path), str(files.reference), other, builder))
        for path in (files.model, files.saved_model)
    }


def kept_run(trial: TrialView) -> TrainingRun | None:
    """The run whose model was kept: of the confirmation where there was one, else of the baseline stage."""
    for stage in (Stage.CONFIRM, Stage.BASELINE):
        for run in trial.runs.get(stage, ()):
            if run.model_path is not None:
                return run
    return None


def _on_seed(trial: TrialView, seed: int) -> TrainingRun | None:
    runs = [run for group in trial.runs.values() for run in group]
    return next((run for run in runs if run.seed == seed and run.model_path is not None), None)


def _test_delta(evaluation: Evaluation) -> Interval | None:
    if evaluation.only_model is None or evaluation.only_baseline is None:
        return None
    return paired_proportion(evaluation.examples, evaluation.only_model, evaluation.only_baseline)


def _note_faults(record: Record, metric: str, evaluation: Evaluation, differences: dict[str, float]) -> None:
    """What the exported model is not fit for production by."""
    if evaluation.metric is None:
        record.append(Note("export", f"the exported model's {metric} on the test part is not finite", "warning"))
    for name in predicts_otherwise(differences):
        text = f"{name}, reloaded in a fresh process, predicts otherwise: relative difference {differences[name]:.3g}"
        record.append(Note("export", text, "warning"))


def _baseline(view: StudyView) -> dict[str, Any]:
    """What float32 itself reached, whether a candidate was confirmed against it or not."""
    baseline = view.trials[BASELINE_TRIAL]
    runs = [run for group in baseline.runs.values() for run in group]
    return {
        "step_time_ms": baseline.probe.step_time_ms if baseline.probe else None,
        "metric_by_seed": {str(run.seed): run.metric for run in runs},
    }


def _sessions(view: StudyView) -> list[dict[str, Any]]:
    """What each was begun with; the other facts in the evidence are the first one's."""
    assert view.started is not None
    first = {"command": view.started.command, "changed": []}
    return [first, *({"command": later.command, "changed": list(later.changed)} for later in view.resumptions)]


def _write_evidence(
    files: _Files,
    view: StudyView,
    recipe: Recipe,
    evaluation: Evaluation,
    differences: dict[str, float],
    alias: str,
) -> None:
    """Everything that a later machine needs to compare with, beside the model."""
    assert view.started is not None
    assert view.worker is not None
    assert view.decided is not None
    trial = view.trials[view.decided.winner]
    content = {
        "study": view.started.study,
        "trial": trial.number,
        "candidate": codec.plain(trial.candidate),
        "constraint": masked_values(view.started.config["constraint"]),
        "decided": codec.plain(view.decided),
        "recipe": codec.plain(recipe),
        "baseline": _baseline(view),
        "confirmation": codec.plain(trial.confirmation),
        "effect": codec.plain(trial.probe.effect) if trial.probe else None,
        "test_part": codec.plain(evaluation),
        "reload_difference": differences,
        "alias": alias,
        "target": view.started.target,
        "device": view.started.device,
        "on_target": view.started.on_target,
        "data": codec.plain(view.worker.data),
        "sessions": _sessions(view),
        "versions": view.started.versions | view.worker.facts.versions,
        "notes": [codec.plain(note) for note in view.notes],
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    files.evidence.write_text(text, encoding="utf-8", errors="surrogateescape")
