"""What an export leaves and what the registry is asked for, with a worker that answers as it is told."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from autotune.errors import TrialFault
from autotune.export.export import export_winner
from autotune.record.events import BASELINE_TRIAL, Exported, StudyResumed, Trained
from autotune.record.record import Record
from autotune.report.answer import answer
from autotune.trial import Stage
from autotune.worker.protocol import Evaluation
from tests.sample_study import BASELINE_METRIC, WINNER, sample_events
from tests.sample_values import STEP_MS


@dataclass
class Worker:
    """Also the executor: one that writes the reference, and finds a difference when it reloads."""

    difference: float | None
    metric: float | None = 0.44
    registered: list[str] = field(default_factory=list)

    def evaluate(self, args):
        return Evaluation(1000, self.metric, None)

    def export(self, args):
        Path(args.saved_model_path).mkdir()
        Path(args.reference_path).touch()

    @contextlib.contextmanager
    def aside(self):
        yield self

    def reload(self, args):
        assert Path(args.reference_path).is_file()
        if self.difference is None:
            raise TrialFault("crash", "gone")
        return self.difference

    def register(self, worker, view, model, reference, alias):
        assert reference.is_file()
        self.registered.append(alias)
        return f"net version 1 (alias {alias})"


@pytest.fixture
def record(tmp_path):
    """A study that may be exported for production."""
    trained = tmp_path / "trained.keras"
    trained.touch()
    record = Record(tmp_path / "record.jsonl")
    for event in sample_events():
        if isinstance(event, Trained) and event.trial == WINNER:
            event = replace(event, run=replace(event.run, model_path=str(trained)))
        if not isinstance(event, Exported):
            record.append(event)
    yield record
    record.close()


def evidence(record):
    return json.loads((record.path.parent / "export" / "evidence.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("difference", "alias"), [(1e-3, "production"), (0.2, "candidate")])
def test_a_model_that_reloads_as_another_is_not_registered_for_production(compose, record, difference, alias):
    worker = Worker(difference)
    export_winner(compose("model=cifar_mlp"), record, worker, worker.register)
    exported = record.view.exported
    assert worker.registered == [exported.alias] == [alias]
    said = [note.text for note in record.view.notes if "predicts otherwise" in note.text]
    assert len(said) == (2 if alias == "candidate" else 0), "one for each form"
    assert ("predicts otherwise" in exported.alias_reason) is bool(said)


def test_the_evidence_says_what_its_differences_are_judged_by(compose, record):
    worker = Worker(0.0)
    export_winner(compose("model=cifar_mlp"), record, worker, worker.register)
    constraint = {"metric": "accuracy", "direction": "higher", "margin": 0.01, "relative": False, "seeds": 3}
    assert evidence(record)["constraint"] == constraint


def test_the_export_of_a_kept_baseline_does_not_call_itself_the_winner(compose, tmp_path):
    trained = tmp_path / "trained.keras"
    trained.touch()
    record = Record(tmp_path / "record.jsonl")
    for event in sample_events(winner=False):
        if isinstance(event, Trained) and event.trial == BASELINE_TRIAL and event.stage is Stage.BASELINE:
            event = replace(event, run=replace(event.run, model_path=str(trained)))
        if not isinstance(event, Exported):
            record.append(event)
    worker = Worker(0.0)
    export_winner(compose("model=cifar_mlp"), record, worker, worker.register)
    record.close()
    header = (tmp_path / "export" / "best.yaml").read_text(encoding="utf-8").split("\ndefaults:")[0]
    assert "The float32 baseline (no candidate was confirmed) of study" in header
    assert "at the recipe it was measured at (8,000 examples x 3 epochs)" in header
    assert not any(word in header for word in ("winning", "were confirmed"))
    found = evidence(record)
    assert found["recipe"]["examples"] == 8000
    assert found["baseline"]["step_time_ms"] == pytest.approx(STEP_MS[BASELINE_TRIAL], rel=0.05)
    by_seed = {str(seed): pytest.approx(metric) for seed, metric in BASELINE_METRIC.items()}
    assert found["baseline"]["metric_by_seed"] == by_seed


def test_the_evidence_tells_of_every_session(compose, record):
    record.append(StudyResumed(1.0, 2.0, (), None, ("search.budget was 6m and is 3h",), "python -m autotune"))
    worker = Worker(0.0)
    export_winner(compose("model=cifar_mlp"), record, worker, worker.register)
    sessions = evidence(record)["sessions"]
    assert [session["changed"] for session in sessions] == [[], ["search.budget was 6m and is 3h"]]
    assert [session["command"] for session in sessions] == [record.view.started.command, "python -m autotune"]


@pytest.mark.parametrize("difference", [0.0, None])
def test_no_examples_are_left_in_the_export(compose, record, difference):
    worker = Worker(difference)
    export_winner(compose("model=cifar_mlp"), record, worker, worker.register)
    left = {path.name for path in (record.path.parent / "export").iterdir()}
    assert left - {"evidence.json"} == {"best.yaml", "model.keras", "saved_model"}


def test_a_metric_on_the_test_part_that_is_not_finite_is_told_and_not_for_production(compose, record):
    worker = Worker(0.0, metric=None)
    export_winner(compose("model=cifar_mlp"), record, worker, worker.register)
    assert worker.registered == ["candidate"]
    told = answer(record.view)
    assert dict(told.rows)["test part"] == "accuracy not finite"
    assert "the exported model's accuracy on the test part is not finite" in told.warnings
