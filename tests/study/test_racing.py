"""What a screening has to beat to be worth more pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.objective import Objective
from autotune.config.search import Verify
from autotune.console.lines import lines_of
from autotune.record import events as ev
from autotune.study.racing import hopeless_below
from autotune.trial import Candidate, Probe, Stage, TrialState, Xla
from tests.study.fake_executor import BF16, F32, WIDTHS, FakeStudy, World, config_of


def of(policy, batch, xla=Xla.OFF) -> Candidate:
    return Candidate(policy, batch, xla, WIDTHS, 1)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> FakeStudy:
    """Speedups: 3.0 for bfloat16 at batch 64, 2.0 for float32 at batch 64, 1.5 for all else."""
    speed = {of(BF16, 64): 3.0, of(F32, 64): 2.0}
    fake = FakeStudy(
        tmp_path_factory.mktemp("study"),
        config_of(),
        World(speed=lambda c: 1.0 if c.xla is Xla.AUTO else speed.get(c, 1.5), loss=lambda _: 0.5),
    )
    return fake.run()


@pytest.fixture
def screened(study):
    """The same after its screening, before anything was judged."""
    context = study.context
    states = {number: (trial, trial.state) for number, trial in context.view.trials.items()}
    for trial, _ in states.values():
        if trial.speedup is not None:
            trial.state = TrialState.SCREENED
    yield context
    for trial, state in states.values():
        trial.state = state


@pytest.mark.parametrize(
    ("candidate", "speedup"),
    [
        (of(BF16, 64, Xla.ON), 3.0),  # beside the same policy at the same batch
        (of(BF16, 128), 3.0),
        (of(F32, 128), 2.0),  # bfloat16 may lose accuracy that it keeps
        (of(BF16, 32), 1.5),  # a smaller batch may keep accuracy that the best loses
        (of(F32, 32), 1.5),
    ],
)
def test_it_has_to_beat_what_is_as_accurate_and_faster(screened, candidate, speedup):
    assert hopeless_below(screened, candidate) == pytest.approx(speedup, rel=0.02)


def test_each_screening_is_told_what_is_known_by_then_and_nothing_else_is_raced(study):
    asked = study.executor.hopeless_below
    by_stage = {stage: [below for (_, at), below in asked.items() if at is stage] for stage in Stage}
    assert by_stage[Stage.SCREEN][0] == 1.0, "nothing is known but the baseline"
    assert all(below is not None and below >= 1.0 for below in by_stage[Stage.SCREEN])
    assert max(by_stage[Stage.SCREEN]) > 2.5
    assert set(by_stage[Stage.BASELINE] + by_stage[Stage.VERIFY] + by_stage[Stage.CONFIRM]) <= {None}


@pytest.mark.parametrize("setting", ["all", "memory"])
def test_where_all_are_wanted_or_speed_is_not_the_aim_none_is_given_up(tmp_path, setting):
    config = config_of(trials=3)
    if setting == "all":
        config.search.verify = Verify.all
    else:
        config.objective.name = Objective.memory
    study = FakeStudy(tmp_path, config).run()
    assert set(study.executor.hopeless_below.values()) == {None}


def test_the_console_says_so(tmp_path):
    def given_up(request, result):
        screened = isinstance(result, Probe) and request.stage is Stage.SCREEN
        return replace(result, hopeless_below=1.25) if screened else result

    study = FakeStudy(tmp_path, config_of(trials=1), World(altered=given_up)).run()
    [event] = study.of_kind(ev.Probed, Stage.SCREEN)
    [(_, _, text)] = lines_of(event, study.view)
    assert text.endswith("(given up after 12 pairs: clearly below 1.25x)")
