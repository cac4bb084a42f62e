from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.config.schema import Config
from autotune.trial import Candidate, EpochPoint, Failure, FailureKind, Policy, Recipe, TrainingRun, WorkerFacts, Xla
from tests.benchmarks.search import lines
from tests.benchmarks.search.landscape import InForce, Landscape, Start, Timing, Training
from tests.benchmarks.search.measure import finished
from tests.benchmarks.search.measuring import Measuring, minutes
from tests.benchmarks.search.plans import PLANS, Plan
from tests.study.fake_executor import DATA, Clock, FakeExecutor, Request, World, fault

PLAN = Plan(("train.examples=512", "train.epochs=3", "model.width_bounds=[]", "search.xla=[false]"), 100.0, seeds=4)


class Killed(BaseException):
    """What ends a measurement in the middle."""


class Machine(FakeExecutor):
    """A `LocalExecutor` that measures a world, and is killed after so many requests."""

    def __init__(
        self, world: World, most: int, config: Config, _log: Path, _limit: Any, ready: Callable[..., None], before: int
    ) -> None:
        super().__init__(config, world, Clock())
        self.worker, self._ready, self._most, self._alive = before, ready, most, False

    def start(self) -> None:
        if not self._alive:
            self._alive = True
            self.worker += 1
            self._ready(
                self.worker, WorkerFacts("CPU", (), 0, 0, True, None, {"tensorflow": "2.21.0"}, {}, 5.0, 1), DATA
            )

    def _asked(self, request: Request, cost_s: float) -> Request:
        self.start()
        if len(self.requests) >= self._most:
            raise Killed
        return super()._asked(request, cost_s)

    def train(self, candidate: Candidate, seed: int, recipe: Recipe, *rest: Any, **more: Any) -> TrainingRun:
        run = super().train(candidate, seed, recipe, *rest, **more)
        points = (EpochPoint(epoch, 1.0, run.metric, run.train_s * epoch / 3) for epoch in (1, 2, 3))
        return replace(run, curve=tuple(points))

    def replace(self) -> None:
        self._alive = False

    def close(self) -> None:
        self._alive = False


def measured(folder: Path, world: World, most: int = 10**6) -> tuple[Landscape, Machine]:
    """What one session finds; a killed one is read from its work file."""
    made: list[Machine] = []

    def machine(*args: Any) -> Any:
        made.append(Machine(world, most, *args))
        return made[0]

    measuring = Measuring("cifar_mlp", PLAN, folder, executor=machine)
    try:
        return measuring.run(), made[0]
    except Killed:
        return lines.read(folder / "cifar_mlp.work.jsonl"), made[0]


def contents(found: Landscape) -> set[tuple[Any, ...]]:
    """What was measured, whenever it was."""
    keys: set[tuple[Any, ...]] = set()
    for one in found:
        match one:
            case Timing():
                keys.add((one.candidate, one.turn))
            case Training():
                keys.add((one.candidate, one.seed))
            case InForce():
                keys.add((one.candidate, "in force"))
            case Start():
                pass
    return keys


