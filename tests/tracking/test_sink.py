from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from autotune.config.schema import Config
from autotune.errors import TrackingError
from autotune.record.events import Event, StudyStarted, TrialJudged
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import Store, store_in_force
from autotune.trial import TrialState
from tests.sample_study import sample_events
from tests.tracking.logged import STUDY, runs, tell


def test_neither_the_sink_nor_promotion_imports_mlflow_at_module_level() -> None:
    code = "import sys, autotune.tracking.sink, autotune.tracking.promote, autotune.tracking.register; " + (
        "sys.exit(bool({'mlflow', 'tensorflow', 'keras', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_sink_that_heard_nothing_closes_at_once(config: Config) -> None:
    sink = MlflowSink(config, STUDY)
    sink.log_artifacts({"a": Path("nowhere")})
    sink.close()
    assert sink.run_id() is None
    assert not Path(config.output.root).exists()


def _log(sink: MlflowSink, events: Iterable[Event], files: dict[str, Path] | None = None) -> None:
    tell(sink, events)
    sink.log_artifacts(files or {})
    sink.close()


@pytest.fixture
def logged(config: Config, store: Store) -> Callable[..., tuple[Any, dict[str, Any]]]:
    """Log a sample study; returns the parent run and the nested runs by their trial's number."""

    def log(events: Iterable[Event], files: dict[str, Path] | None = None) -> tuple[Any, dict[str, Any]]:
        from mlflow import MlflowClient

        sink = MlflowSink(config, STUDY, store=store)
        _log(sink, events, files)
        client = MlflowClient(store.uri)
        run_id = sink.run_id()
        assert run_id is not None
        parent = client.get_run(run_id)
        runs = client.search_runs([parent.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run_id}'")
        return parent, {run.data.tags["trial"]: run for run in runs}

    return log


@pytest.mark.slow
def test_a_whole_study_is_read_back(logged: Any, store: Store, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    (tmp_path / "table.csv").write_text("trial\n0\n")
    (tmp_path / "saved_model").mkdir()
    (tmp_path / "saved_model" / "x.pb").write_text("")
    files = {
        "trials.csv": tmp_path / "table.csv",
        "export/table.csv": tmp_path / "table.csv",
        "export/saved_model": tmp_path / "saved_model",
    }
    parent, trials = logged(sample_events(), files)
    client = MlflowClient(store.uri)

    assert parent.info.run_name == STUDY
    assert parent.info.status == "FINISHED"
    assert parent.data.metrics["confirmed_speedup"] == 5.94
    assert parent.data.params["policy"] == "mixed_bfloat16"
    note = parent.data.tags["mlflow.note.content"]
    assert note.startswith("### Use trial 4")
    assert "\nOpen [its trials](#/experiments/" in note
    assert "mlflow.parentRunId" not in parent.data.tags
    assert {f.path for f in client.list_artifacts(parent.info.run_id)} == {"config.yaml", "trials.csv", "export"}
    assert {f.path for f in client.list_artifacts(parent.info.run_id, "export")} == {
        "export/table.csv",
        "export/saved_model",
    }

    assert sorted(trials) == [str(n) for n in range(9)]
    assert {number: run.info.status for number, run in trials.items() if run.info.status != "FINISHED"} == {
        "6": "FAILED"
    }
    names = {number: run.info.run_name for number, run in trials.items()}
    assert names["0"] == "00 baseline float32 b32"
    assert names["1"] == "01 mixed_float16 b32"
    assert names["3"] == "03 rejected mixed_float16 b512 xla x8 w3008-1008"
    assert names["4"] == "04 winner mixed_bfloat16 b256 xla x8 w3008-1008"
    assert trials["3"].data.tags["feasible"] == "false"
    assert trials["6"].data.tags["failure"] == "compile"
    curve = client.get_metric_history(trials["4"].info.run_id, "by_epoch/val_accuracy/seed_100")
    assert [point.step for point in curve] == [1, 2, 3]
    scale = client.get_metric_history(trials["3"].info.run_id, "by_epoch/loss_scale/seed_0")
    assert [(point.step, point.value) for point in scale] == [(1, 8192), (2, 8192), (3, 16384)]
    skipped = client.get_metric_history(trials["3"].info.run_id, "by_epoch/skipped_steps/seed_0")
    assert [point.value for point in skipped] == [2, 0, 0]
    assert "by_epoch/loss_scale/seed_100" not in trials["4"].data.metrics, "bfloat16 needs no loss scaling"
    for run in (parent, trials["4"], trials["5"]):
        assert run.data.tags["compared"].startswith("trial 4 against trial 5 in one process: 1.18x")
    assert "compared" not in trials["2"].data.tags
    by_seed = client.get_metric_history(trials["4"].info.run_id, "by_seed/accuracy_delta")
    assert sorted(point.step for point in by_seed) == [0, 1, 100, 101, 102]
    assert all(run.info.end_time >= run.info.start_time for run in trials.values())


@pytest.mark.slow
def test_an_interrupted_study_looks_interrupted(logged: Any) -> None:
    parent, trials = logged(sample_events(interrupted=True))
    assert parent.info.status == "KILLED"
    assert parent.data.tags["interrupted"] == "interrupt"
    assert trials["5"].info.status == "KILLED", "it was being trained"
    assert trials["2"].info.status == "FINISHED", "it was measured, and nothing more was asked of it"


@pytest.mark.slow
def test_a_study_that_broke_off_looks_failed_and_nothing_is_left_running(logged: Any) -> None:
    parent, trials = logged(sample_events()[:30])
    assert parent.info.status == "FAILED"
    assert parent.data.tags["mlflow.note.content"].startswith("Not decided yet")
    assert "RUNNING" not in {run.info.status for run in trials.values()}


@pytest.mark.slow
def test_long_texts_are_cut_visibly_and_whole_in_the_configuration(
    logged: Any, config: Config, store: Store, tmp_path: Path
) -> None:
    import yaml
    from mlflow import MlflowClient

    config.data.name = "d" * 9000
    started, *rest = sample_events()
    assert isinstance(started, StudyStarted)
    started.config["data"]["name"] = config.data.name
    started = StudyStarted(**{f: getattr(started, f) for f in started.__dataclass_fields__} | {"command": "c" * 9000})
    started.config["tracking"]["uri"] = "http://me:secret@host"
    parent, _ = logged([started, *rest[:3]])
    assert parent.data.params["dataset"].endswith("[cut from 9,000 characters]")
    assert parent.data.tags["command"].endswith("[cut from 9,000 characters]")
    file = MlflowClient(store.uri).download_artifacts(parent.info.run_id, "config.yaml", str(tmp_path))
    kept = yaml.safe_load(Path(file).read_text())
    assert kept["data"]["name"] == config.data.name
    assert kept["tracking"]["uri"] == "http://***@host"


@pytest.mark.slow
def test_a_fault_of_the_sink_itself_is_raised_and_leaves_no_run_running(config: Config, store: Store) -> None:
    sink = MlflowSink(config, STUDY, store=store)
    tell(sink, sample_events()[:12])
    assert sink.run_id() is not None
    sink.on_event(TrialJudged(77, TrialState.PASSED, "of a trial that never was"))
    with pytest.raises(TrackingError, match="77"):
        sink.close()
    with pytest.raises(TrackingError, match="77"):
        sink.on_event(sample_events()[12])
    assert "RUNNING" not in {run.info.status for run in runs(store)}


@pytest.mark.slow
def test_the_events_wait_for_a_store_that_is_still_being_made(config: Config, empty_database: Path) -> None:
    # No database yet: its tables are made while the events arrive.
    sink = MlflowSink(config, STUDY)
    _log(sink, sample_events()[:6])
    assert sink.run_id() is not None
    assert sink.store.sqlite_file is not None
    assert sink.store.sqlite_file.is_file()


WHOLE_STUDY = """
import sys, time
from pathlib import Path
import mlflow  # before the start line, so that both arrive at the database together
from autotune.config.schema import Config
from autotune.tracking.sink import MlflowSink
from autotune.trial import TrialState
from tests.sample_study import sample_events

config = Config()
config.model.name, config.output.root = "cifar_mlp", sys.argv[1]
print("ready", flush=True)
sys.stdin.readline()
sink = MlflowSink(config, sys.argv[2])
for event in sample_events(output_dir=f"{sys.argv[1]}/{sys.argv[2]}"):
    sink.on_event(event)
    time.sleep(0.02)
sink.close()
"""


@pytest.mark.slow
def test_two_studies_begin_one_new_database_in_the_same_second_and_both_are_whole(config: Config) -> None:
    command = [sys.executable, "-c", WHOLE_STUDY, config.output.root]
    both = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    try:
        for process in both:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
        for process in both:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
        outcomes = [(process.communicate(timeout=200), process.returncode) for process in both]
    finally:
        for process in both:
            process.kill()
            process.communicate()
    assert outcomes == [((b"", b""), 0)] * 2
    held = runs(store_in_force(config.tracking, Path(config.output.root), environ={}))
    parents = {run.info.run_id: run for run in held if "trial" not in run.data.tags}
    assert {run.info.run_name: run.info.status for run in parents.values()} == {"one": "FINISHED", "two": "FINISHED"}
    for run_id in parents:
        nested = [run for run in held if run.data.tags.get("mlflow.parentRunId") == run_id]
        assert sorted(int(run.data.tags["trial"]) for run in nested) == list(range(9))
