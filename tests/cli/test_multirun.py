from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from autotune.cli.command import main
from autotune.cli.multirun import sweep_of
from autotune.config.schema import Config
from autotune.sweep import Sweep, current

BEGAN = datetime(2026, 11, 30, 8, 46, 14).astimezone()


def test_the_jobs_of_a_multirun_share_its_name_and_differ_in_what_it_goes_over() -> None:
    asked = ["model=cifar_mlp,cifar_cnn", "search.trials=3", "train.batch_size=range(1,3)"]
    jobs = (["model=cifar_mlp", "search.trials=3", "train.batch_size=1"], ["model=cifar_cnn", "train.batch_size=2"])
    assert [sweep_of(asked, job, BEGAN) for job in jobs] == [
        Sweep("2026-11-30 08:46:14 over model, train.batch_size", "model=cifar_mlp train.batch_size=1"),
        Sweep("2026-11-30 08:46:14 over model, train.batch_size", "model=cifar_cnn train.batch_size=2"),
    ]


def test_a_multirun_of_one_job_is_one_too() -> None:
    assert sweep_of(["model=cifar_mlp"], ["model=cifar_mlp"], BEGAN) == Sweep("2026-11-30 08:46:14", "")


def test_a_password_that_is_gone_over_is_not_kept() -> None:
    asked = ["tracking.uri='http://me:secret@one','http://me:secret@two'"]
    found = sweep_of(asked, ["tracking.uri=http://me:secret@one"], BEGAN)
    assert "secret" not in f"{found.name}{found.job}"
    assert found.job == "tracking.uri=http://***@one"


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Sweep | None]:
    """What each job's pipeline would have written into its record."""
    found: list[Sweep | None] = []

    def run(config: Config) -> int:
        found.append(current())
        return 0

    monkeypatch.setattr("autotune.pipeline.run", run)
    monkeypatch.chdir(tmp_path)
    return found


def test_the_command_line_tells_its_jobs_which_multirun_they_are_of(seen: list[Sweep | None]) -> None:
    assert main(["-m", "task=plan", "model=cifar_mlp,digits_mlp", "hw=rtx2060"]) == 0
    first, second = seen
    assert first is not None
    assert second is not None
    assert first.name == second.name
    assert first.name.endswith(" over model")
    assert (first.job, second.job) == ("model=cifar_mlp", "model=digits_mlp")
    assert current() is None


def test_the_jobs_are_told_without_passwords(seen: list[Sweep | None], capfd: pytest.CaptureFixture[str]) -> None:
    address = "tracking.uri=https://me:S3cret@host/"
    assert main(["-m", "task=plan", "model=digits_mlp", "hw=rtx2060", "train.seed=1,2", address]) == 0
    out, err = capfd.readouterr()
    assert "S3cret" not in out + err
    assert out.count("***@host/") == 4, "as each begins, and at the end"


def test_a_single_run_is_of_none(seen: list[Sweep | None]) -> None:
    assert main(["task=plan", "model=digits_mlp", "hw=rtx2060"]) == 0
    assert seen == [None]
