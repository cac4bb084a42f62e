"""Baseline and candidate in workers of their own: the order of turns, and what becomes one probe."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.errors import TrialFault
from autotune.trial import BlockConditions, Candidate, Effect, FailureKind, PipelineTiming, Probe, Stage, Xla
from autotune.worker.apart import probe_apart
from autotune.worker.executor import LocalExecutor
from autotune.worker.protocol import ProbeArgs
from tests.worker import people

CANDIDATE, BASELINE = people.candidate("mixed_float16", batch=40), people.candidate()
EFFECT = Effect(False, (), "float32", False, "SGD", None, False, "CPU")


def args() -> ProbeArgs:
    recipes = [people.recipe(one, people.config()) for one in (CANDIDATE, BASELINE)]
    return ProbeArgs(CANDIDATE, recipes[0], BASELINE, recipes[1], 0, 0.1, 10, 30, 0.02, 5.0, pipeline=True)


class Workers:
    """Answers as fresh workers would; worker n's blocks take n ms a step, or as many blocks as `counts` says."""

    def __init__(
        self, counts: tuple[int, ...] = (3,) * 6, fails: Callable[[ProbeArgs], bool] = lambda _: False
    ) -> None:
        self.asked: list[ProbeArgs] = []
        self._counts = counts
        self._fails = fails

    def __call__(self, asked: ProbeArgs) -> Probe:
        self.asked.append(asked)
        if self._fails(asked):
            raise TrialFault(FailureKind.OOM, "no memory", "evidence")
        number = len(self.asked)
        blocks = (float(number),) * self._counts[number - 1]
        return Probe(
            asked.candidate,
            EFFECT,
            block_step_ms=blocks,
            baseline_step_ms=(),
            steps_per_block=asked.steps_per_block or 10 * number,
            warmup_step_ms=(),
            build_s=0.1,
            first_step_s=0.2,
            peak_memory_mb=100.0 * number,
            loss=0.5 + number,
            loss_finite=True,
            conditions=(BlockConditions(steal=0.0),) * len(blocks),
            pipeline=PipelineTiming((1.0,), (0.5,)) if asked.pipeline else None,
        )


def test_each_round_has_a_worker_for_each_and_rounds_alternate() -> None:
    workers = Workers()
    probe = probe_apart(workers, args(), rounds=3)
    assert [asked.candidate for asked in workers.asked] == [
        CANDIDATE, BASELINE, BASELINE, CANDIDATE, CANDIDATE, BASELINE,
    ]  # fmt: skip
    assert all(asked.reference is None for asked in workers.asked)
    assert probe.block_step_ms == (1.0,) * 3 + (4.0,) * 3 + (5.0,) * 3
    assert probe.baseline_step_ms == (2.0,) * 3 + (3.0,) * 3 + (6.0,) * 3
    assert probe.apart_pairs == (3, 3, 3)
    assert len(probe.conditions) == len(probe.baseline_conditions) == 9
    assert (probe.peak_memory_mb, probe.baseline_peak_memory_mb) == (500.0, 600.0)
    assert (probe.loss, probe.candidate) == (5.5, CANDIDATE)


def test_blocks_of_all_rounds_are_of_as_many_steps_and_the_pipeline_is_timed_once() -> None:
    workers = Workers()
    probe = probe_apart(workers, args(), rounds=2)
    assert [asked.steps_per_block for asked in workers.asked] == [None, None, 20, 10]
    assert [asked.pipeline for asked in workers.asked] == [True, False, False, False]
    assert (probe.steps_per_block, probe.baseline_steps_per_block, probe.baseline_batch_size) == (10, 20, 10)
    assert probe.pipeline is not None


def test_a_round_has_as_many_blocks_of_both() -> None:
    probe = probe_apart(Workers(counts=(5, 3, 2, 4)), args(), rounds=2)
    assert probe.apart_pairs == (3, 2)
    assert (probe.block_step_ms, probe.baseline_step_ms) == ((1.0,) * 3 + (4.0,) * 2, (2.0,) * 3 + (3.0,) * 2)


def test_a_candidate_that_fails_alone_costs_one_worker() -> None:
    workers = Workers(fails=lambda asked: asked.candidate == CANDIDATE)
    with pytest.raises(TrialFault, match=r"^no memory$"):
        probe_apart(workers, args(), rounds=3)
    assert len(workers.asked) == 1


