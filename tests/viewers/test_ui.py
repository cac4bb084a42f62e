from __future__ import annotations

from pathlib import Path

import pytest

from autotune.tracking.last_study import LastStudy
from autotune.viewers import ui

STUDY = LastStudy("ab12", "3", "2026-11-30/01-17-15_net", None, ())
SERVER = "http://127.0.0.1:5000"
SIDE = "workflowType=machine_learning"


def test_the_last_study_and_its_trials_are_addresses_one_a_line() -> None:
    lines = ui.addresses(SERVER, STUDY)
    assert lines[0] == f"the last study is {STUDY.name}"
    assert dict(line.split() for line in lines[1:]) == {
        "study": f"{SERVER}/#/experiments/3/runs/ab12?{SIDE}",
        "report": f"{SERVER}/#/experiments/3/runs/ab12/artifacts/report/report.html?{SIDE}",
        "trials": f"{SERVER}/#/experiments/3/runs?viewStateShareKey=autotune-last-study&{SIDE}",
        "charts": f"{SERVER}/#/experiments/3/runs?viewStateShareKey=autotune-last-study&compareRunsMode=CHART&{SIDE}",
    }


def test_a_multirun_over_several_experiments_has_an_address_of_its_own() -> None:
    study = LastStudy("ab12", "3", "net", "2026-11-30 01:17:15 over model", ("3", "4"))
    assert ui.addresses(SERVER, study)[-1].startswith(f"  multirun  {SERVER}/#/compare-experiments/s?experiments=")


def test_without_a_study_there_is_no_address() -> None:
    assert ui.addresses(SERVER, None) == []


def test_a_store_that_is_not_there_is_one_line_and_exit_status_2(
    tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ui.main(["--store", f"{tmp_path}/mlflow.db"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (f"autotune: error: there is no MLflow store at {tmp_path}/mlflow.db: make one with: make run\n")


def test_a_server_is_opened_where_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:secret@host:5000")
    monkeypatch.setattr(ui, "last_study", lambda store: STUDY)
    monkeypatch.setattr(ui.serving, "show", shown.append)
    monkeypatch.setattr(ui.serving, "serve", lambda *_: pytest.fail("it has a UI already"))
    assert ui.main([]) == 0
    assert shown == [f"http://host:5000/#/experiments/3/runs/ab12?{SIDE}"]
    assert "secret" not in capsys.readouterr().out


def test_a_file_that_is_named_goes_before_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://server:5000")
    assert ui._store(None).uri == "http://server:5000"
    assert ui._store(tmp_path / "mlflow.db").sqlite_file == tmp_path / "mlflow.db"
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert ui._store(None).sqlite_file == Path("outputs/mlflow.db").absolute()
