"""`objective=pareto`: whole studies after the front of throughput against the metric."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState as OptunaState

from autotune.config.objective import Objective
from autotune.config.search import Sampler, SearchConfig
from autotune.record import events as ev
from autotune.study import storage
from autotune.study.propose import Proposer
from autotune.study.samplers import sampler_for
from autotune.trial import Candidate, FailureKind, Stage, TrialState, Xla
from tests.study.every_sampler import EVERY_SAMPLER
from tests.study.fake_executor import BF16, F32, WIDTHS, FakeStudy, World, config_of, fault, usual_speed
from tests.study.test_propose import larger_space, listed
from tests.study.test_resume import alike, cut, told

FASTEST = Candidate(BF16, 128, Xla.ON, WIDTHS, 8)


def loses_by_batch(candidate: Candidate) -> float:
    """The larger the batch, the less accurate."""
    return {32: 0.0, 64: 0.004}.get(candidate.batch_size, 0.03)


def study_of(folder: Path, world: World | None = None, **search: Any) -> FakeStudy:
    config = config_of(**search)
    config.objective.name = Objective.pareto
    return FakeStudy(folder, config, world or World(loss=loses_by_batch))


def of(study: FakeStudy, candidate: Candidate):
    return next(trial for trial in study.view.trials.values() if trial.candidate == candidate)


def loaded(study: FakeStudy) -> optuna.Study:
    path = storage.write(study.view, study.folder, 0.01)
    return optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(path))))


def test_every_candidate_that_may_be_on_the_front_is_trained_the_fastest_too(tmp_path):
    study = study_of(tmp_path).run()
    candidates = [trial for trial in study.view.trials.values() if not trial.is_baseline]
    assert len(candidates) == 23
    for trial in candidates:
        if trial.state is TrialState.SLOWER:
            assert trial.speedup.high <= 1
        else:
            assert trial.vouched_by is not None or Stage.VERIFY in trial.runs
    fastest = of(study, FASTEST)
    assert fastest.state is TrialState.REJECTED
    assert [run.seed for run in fastest.runs[Stage.VERIFY]] == [0, 1, 2], "on every seed that float32 was trained on"
    assert all(run.stopped is None for run in fastest.runs[Stage.VERIFY])


def test_the_winner_is_the_fastest_that_is_confirmed_not_less_accurate(tmp_path):
    study = study_of(tmp_path).run()
    one_winner = FakeStudy(tmp_path / "usual", config_of(), World(loss=loses_by_batch)).run()
    assert study.view.winner.candidate == one_winner.view.winner.candidate == Candidate(BF16, 64, Xla.ON, WIDTHS, 8)
    assert study.view.winner.confirmation.succeeded
    assert "the baseline's throughput" in study.view.decided.reason
    assert study.view.winner.confirmation.accuracy.seeds[0] >= 1000, "new seeds, as for one winner"


def test_one_that_is_far_behind_a_faster_one_is_not_trained_to_the_last_seed(tmp_path):
    """Float32 at a batch of 128 is slower than bfloat16 is at 64, and loses 2.6 points more."""
    study = study_of(tmp_path).run()
    behind = of(study, Candidate(F32, 128, Xla.OFF, WIDTHS, 8))
    faster = of(study, Candidate(BF16, 64, Xla.ON, WIDTHS, 8))
    assert behind.speedup.high < faster.speedup.low
    assert behind.state is TrialState.DOMINATED
    assert len(behind.runs[Stage.VERIFY]) == 1
    assert behind.reason.startswith("stopped after 1 of 3 seeds at -")


def test_the_most_accurate_is_on_the_front_however_slow_it_is(tmp_path):
    """Nobody knew that before it was trained: nothing but training leaves it out."""
    accurate = Candidate(F32, 32, Xla.ON, WIDTHS, 8)  # and the same with one step a call, which trains identically
    alike = {accurate, replace(accurate, steps_per_execution=1)}
    world = World(loss=lambda c: -0.03 if c in alike else loses_by_batch(c))
    study = study_of(tmp_path, world).run()
    found = {t.user_attrs["trial"] for t in loaded(study).best_trials}
    assert of(study, accurate).number in found
    assert of(study, FASTEST).number in found


def test_optunas_best_trials_are_the_front_of_the_record(tmp_path):
    study = study_of(tmp_path).run()
    kept = loaded(study)
    assert [direction.name for direction in kept.directions] == ["MAXIMIZE", "MAXIMIZE"]
    known = {
        number: (trial.speedup.estimate, trial.accuracy.delta.estimate)
        for number, trial in study.view.trials.items()
        if trial.state in (TrialState.PASSED, TrialState.REJECTED) and number
    } | {0: (1.0, 0.0)}
    front = {
        number
        for number, (speed, delta) in known.items()
        if not any(s >= speed and d >= delta and (s, d) != (speed, delta) for s, d in known.values())
    }
    assert {t.user_attrs["trial"] for t in kept.best_trials} == front
    assert of(study, FASTEST).number in front
    of_state = {t.user_attrs["trial"]: t.state for t in kept.trials}
    dominated = [n for n, t in study.view.trials.items() if t.state is TrialState.DOMINATED]
    assert dominated
    assert {of_state[number] for number in dominated} == {OptunaState.PRUNED}


@pytest.mark.parametrize(("size", "who"), [(10, Sampler.grid), (11, Sampler.nsga2)])
def test_a_small_space_is_enumerated_and_of_a_larger_one_nsga2_is_asked(size, who):
    assert sampler_for(SearchConfig(trials=10), size, front=True) is who
    assert sampler_for(SearchConfig(trials=10, sampler=Sampler.tpe), size, front=True) is Sampler.tpe


def test_beyond_the_trials_candidates_go_through_both_stages_in_generations(tmp_path):
    study = study_of(tmp_path, trials=12).run()
    assert study.view.space.space.size == 23
    stages = [event.stage for event in study.of_kind(ev.StageStarted)]
    before = stages[: stages.index(Stage.CONFIRM)]
    assert before == [Stage.BASELINE, *[Stage.SCREEN, Stage.VERIFY] * 3], "four candidates at a time"
    screened = study.screened()
    assert len(screened) == len(set(screened)) == 12


def test_nsga2_breeds_from_both_values():
    """What is accurate is slow: a breeder of speed alone would never come back to the user's own batch."""

    def found(value_of: Any) -> list[int]:
        proposer = Proposer(larger_space(), listed(trials=40, sampler=Sampler.nsga2), front=True)
        for _ in range(10):
            asked = [candidate for _ in range(4) if (candidate := proposer.ask()) is not None]
            for candidate in asked:
                proposer.measured(candidate, usual_speed(candidate))
            for candidate in asked:
                proposer.learn(candidate, usual_speed(candidate), value_of(candidate))
        trials = proposer._study.trials
        generations = [trial.system_attrs.get("NSGAIISampler:generation") for trial in trials]
        assert max(generation or 0 for generation in generations) >= 3
        assert all(len(trial.values) == 2 for trial in trials if trial.state is OptunaState.COMPLETE)
        return [t.params["batch_size"] for t in trials if t.state is OptunaState.COMPLETE][12:]

    small_is_better = found(lambda c: -c.batch_size / 1e3)
    large_is_better = found(lambda c: c.batch_size / 1e3)
    assert sum(small_is_better) < sum(large_is_better)