def test_a_failure_of_the_baseline_is_not_told_as_the_candidates() -> None:
    workers = Workers(fails=lambda asked: asked.candidate == BASELINE)
    with pytest.raises(TrialFault) as caught:
        probe_apart(workers, args(), rounds=3)
    assert caught.value.message == "the baseline, timed by itself: no memory"
    assert (caught.value.kind, caught.value.detail) == (FailureKind.OOM, "evidence")


def test_one_loss_that_is_not_finite_is_enough() -> None:
    workers = Workers()

    def second_is_not(asked: ProbeArgs) -> Probe:
        probe = workers(asked)
        return replace(probe, loss=None, loss_finite=False) if len(workers.asked) == 4 else probe

    assert not probe_apart(second_is_not, args(), rounds=3).loss_finite


class SmallMachine(LocalExecutor):
    """Stands where workers stand: both models of a request fit into one only for small batches."""

    def __init__(self, folder: Path) -> None:
        super().__init__(people.config(), folder / "log", None)
        self.together: list[int] = []
        self.alone = Workers(counts=(6,) * 100)

    def _ask(self, operation: str, args: Any, kind: Any, timeout_s: float | None) -> Any:
        if args.reference is None:
            return self.alone(args)
        self.together.append(args.candidate.batch_size)
        if args.candidate.batch_size > 20:
            raise TrialFault(FailureKind.OOM, "no memory")
        if args.candidate.xla is Xla.ON:
            raise TrialFault(FailureKind.COMPILE, "no such operation")
        return replace(self.alone(args), baseline_step_ms=(1.0,) * 6)

    def ask(self, candidate: Candidate) -> Probe:
        config = people.config()
        pair = (BASELINE, people.recipe(BASELINE, config))
        return self.probe(candidate, people.recipe(candidate, config), pair, Stage.SCREEN)


def test_what_did_not_fit_beside_the_baseline_is_not_tried_there_again(tmp_path: Path) -> None:
    machine = SmallMachine(tmp_path)
    apart = {batch: machine.ask(people.candidate("mixed_float16", batch)).apart_pairs for batch in (20, 40, 40, 80, 10)}
    assert apart == {20: (), 40: (6, 6, 6), 80: (6, 6, 6), 10: ()}
    assert machine.together == [20, 40, 10]
    machine.ask(people.candidate("float32", 40))
    assert machine.together[-1] == 40, "another policy may need less"


def test_only_a_lack_of_memory_is_a_reason_to_go_apart(tmp_path: Path) -> None:
    machine = SmallMachine(tmp_path)
    with pytest.raises(TrialFault, match="no such operation"):
        machine.ask(people.candidate(xla=Xla.ON))
    assert machine.alone.asked == []


def test_two_settings_of_tf32_never_share_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is switched for a whole process, and kernels that were chosen under one setting stay in use."""
    machine, fresh = SmallMachine(tmp_path), []
    monkeypatch.setattr(machine, "replace", lambda: fresh.append(len(machine.alone.asked)))
    own, config = people.candidate(), people.config()
    full = replace(own, tf32=False)
    assert machine.ask(full).apart_pairs == (6, 6, 6)
    assert machine.together == [], "candidate and baseline were never in one"
    turns = [asked.candidate.tf32 for asked in machine.alone.asked]
    assert turns == [False, None, None, False, False, None]
    assert fresh[0] == 0
    assert set(fresh) >= {1, 3, 5}, "a fresh one before each other setting"

    fresh.clear()
    machine.ask(own)
    assert (machine.together, fresh) == ([10], []), "as the last worker was, and as its reference is"
    monkeypatch.setattr(machine, "_ask", lambda *_: None)
    for candidate, replaced in ((own, 0), (full, 1), (full, 1), (own, 2)):
        with contextlib.suppress(TypeError):  # there is no training to read
            machine.train(candidate, 0, people.recipe(candidate, config))
        assert len(fresh) == replaced


def test_one_alone_is_never_given_up_for_what_only_shows_beside_the_other() -> None:
    workers = Workers()
    probe_apart(workers, replace(args(), hopeless_below=1.0), rounds=2)
    assert [asked.hopeless_below for asked in workers.asked] == [None] * 4
