"""The study as Optuna reads it back from its own storage."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState as OptunaState

from autotune.record.events import TrialJudged, TrialStarted
from autotune.record.view import StudyView
from autotune.study import storage
from autotune.trial import Candidate, FailureKind, Stage, TrialState, Xla
from tests.study.fake_executor import BF16, WIDTHS, FakeStudy, World, config_of, fault
from tests.study.fake_machine import study_started

MARGIN = 0.01
FRONT = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)


def loaded(study: FakeStudy) -> optuna.Study:
    return written(study.view, study.folder)


def written(view: StudyView, folder: Path) -> optuna.Study:
    path = storage.write(view, folder, MARGIN)
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
        number: trial.state.value if number else "baseline" for number, trial in study.view.trials.items()
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


def attribute(trials, number, name):
    return next(t for t in trials if t.user_attrs["trial"] == number).user_attrs.get(name)


def test_numbers_are_numbers_and_words_are_words_on_the_dashboards_axes(tmp_path):
    study = FakeStudy(tmp_path, config_of()).run()
    kinds = loaded(study).trials[0].distributions
    assert {name: type(kind).__name__ for name, kind in kinds.items()} == {
        "policy": "CategoricalDistribution",
        "batch_size": "IntDistribution",
        "xla": "CategoricalDistribution",
        "steps_per_execution": "IntDistribution",
        "widths": "CategoricalDistribution",
    }
    sizes = {trial.candidate.batch_size for trial in study.view.trials.values()}
    assert (kinds["batch_size"].low, kinds["batch_size"].high) == (min(sizes), max(sizes))


def test_the_value_and_the_study_say_what_they_are(tmp_path):
    study = FakeStudy(tmp_path, config_of()).run()
    found = loaded(study)
    assert found.metric_names == ["speedup over float32 (screening)"]
    assert found.user_attrs["winner"] == study.view.decided.winner
    assert found.user_attrs["decided"] == study.view.decided.reason
    winner = next(t for t in found.trials if t.user_attrs["trial"] == study.view.decided.winner)
    assert {name for name in winner.user_attrs if name.startswith("screen_")} == {
        "screen_step_time_ms",
        "screen_examples_per_s",
    }
    assert winner.user_attrs["confirmed_speedup"] == pytest.approx(study.view.winner.confirmation.speedup.estimate)


def test_optunas_dashboard_reads_the_constraint_that_optuna_reads(tmp_path):
    """As Optuna 4 kept it: a list, without which the dashboard takes every trial for feasible."""
    study = FakeStudy(tmp_path, config_of(), World(loss=lambda c: 0.05 if c.batch_size == 128 else 0.0)).run()
    for trial in loaded(study).trials:
        assert trial.system_attrs["constraints"] == [trial.constraints["accuracy"]]


def vouched_study(tmp_path, **truth):
    """Two candidates that train identically; the slower one was vouched for, and nothing else became of it."""
    config = config_of(policies=["mixed_bfloat16"], batch_sizes=[64], xla=[False], align_widths=False)
    speed = {1: 1.5, 8: 2.0}
    world = World(speed=lambda c: 1.0 if c.xla is Xla.AUTO else speed[c.steps_per_execution], **truth)
    study = FakeStudy(tmp_path, config, world).run()
    trained, vouched = (
        next(n for n, trial in study.view.trials.items() if trial.candidate == Candidate(BF16, 64, Xla.OFF, WIDTHS, s))
        for s in (8, 1)
    )
    view = study.view  # folded anew whenever it is asked for
    view.apply(TrialJudged(vouched, TrialState.PASSED, "it trains identically", vouched_by=trained))
    return view, trained, vouched


def test_a_vouched_trial_is_as_feasible_as_the_one_that_vouches_for_it(tmp_path):
    view, trained, vouched = vouched_study(tmp_path)
    assert view.trials[vouched].latest_delta is None
    trials = {t.user_attrs["trial"]: t for t in written(view, tmp_path).trials}
    assert trials[vouched].constraints == trials[trained].constraints
    assert trials[vouched].constraints["accuracy"] <= 0
    assert attribute(trials.values(), vouched, "vouched_by_trial") == trained


def test_a_trial_is_infeasible_if_the_one_that_vouches_for_it_is(tmp_path):
    """It passed the gate and vouched; on new seeds it lost five points."""
    lost = World(
        noise=lambda c, seed: -0.05 - 1e-4 * (seed % 3) if c.policy == BF16 and seed >= 1000 else 1e-4 * (seed % 2)
    )
    view, trained, vouched = vouched_study(tmp_path, noise=lost.noise)
    found = written(view, tmp_path)
    trials = {t.user_attrs["trial"]: t for t in found.trials}
    assert min(trials[n].constraints["accuracy"] for n in (trained, vouched)) > 0
    assert found.best_trial.user_attrs["trial"] == 0
