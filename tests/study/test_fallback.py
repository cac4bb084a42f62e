"""`search.fallback=true`: whole studies in which 16 bit harms, in some layers more than in others."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from autotune.config import cross_checks
from autotune.config.objective import Objective
from autotune.errors import ConfigError
from autotune.record import events as ev
from autotune.study import storage
from autotune.trial import Candidate, FailureKind, LayerHarm, Policy, Stage, TrialState, Xla
from autotune.trial.harm import most_harmful_first
from tests.study.fake_executor import F16, FakeStudy, Request, World, config_of, fault
from tests.study.test_resume import Killed, alike, cut, told

HARMS = (
    LayerHarm("flatten", 0.0, 0),
    LayerHarm("first", 1e-4, 96),
    LayerHarm("second", 0.03, 64),
    LayerHarm("norm", None, 32),
    LayerHarm("third", 0.02, 64),
    LayerHarm("fourth", 1e-3, 64),
)
WORST = ("norm", "second", "third", "fourth", "first")


def kept(count: int) -> Policy:
    """The policy with so many of the most harmful layers in float32."""
    return Policy("mixed_float16", WORST[:count])


def world_in_which(needed: int, **truth: Any) -> World:
    """A world in which so many of the worst layers have to be in float32; each of them costs a tenth of the speed."""

    def lost(candidate: Candidate) -> float:
        return 0.05 if candidate.policy == F16 or 0 < len(candidate.policy.float32_layers) < needed else 0.0

    def speed(candidate: Candidate) -> float:
        return 1.0 if candidate.xla is Xla.AUTO else 2.0 * 0.9 ** len(candidate.policy.float32_layers)

    return World(**({"loss": lost, "speed": speed, "harms": lambda _: HARMS} | truth))


def study_of(folder: Path, world: World, **search: Any) -> FakeStudy:
    """One candidate: float16 at the user's own batch."""
    only = {"policies": ["mixed_float16"], "batch_sizes": [32], "xla": [False], "steps_per_execution": [1]}
    return FakeStudy(folder, config_of(**({**only, "align_widths": False, "fallback": True} | search)), world)


def tried(study: FakeStudy) -> list[Policy]:
    """Policies in the order in which they were screened."""
    return [candidate.policy for candidate in study.screened()]


@pytest.mark.parametrize(("needed", "expected"), [(1, [1]), (2, [1, 2]), (3, [1, 2, 4])])
def test_the_most_harmful_layers_go_to_float32_until_the_gate_is_passed(tmp_path, needed, expected):
    study = study_of(tmp_path, world_in_which(needed)).run()
    assert tried(study) == [F16, *map(kept, expected)]
    assert study.view.winner.candidate.policy == kept(expected[-1])
    assert study.view.winner.confirmation.succeeded
    states = [trial.state for number, trial in sorted(study.view.trials.items()) if number]
    assert states == [*[TrialState.REJECTED] * len(expected), TrialState.PASSED]
    assert [request.operation for request in study.executor.requests].count("harms") == 1, "once for policy and widths"


def test_it_ends_before_everything_with_weights_is_in_float32(tmp_path):
    study = study_of(tmp_path, world_in_which(9)).run()
    assert tried(study) == [F16, kept(1), kept(2), kept(4)], "eight would be all five"
    assert study.view.decided.winner == ev.BASELINE_TRIAL


def test_it_ends_where_the_speed_is_gone(tmp_path):
    slow = world_in_which(3, speed=lambda c: 1.0 if c.xla is Xla.AUTO or c.policy.float32_layers else 2.0)
    study = study_of(tmp_path, slow).run()
    assert tried(study) == [F16, kept(1)]
    assert [trial.state for _, trial in sorted(study.view.trials.items())][-1] is TrialState.SLOWER


@pytest.mark.parametrize("operation", ["probe", "train"])
def test_what_is_not_finite_is_tried_again_too(tmp_path, operation):
    def failing(request: Request) -> BaseException | None:
        low = request.candidate.policy.name == F16.name and len(request.candidate.policy.float32_layers) < 2
        return fault(FailureKind.NAN) if low and request.operation == operation else None

    study = study_of(tmp_path, world_in_which(2, fault=failing, loss=lambda _: 0.0)).run()
    assert tried(study) == [F16, kept(1), kept(2)]
    assert study.view.winner.candidate.policy == kept(2)


def test_other_failures_are_not_for_want_of_digits(tmp_path):
    crash = world_in_which(1, fault=lambda r: fault(FailureKind.COMPILE) if r.candidate.policy == F16 else None)
    assert tried(study_of(tmp_path, crash).run()) == [F16]


def test_by_default_it_is_off(tmp_path):
    study = study_of(tmp_path, world_in_which(1), fallback=False).run()
    assert tried(study) == [F16]
    assert "harms" not in [request.operation for request in study.executor.requests]


def test_float32_that_lost_as_much_is_not_told_from_16_bit(tmp_path):
    """The batch is to blame: no layer of it is tried in float32."""
    world = world_in_which(1, loss=lambda c: 0.05 if c.batch_size == 64 else 0.0)
    world.speed = lambda c: {"float32": 1.8}.get(c.policy.name, 1.5) if c.xla is not Xla.AUTO else 1.0
    study = study_of(tmp_path, world, policies=["float32", "mixed_float16"], batch_sizes=[64]).run()
    assert all(not policy.float32_layers for policy in tried(study))
    assert TrialState.REJECTED in {trial.state for trial in study.view.trials.values()}


