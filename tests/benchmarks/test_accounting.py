"""The account of a study's wall clock, on a study whose every second is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read_lines
from autotune.trial import Stage
from tests.benchmarks import accounting
from tests.benchmarks.accounting import account
from tests.study.fake_executor import FakeStudy, World, config_of


def test_every_second_is_of_one_kind(tmp_path: Path) -> None:
    study = FakeStudy(tmp_path, config_of(), World()).run()
    found = account(read_lines(tmp_path / FILE_NAME))
    assert sum(found.spent_s.values()) == pytest.approx(found.wall_s)
    trained_s = sum(event.duration_s for event in study.of_kind(ev.Trained))
    assert trained_s > 0
    assert found.wall_s > trained_s
    assert found.spent_s[accounting.TRAINING] == pytest.approx(trained_s)


def test_a_probe_is_split_as_it_tells_and_the_rest_is_around_its_steps(tmp_path: Path) -> None:
    study = FakeStudy(tmp_path, config_of(trials=1), World()).run()
    lines = list(read_lines(tmp_path / FILE_NAME))
    end = next(
        n for n, line in enumerate(lines) if isinstance(line.event, ev.Probed) and line.event.stage is Stage.SCREEN
    )
    before, until = account(lines[:end]), account(lines[: end + 1])
    probe = study.of_kind(ev.Probed, Stage.SCREEN)[0].probe
    spent = {kind: until.spent_s[kind] - before.spent_s[kind] for kind in accounting.KINDS}
    blocks_ms = sum(probe.block_step_ms) * probe.steps_per_block
    warm_up_ms = blocks_ms / len(probe.block_step_ms)  # one block
    assert spent[accounting.COMPILE] == pytest.approx(0.1 + 0.5)
    assert spent[accounting.TIMED] == pytest.approx((blocks_ms + warm_up_ms) / 1e3)
    rest_s = 3.0 - spent[accounting.COMPILE] - spent[accounting.TIMED]
    assert spent[accounting.AROUND] == pytest.approx(rest_s, abs=2e-3)


def test_processes_that_start_within_a_request_are_no_overhead(tmp_path: Path) -> None:
    FakeStudy(tmp_path, config_of(trials=2), World()).run()
    lines = list(read_lines(tmp_path / FILE_NAME))
    ready = next(n for n, line in enumerate(lines) if isinstance(line.event, ev.WorkerReady))
    started = lines[ready].event
    slow = ev.WorkerReady(started.worker, started.facts, started.data, start_s=2.0)
    fresh = {line.event.probe.worker for line in lines if isinstance(line.event, ev.Probed)} - {1}
    known = [*lines[:ready], type(lines[ready])(lines[ready].number, lines[ready].at_s, slow), *lines[ready + 1 :]]
    assert fresh
    difference_s = account(known).spent_s[accounting.START_UP] - account(lines).spent_s[accounting.START_UP]
    assert difference_s == pytest.approx(2.0 * len(fresh))
