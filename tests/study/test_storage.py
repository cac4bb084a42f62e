"""The study as Optuna reads it back from its own storage."""

from __future__ import annotations

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState as OptunaState

from autotune.record.events import TrialStarted
from autotune.record.view import StudyView
from autotune.study import storage
from autotune.trial import Candidate, FailureKind, Stage, TrialState, Xla
from tests.study.fake_executor import BF16, WIDTHS, FakeStudy, World, config_of, fault
from tests.study.fake_machine import study_started

MARGIN = 0.01
FRONT = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)


def loaded(study: FakeStudy) -> optuna.Study:
    path = storage.write(study.view, study.folder, MARGIN)
    return optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(path))))


def test_the_best_trial_is_the_winner(tmp_path):
    study = FakeStudy(tmp_path, config_of()).run()
    best = loaded(study).best_trial
    assert best.user_attrs["trial"] == study.view.decided.winner
    assert best.value == study.view.winner.speedup.estimate
    assert best.params == {
        "policy": "mixed_bfloat16",
        "batch_size": 128,
        "xla": "on",
        "steps_per_execution": 8,
        "widths": "96-64",
    }


def test_every_trial_is_there_with_its_state_and_why(tmp_path):
    world = World(
        loss=lambda c: 0.05 if c == FRONT else 0.0,
        fault=lambda r: fault(FailureKind.COMPILE) if r.candidate == Candidate(BF16, 32, Xla.OFF, WIDTHS) else None,
    )
    study = FakeStudy(tmp_path, config_of(), world).run()
    trials = loaded(study).trials
    assert {t.user_attrs["trial"]: t.user_attrs["state"] for t in trials} == {
        number: trial.state.value for number, trial in study.view.trials.items()
    }
    assert all(t.user_attrs["reason"] for t in trials)
    failed = [t for t in trials if t.state is OptunaState.FAIL]
    assert [t.user_attrs["state"] for t in failed] == ["failed"]


def test_a_dominated_trial_is_never_the_best_although_it_is_faster(tmp_path):
    """Everything at batch 128 loses, so slower and untrained ones are all that is left beside the winner."""
    study = FakeStudy(tmp_path, config_of(), World(loss=lambda c: 0.05 if c.batch_size == 128 else 0.0)).run()
    best = loaded(study).best_trial
    faster = [t for t in study.view.trials.values() if t.speedup and t.speedup.estimate > best.value]
    assert len(faster) >= 4
    assert {t.state for t in faster} <= {TrialState.REJECTED, TrialState.SKIPPED, TrialState.DOMINATED}
    assert best.user_attrs["trial"] == study.view.decided.winner


def test_a_front_runner_that_was_not_confirmed_is_not_the_best(tmp_path):
    """It passed the gate; on new seeds it lost five points, and the second finalist won."""
    world = World(noise=lambda c, seed: -0.05 - 1e-4 * (seed % 3) if c == FRONT and seed >= 1000 else 1e-4 * (seed % 2))
    study = FakeStudy(tmp_path, config_of(), world).run()
    assert [c.succeeded for c in study.view.confirmations] == [False, True]
    assert loaded(study).best_trial.user_attrs["trial"] == study.view.decided.winner


def test_when_nothing_passes_the_baseline_is_the_best(tmp_path):
    study = FakeStudy(tmp_path, config_of(), World(loss=lambda c: 0.05)).run()
    best = loaded(study).best_trial
    assert (best.user_attrs["trial"], best.value) == (0, 1.0)


def test_a_baseline_that_failed_on_one_new_seed_is_still_measured(tmp_path):
    world = World(fault=lambda r: fault(FailureKind.CRASH) if r.of_baseline and r.seed == 1000 else None)
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    assert study.view.decided.winner == 0
    assert loaded(study).best_trial.user_attrs["trial"] == 0


def test_an_interrupted_study_can_be_loaded(tmp_path):
    stop = World(fault=lambda r: KeyboardInterrupt() if r.stage is Stage.SCREEN and r.candidate == FRONT else None)
    study = FakeStudy(tmp_path, config_of(), stop)
    with pytest.raises(KeyboardInterrupt):
        study.run()
    assert loaded(study).best_trial.user_attrs["trial"] == 0


def test_a_baseline_that_was_never_timed_claims_no_speedup(tmp_path):
    """Its first probe failed, which ends the study."""
    view = StudyView.of([study_started(tmp_path), TrialStarted(0, Stage.BASELINE, FRONT, None)])
    path = storage.write(view, tmp_path, MARGIN)
    [trial] = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(path)))).trials
    assert (trial.state, trial.value) == (OptunaState.FAIL, None)