def test_none_is_measured_twice_and_trials_are_numbered_on(tmp_path):
    study = study_of(
        tmp_path, world_in_which(2), batch_sizes=[32, 64], steps_per_execution=[1, 8], xla=[False, True], trials=9
    ).run()
    screened = study.screened()
    assert len(screened) == len(set(screened))
    assert sorted(study.view.trials) == list(range(len(screened) + 1))
    assert study.view.winner.candidate.policy == kept(2)


def test_the_record_says_what_was_measured_and_why_each_was_tried(tmp_path):
    study = study_of(tmp_path, world_in_which(2)).run()
    [event] = study.of_kind(ev.HarmMeasured)
    assert (event.trial, event.layers, event.failure) == (1, HARMS, None)
    assert study.notes("fallback") == [
        "trial 2 is trial 1 with its most harmful in float32: norm",
        "trial 3 is trial 2 with its most harmful in float32: norm, second",
    ]
    assert str(study.view.winner.candidate.policy) == "mixed_float16 (float32: norm, second)"


def test_optunas_storage_tells_them_apart(tmp_path):
    study = study_of(tmp_path, world_in_which(1)).run()
    path = storage.write(study.view, study.folder, 0.01)
    kept_study = optuna.load_study(study_name=None, storage=JournalStorage(JournalFileBackend(str(path))))
    assert [trial.params["policy"] for trial in kept_study.trials] == [
        "float32",
        "mixed_float16",
        "mixed_float16 (float32: norm)",
    ]


def test_harm_that_cannot_be_measured_is_noted_and_the_study_goes_on(tmp_path):
    failing = world_in_which(1, fault=lambda r: fault(FailureKind.OOM) if r.operation == "harms" else None)
    study = study_of(tmp_path, failing).run()
    assert tried(study) == [F16]
    [note] = study.notes("fallback")
    assert note == "how much each layer harms in mixed_float16 could not be measured: oom: a made-up oom"
    assert study.view.decided.winner == ev.BASELINE_TRIAL


def test_the_budget_is_kept(tmp_path):
    slow = world_in_which(2, extra_s=lambda r: 200.0 if r.stage is Stage.VERIFY and not r.of_baseline else 0.0)
    study = study_of(tmp_path, slow, budget="300s").run()
    assert tried(study) == [F16]
    assert any("is not tried with layers in float32: " in text for text in study.notes("budget"))
    assert study.view.decided.duration_s <= 300


def test_a_study_killed_after_any_line_ends_as_if_it_had_not_been(tmp_path):
    def world() -> World:
        return world_in_which(2, factors=alike, noise=lambda c, s: random.Random(f"{c} {s}").gauss(0, 0.001))

    whole = study_of(tmp_path / "whole", world()).run()
    measured = (ev.Probed, ev.Trained, ev.HarmMeasured)
    for lines in range(1, len(whole.events) + 1):
        resumed = study_of(cut(whole, tmp_path / str(lines), lines), world()).run()
        assert [_timeless(e) for e in told(resumed)] == [_timeless(e) for e in told(whole)], f"after {lines} lines"
        before = sum(isinstance(event, measured) for event in whole.events[:lines])
        assert len(resumed.executor.requests) <= len(whole.executor.requests) - before + 1


def _timeless(event: ev.Event) -> ev.Event:
    return ev.HarmMeasured(event.trial, event.candidate, event.layers, None, 0.0) if _is_harm(event) else event


def _is_harm(event: ev.Event) -> bool:
    return isinstance(event, ev.HarmMeasured)


def test_killed_while_the_harm_is_measured_it_is_measured_again(tmp_path):
    dying = world_in_which(1, fault=lambda r: Killed() if r.operation == "harms" else None)
    with pytest.raises(Killed):
        study_of(tmp_path, dying).run()
    study = study_of(tmp_path, world_in_which(1)).run()
    assert study.view.winner.candidate.policy == kept(1)
    assert study.executor.requests[0].operation == "harms"


def test_a_front_is_no_place_for_it():
    config = config_of(fallback=True)
    cross_checks.check(config)
    config.objective.name = Objective.pareto
    with pytest.raises(ConfigError, match=r"search\.fallback looks for one winner and objective=pareto for a front"):
        cross_checks.check(config)


def test_the_order_of_harm():
    assert tuple(harm.layer for harm in most_harmful_first(HARMS)) == WORST, "what harms nothing is left out"
    assert most_harmful_first(()) == []


def test_a_loss_that_float32_does_not_survive_either_is_not_blamed_on_16_bit(tmp_path):
    world = world_in_which(1, fault=lambda r: fault(FailureKind.NAN) if r.candidate.batch_size == 64 else None)
    study = study_of(tmp_path, world, policies=["float32", "mixed_float16"], batch_sizes=[64], trials=9).run()
    assert all(not policy.float32_layers for policy in tried(study))
    assert "harms" not in [request.operation for request in study.executor.requests]


def test_more_trials_after_a_confirmation_go_on_with_the_model_that_was_kept(tmp_path):
    """Those of the fallback are numbered after the others: their numbers shift, and the kept model's file with them."""
    searched = {"batch_sizes": [32, 64], "xla": [False], "steps_per_execution": [1]}
    whole = study_of(tmp_path / "whole", world_in_which(1), trials=1, **searched).run()
    assert whole.view.winner.candidate.policy == kept(1)
    lines = len(whole.events) - 1
    resumed = study_of(cut(whole, tmp_path / "more", lines), world_in_which(1), trials=3, **searched).run()
    assert resumed.view.decided is not None
    for trial in resumed.view.trials.values():
        assert trial.probe is None or trial.probe.candidate == trial.candidate
