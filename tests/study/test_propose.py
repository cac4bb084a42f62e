"""What is proposed, and in which order."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from optuna.trial import TrialState

from autotune.config.search import Sampler, SearchConfig
from autotune.space.space import Space
from autotune.study.guesses import first_guesses
from autotune.study.parameters import distributions, from_params, params
from autotune.study.propose import Proposer
from autotune.study.ruled_out import RuledOut
from autotune.trial import Candidate, FailureKind, Pipeline, Xla
from tests.study.every_sampler import EVERY_SAMPLER
from tests.study.fake_executor import BF16, F16, F32, WIDTHS, usual_speed

WIDE = (96, 128)
BASELINE = Candidate(F32, 32, Xla.OFF, WIDTHS)

World = Callable[[Candidate], FailureKind | None]


def space_of(**choices) -> Space:
    usual = {
        "baseline": BASELINE,
        "policies": (F16, BF16, F32),
        "batch_sizes": (32, 64, 128),
        "xla": (Xla.OFF, Xla.ON),
        "steps_per_execution": (1, 8),
        "widths": (WIDTHS, WIDE),
        "left_out": (),
        "largest_batch": (),
        "examples": 2048,
        "longest_batch_for_more": 64.0,
    }
    return Space(**(usual | choices))


def drained(proposer: Proposer, most: int = 200) -> list[Candidate]:
    asked = []
    while (candidate := proposer.ask()) is not None and len(asked) < most:
        proposer.tell(candidate, usual_speed(candidate))
        asked.append(candidate)
    return asked


def test_the_first_guesses_answer_what_people_ask():
    """Each policy alone at the user's batch and the next, float32 at that; large batches; then more steps a call."""
    guesses = list(first_guesses(space_of()))
    alone, more = guesses[:7], guesses[7:]
    own = [(c.policy, c.batch_size) for c in alone]
    assert own == [(F16, 32), (BF16, 32), (F16, 64), (BF16, 64), (F32, 64), (F16, 128), (BF16, 128)]
    assert {(c.xla, c.widths, c.steps_per_execution) for c in alone} == {(Xla.OFF, WIDTHS, 1)}
    assert [(c.policy, c.batch_size, c.steps_per_execution) for c in more] == [(F16, 32, 8), (F16, 64, 8)]
    assert {c.widths for c in more} == {WIDTHS}


def test_the_baseline_is_not_among_the_guesses():
    guesses = list(first_guesses(space_of(policies=(F32,))))
    assert [c.batch_size for c in guesses] == [64, 128, 32, 64]
    assert BASELINE not in guesses


@pytest.mark.parametrize("sampler", EVERY_SAMPLER)
@pytest.mark.parametrize("trials", [5, 1000])
def test_every_candidate_is_proposed_once_until_none_is_left(sampler, trials):
    space = space_of()
    asked = drained(Proposer(space, SearchConfig(trials=trials, sampler=sampler)))
    assert len(asked) == len(set(asked))
    assert set(asked) == set(space.candidates())
    assert BASELINE not in asked


def larger_space() -> Space:
    """95 candidates, of which sixteen to a pair of policy and XLA."""
    return space_of(batch_sizes=(16, 32, 64, 128), examples=4096, longest_batch_for_more=None)


def listed(**search) -> SearchConfig:
    """Batch sizes as in the spaces here, and none that are found (see test_batch_sizes)."""
    return SearchConfig(**({"batch_sizes": [16, 32, 64, 128]} | search))


def searched(proposer: Proposer, world: World, most: int = 1000) -> tuple[list[Candidate], list[Candidate]]:
    """What was measured and what failed, in a world that says why a candidate fails."""
    measured, failed = [], []
    while len(measured) + len(failed) < most and (candidate := proposer.ask()) is not None:
        if (kind := world(candidate)) is None:
            proposer.tell(candidate, usual_speed(candidate))
            measured.append(candidate)
        else:
            proposer.fail(candidate, kind)
            failed.append(candidate)
    return measured, failed


