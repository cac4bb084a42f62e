"""True studies, as a person starts them: another process, their own folder, model, data, metric and configuration."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autotune.explain.roofline import measured_roofline
from autotune.explain.studied import findings_of
from autotune.explain.why import LONGEST, why
from autotune.record import events as ev
from autotune.record.lines import read
from autotune.record.view import StudyView
from autotune.report.front import front_of
from autotune.trial import AccuracyVerdict, Stage, TimingVerdict, TrialState
from tests.end_to_end.person import TRUST, Person, run_folders, runs_of, study_with

pytestmark = [
    pytest.mark.slow,
    # A deprecation inside MLflow 3.17 that is not ours to mend.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),
]


@dataclass(frozen=True)
class Finished:
    """A study that has ended."""

    person: Person
    status: int
    out: str
    err: str
    folder: Path

    @property
    def events(self) -> list[ev.Event]:
        return list(read(self.folder / "record.jsonl"))

    @property
    def view(self) -> StudyView:
        return StudyView.of(self.events)


def finished(folder: Path, *arguments: str) -> Finished:
    person = Person(folder)
    done = person.autotune(*study_with(*arguments))
    [run] = run_folders(person)
    return Finished(person, done.returncode, done.stdout, done.stderr, run)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """One study on whatever is here, with MLflow."""
    return finished(tmp_path_factory.mktemp("person's folder"), "tracking.registered_model=my/net")


@pytest.fixture(scope="module")
def off_target(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """One study for a card that is not here, of the whole front, without MLflow."""
    front = ("objective=pareto", "search.trials=5")
    return finished(tmp_path_factory.mktemp("off_target"), "hw=rtx2060", "tracking=off", *front)


def test_the_status_says_what_the_record_says(study):
    decided = study.view.decided
    assert study.err == ""
    assert decided.interrupted is None
    assert study.status == (0 if decided.winner else 3)
    assert not study.view.baseline.failure


def test_the_record_is_complete(study):
    view = study.view
    kinds = [type(event) for event in study.events]
    assert kinds[:2] == [ev.StudyStarted, ev.WorkerReady]
    assert ev.SinkFailed not in kinds
    assert [e.stage for e in study.events if isinstance(e, ev.StageStarted)][:3] == ["baseline", "screen", "verify"]
    assert len(view.trials) == 1 + 3
    assert all(trial.state not in (None, TrialState.SCREENED) for trial in view.trials.values())
    assert all(trial.reason for trial in view.trials.values())
    assert view.worker.data.name == "clusters"
    assert (view.worker.data.train, view.worker.data.test) == (640, 300)
    assert (view.fidelity.recipe.examples, view.fidelity.recipe.epochs) == (512, 6)
    assert len(view.baseline.runs[Stage.BASELINE]) == 3


def test_the_model_is_taken_apart_once_and_explains_what_was_measured(study):
    view = study.view
    [event] = [event for event in study.events if isinstance(event, ev.Inspected)]
    assert event.failure is None
    measured_here = view.started.device["kind"] == "cpu"
    assert (event.anatomy.calibration is not None) == measured_here
    traced = sum(layer.flops for layer in event.anatomy.float32.layers)
    assert traced == sum(product.flops for product in view.baseline.probe.effect.products)
    assert all(len(why(view, trial)) <= LONGEST for trial in view.trials.values())
    assert all(why(view, trial) for trial in view.trials.values() if not trial.is_baseline)
    if measured_here:
        assert 0 in {point.trial for point in measured_roofline(view).points}
    assert isinstance(findings_of(view), tuple)


def test_the_winner_is_confirmed_on_the_persons_own_metric(study):
    view = study.view
    if view.decided.winner == ev.BASELINE_TRIAL:
        assert not any(c.succeeded for c in view.confirmations)
        return
    confirmation = view.winner.confirmation
    assert confirmation.timing is TimingVerdict.FASTER
    assert confirmation.accuracy.verdict is AccuracyVerdict.PASS
    assert confirmation.accuracy.seeds[:3] == (1000, 1001, 1002)
    assert 0 <= confirmation.metric < 0.1, "an error rate, and the clusters lie apart"
    assert confirmation.speedup.low > 1.02


def test_the_report_and_optunas_study_are_there(study):
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    report = {path.name for path in (study.folder / "report").iterdir()}
    assert report == {"trials.csv", "summary.md", "report.html", "tradeoff.png"}
    with (study.folder / "report" / "trials.csv").open(encoding="utf-8") as file:
        assert len(list(csv.reader(file))) == 1 + 4
    storage = JournalStorage(JournalFileBackend(str(study.folder / "optuna.journal")))
    loaded = optuna.load_study(study_name=None, storage=storage)
    assert len(loaded.trials) == 4
    # The fastest by its screening of those that passed; one that was as fast may have gone first head to head.
    best = study.view.trials[loaded.best_trial.user_attrs["trial"]]
    assert best.state is TrialState.PASSED


def test_the_export_holds_what_the_record_names(study):
    exported = study.view.exported
    assert set(exported.files) == {"best.yaml", "model.keras", "saved_model", "evidence.json"}
    assert all(Path(path).exists() for path in exported.files.values())
    assert {path.name for path in Path(exported.folder).iterdir()} == set(exported.files), "no examples are left"
    assert all(difference < 0.05 for difference in exported.reload_difference.values())
    assert exported.test_metric < 0.1
    evidence = json.loads(Path(exported.files["evidence.json"]).read_text(encoding="utf-8"))
    assert evidence["alias"] == exported.alias == ("production" if study.view.decided.winner else "candidate")
    assert evidence["trial"] == study.view.decided.winner
    assert evidence["test_part"]["examples"] == 300


def test_nothing_else_was_written_and_nothing_still_runs(study):
    assert study.person.written() == {"outputs"}
    assert study.person.changed() == set()
    assert {path.name for path in (study.person.folder / "outputs").iterdir()} == {
        study.folder.parent.name,
        "mlflow.db",
        "mlflow.db.lock",
        "mlartifacts",
    }
    assert {path.name for path in study.folder.iterdir()} == {
        "record.jsonl",
        "worker.log",
        "optuna.journal",
        "report",
        "export",
    }
    assert study.person.running() == []


@pytest.fixture(scope="module")
def client(study: Finished) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{study.person.folder / 'outputs' / 'mlflow.db'}")


def test_mlflow_has_a_run_for_the_study_and_one_for_each_trial(study, client):
    parent, nested = runs_of(client, "autotune-my_net")
    assert parent.info.status == "FINISHED"
    assert [int(run.data.tags["trial"]) for run in nested] == [0, 1, 2, 3]
    for run in [parent, *nested]:
        assert run.data.tags["on_target"] == "true"
        assert run.data.tags["stand_in"] == "no"
        assert run.data.tags["study"] == study.view.started.study
    for run, trial in zip(nested, study.view.trials.values(), strict=True):
        assert run.info.status in ("FINISHED", "FAILED")
        assert run.data.params["batch_size"] == str(trial.candidate.batch_size)
        assert run.data.params["policy"] == trial.candidate.policy.name
        if trial.probe and not trial.failure:
            assert run.data.metrics["screen_examples_per_s"] == pytest.approx(trial.probe.examples_per_s, rel=1e-6)
    kept = {file.path for file in client.list_artifacts(parent.info.run_id)}
    assert {"report", "export", "record.jsonl"} <= kept


def test_the_exported_model_predicts_the_same_anywhere(study, client, tmp_path):
    """Plain Keras, then MLflow's registry, in a process and a folder that know nothing of this project or its data."""
    exported = study.view.exported
    assert exported.registered == f"my_net version 1 (alias {exported.alias})"
    version = client.get_model_version_by_alias("my_net", exported.alias)
    assert version.tags["trial"] == str(study.view.decided.winner)
    script = f"""
import keras, numpy as np
x = np.random.default_rng(0).normal(size=(64, 32)).astype("float32")
model = keras.saving.load_model({exported.files["model.keras"]!r})
plain = model.predict(x, verbose=0)
import mlflow
mlflow.set_tracking_uri({f"sqlite:///{study.person.folder / 'outputs' / 'mlflow.db'}"!r})
served = mlflow.pyfunc.load_model("models:/my_net@{exported.alias}").predict(x)
np.savez("predictions.npz", plain=plain, served=served)
"""
    done = study.person.python("-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "predictions.npz") as found:
        assert found["plain"].shape == (64, 4)
        assert np.abs(found["served"] - found["plain"]).max() < 0.05


def test_the_exported_settings_train_again(study):
    """Last of those that use this study: it adds a run beside it."""
    export = study.folder / "export"
    done = study.person.autotune(*TRUST, "--config-dir", str(export), "--config-name", "best", "output.name=again")
    assert done.returncode == 0, done.stderr
    again = study.person.folder / "outputs" / "again"
    [trained] = [event for event in read(again / "record.jsonl") if isinstance(event, ev.Trained)]
    assert trained.run.candidate == study.view.winner.candidate
    assert trained.run.recipe == next(iter(study.view.winner.runs.values()))[0].recipe
    assert (again / "model.keras").is_file()
    assert "test error rate" in done.stdout
    assert study.person.written() == {"outputs"}
    assert study.person.running() == []


@pytest.mark.long
def test_a_study_for_an_absent_target_says_so_everywhere(off_target):
    view = off_target.view
    assert off_target.status in (0, 3)
    assert view.started.on_target is False
    assert view.started.target["name"] == "rtx2060"
    assert any(note.topic == "off_target" and note.level == "warning" for note in view.notes)
    assert view.exported.alias == "candidate"
    assert "not measured on the target" in view.exported.alias_reason
    assert "OFF TARGET" in off_target.out.splitlines()[0]
    assert "alias           none, since no model was registered; entitled to candidate: it was" in off_target.out
    assert "OFF TARGET" in (off_target.folder / "report" / "summary.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_targets_own_times_are_a_column_of_predictions(off_target):
    predicted = {entry.candidate: entry.step_time_ms for entry in off_target.view.space.predicted}
    assert off_target.view.baseline.candidate in predicted
    with (off_target.folder / "report" / "trials.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    [column] = [name for name in rows[0] if "predicted" in name and "ms" in name]
    # bfloat16 has no peak on this card, and what is not known is left blank.
    assert [float(row[column]) > 0 for row in rows if row["policy"] == "float32"]
    assert {row[column] for row in rows if row["policy"] == "mixed_bfloat16"} == {""}
    assert "mixed_float16" in {candidate.policy.name for candidate in predicted}, "what it would be offered itself"
    assert "PREDICTED by a roofline, not measured" in off_target.out


@pytest.mark.long
def test_without_tracking_there_is_no_store(off_target):
    assert off_target.view.exported.registered is None
    assert [path.name for path in (off_target.person.folder / "outputs").iterdir()] == [off_target.folder.parent.name]
    assert off_target.person.written() == {"outputs"}
    assert off_target.person.running() == []


@pytest.mark.long
def test_the_front_is_of_what_was_trained(off_target):
    view = off_target.view
    assert off_target.status == (0 if view.decided.winner else 3)
    candidates = [trial for number, trial in view.trials.items() if number]
    trained = [trial for trial in candidates if trial.state in (TrialState.PASSED, TrialState.REJECTED)]
    assert trained
    assert all(len(trial.accuracy.seeds) == 3 for trial in trained)
    front = front_of(view)
    assert {trial.number for trial in front.points} <= {trial.number for trial in trained}
    summary = (off_target.folder / "report" / "summary.md").read_text(encoding="utf-8")
    for trial in front.points:
        assert f"**front, trial {trial.number}**" in summary
    fastest = max(trained, key=lambda trial: trial.speedup.estimate)
    assert fastest in front.points or fastest.confirmation is not None, "a confirmed figure may have put it elsewhere"
