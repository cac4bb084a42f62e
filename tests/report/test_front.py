"""What the answer says of the front, in studies whose truth is known."""

from __future__ import annotations

import pytest

from autotune.config.objective import Objective
from autotune.record.view import StudyView
from autotune.report.answer import answer
from autotune.report.front import front_of, rows
from autotune.trial import Candidate, Stage, TrialState, Xla
from tests.sample_study import sample_events
from tests.study.fake_executor import BF16, F32, WIDTHS, FakeStudy, World, config_of

FAST, SLOW, POOR = (
    Candidate(*found, WIDTHS, 1) for found in ((BF16, 64, Xla.ON), (F32, 64, Xla.OFF), (BF16, 64, Xla.OFF))
)


def study_of(folder, world: World, **search) -> FakeStudy:
    chosen = {"batch_sizes": [64], "steps_per_execution": [1], "align_widths": False} | search
    config = config_of(**chosen)
    config.objective.name = Objective.pareto
    return FakeStudy(folder, config, world)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> FakeStudy:
    """One is fast and loses five points; one is slower and as accurate; one slower still, and two points worse."""
    world = World(
        speed=lambda c: {FAST: 3.0, SLOW: 2.0, POOR: 1.5}.get(c, 0.5 if c.batch_size == 64 else 1.0),
        loss=lambda c: {FAST: 0.05, SLOW: 0.0, POOR: 0.012}.get(c, 0.0),
        noise=lambda c, seed: (seed % 3 - 1) * 1e-4 if c == FAST else 0.0,
    )
    return study_of(tmp_path_factory.mktemp("study"), world).run()


def number_of(view: StudyView, candidate: Candidate) -> int:
    return next(number for number, trial in view.trials.items() if trial.candidate == candidate)


def test_the_front_goes_from_accurate_to_fast_and_says_what_is_beaten(study):
    view = study.view
    front = front_of(view)
    assert [trial.candidate for trial in front.points] == [SLOW, FAST]
    assert front.beaten == (number_of(view, POOR),)
    assert front.unclear == front.untrained == ()


def test_each_point_has_its_interval_its_difference_and_its_seeds(study):
    view = study.view
    told = dict(rows(view))
    fast, slow = (view.trials[number_of(view, one)] for one in (FAST, SLOW))
    assert told["front"].startswith("2 candidates")
    assert told["front"].endswith(f"clearly beaten: trial {number_of(view, POOR)}")
    text = told[f"front, trial {fast.number}"]
    interval, delta = fast.speedup, fast.accuracy.delta
    assert text.startswith(
        f"{interval.estimate:.2f}x [{interval.low:.2f}, {interval.high:.2f}] (screen, 95 %), accuracy"
    )
    assert f"{delta.estimate * 100:+.2f} pp [{delta.low * 100:+.2f}, {delta.high * 100:+.2f}]" in text
    assert "(95 %, 3 paired seeds)" in text
    assert text.endswith("policy mixed_bfloat16 (was float32), batch 64 (was 32), XLA on (was auto)")
    confirmed = told[f"front, trial {slow.number}"]
    assert view.decided.winner == slow.number
    assert "(confirm, 95 %)" in confirmed
    assert "3 new paired seeds" in confirmed


def test_the_answer_holds_the_front_beside_the_winner(study):
    found = answer(study.view)
    assert found.headline.startswith(f"Use trial {study.view.decided.winner}: ")
    assert [label for label, _ in found.rows if label.startswith("front")] == [label for label, _ in rows(study.view)]


def test_one_that_the_seeds_do_not_tell_from_the_front_is_named(tmp_path):
    """Slower, and by its three seeds anything between much more and much less accurate."""
    world = World(
        speed=lambda c: {FAST: 3.0, POOR: 1.5}.get(c, 0.5 if c.batch_size == 64 else 1.0),
        noise=lambda c, seed: (-0.012, 0.011, -0.003)[seed % 3] if c == POOR else 0.0,
    )
    view = study_of(tmp_path, world).run().view
    front = front_of(view)
    poor = view.trials[number_of(view, POOR)]
    assert poor.state is not TrialState.DOMINATED
    assert Stage.VERIFY in poor.runs
    assert [trial.candidate for trial in front.points] == [FAST]
    assert front.unclear == (poor.number,)
    assert f"not told from the front by these seeds: trial {poor.number}" in dict(rows(view))["front"]


def test_one_that_was_not_trained_may_be_on_it(tmp_path):
    world = World(extra_s=lambda r: 200.0 if r.stage is Stage.VERIFY and r.candidate == FAST else 0.0)
    view = study_of(tmp_path, world, budget="500s").run().view
    left = [number for number, trial in view.trials.items() if trial.state is TrialState.SKIPPED]
    assert left
    assert front_of(view).untrained == tuple(left)


def test_other_objectives_have_no_front():
    view = StudyView.of(sample_events())
    assert front_of(view) is None
    assert rows(view) == []
    assert not [label for label, _ in answer(view).rows if label.startswith("front")]
