from __future__ import annotations

from dataclasses import replace

from autotune.record.events import Exported, Note, SpacePlanned, StageStarted
from autotune.record.view import StudyView
from autotune.report.answer import answer
from autotune.trial import Stage
from tests.sample_study import sample_events


def rows(view: StudyView) -> dict[str, str]:
    return dict(answer(view).rows)


def test_a_winner_is_quoted_with_its_confirmed_figures_only():
    view = StudyView.of(sample_events())
    result, text = answer(view), rows(view)
    assert result.found
    assert result.headline.startswith("Use trial 4: 5.94 times as fast as float32")
    assert "5.94x [5.80, 6.09] (95 %" in text["speed"]
    assert "3 fresh processes: 5.88, 5.97, 5.98" in text["speed"]
    assert "-0.18 pp [-0.52, +0.16]" in text["accuracy"]
    assert (
        "over 3 new paired seeds (95.5 %; the worst seed -0.30 pp), PASS at a margin of 1.00 pp: 44.07 % against"
        in text["accuracy"]
    )
    assert text["recipe"].startswith("at 8,000 examples x 3 epochs")
    assert "learning rate 0.08 (was 0.01, linear with the batch)" in text["settings"]
    assert result.exit_meaning.startswith("0")
    everything = " ".join([result.headline, *text.values()])
    for screened in ("6.11", "5.98,", "93,091"):
        assert screened not in everything, "a screening figure is quoted"
    assert result.warnings == ()


def test_the_alias_is_that_of_a_model_and_none_where_no_model_was_registered():
    view = StudyView.of(sample_events())
    assert rows(view)["alias"] == "production: on its target, real data, PASS"
    view.exported = replace(view.exported, registered=None)
    told = "none, since no model was registered; entitled to production: on its target, real data, PASS"
    assert rows(view)["alias"] == told


def test_the_command_trains_with_the_export():
    result = answer(StudyView.of(sample_events()))
    assert result.command == ("python -m autotune --config-dir /studies/cifar_mlp-rtx3090/export --config-name best")


def test_off_target_and_stand_in_are_loud_and_a_prediction_is_called_one():
    view = StudyView.of(sample_events(on_target=False, stand_in=True))
    text = rows(view)
    assert text["target"].startswith("OFF TARGET: NVIDIA GeForce RTX 2060 6GB")
    assert "RTX 3090" in text["device"]
    assert "PREDICTED, not measured" in text["predicted"]
    assert text["data"].startswith("STAND-IN")
    assert len(answer(view).warnings) == 2


def test_off_target_is_a_warning_even_if_no_note_says_so():
    events = [e for e in sample_events(on_target=False, stand_in=True) if not isinstance(e, Note)]
    assert [w.split(":")[0] for w in answer(StudyView.of(events)).warnings] == ["off target", "stand-in data"]


def test_on_its_target_nothing_is_predicted():
    assert not {"target", "predicted", "data"} & rows(StudyView.of(sample_events())).keys()


def test_a_candidate_without_a_prediction_gets_none():
    events = [replace(e, predicted=()) if isinstance(e, SpacePlanned) else e for e in sample_events(on_target=False)]
    assert "predicted" not in rows(StudyView.of(events))


def test_no_winner_says_why_the_closest_ones_failed():
    view = StudyView.of(sample_events(winner=False))
    result, text = answer(view), rows(view)
    assert not result.found
    assert result.headline == "Keep the float32 baseline: no faster setting was confirmed"
    assert "accuracy FAIL -1.86 pp [-2.20, -1.52]" in text["trial 4"]
    assert "accuracy INCONCLUSIVE" in text["trial 5"]
    assert "about 7 seeds in all would decide it" in text["trial 5"]
    assert "rejected" in text["trial 3"]
    assert result.exit_meaning.startswith("3")
    assert result.command is not None, "the baseline was exported"


def test_an_interrupted_study_names_the_best_so_far_without_figures_nobody_confirmed():
    view = StudyView.of(sample_events(interrupted=True))
    result, text = answer(view), rows(view)
    assert "ended early (interrupt)" in result.headline
    assert result.exit_meaning == "130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP: ended early (interrupt)"
    assert text["best so far, trial 4"].endswith("passed the gate, not confirmed")
    assert "x [" not in " ".join(text.values())
    assert result.command is None


def test_a_study_that_ended_in_its_export_does_not_claim_the_status_of_one_that_did_not():
    events = [event for event in sample_events() if not isinstance(event, Exported)]
    result = answer(StudyView.of([*events, StageStarted(Stage.EXPORT, 1)]))
    assert result.found
    assert result.exit_meaning.endswith("ended before the export was finished")
    told = Note("export", "the export is not complete: oom", "warning")
    assert answer(StudyView.of([*events, StageStarted(Stage.EXPORT, 1), told])).exit_meaning.startswith("0")


def test_an_undecided_study_has_no_answer():
    assert answer(StudyView()).headline.startswith("No answer")
    assert answer(StudyView()).exit_meaning.startswith("unknown")
    half = sample_events()[:30]
    assert not answer(StudyView.of(half)).found


def test_the_test_part_appears_once_exported():
    view = StudyView.of(sample_events())
    assert "43.91 % against 44.17 %" in rows(view)["test part"]
    view = StudyView.of(e for e in sample_events() if not isinstance(e, Exported))
    assert "test part" not in rows(view)
