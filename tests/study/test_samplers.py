"""Who proposes candidates, in which order, and what each learns."""

from __future__ import annotations

import random
import statistics

import pytest

from autotune.config import cross_checks
from autotune.config.schema import Config, Task
from autotune.config.search import Sampler, SearchConfig
from autotune.errors import ConfigError
from autotune.study.propose import Proposer
from autotune.study.samplers import sampler_for
from autotune.trial import Candidate, FailureKind, Xla
from tests.study.every_sampler import EVERY_SAMPLER, EVERY_THAT_LEARNS
from tests.study.fake_executor import BF16, F32, FakeStudy, World, config_of, fault, usual_speed
from tests.study.test_propose import larger_space, listed, searched


@pytest.mark.parametrize(("size", "who"), [(10, Sampler.grid), (11, Sampler.tpe)])
def test_a_small_space_is_enumerated_and_a_larger_one_asked_about(size, who):
    assert sampler_for(SearchConfig(trials=10), size) is who
    assert sampler_for(SearchConfig(trials=10, sampler=Sampler.random), size) is Sampler.random


def test_a_grid_takes_every_candidate_in_order_and_says_where_it_ends(tmp_path):
    study = FakeStudy(tmp_path, config_of(trials=9, sampler=Sampler.grid)).run()
    every = study.view.space.space
    assert every.size == 23
    assert [(c.policy, c.batch_size, c.xla, c.steps_per_execution) for c in study.screened()[:4]] == [
        (F32, 32, Xla.OFF, 8),  # less the baseline itself
        (F32, 32, Xla.ON, 1),
        (F32, 32, Xla.ON, 8),
        (F32, 64, Xla.OFF, 1),
    ]
    assert {c.policy for c in study.screened()} == {F32}
    assert study.notes("sampler") == [
        "search.sampler=grid takes the first 9 of 23 candidates in their order; search.trials=23 takes all of them"
    ]


def test_an_automatic_grid_begins_with_what_a_person_would_try(tmp_path):
    study = FakeStudy(tmp_path, config_of(trials=23)).run()
    assert (study.screened()[0].policy, study.screened()[0].batch_size) == (BF16, 32)
    assert study.notes("sampler") == []


def test_random_knows_nothing():
    """Its first candidates are no guesses: over many seeds, about every pair of policy and XLA comes first."""
    first = {Proposer(larger_space(), listed(trials=9, sampler=Sampler.random, seed=s)).ask() for s in range(40)}
    assert len({(c.policy, c.xla) for c in first}) == 6


def best_found(sampler: Sampler, seed: int) -> float:
    """The speedup that 24 trials of 95 candidates find, in a world in which 16 bit with XLA fails."""
    noise = random.Random(seed)

    def speed(candidate: Candidate) -> float:
        return usual_speed(candidate) * noise.uniform(0.97, 1.03)

    proposer = Proposer(larger_space(), listed(trials=24, sampler=sampler, seed=seed))
    best = 0.0
    for _ in range(24):
        candidate = proposer.ask()
        assert candidate is not None
        if candidate.xla is Xla.ON and not candidate.policy.is_float32:
            proposer.fail(candidate, FailureKind.COMPILE)
        else:
            proposer.tell(candidate, speed(candidate))
            best = max(best, usual_speed(candidate))
    return best


@pytest.mark.parametrize("sampler", EVERY_THAT_LEARNS)
def test_every_sampler_that_learns_finds_the_best_of_a_larger_space(sampler):
    best = max(usual_speed(c) for c in larger_space().candidates() if c.policy.is_float32 or c.xla is Xla.OFF)
    assert statistics.median(best_found(sampler, seed) for seed in range(5)) > 0.9 * best


def test_nsga2_breeds_from_what_it_was_told_of_the_first_guesses():
    """Trials that are only added to Optuna's study are in no generation, and no parent ever comes from them."""
    proposer = Proposer(larger_space(), listed(trials=30, sampler=Sampler.nsga2))
    searched(proposer, lambda _: None, most=30)
    generations = [trial.system_attrs.get("NSGAIISampler:generation") for trial in proposer._study.trials]
    assert generations[0] == 0
    assert None not in generations
    assert max(generations) >= 3


@pytest.mark.parametrize("sampler", EVERY_SAMPLER)
def test_failures_inform_every_sampler_and_none_is_asked_twice(tmp_path, sampler):
    world = World(fault=lambda r: fault(FailureKind.COMPILE) if r.candidate.xla is Xla.ON else None)
    study = FakeStudy(tmp_path, config_of(trials=15, sampler=sampler), world).run()
    screened = study.screened()
    assert len(screened) == len(set(screened))
    assert sum(c.xla is Xla.ON for c in screened) <= 4, "two for each policy at most"


def test_a_gaussian_process_needs_torch_and_says_so_before_anything_is_measured(monkeypatch):
    config = Config(search=SearchConfig(sampler=Sampler.gp))
    monkeypatch.setattr(cross_checks, "find_spec", lambda name: None if name == "torch" else object())
    with pytest.raises(
        ConfigError, match=r"search\.sampler=gp needs the package torch, .*: pip install torch \("
    ) as told:
        cross_checks.check(config)
    assert "\n" not in str(told.value)
    config.task = Task.train
    cross_checks.check(config)  # a training asks no sampler
    config.task = Task.tune
    monkeypatch.setattr(cross_checks, "find_spec", lambda _: object())
    cross_checks.check(config)
