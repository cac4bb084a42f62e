"""Ctrl-C at every stage: what was measured is decided upon, recorded and can be reported."""

from __future__ import annotations

import pytest

from autotune.record import events as ev
from autotune.report.write import write_report
from autotune.study import storage
from autotune.trial import Stage, TrialState
from tests.study.fake_executor import FakeStudy, Request, World, config_of


def baseline_probe(request: Request) -> bool:
    return request.operation == "probe" and request.of_baseline


def baseline_training(request: Request) -> bool:
    return request.operation == "train" and request.of_baseline and request.seed == 1


def screen(request: Request) -> bool:
    return request.stage is Stage.SCREEN and request.candidate.batch_size == 128


def verify(request: Request) -> bool:
    return request.operation == "train" and not request.of_baseline and request.seed == 1


def confirm_timing(request: Request) -> bool:
    return request.operation == "probe" and request.stage is Stage.CONFIRM


def confirm_training(request: Request) -> bool:
    return request.operation == "train" and not request.of_baseline and request.seed == 1001


MOMENTS = [baseline_probe, baseline_training, screen, verify, confirm_timing, confirm_training]


def interrupted(tmp_path, moment) -> FakeStudy:
    study = FakeStudy(tmp_path, config_of(), World(fault=lambda r: KeyboardInterrupt() if moment(r) else None))
    with pytest.raises(KeyboardInterrupt):
        study.run()
    return study


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupted_study_decides_for_the_baseline_and_loses_nothing(tmp_path, moment):
    study = interrupted(tmp_path, moment)
    decided = study.events[-1]
    assert isinstance(decided, ev.StudyDecided)
    assert (decided.winner, decided.interrupted) == (ev.BASELINE_TRIAL, "interrupt")
    assert decided.reason == "stopped before a faster candidate was confirmed, so the baseline stays"
    # Every request but the one that was interrupted has its result in the record.
    results = [e for e in study.events if isinstance(e, ev.Probed | ev.Trained | ev.TrialFailed)]
    assert len(results) == len(study.executor.requests) - 1
    assert {trial.state for trial in study.view.trials.values()}.isdisjoint({None, TrialState.SCREENED})


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_interrupted_study_has_its_report_and_its_optuna_study(tmp_path, moment):
    study = interrupted(tmp_path, moment)
    files = write_report(study.view, tmp_path / "report")
    assert files
    assert all(path.stat().st_size > 0 for path in files.values())
    assert storage.write(study.view, tmp_path, 0.01).is_file()


def test_a_finalist_that_was_confirmed_before_the_interruption_stays_the_winner(tmp_path, monkeypatch):
    """The very last moment: the finalist is confirmed, and Ctrl-C comes before the stage returns."""
    from autotune.study import study as study_module

    confirm = study_module.confirm

    def confirm_and_stop(context, finalists):
        confirm(context, finalists)
        raise KeyboardInterrupt

    monkeypatch.setattr(study_module, "confirm", confirm_and_stop)
    study = FakeStudy(tmp_path, config_of())
    with pytest.raises(KeyboardInterrupt):
        study.run()
    assert study.view.winner.confirmation.succeeded
    assert study.view.decided.interrupted == "interrupt"
    assert study.view.decided.reason.startswith("x")
