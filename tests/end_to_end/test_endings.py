"""Runs that end otherwise than with an answer: a mistake, a job among several, Ctrl-C."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

from autotune.record import events as ev
from autotune.record.lines import read
from autotune.record.view import StudyView
from tests.end_to_end.person import STUDY, Person, run_folders, runs_of, study_with

pytestmark = [
    pytest.mark.slow,
    # A deprecation inside MLflow 3.17 that is not ours to mend.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),
]


def one_line(done: Any) -> str:
    """The complaint of a run that did nothing else."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("autotune: error: ")
    assert done.stderr.count("\n") == 1
    return str(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("hw=rtx2060", "hw.on_mismatch=error"), "hw.on_mismatch=error wants the target itself"),
        # A multirun makes this mistake always, see below.
        pytest.param(("model=misnamed",), "did you mean models.net.build?", marks=pytest.mark.long),
        pytest.param(
            ("constraint._target_=scores.eror_rate",), "did you mean scores.error_rate?", marks=pytest.mark.long
        ),
        (
            ("data=cifar10", "data.dir=nothing_here", "data.download=false", "data.on_unavailable=error"),
            "nothing_here",
        ),
        pytest.param(
            ("train.batch_size=700", "train.examples=null"),
            "train.batch_size must not exceed the training part",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(tmp_path, arguments, said):
    person = Person(tmp_path)
    done = person.autotune(*study_with(*arguments))
    assert said in one_line(done)
    assert person.written() == set()
    assert person.changed() == set()
    assert person.running() == []


def test_a_multirun_of_plans_goes_on_after_a_mistake_and_returns_the_worst(tmp_path):
    person = Person(tmp_path)
    arguments = [argument for argument in STUDY if not argument.startswith("model=")]
    done = person.autotune("-m", "task=plan", "model=misnamed,my_net", "tracking=off", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "did you mean models.net.build?" in done.stderr
    first, second = done.stdout.splitlines()[-2:]
    assert first.startswith("job 0: a mistake in what was asked for (2): task=plan model=misnamed")
    assert second.startswith("job 1: done (0): task=plan model=my_net")
    [run] = run_folders(person)
    view = StudyView.of(read(run / "record.jsonl"))
    assert view.space.space.size == 5
    assert view.baseline.probe.examples_per_s > 0
    assert view.baseline.runs == {}
    assert view.decided is None
    assert person.written() == {"outputs"}
    assert person.running() == []


@pytest.mark.long
def test_ctrl_c_keeps_what_was_measured(tmp_path):
    person = Person(tmp_path)
    process = person.start("-m", "autotune", *STUDY)
    deadline = time.monotonic() + 120
    while not any(b'"stage":"screen","probe"' in (run / "record.jsonl").read_bytes() for run in run_folders(person)):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert err in ("autotune: interrupted\n", "")
    [run] = run_folders(person)
    view = StudyView.of(read(run / "record.jsonl"))
    assert (view.decided.winner, view.decided.interrupted) == (ev.BASELINE_TRIAL, "interrupt")
    assert view.trials[1].probe is not None
    assert (run / "report" / "summary.md").is_file()
    assert (run / "optuna.journal").is_file()
    assert "interrupt" in out
    assert person.running() == []

    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'outputs' / 'mlflow.db'}")
    parent, nested = runs_of(client, "autotune-my_net")
    assert parent.info.status == "KILLED"
    assert "RUNNING" not in {run.info.status for run in nested}
    assert person.written() == {"outputs"}


def test_ctrl_c_while_the_store_is_made_leaves_a_store_that_works(tmp_path):
    """The migrations of a new database take seconds; cut in the middle, no later run could open it."""
    person = Person(tmp_path)
    process = person.start("-m", "autotune", *STUDY)
    deadline = time.monotonic() + 120
    while not (tmp_path / "outputs" / "mlflow.db.lock").exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.endswith("autotune: interrupted\n")
    assert run_folders(person) == []
    assert person.running() == []

    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'outputs' / 'mlflow.db'}")
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    assert "RUNNING" not in {run.info.status for run in client.search_runs(experiments)}