@pytest.mark.parametrize("sampler", EVERY_SAMPLER)
def test_every_sampler_learns_two_values_and_repeats_nothing(tmp_path, sampler):
    world = World(
        loss=loses_by_batch,
        speed=lambda c: 0.8 if c.policy == F32 and c.xla is Xla.ON else usual_speed(c),
        fault=lambda r: fault(FailureKind.COMPILE) if r.candidate == FASTEST else None,
    )
    study = study_of(tmp_path, world, trials=14, sampler=sampler).run()
    screened = study.screened()
    assert len(screened) == len(set(screened)) == 14
    assert study.view.decided.winner


def test_one_without_an_accuracy_is_told_as_none_that_is_good():
    proposer = Proposer(larger_space(), listed(trials=40, sampler=Sampler.nsga2), front=True)
    first, second = proposer.ask(), proposer.ask()
    proposer.measured(first, 9.0)
    proposer.measured(second, 1.1)
    proposer.learn(second, 1.1, -0.01)
    proposer.learn_unknown(first)
    assert [trial.params["batch_size"] for trial in proposer._study.best_trials] == [second.batch_size]


def test_what_the_budget_had_no_room_for_says_that_it_may_be_on_the_front(tmp_path):
    world = World(loss=loses_by_batch, extra_s=lambda r: 20.0 if r.stage is Stage.VERIFY and not r.of_baseline else 0.0)
    study = study_of(tmp_path, world, budget="600s").run()
    left = [trial for trial in study.view.trials.values() if trial.state is TrialState.SKIPPED]
    assert left
    assert all("s of the budget are left, and it takes about" in trial.reason for trial in left)
    assert all(trial.reason.endswith("; it may be on the front") for trial in left)
    assert study.view.decided.duration_s <= 600


def test_the_plan_has_room_for_the_training_of_every_candidate(tmp_path):
    shares = [
        study.plan().view.fidelity.shares_s
        for study in (study_of(tmp_path / "front", trials=10), FakeStudy(tmp_path / "one", config_of(trials=10)))
    ]
    # Ten candidates on three seeds; one that passes on two seeds and three trainings in vain.
    assert shares[0]["verify"] / shares[1]["verify"] == pytest.approx(30 / 5)
    assert shares[0]["baseline"] == shares[1]["baseline"]


def test_a_study_killed_after_any_line_ends_as_if_it_had_not_been(tmp_path):
    def world() -> World:
        noise = {"factors": alike, "noise": lambda c, seed: random.Random(f"{c} {seed}").gauss(0, 0.003)}
        return World(loss=loses_by_batch, **noise)

    search = {"trials": 8, "align_widths": False}
    whole = study_of(tmp_path / "whole", world(), **search).run()
    for lines in range(1, len(whole.events), 3):
        folder = cut(whole, tmp_path / str(lines), lines)
        resumed = study_of(folder, world(), **search).run()
        assert told(resumed) == told(whole), f"killed after {lines} lines"
