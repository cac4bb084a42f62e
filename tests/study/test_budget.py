"""The wall clock: every stage keeps back what must follow it, and says what it left out."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from autotune.config.search import Sampler
from autotune.record import events as ev
from autotune.study import costs
from autotune.study.budget import Budget
from autotune.trial import AccuracyVerdict, Probe, Stage, TrialState, Xla
from tests.study.fake_executor import Clock, FakeStudy, World, config_of


def test_a_budget_is_what_the_study_has_not_taken():
    taken = Clock()
    budget = Budget(60.0, taken)
    taken.now_s = 45
    assert (budget.elapsed_s, budget.remaining_s) == (45, 15)
    assert budget.allows(15)
    assert not budget.allows(10, reserve_s=6)
    assert budget.refusal(15) == ""
    assert budget.refusal(16.4) == "15 s of the budget are left, and it takes about 16 s to its end"
    taken.now_s = 90
    assert budget.remaining_s == 0
    assert budget.allows(0)


def test_no_budget_allows_everything():
    budget = Budget(None, Clock())
    assert budget.remaining_s == math.inf
    assert budget.allows(1e12, 1e12)


def slow_world(**truth) -> World:
    """A step of 20 ms: a training of the baseline takes 4 s."""
    return World(step_ms=20.0, **truth)


@pytest.mark.parametrize("probe_s", [9.0, 15.0])
def test_slow_probes_end_screening_only_where_the_later_stages_need_the_rest(tmp_path, probe_s):
    """Planned are 6 s a probe: slower ones may use what the plan has spared."""
    world = slow_world(extra_s=lambda r: probe_s - 3.0 if r.stage is Stage.SCREEN else 0.0)
    study = FakeStudy(tmp_path, config_of(trials=40, sampler=Sampler.tpe, budget="300s"), world).run()
    shares_s = study.view.fidelity.shares_s
    durations_s = [probed.duration_s for probed in study.of_kind(ev.Probed, Stage.SCREEN)]
    assert max(durations_s) == pytest.approx(probe_s)
    planned = next(e.planned for e in study.of_kind(ev.StageStarted) if e.stage is Stage.SCREEN)
    text = f"screening ended after {len(durations_s)} of {planned} trials: what is left of the budget is kept"
    assert any(note.startswith(text) for note in study.notes("budget"))
    baseline_s = sum(run.duration_s for run in study.of_kind(ev.Trained, Stage.BASELINE))
    before_s = study.of_kind(ev.Probed, Stage.BASELINE)[0].duration_s + baseline_s
    after_s = sum(shares_s[stage] for stage in ("verify", "confirm", "export"))
    left_s = 300 - before_s - sum(durations_s)
    assert left_s >= after_s
    assert left_s - probe_s < 1.25 * after_s + probe_s, "there was time for one more"
    assert study.view.decided.duration_s <= 300


def test_trainings_slower_than_planned_leave_screening_less(tmp_path):
    def screened(slower: float) -> int:
        extra_s = {"train": slower * 4.0, "probe": 3.0}
        world = slow_world(extra_s=lambda r: extra_s[r.operation])
        config = config_of(trials=40, sampler=Sampler.tpe, budget="300s")
        return len(FakeStudy(tmp_path / str(slower), config, world).run().screened())

    assert screened(1.0) < screened(0.0)


@pytest.mark.parametrize(("step_ms", "budget_s"), [(0.5, 96), (0.5, 108), (2.0, 108), (2.0, 120)])
def test_what_screening_leaves_is_enough_for_an_answer(tmp_path, step_ms, budget_s):
    """Short trainings have their bookkeeping, and a wide spread asks for more seeds than the plan could know of."""
    world = World(
        step_ms=step_ms,
        speed=lambda c: 1.0 if c.xla is Xla.AUTO else 1.05 + 0.2 * (c.batch_size > 32),
        noise=lambda c, seed: random.Random(f"{c} {seed}").gauss(0, 0.01),
        extra_s=lambda r: 0.5 if r.operation == "train" else 0.0,
    )
    study = FakeStudy(tmp_path, config_of(trials=40, sampler=Sampler.tpe, budget=f"{budget_s}s"), world).run()
    assert any(note.startswith("screening ended after") for note in study.notes("budget"))
    assert study.trained(Stage.VERIFY)


def test_one_candidate_is_always_measured(tmp_path):
    study = FakeStudy(tmp_path, config_of(trials=20, budget="30s"), slow_world()).run()
    assert len(study.screened()) == 1
    assert any("is short for this model on this device" in text for text in study.notes("budget"))


@pytest.mark.parametrize("budget_s", [120, 150, 200, 300, 400])
@pytest.mark.parametrize("spoilt", [False, True])
def test_the_study_ends_within_its_budget(tmp_path, budget_s, spoilt):
    """Also where all candidates lose and each of them would have to be trained to know."""
    loss = 0.02 if spoilt else 0.0
    world = slow_world(loss=lambda c: loss, noise=lambda c, seed: 0.015 * (1 if seed % 2 else -1))
    study = FakeStudy(tmp_path, config_of(budget=f"{budget_s}s"), world).run()
    assert study.view.decided.duration_s <= budget_s


def test_verification_stops_when_only_the_confirmation_is_left_to_pay(tmp_path):
    """Every candidate looks fine on the first seed and bad on the second, so each takes its two trainings."""
    world = slow_world(
        noise=lambda c, seed: 0.0 if c.xla is Xla.AUTO else (0.0, -0.016)[seed % 2],
        extra_s=lambda r: 20.0 if r.operation == "train" and not r.of_baseline else 0.0,
    )
    study = FakeStudy(tmp_path, config_of(budget="260s", trials=12), world).run()
    skipped = [trial for trial in study.view.trials.values() if trial.state is TrialState.SKIPPED]
    judged = [trial for trial in study.view.trials.values() if trial.state is TrialState.REJECTED]
    rejected = [trial for trial in judged if trial.vouched_by is None]  # what another vouches for costs nothing
    assert len(rejected) >= 1
    assert skipped
    assert all("s of the budget are left, and it takes about" in trial.reason for trial in skipped)
    assert min(t.speedup.estimate for t in rejected) > max(t.speedup.estimate for t in skipped)
    counted = f"{len(judged)} less accurate, {len(skipped)} not confirmed"
    assert study.view.decided.reason.endswith(counted)
    assert study.view.decided.duration_s <= 260 - study.view.fidelity.shares_s["export"]


def test_a_further_look_that_the_budget_does_not_allow_leaves_it_open(tmp_path):
    deltas = {1000: 0.009, 1001: -0.009, 1002: 0.0}
    world = slow_world(
        noise=lambda c, seed: deltas.get(seed, 0.0) if c.xla is not Xla.AUTO else 0.0,
        extra_s=lambda r: 130.0 if r.seed == 1002 and not r.of_baseline else 0.0,
    )
    study = FakeStudy(tmp_path, config_of(finalists=1, trials=4, budget="200s"), world).run()
    [confirmation] = study.view.confirmations
    assert len(confirmation.accuracy.seeds) == 3
    assert confirmation.accuracy.verdict is AccuracyVerdict.INCONCLUSIVE
    assert any("the budget ended while trial" in text for text in study.notes("budget"))
    assert study.view.decided.winner == ev.BASELINE_TRIAL


def test_a_machine_that_becomes_slow_costs_the_confirmation_and_not_the_budget(tmp_path):
    """From the confirmation on a training takes forty seconds more than was planned."""
    world = slow_world(extra_s=lambda r: 40.0 if r.stage is Stage.CONFIRM and r.operation == "train" else 0.0)
    study = FakeStudy(tmp_path, config_of(finalists=2, trials=4, budget="250s"), world).run()
    assert study.view.decided.duration_s <= 250
    assert any("the budget ended while trial" in text for text in study.notes("budget"))
    assert study.view.confirmations[0].accuracy is None, "two seeds are fewer than the first look was to have"
    assert study.view.decided.winner == ev.BASELINE_TRIAL


# Three rounds of two workers are five starts more than the one that a process has anyway, of 5 s each.
_APART_S = 25.0
# The plan takes a timing for 13 s, the fake executor 3 s.
_LONGER_TIMING_S = 10.0


def timed_apart() -> World:
    """No candidate fits beside the baseline; what confirms it takes as long as is to be expected of it."""
    return slow_world(
        altered=lambda r, result: (
            replace(result, apart_pairs=(4, 4, 4)) if isinstance(result, Probe) and not r.of_baseline else result
        ),
        extra_s=lambda r: _APART_S + _LONGER_TIMING_S if r.stage is Stage.CONFIRM and r.operation == "probe" else 0.0,
    )


def test_a_process_that_times_apart_starts_two_workers_a_round(tmp_path):
    study = FakeStudy(tmp_path, config_of(finalists=1, trials=4), timed_apart()).run()
    context = study.context
    [apart] = [trial for trial in context.view.trials.values() if trial == context.view.winner]
    beside = replace(apart, probe=replace(apart.probe, apart_pairs=()))
    assert costs.process_s(context, beside) == costs.process_s(context)
    assert costs.process_s(context, apart) == pytest.approx(costs.process_s(context) + _APART_S)
    processes = context.config.search.timing.processes
    alone_s = costs.confirm_s(context, 1.5, apart) - costs.confirm_s(context, 1.5)
    assert alone_s == pytest.approx(processes * _APART_S)


@pytest.mark.parametrize("budget_s", [160, 170, 180])
def test_a_confirmation_that_is_timed_apart_keeps_to_the_budget(tmp_path, budget_s):
    study = FakeStudy(tmp_path, config_of(finalists=1, trials=4, budget=f"{budget_s}s"), timed_apart()).run()
    assert study.view.decided.duration_s <= budget_s
