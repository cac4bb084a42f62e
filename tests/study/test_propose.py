"""What is proposed, and in which order."""

from __future__ import annotations

import pytest

from autotune.config.search import Sampler, SearchConfig
from autotune.space.space import Space
from autotune.study.propose import Proposer, distributions, first_guesses, from_params, params
from autotune.trial import Candidate, FailureKind, Xla
from tests.study.fake_executor import BF16, F16, F32, WIDTHS, usual_speed

WIDE = (96, 128)
BASELINE = Candidate(F32, 32, Xla.OFF, WIDTHS)


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


@pytest.mark.parametrize("sampler", list(Sampler))
@pytest.mark.parametrize("trials", [5, 1000])
def test_every_candidate_is_proposed_once_until_none_is_left(sampler, trials):
    space = space_of()
    asked = drained(Proposer(space, SearchConfig(trials=trials, sampler=sampler)))
    assert len(asked) == len(set(asked))
    assert set(asked) == set(space.candidates())
    assert BASELINE not in asked


def test_out_of_memory_rules_out_what_is_as_large_or_larger_of_its_like_only():
    proposer = Proposer(space_of(), SearchConfig(trials=1000))
    first = proposer.ask()
    while first.batch_size != 64:
        proposer.tell(first, 1.0)
        first = proposer.ask()
    proposer.fail(first, FailureKind.OOM)
    rest = drained(proposer)
    like = [c for c in rest if (c.policy, c.widths) == (first.policy, first.widths)]
    assert {c.batch_size for c in like} <= {32}
    other = [c for c in rest if c.policy != first.policy or c.widths != first.widths]
    assert {c.batch_size for c in other} == {32, 64, 128}


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if kind is not FailureKind.OOM])
def test_any_other_failure_rules_out_nothing_else(kind):
    space = space_of()
    proposer = Proposer(space, SearchConfig(trials=1000))
    proposer.fail(proposer.ask(), kind)
    assert len(drained(proposer)) == len(set(space.candidates())) - 1


@pytest.mark.parametrize("sampler", list(Sampler))
def test_failures_of_what_the_sampler_proposed_do_not_stop_it(sampler):
    proposer = Proposer(space_of(), SearchConfig(trials=5, sampler=sampler))
    asked = []
    while (candidate := proposer.ask()) is not None:
        asked.append(candidate)
        if len(asked) % 2:
            proposer.fail(candidate, FailureKind.COMPILE)
        else:
            proposer.tell(candidate, usual_speed(candidate))
    assert set(asked) == set(space_of().candidates())


@pytest.mark.parametrize("widths", [WIDTHS, (7,), ()])
def test_a_candidate_survives_optunas_parameters(widths):
    candidate = Candidate(BF16, 128, Xla.ON, widths, 8)
    assert from_params(params(candidate)) == candidate


def test_the_distributions_hold_every_candidate():
    kinds = distributions(space_of())
    for candidate in space_of().candidates():
        for name, value in params(candidate).items():
            assert value in kinds[name].choices
