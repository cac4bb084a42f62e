from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from autotune.explain.why import why
from autotune.record.events import FinalistConfirmed, Probed, StudyDecided, StudyStarted, Trained, TrialJudged
from autotune.record.view import StudyView
from autotune.tracking.rows import Row, row, trial_row
from autotune.tracking.summary import status, study_row
from tests.sample_study import CANDIDATES, sample_events


def _row(trial: int, **study: Any) -> Row:
    view = StudyView.of(sample_events(**study))
    return trial_row(view.trials[trial], view, "accuracy")


def test_metrics_that_are_not_finite_are_named_and_not_sent() -> None:
    built = row({}, {"good": 1.5, "a": math.inf, "b": math.nan, "unknown": None}, {}, {"val_accuracy"})
    assert built.metrics == {"good": 1.5}
    assert built.tags["non_finite"] == "a, b, val_accuracy"


def test_what_is_unknown_is_absent_and_truth_is_spelt_in_lower_case() -> None:
    built = row({"a": None, "b": 0}, {"c": 0.1 + 0.2}, {"d": None, "e": False}, set())
    assert built == Row({"b": "0"}, {"c": 0.3}, {"e": "false"})


def test_a_winners_trial_has_what_was_screened_and_what_was_confirmed() -> None:
    built = _row(4)
    assert built.params["policy"] == "mixed_bfloat16"
    assert built.params["widths"] == "3008-1008"
    assert built.params["train_learning_rate"] == "0.08"
    assert built.metrics["screen_speedup"] == 6.11
    assert built.metrics["confirmed_speedup"] == built.metrics["speedup"] == 5.94
    assert built.metrics["confirmed_accuracy_delta"] == -0.0018
    assert built.metrics["screen_examples_per_s"] == round(256 / 2.75 * 1e3, 4)
    assert built.metrics["examples_per_s"] == round(256 / 2.82 * 1e3, 4)
    assert built.tags["state"] == "confirmed"
    assert (built.tags["verdict"], built.tags["timing_verdict"], built.tags["feasible"]) == ("PASS", "FASTER", "true")
    assert (built.tags["effective_dtype"], built.tags["xla_in_force"]) == ("bfloat16", "true")
    assert built.tags["recipe"] == "8,000 examples x 3 epochs"


def test_a_rejected_trial_says_so_and_keeps_its_figures() -> None:
    built = _row(3)
    assert (built.tags["state"], built.tags["feasible"]) == ("rejected", "false")
    assert built.tags["mlflow.note.content"].startswith("**rejected**: mean difference")
    assert built.metrics["accuracy_delta"] == -0.024
    assert built.metrics["training/skipped_steps"] == 4
    assert (built.metrics["training/loss_scale"], built.metrics["training/loss_scale_lowest"]) == (16384, 8192)
    assert "speedup" not in built.metrics, "nobody confirmed one"


def test_a_failed_trial_has_its_kind_and_no_figures() -> None:
    built = _row(6)
    assert (built.tags["state"], built.tags["failure"], built.tags["stage"]) == ("failed", "compile", "screen")
    assert "no algorithm worked" in built.tags["mlflow.note.content"]
    assert built.metrics == {}


def test_a_finalist_that_was_not_confirmed_does_not_read_as_passed() -> None:
    built = _row(4, winner=False)
    assert (built.tags["state"], built.tags["verdict"], built.tags["feasible"]) == ("not confirmed", "FAIL", "false")


def test_the_gate_makes_no_claim() -> None:
    """Two seeds may even look like a PASS; only a confirmation is one."""
    events = sample_events()
    seen = next(e.confirmation.accuracy for e in events if isinstance(e, FinalistConfirmed))
    unconfirmed = [
        replace(e, accuracy=seen) if isinstance(e, TrialJudged) else e
        for e in events
        if not isinstance(e, FinalistConfirmed)
    ]
    view = StudyView.of(unconfirmed)
    for trial, gate in ((3, "rejected"), (4, "passed"), (2, None)):
        tags = trial_row(view.trials[trial], view, "accuracy").tags
        assert (tags.get("gate"), tags.get("verdict")) == (gate, None)
    assert (_row(4).tags["gate"], _row(4).tags["verdict"]) == ("passed", "PASS")


def test_target_device_and_stand_in_are_on_every_trial() -> None:
    tags = _row(2, on_target=False, stand_in=True).tags
    assert (tags["target"], tags["device"]) == ("NVIDIA GeForce RTX 2060 6GB", "NVIDIA GeForce RTX 3090")
    assert tags["on_target"] == "false"
    assert tags["stand_in"].startswith("CIFAR-10 is not on this machine")
    assert _row(2).tags["stand_in"] == "no"


def test_a_prediction_for_an_absent_target_is_a_metric_of_its_own() -> None:
    assert _row(4, on_target=False).metrics["target_predicted_step_time_ms"] == 6.6
    assert "target_predicted_step_time_ms" not in _row(4).metrics