def f16_with_xla_does_not_compile(candidate: Candidate) -> FailureKind | None:
    return FailureKind.COMPILE if (candidate.policy, candidate.xla) == (F16, Xla.ON) else None


def xla_does_not_compile(candidate: Candidate) -> FailureKind | None:
    return FailureKind.COMPILE if candidate.xla is Xla.ON else None


def f16_is_not_finite(candidate: Candidate) -> FailureKind | None:
    return FailureKind.NAN if candidate.policy == F16 else None


def large_batches_do_not_fit(candidate: Candidate) -> FailureKind | None:
    return FailureKind.OOM if candidate.batch_size > 64 and not candidate.policy.is_float32 else None


def large_batches_with_many_steps_hang(candidate: Candidate) -> FailureKind | None:
    return FailureKind.TIMEOUT if candidate.batch_size > 64 and candidate.steps_per_execution > 1 else None


def bf16_crashes_in_long_calls(candidate: Candidate) -> FailureKind | None:
    return FailureKind.CRASH if candidate.policy == BF16 and candidate.steps_per_execution > 1 else None


WORLDS = [
    f16_with_xla_does_not_compile,
    xla_does_not_compile,
    f16_is_not_finite,
    large_batches_do_not_fit,
    large_batches_with_many_steps_hang,
    bf16_crashes_in_long_calls,
]


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("search", [listed(trials=1000), listed(trials=20, sampler=Sampler.random)])
def test_nothing_that_works_is_lost_and_few_trials_are(world, search):
    """However long it is searched, a pair of policy and XLA costs six failures of its sixteen candidates, at most."""
    space = larger_space()
    measured, failed = searched(Proposer(space, search), world)
    assert set(measured) == {candidate for candidate in space.candidates() if world(candidate) is None}
    assert max(Counter((c.policy, c.xla) for c in failed).values()) <= 6


def test_failures_do_not_stop_tpe():
    space, world = space_of(), f16_with_xla_does_not_compile
    measured, _ = searched(Proposer(space, listed(trials=5)), world)
    assert set(measured) == {candidate for candidate in space.candidates() if world(candidate) is None}


def test_a_pair_that_does_not_compile_costs_two_trials_and_nothing_beside_it():
    measured, failed = searched(Proposer(space_of(), listed(trials=1000)), f16_with_xla_does_not_compile)
    assert len(failed) == 2
    assert {(c.policy, c.xla) for c in measured} >= {(F16, Xla.OFF), (BF16, Xla.ON), (F32, Xla.ON)}


def test_without_failures_only_what_was_proposed_is_gone():
    proposer = Proposer(space_of(), listed(trials=1000))
    drained(proposer)
    assert proposer.ruled_out == ()


@pytest.mark.parametrize("world", WORLDS)
def test_what_was_ruled_out_is_told_with_its_reason(world):
    space = larger_space()
    proposer = Proposer(space, listed(trials=1000))
    measured, failed = searched(proposer, world)
    counts = [int(left.what.partition(" ")[0]) for left in proposer.ruled_out]
    assert sum(counts) == len(list(space.candidates())) - len(measured) - len(failed) > 0
    assert all("fail" in left.reason or "memory" in left.reason for left in proposer.ruled_out)


@pytest.mark.parametrize("sampler", EVERY_SAMPLER)
@pytest.mark.parametrize("world", WORLDS)
def test_the_same_answers_lead_to_the_same_questions(world, sampler):
    """A study that is resumed replays its record."""
    one, other = (Proposer(larger_space(), listed(trials=20, sampler=sampler, seed=3)) for _ in range(2))
    assert searched(one, world, most=20) == searched(other, world, most=20)
    assert one.ruled_out == other.ruled_out


class Forgetful(Proposer):
    """Tells the sampler of a failure as Optuna's own failed trial, and draws no conclusions."""

    def fail(self, candidate: Candidate, kind: FailureKind) -> None:
        for trial in self._pending.values():
            self._study.tell(trial, state=TrialState.FAIL)
        self._pending.clear()


