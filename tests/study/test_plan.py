"""How long one training is: it fits the budget at any speed, keeps what was set, and drops no examples."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from autotune.config.objective import Objective
from autotune.config.schema import Config
from autotune.config.search import Verify
from autotune.decide.accuracy import looks, resolvable_margin
from autotune.study.plan import Plan, make_plan, resolvable_margins, training_s
from autotune.trial import Candidate, Probe, Xla
from tests.study.fake_executor import DATA, F32, WIDTHS, effect_of

START_S = 8.0


def config_for(batch: int = 32, examples: int | None = None, epochs: int | None = None) -> Config:
    config = Config()
    config.train.batch_size, config.train.examples, config.train.epochs = batch, examples, epochs
    return config


def plan_for(config: Config, step_ms: float, remaining_s: float, train: int = 45000, validation: int = 5000) -> Plan:
    """The plan of a model whose baseline step takes so long."""
    baseline = Candidate(F32, config.train.batch_size, Xla.AUTO, WIDTHS)
    steps = (step_ms,) * 10
    probe = Probe(baseline, effect_of(baseline), steps, (), 10, (), 0.1, 0.5, None, 1.0, True)
    data = replace(DATA, train=train, validation=validation)
    return make_plan(config, probe, data, remaining_s, START_S)


GRID = list(itertools.product([0.05, 0.5, 5.0, 50.0, 500.0], [90.0, 360.0, 3600.0], [16, 128]))


@pytest.mark.parametrize(("step_ms", "budget_s", "batch"), GRID)
def test_the_plan_fits_the_budget_unless_it_says_that_it_is_too_short(step_ms, budget_s, batch):
    plan = plan_for(config_for(batch), step_ms, budget_s)
    too_short = any("too short" in reason for reason in plan.reasons)
    assert plan.fits is (sum(plan.shares_s.values()) <= budget_s)
    assert plan.fits or too_short
    assert all(share_s > 0 for share_s in plan.shares_s.values())
    assert plan.baseline_train_s == training_s(plan.fidelity, step_ms / 1e3 / batch, 5000)


@pytest.mark.parametrize(("step_ms", "budget_s", "batch"), GRID)
def test_no_training_is_shorter_than_sixty_steps_or_larger_than_the_data(step_ms, budget_s, batch):
    fidelity = plan_for(config_for(batch), step_ms, budget_s).fidelity
    assert fidelity.examples <= 45000
    assert 1 <= fidelity.epochs <= 30
    assert fidelity.examples // batch * fidelity.epochs >= 60


@pytest.mark.parametrize("batch", [16, 128])
def test_a_faster_model_and_a_larger_budget_never_train_on_less(batch):
    def passes(step_ms: float, budget_s: float) -> int:
        fidelity = plan_for(config_for(batch), step_ms, budget_s).fidelity
        return fidelity.examples * fidelity.epochs

    by_speed = [passes(step_ms, 360.0) for step_ms in (500.0, 50.0, 5.0, 0.5)]
    assert by_speed == sorted(by_speed)
    by_budget = [passes(5.0, budget_s) for budget_s in (60.0, 120.0, 360.0, 3600.0)]
    assert by_budget == sorted(by_budget)
    assert by_budget[-1] > by_budget[0]


@pytest.mark.parametrize(("step_ms", "budget_s"), [(0.05, 3600.0), (5.0, 360.0), (500.0, 60.0)])
@pytest.mark.parametrize("examples", [128, 4096, 20480])
@pytest.mark.parametrize("epochs", [None, 1, 7])
def test_what_the_person_set_is_kept(step_ms, budget_s, examples, epochs):
    fidelity = plan_for(config_for(32, examples, epochs), step_ms, budget_s).fidelity
    assert fidelity.examples == examples, "all of these are whole batches"
    assert fidelity.epochs == epochs if epochs else 1 <= fidelity.epochs <= 30


@pytest.mark.parametrize(("step_ms", "budget_s"), [(0.05, 3600.0), (5.0, 360.0), (500.0, 60.0)])
@pytest.mark.parametrize("epochs", [1, 7, 50])
def test_epochs_that_were_set_are_kept_and_the_examples_follow(step_ms, budget_s, epochs):
    fidelity = plan_for(config_for(32, None, epochs), step_ms, budget_s).fidelity
    assert fidelity.epochs == epochs
    assert 32 <= fidelity.examples <= 45000


def test_few_examples_of_a_fast_model_are_not_trained_on_for_ever():
    """The budget would afford over a hundred thousand epochs of 128 examples."""
    assert plan_for(config_for(32, 128), step_ms=0.05, remaining_s=3600.0).fidelity.epochs == 30


def test_examples_that_were_set_and_are_too_many_for_the_budget_give_one_epoch():
    plan = plan_for(config_for(32, 45000), step_ms=50.0, remaining_s=120.0)
    assert (plan.fidelity.epochs, plan.fits) == (1, False)
    assert "too short" in plan.reasons[-1]


@pytest.mark.parametrize("examples", [2049, 5000, 44999])
def test_examples_that_were_asked_for_are_taken_as_they_are(examples):
    assert plan_for(config_for(32, examples, 3), 5.0, 360.0).fidelity.examples == examples


@pytest.mark.parametrize("train", [2049, 5000, 44999])
def test_planned_examples_are_whole_batches_of_the_largest_batch(train):
    config = config_for(32)
    largest = 32 * config.search.max_batch_factor
    assert plan_for(config, 5.0, math.inf, train=train).fidelity.examples == train // largest * largest


def test_whole_batches_of_a_batch_of_which_there_are_enough():
    """Of 1,000 examples four batches of 512 cannot be made, so they are whole batches of the person's own."""
    assert plan_for(config_for(32), 5.0, math.inf, train=1000).fidelity.examples == 992


