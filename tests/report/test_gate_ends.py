"""What the report says of a trial that was stopped early on one seed, and of one that another vouches for."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from autotune.record.events import Event
from autotune.record.view import StudyView
from autotune.report import figures, picture, training
from autotune.report.markdown import trials
from autotune.report.page.tradeoff import plot_of
from autotune.report.summary import summary_markdown
from autotune.report.table import trials_csv
from autotune.report.tradeoff import Kind, Point, Tradeoff, tradeoff
from autotune.trial import Accuracy, AccuracyVerdict, Interval, TrialState
from tests.sample_gates import STOPPED, VOUCHED, stopped_events, vouched_events
from tests.sample_study import MARGIN

SEEN = Accuracy(
    AccuracyVerdict.INCONCLUSIVE, Interval(-0.0016, -0.01, 0.006, 0.95, 2, "t"), (-0.0012, -0.002), (0, 1), MARGIN, 0.01
)


def plot(events: list[Event]) -> Tradeoff:
    content = tradeoff(StudyView.of(events))
    assert content is not None
    return content


def point_of(content: Tradeoff, trial: int) -> Point:
    return next(point for point in (*content.trained, *content.untrained) if point.trial == trial)


def legend(content: Tradeoff, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names in the picture's legend."""
    from matplotlib.figure import Figure

    shown: list[str] = []

    def keep(figure: Figure, *_: object, **__: object) -> None:
        shown.extend(text.get_text() for found in figure.legends for text in found.get_texts())

    monkeypatch.setattr(Figure, "savefig", keep)
    picture.write_tradeoff_picture(content, path / "tradeoff.png")
    return shown


def test_a_trial_that_was_stopped_on_one_seed_is_never_on_the_front():
    content = plot(stopped_events())
    stopped = point_of(content, STOPPED)
    assert (stopped.kind, stopped.metric) == (Kind.REJECTED, None)
    assert stopped.gain > max(point.gain for point in content.trained), "else it could not have been the front"
    assert stopped.gain not in [gain for gain, _ in content.front]
    assert "stopped early: no accuracy" in stopped.details
    assert not [line for line in stopped.details if "not trained" in line or "difference" in line]


def test_the_tables_quote_no_difference_of_the_seeds_that_a_stopped_trial_finished():
    view = StudyView.of(stopped_events())
    row = list(csv.DictReader(io.StringIO(trials_csv(view))))[STOPPED]
    assert (row["verify_metric"], row["verify_metric_delta"]) == ("", "")
    assert (row["verify_seeds"], row["trainings_stopped_early"]) == ("1", "1")
    cells = [cell.strip() for cell in trials(view)[2 + STOPPED].strip("|").split("|")]
    assert cells[-3:-1] == ["-", "-"]
    assert "A trial without an accuracy was not trained, or was stopped early." in summary_markdown(view)


def test_a_stopped_seed_leaves_no_time_to_accuracy_of_the_others():
    view = StudyView.of(stopped_events())
    assert training.time_to_accuracy(view, view.trials[4]) is not None
    assert training.time_to_accuracy(view, view.trials[STOPPED]) is None


def test_the_legends_tell_stopped_early_from_not_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    content = plot(stopped_events())
    names = {"rejected on accuracy (stopped early)", "dominated (not trained)"}
    wrong = {"rejected on accuracy (not trained)", "dominated (stopped early)"}
    page = {trace["name"] for trace in plot_of(content).data}
    drawn = set(legend(content, tmp_path, monkeypatch))
    assert names <= page
    assert names <= drawn
    assert not wrong & (page | drawn)


def test_a_vouched_trial_has_the_difference_that_its_interval_is_about():
    view = StudyView.of(vouched_events(TrialState.PASSED, 4, SEEN))
    trial = view.trials[VOUCHED]
    assert (figures.delta(trial), figures.delta_interval(trial)) == (SEEN.delta.estimate, SEEN.delta)
    content = plot(vouched_events(TrialState.PASSED, 4, SEEN))
    point = point_of(content, VOUCHED)
    assert point.kind is Kind.PASSED
    assert point.metric == pytest.approx(content.baseline - 0.0016)
    assert point.metric_low == pytest.approx(content.baseline - 0.01)
    (line,) = [line for line in point.details if "difference" in line]
    assert line.startswith("accuracy: paired difference -0.16 pp")
    assert line.endswith(", by trial 4")


def test_a_vouched_rejection_was_not_trained_even_where_its_twin_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both are rejected and have no accuracy: the one was stopped early, the other was never trained."""
    content = plot(vouched_events(TrialState.REJECTED, 5, None))
    assert {point.trial: point.legend for point in content.untrained if point.kind is Kind.REJECTED} == {
        STOPPED: "rejected on accuracy (stopped early)",
        VOUCHED: "rejected on accuracy (not trained)",
    }
    both = {"rejected on accuracy (stopped early)", "rejected on accuracy (not trained)"}
    assert both <= set(legend(content, tmp_path, monkeypatch))
    assert both <= {trace["name"] for trace in plot_of(content).data}