class Unruly(Proposer):
    """Leaves it all to the sampler."""

    def fail(self, candidate: Candidate, kind: FailureKind) -> None:
        super().fail(candidate, kind)
        self._rules = RuledOut()


def failures(kind: type[Proposer], world: World) -> int:
    """Of all trials of many short studies, in which TPE alone chooses once the first guesses are made."""
    proposers = [kind(larger_space(), SearchConfig(trials=20, sampler=Sampler.tpe, seed=seed)) for seed in range(8)]
    return sum(len(searched(proposer, world, most=20)[1]) for proposer in proposers)


@pytest.mark.parametrize("world", [xla_does_not_compile, f16_is_not_finite, bf16_crashes_in_long_calls])
def test_tpe_itself_learns_from_failures(world):
    """Told as violated constraints they are avoided; told as failed trials they are as if they had never been."""
    assert failures(Unruly, world) < 0.8 * failures(Forgetful, world)


def test_the_rules_spare_what_the_sampler_alone_would_try():
    assert failures(Proposer, f16_is_not_finite) < 0.6 * failures(Forgetful, f16_is_not_finite)


def test_what_is_searched_only_when_asked_for_is_proposed_with_all_else():
    """TF32 is for float32 alone, so that the other policies are not measured twice over."""
    plain = space_of()
    asked = {"accumulations": (1, 4), "tf32": (None, False), "pipelines": (Pipeline.HOST, Pipeline.DEVICE)}
    space = replace(plain, **asked)
    candidates = list(space.candidates())
    float32 = [one for one in candidates if one.policy.is_float32]
    assert {(one.accumulation, one.tf32, one.pipeline.value) for one in float32} == set(
        itertools.product((1, 4), (None, False), ("host", "device"))
    )
    assert {one.tf32 for one in candidates if not one.policy.is_float32} == {None}
    kinds = distributions(space)
    for candidate in candidates:
        assert from_params(params(candidate, kinds), space.baseline) == candidate
    proposer = Proposer(space, SearchConfig(trials=12, seed=1, sampler=Sampler.tpe))
    seen = [proposer.ask() for _ in range(12)]
    for candidate in seen:
        assert candidate in candidates
    alone = [replace(plain.baseline, **change) for change in ({"tf32": False}, {"pipeline": Pipeline.DEVICE})]
    assert set(alone) <= set(seen)


@pytest.mark.parametrize("sampler", [Sampler.tpe, Sampler.nsga2])
@pytest.mark.parametrize("only", [{"pipeline": Pipeline.DEVICE}, {"accumulation": 4}])
def test_one_value_that_is_not_the_users_own_leaves_the_guesses_and_the_sampler_their_say(sampler, only):
    """A dimension of one value is no parameter: what it is filled in with has to be that value."""
    plain = larger_space()
    space = replace(plain, **{f"{name}s": (value,) for name, value in only.items()})
    guesses = [replace(guess, **only) for guess in first_guesses(plain)]
    proposer = Proposer(space, listed(trials=40, sampler=sampler))
    chosen = 0
    for number in range(40):
        candidate = proposer.ask()
        if number < len(guesses):
            assert candidate == guesses[number]
        chosen += number > len(guesses) and candidate in proposer._pending
        proposer.tell(candidate, usual_speed(candidate))
    assert chosen > 5, "the others of thirty are drawn, where the sampler only repeats itself"


def test_the_users_own_value_comes_first_wherever_it_is_listed():
    space = replace(larger_space(), accumulations=(4, 1), pipelines=(Pipeline.DEVICE, Pipeline.HOST))
    assert next(first_guesses(space)) == replace(BASELINE, policy=F16)
    several = replace(larger_space(), steps_per_execution=(4, 8), accumulations=(2, 4))
    assert next(first_guesses(several)) == replace(BASELINE, policy=F16, steps_per_execution=4, accumulation=2)
    assert set(first_guesses(several)) <= set(several.candidates())