@pytest.mark.parametrize("train", [40, 100, 130, 700])
def test_tiny_data_is_used_whole_and_often(train):
    plan = plan_for(config_for(32), 1.0, 360.0, train=train, validation=20)
    assert train - 32 < plan.fidelity.examples <= train
    assert plan.fidelity.epochs == 30
    assert plan.fits


def test_without_a_budget_all_examples_are_used():
    plan = plan_for(config_for(32), 5.0, math.inf)
    assert (plan.fidelity.examples, plan.fidelity.epochs) == (45000 // 512 * 512, 6)
    assert plan.fits
    assert math.isfinite(sum(plan.shares_s.values()))


def test_a_budget_that_is_too_short_is_said_to_be():
    plan = plan_for(config_for(32), 500.0, 60.0)
    assert not plan.fits
    assert "too short to train anything" in plan.reasons[-1]
    assert plan.shares_s["screen"] == 15.0


def test_the_plan_pays_for_every_seed_that_is_paired_in_the_gate():
    config = config_for(32, 2048, 3)
    config.search.gate_seeds = 5
    plan = plan_for(config, 5.0, 3600.0)
    assert plan.shares_s["baseline"] == pytest.approx(5 * plan.baseline_train_s)


def test_the_resolvable_margin_is_that_of_the_shared_level():
    config = config_for()
    config.search.finalists = 2
    margins = resolvable_margins(config, {"small": 0.002, "large": 0.01})
    first = looks(None, 0.01, verdicts=2)[0]
    assert margins["small"] == resolvable_margin(0.002, first.seeds, level=first.level, pilot=2)
    assert margins["large"] == pytest.approx(5 * margins["small"])


@pytest.mark.parametrize("objective", [Objective.throughput, Objective.time_to_accuracy])
def test_that_not_all_may_be_trained_is_said_where_all_are_asked_for(objective):
    config = config_for()
    config.objective.name, config.search.verify, config.search.trials = objective, Verify.all, 20
    told = [reason for reason in plan_for(config, 5.0, 360.0).reasons if "the slowest are not trained" in reason]
    assert len(told) == 1
    assert "20 candidates" in told[0]
    for fits in ({"remaining_s": math.inf}, {"trials": 2}):
        config.search.trials = fits.get("trials", 20)
        assert not any("not trained" in r for r in plan_for(config, 5.0, fits.get("remaining_s", 360.0)).reasons)


def test_where_the_fastest_alone_are_trained_nothing_is_said_of_the_others():
    assert not any("not trained" in reason for reason in plan_for(config_for(), 5.0, 360.0).reasons)
