"""A study that was killed goes on: nothing is measured twice, and it ends as if it had never been killed."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read_lines
from autotune.trial import FailureKind, Stage, TrialState, Xla
from tests.study.fake_executor import F32, FakeStudy, Request, World, config_of, fault

_MEASURED = (ev.Probed, ev.Trained, ev.TrialFailed, ev.FinalistsCompared)


class Killed(BaseException):
    """Nothing in a study catches this, as nothing catches SIGKILL."""


def alike(request: Request, worker: int) -> tuple[list[float], list[float]]:
    """Noise that is the same in whichever worker; screening cannot tell the best two apart."""
    noise = random.Random(f"{request.candidate} {request.stage}")
    own, other = ([noise.uniform(0.97, 1.03) for _ in range(12)] for _ in range(2))
    return own, other


def eventful(**truth: Any) -> World:
    """A world with failures, losses and a finalist that does not hold."""

    def failing(request: Request) -> BaseException | None:
        if request.stage is Stage.SCREEN and request.candidate.steps_per_execution > 1:
            return fault(FailureKind.COMPILE)
        return None

    usual = {
        "speed": lambda c: 1.0 if c.xla is Xla.AUTO else 1.4 if c.policy == F32 else 1.6,
        "factors": alike,
        "fault": failing,
        "loss": lambda c: 0.02 if c.batch_size > 64 else 0.0,
        "noise": lambda c, seed: random.Random(f"{c} {seed}").gauss(0, 0.006),
    }
    return World(**(usual | truth))


def told(study: FakeStudy) -> list[ev.Event]:
    """What stands in the record, without durations and worker numbers, and without how often it was resumed."""
    return [_timeless(event) for event in study.events if not isinstance(event, ev.StudyResumed)]


def _timeless(event: ev.Event) -> ev.Event:
    match event:
        case ev.Probed() | ev.FinalistsCompared():
            return replace(event, duration_s=0.0, probe=replace(event.probe, worker=0))
        case ev.Trained():
            return replace(event, duration_s=0.0, run=replace(event.run, worker=0, model_path=None))
        case ev.FinalistConfirmed():
            # Wall clocks are compared within one worker only, and a kill ends a worker.
            known = replace(event.confirmation, epoch_s=None, baseline_epoch_s=None, time_to_accuracy=None)
            return replace(event, confirmation=known)
        case ev.StudyDecided():
            return replace(event, duration_s=0.0)
        case ev.StudyStarted():
            return replace(event, output_dir="")
        case _:
            return event


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> FakeStudy:
    study = FakeStudy(tmp_path_factory.mktemp("whole"), config_of(trials=8, finalists=2), eventful()).run()
    kinds = {type(event) for event in study.events}
    assert {*_MEASURED, ev.FinalistConfirmed} <= kinds, "the study is to hold everything that a record can hold"
    return study


def cut(whole: FakeStudy, folder: Path, lines: int) -> Path:
    """A run's folder as a kill leaves it after so many lines, the next one half written."""
    shutil.copytree(whole.folder, folder)
    text = (whole.folder / FILE_NAME).read_text().splitlines(keepends=True)
    rest = text[lines][: len(text[lines]) // 2] if lines < len(text) else ""
    (folder / FILE_NAME).write_text("".join(text[:lines]) + rest)
    return folder


def test_a_study_killed_after_any_line_ends_as_if_it_had_not_been(whole, tmp_path):
    total = len(whole.events)
    requests = len(whole.executor.requests)
    for lines in range(1, total + 1):
        resumed = FakeStudy(cut(whole, tmp_path / str(lines), lines), config_of(trials=8, finalists=2), eventful())
        resumed.run()
        assert told(resumed) == told(whole), f"killed after {lines} lines"
        measured = sum(isinstance(event, _MEASURED) for event in whole.events[:lines])
        assert len(resumed.executor.requests) <= requests - measured + 2


def test_killed_again_and_again_at_every_request(whole, tmp_path):
    """One session a request, each killed in the middle of its own: every measurement is made exactly once."""
    folder, finished = tmp_path / "study", 0

    def run(deaths: set[int]) -> FakeStudy:
        count = 0

        def dies(request: Request) -> BaseException | None:
            nonlocal count
            count += 1
            return Killed() if count in deaths else eventful().fault(request)

        return FakeStudy(folder, config_of(trials=8, finalists=2), eventful(fault=dies)).run()

    for _ in range(2 * len(whole.executor.requests)):
        try:
            study = run({2})
        except Killed:
            finished += 1
            continue
        break
    assert finished > 20
    assert told(study) == told(whole)
    resumptions = [event for event in study.events if isinstance(event, ev.StudyResumed)]
    assert len(resumptions) == finished


def test_after_ctrl_c_the_study_goes_on_and_what_ended_it_no_longer_counts(whole, tmp_path):
    count = 0

    def interrupts(request: Request) -> BaseException | None:
        nonlocal count
        count += 1
        return KeyboardInterrupt() if count == 7 else eventful().fault(request)

    config = config_of(trials=8, finalists=2)
    with pytest.raises(KeyboardInterrupt):
        FakeStudy(tmp_path, config, eventful(fault=interrupts)).run()
    study = FakeStudy(tmp_path, config, eventful())
    assert study.view.decided.interrupted == "interrupt"
    study.run()
    assert told(study) == told(whole)
    assert study.view.decided.interrupted is None
    assert TrialState.SKIPPED not in {
        trial.state for trial in study.view.trials.values() if trial.reason == "the study was interrupted"
    }


def test_what_takes_the_whole_study_down_three_times_is_a_crash(tmp_path):
    def deadly(request: Request) -> BaseException | None:
        return Killed() if request.stage is Stage.SCREEN and request.candidate.batch_size == 128 else None

    config = config_of(trials=5)
    for _ in range(3):
        with pytest.raises(Killed):
            FakeStudy(tmp_path, config, World(fault=deadly)).run()
    study = FakeStudy(tmp_path, config, World(fault=deadly)).run()
    crashed = [trial for trial in study.view.trials.values() if trial.state is TrialState.FAILED]
    assert [trial.failure.kind for trial in crashed] == [FailureKind.CRASH]
    assert "killed 3 times in a row" in crashed[0].reason


def test_the_budget_is_a_total(tmp_path):
    config = config_of(trials=20, budget="200s")
    world = World(step_ms=20.0, fault=lambda r: Killed() if r.seed == 2 else None)
    with pytest.raises(Killed):
        FakeStudy(tmp_path, config, world).run()
    before_s = list(read_lines(tmp_path / FILE_NAME))[-1].at_s
    study = FakeStudy(tmp_path, config, World(step_ms=20.0)).run()
    [resumed] = study.of_kind(ev.StudyResumed)
    assert resumed.elapsed_s == before_s > 0
    assert before_s < study.view.decided.duration_s <= 200


def test_more_trials_go_on_from_those_that_were_measured(whole, tmp_path):
    folder = cut(whole, tmp_path / "more", len(whole.events))
    study = FakeStudy(folder, config_of(trials=12, finalists=2), eventful()).run()
    before = {(r.operation, r.candidate, r.stage, r.seed) for r in whole.executor.requests}
    screened = [r for r in study.executor.requests if r.stage is Stage.SCREEN]
    assert len(screened) == 4
    assert not before & {(r.operation, r.candidate, r.stage, r.seed) for r in screened}
    # One for each that lost its accuracy meanwhile comes on top.
    assert 12 <= len([t for t in study.view.trials.values() if not t.is_baseline]) <= 16


def test_more_trials_may_shift_numbers_and_no_trial_gets_what_another_showed(tmp_path):
    """Twelve trials are a sample of the space, all 23 are measured in their order: the same numbers are of others."""
    whole = FakeStudy(tmp_path / "whole", config_of(trials=12), eventful()).run()
    for lines in (len(whole.events) // 2, len(whole.events) - 1):
        study = FakeStudy(cut(whole, tmp_path / str(lines), lines), config_of(trials=24), eventful()).run()
        for trial in study.view.trials.values():
            probes = [trial.probe] if trial.probe else []
            runs = [run for stage in trial.runs.values() for run in stage]
            assert {one.candidate for one in (*probes, *runs)} <= {trial.candidate}