def test_every_candidate_is_timed_in_each_turn_and_trained_once_for_all_that_train_alike(tmp_path: Path) -> None:
    found, machine = measured(tmp_path, World())

    assert {len(timings) for timings in found.timings.values()} == {2}
    assert {len({one.process for one in timings}) for timings in found.timings.values()} == {2}
    assert {tuple(runs) for runs in found.trainings.values()} == {(0, 1, 2, 3)}
    assert set(found.trainings) == {found.trained(candidate) for candidate in found.candidates} | {found.baseline}
    assert all(candidate.steps_per_execution == 1 for candidate in found.trainings)
    asked = [request.candidate for request in machine.requests if request.operation == "probe"]
    first, second = asked[: len(asked) // 2], asked[len(asked) // 2 :]
    assert first[0] == second[0] == found.baseline
    assert set(first) == set(second)
    assert first != second


def test_a_measurement_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    for folder in ("whole", "killed"):
        (tmp_path / folder).mkdir()
    whole, machine = measured(tmp_path / "whole", World())
    half, _ = measured(tmp_path / "killed", World(), most=len(machine.requests) // 2)
    work = tmp_path / "killed" / "cifar_mlp.work.jsonl"
    work.write_text(work.read_text(encoding="utf-8") + '{"is":"Timing","cand', encoding="utf-8")  # cut by the kill
    rest, later = measured(tmp_path / "killed", World())

    assert contents(half) < contents(rest) == contents(whole)
    assert len(later.requests) == len(machine.requests) - len(machine.requests) // 2
    assert contents(lines.read(work)) == contents(whole)
    assert later.worker > max(timing.process for timing in half.timings[half.baseline])


def test_another_plans_measurements_are_not_gone_on_with(tmp_path: Path) -> None:
    measured(tmp_path, World())
    other = replace(PLAN, overrides=("train.examples=256", "train.epochs=3"))

    with pytest.raises(ValueError, match="another plan"):
        Measuring("cifar_mlp", other, tmp_path, executor=lambda *args: Machine(World(), 1, *args))


def test_what_clearly_loses_is_trained_on_few_seeds_and_that_is_said(tmp_path: Path) -> None:
    found, _ = measured(tmp_path, World(loss=lambda candidate: 0.05 if candidate.batch_size > 64 else 0.0))
    told = " ".join(finished(found, PLAN).head.thinned)

    assert {len(runs) for one, runs in found.trainings.items() if one.batch_size <= 64} == {4}
    assert {len(runs) for one, runs in found.trainings.items() if one.batch_size > 64} == {2}
    assert "were trained on fewer than 4 seeds" in told
    assert "model.width_bounds" in told


def test_what_is_clearly_slower_is_trained_on_one_seed(tmp_path: Path) -> None:
    slow = Policy("mixed_bfloat16")
    found, _ = measured(tmp_path, World(speed=lambda candidate: 0.8 if candidate.policy == slow else 1.2))

    assert {len(runs) for one, runs in found.trainings.items() if one.policy == slow} == {1}
    assert {len(runs) for one, runs in found.trainings.items() if one.policy != slow} == {4}


def test_a_failure_is_recorded_as_one(tmp_path: Path) -> None:
    bad = Policy("mixed_bfloat16")

    def refused(request: Request) -> BaseException | None:
        return fault(FailureKind.COMPILE) if request.candidate.policy == bad else None

    found, _ = measured(tmp_path, World(fault=refused))
    timings = [one for candidate, each in found.timings.items() if candidate.policy == bad for one in each]

    assert timings
    assert {one.failure for one in timings} == {Failure(FailureKind.COMPILE, "a made-up compile")}
    assert found.loss(Candidate(bad, 32, Xla.OFF, (3000, 1000))) == float("inf")


def test_no_further_seed_begins_when_the_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.benchmarks.search.measuring.minutes", lambda found: len(found.trainings[found.baseline]))
    short = replace(PLAN, minutes=0.5)
    made = Measuring("cifar_mlp", short, tmp_path, executor=lambda *args: Machine(World(), 10**6, *args)).run()

    assert {tuple(runs) for runs in made.trainings.values()} == {(0,)}
    assert {len(timings) for timings in made.timings.values()} == {1, 2}  # the second turn ends with the baseline


def test_minutes_are_those_of_all_requests() -> None:
    from tests.benchmarks.search import made_up

    made = made_up.landscape()
    timed_s = sum(6.0 for timings in made.timings.values() for _ in timings)
    trained_s = sum(run.wall_s for runs in made.trainings.values() for run in runs.values())
    assert minutes(made) == pytest.approx((9.0 + 10.0 + timed_s + trained_s) / 60)


@pytest.mark.parametrize("model", PLANS)
def test_each_plan_is_a_configuration(model: str, tmp_path: Path) -> None:
    config = Measuring(model, PLANS[model], tmp_path, executor=lambda *args: Machine(World(), 1, *args)).config

    assert config.model.name == model
    assert config.train.examples
    assert config.train.epochs
    assert config.search.timing.min_pairs == config.search.timing.max_pairs


def test_what_may_be_the_best_is_timed_in_further_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Landscape, "contenders", lambda self, **_: [self.candidates[0]] if len(self.timings[self.baseline]) < 5 else []
    )
    found, _ = measured(tmp_path, World())
    near, *others = found.candidates

    assert [one.turn for one in found.timings[near]] == [0, 1, 2, 3, 4]
    assert len({one.process for one in found.timings[near]}) == 5
    assert {len(found.timings[one]) for one in others} == {2}
    assert "were timed in 2 to 5 processes" in " ".join(finished(found, PLAN).head.thinned)