def test_a_training_that_diverged_is_named_in_non_finite() -> None:
    events = sample_events()
    trained = next(e for e in events if isinstance(e, Trained) and e.trial == 4)
    broken = replace(trained, run=replace(trained.run, metric=None, loss_finite=False), delta=None)
    view = StudyView.of([e for e in events if not (isinstance(e, Trained) and e.trial == 4)] + [broken])
    built = trial_row(view.trials[4], view, "accuracy")
    assert built.tags["non_finite"] == "train_loss, val_accuracy"
    assert "val_accuracy" not in built.metrics


def test_an_unknown_peak_of_memory_is_absent_and_not_called_infinite() -> None:
    probed = next(e for e in sample_events() if isinstance(e, Probed) and e.trial == 2)
    view = StudyView.of([replace(probed, probe=replace(probed.probe, peak_memory_mb=None))])
    built = trial_row(view.trials[2], view, "accuracy")
    assert "screen_peak_memory_mb" not in built.metrics
    assert "non_finite" not in built.tags


def test_a_metrics_own_name_is_cleaned() -> None:
    view = StudyView.of(sample_events())
    assert "val_top-1__err_" in trial_row(view.trials[4], view, "top-1 (err)").metrics


def test_the_study_quotes_confirmed_figures_under_the_trials_names() -> None:
    built = study_row(StudyView.of(sample_events()))
    assert built.metrics["speedup"] == built.metrics["confirmed_speedup"] == 5.94
    assert built.metrics["step_time_ms"] == 2.82
    assert not [name for name in built.metrics if name.startswith("screen")]
    assert built.metrics["baseline_val_accuracy"] == built.metrics["confirmed_baseline_val_accuracy"]
    assert built.metrics["test_accuracy"] == 0.4391
    assert (built.metrics["trials"], built.metrics["trials_failed"], built.metrics["trials_rejected"]) == (8, 1, 1)
    assert built.params["policy"] == str(CANDIDATES[4].policy)
    assert (built.tags["winner"], built.tags["state"], built.tags["alias"]) == ("4", "faster", "production")
    assert built.tags["version.tensorflow"] == "2.21.0"


def test_a_study_whose_model_was_not_registered_claims_no_alias() -> None:
    view = StudyView.of(sample_events())
    assert view.exported is not None
    view.exported = replace(view.exported, registered=None)
    assert not {"alias", "alias_reason"} & study_row(view).tags.keys()


def test_a_kept_baseline_claims_no_confirmed_figure() -> None:
    built = study_row(StudyView.of(sample_events(winner=False)))
    assert built.metrics["speedup"] == 1
    assert not [key for key in built.metrics if key.startswith("confirmed")]
    assert (built.tags["state"], built.params["policy"]) == ("baseline kept", "float32")


def test_the_study_is_readable_as_soon_as_it_has_started() -> None:
    built = study_row(StudyView.of(sample_events()[:1]))
    assert built.tags["state"] == "running"
    assert built.params["model"] == "cifar_mlp"
    assert built.metrics == {}


def test_a_password_on_the_command_line_is_not_shown() -> None:
    started = next(e for e in sample_events() if isinstance(e, StudyStarted))
    view = StudyView.of([replace(started, command="python -m autotune tracking.uri=http://me:secret@host")])
    assert study_row(view).tags["command"] == "python -m autotune tracking.uri=http://***@host"


def test_a_password_is_not_shown_wherever_it_comes_from() -> None:
    built = row(
        {"dataset": "s3://me:secret@host"}, {}, {"failure_message": "no answer of http://me:secret@host"}, set()
    )
    assert built.params["dataset"] == "s3://***@host"
    assert built.tags["failure_message"] == "no answer of http://***@host"


def test_an_interrupted_study_has_no_winners_parameters_since_it_may_go_on() -> None:
    assert "policy" not in study_row(StudyView.of(sample_events(interrupted=True))).params


def test_a_study_ends_as_it_ended() -> None:
    assert status(StudyView.of(sample_events())) == "FINISHED"
    assert status(StudyView.of(sample_events(winner=False))) == "FINISHED"
    assert status(StudyView.of(sample_events(interrupted=True))) == "KILLED"
    assert status(StudyView.of(sample_events()[:-2])) == "FAILED"


def test_why_a_trial_is_as_fast_as_it_is_is_told_once_all_trials_are_over() -> None:
    events = sample_events()
    ended = StudyView.of(events)
    for number, trial in ended.trials.items():
        built = trial_row(trial, ended, "accuracy")
        assert built.tags["why"] == why(ended, trial) != "", number
        assert "**why**: " in built.tags["mlflow.note.content"]
    running = StudyView.of(event for event in events if not isinstance(event, StudyDecided))
    assert "why" not in trial_row(running.trials[4], running, "accuracy").tags
