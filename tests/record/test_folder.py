from __future__ import annotations

from pathlib import Path

import pytest

from autotune.errors import ConfigError, DataError, TrialFault, UserError
from autotune.record.folder import RunFolder


@pytest.fixture
def standing(tmp_path: Path) -> Path:
    """A folder that was there before the run."""
    folder = tmp_path / "standing"
    folder.mkdir()
    return folder


@pytest.fixture
def root(standing: Path) -> Path:
    """Where runs go; made by the first of them."""
    return standing / "outputs"


def made(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "worker.log").write_text("log")
    (path / "deep" / "er").mkdir(parents=True)
    return path


def fail(folder: RunFolder, error: BaseException) -> None:
    with folder:
        raise error


@pytest.mark.parametrize("error", [UserError("no"), ConfigError("no"), DataError("no"), KeyboardInterrupt()])
def test_a_persons_mistake_or_change_of_mind_leaves_nothing(root: Path, standing: Path, error: BaseException) -> None:
    folder = RunFolder(made(root / "2026-03-01" / "10-15-00"), standing)
    with pytest.raises(type(error)):
        fail(folder, error)
    assert standing.is_dir(), "what was there before is not this run's"
    assert list(standing.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError("bug"), TrialFault("oom", "no")])
def test_anything_else_keeps_the_folder_as_evidence(root: Path, standing: Path, error: BaseException) -> None:
    folder = RunFolder(made(root / "day" / "run"), standing)
    with pytest.raises(type(error)):
        fail(folder, error)
    assert (root / "day" / "run" / "worker.log").read_text() == "log"


def test_success_keeps_the_folder(root: Path, standing: Path) -> None:
    with RunFolder(made(root / "day" / "run"), standing) as folder:
        pass
    assert folder.path.exists()


def test_a_folder_with_results_is_kept_whatever_happens(root: Path, standing: Path) -> None:
    folder = RunFolder(made(root / "day" / "run"), standing)
    folder.keep()
    for error in (UserError("too late"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            fail(folder, error)
        assert (root / "day" / "run" / "worker.log").exists()


def test_other_runs_of_the_day_stay(root: Path, standing: Path) -> None:
    other = made(root / "day" / "other")
    with pytest.raises(UserError):
        fail(RunFolder(made(root / "day" / "run"), standing), UserError("no"))
    assert not (root / "day" / "run").exists()
    assert (other / "worker.log").read_text() == "log"


def test_other_days_stay(root: Path, standing: Path) -> None:
    other = made(root / "yesterday" / "run")
    with pytest.raises(UserError):
        fail(RunFolder(made(root / "today" / "run"), standing), UserError("no"))
    assert not (root / "today").exists()
    assert other.exists()


def test_a_single_file_of_somebody_else_keeps_its_folder(root: Path, standing: Path) -> None:
    run = made(root / "day" / "run")
    (root / "notes.txt").write_text("mine")
    with pytest.raises(UserError):
        fail(RunFolder(run, standing), UserError("no"))
    assert [entry.name for entry in root.iterdir()] == ["notes.txt"]


def test_a_run_right_under_the_standing_folder_has_nothing_between(standing: Path) -> None:
    with pytest.raises(UserError):
        fail(RunFolder(made(standing / "run"), standing), UserError("no"))
    assert standing.is_dir()
    assert list(standing.iterdir()) == []


def test_an_empty_root_that_was_there_before_stays(root: Path) -> None:
    root.mkdir()  # by a person, say on another disk, with their own permissions
    with pytest.raises(UserError):
        fail(RunFolder(made(root / "day" / "run"), root), UserError("no"))
    assert root.is_dir()
    assert list(root.iterdir()) == []


def test_relative_paths_end_at_the_working_folder(standing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(standing)
    with pytest.raises(UserError):
        fail(RunFolder(made(Path("outputs", "day", "run")), Path()), UserError("no"))
    assert list(standing.iterdir()) == []


def test_a_standing_folder_elsewhere_costs_no_folder(root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.raises(UserError):
        fail(RunFolder(made(root / "run"), elsewhere), UserError("no"))
    assert elsewhere.is_dir()
    assert root.is_dir()
    assert not (root / "run").exists()


def test_a_link_in_the_run_does_not_lead_out_of_it(root: Path, standing: Path, tmp_path: Path) -> None:
    precious = made(tmp_path / "precious")
    run = made(root / "run")
    (run / "data").symlink_to(precious)
    with pytest.raises(UserError):
        fail(RunFolder(run, standing), UserError("no"))
    assert not run.exists()
    assert (precious / "worker.log").exists()
