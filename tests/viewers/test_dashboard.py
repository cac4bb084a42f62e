from __future__ import annotations

import os
from pathlib import Path

import optuna
import pytest
from optuna.storages.journal import JournalFileBackend

from autotune.errors import UserError
from autotune.record.view import StudyView
from autotune.study.storage import write
from autotune.viewers import dashboard
from autotune.viewers.optuna_server import FeasibleStorage
from tests.sample_study import MARGIN, WINNER, sample_events


def storage(root: Path, run: str, at_s: int) -> Path:
    file = root / run / "optuna.journal"
    file.parent.mkdir(parents=True)
    file.write_text("")
    os.utime(file, (at_s, at_s))
    return file


def test_the_storage_that_was_written_last_is_shown_in_whatever_folder_it_is(tmp_path: Path) -> None:
    storage(tmp_path, "2026-11-30/01-17-15_net", 5_000)
    named = storage(tmp_path, "mine", 9_000)
    storage(tmp_path, "2026-12-01/01-17-15_net", 7_000)
    assert dashboard.last_storage(tmp_path) == named


@pytest.mark.parametrize("arguments", [["--root", "{}"], ["--run", "{}"]])
def test_a_run_without_one_is_one_line_and_exit_status_2(
    tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert dashboard.main([word.format(tmp_path) for word in arguments]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert str(tmp_path) in told.err
    with pytest.raises(UserError):
        dashboard.last_storage(tmp_path)


def test_a_dashboard_that_is_not_installed_is_told_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    storage(tmp_path, "run", 1)
    monkeypatch.setattr(dashboard.importlib.util, "find_spec", lambda _: None)
    assert dashboard.main(["--run", str(tmp_path / "run")]) == 2
    assert "make setup" in capsys.readouterr().err


@pytest.mark.parametrize(("study", "best"), [({}, WINNER), ({"winner": False}, 0), ({"interrupted": True}, WINNER)])
def test_the_best_trial_that_is_shown_is_feasible(tmp_path: Path, study: dict[str, bool], best: int) -> None:
    """The fastest of the sample study lost 2.4 points. An interrupted study has what passed the gate."""
    path = write(StudyView.of(sample_events(**study)), tmp_path, MARGIN)  # type: ignore[arg-type]
    shown = FeasibleStorage(JournalFileBackend(str(path)))
    assert shown.get_best_trial(0).user_attrs["trial"] == best
    assert optuna.load_study(study_name=None, storage=shown).best_trial.user_attrs["trial"] == best
    values = [trial.value for trial in shown.get_all_trials(0) if trial.value is not None]
    assert shown.get_best_trial(0).value != max(values)
