"""What a failure says about what was not measured."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest

from autotune.study.ruled_out import RuledOut, grouped
from autotune.trial import Candidate, FailureKind, Pipeline, Policy, Xla
from tests.study.fake_executor import BF16, F16, F32

NARROW, WIDE, MIXED = (96, 64), (128, 64), (64, 128)
OFF, ON = Xla.OFF, Xla.ON
OOM, COMPILE, UNSUPPORTED = FailureKind.OOM, FailureKind.COMPILE, FailureKind.UNSUPPORTED
OF_SIZE = [FailureKind.NAN, FailureKind.TIMEOUT, FailureKind.CRASH]


def asked(
    batch: int, xla: Xla = OFF, policy: Policy = F16, widths: tuple[int, ...] = NARROW, steps: int = 1
) -> Candidate:
    return Candidate(policy, batch, xla, widths, steps)


def after(*failed: tuple[Candidate, FailureKind], measured: tuple[Candidate, ...] = ()) -> RuledOut:
    rules = RuledOut()
    for candidate, kind in failed:
        rules.failed(candidate, kind)
    for candidate in measured:
        rules.measured(candidate)
    return rules


def is_out(rules: RuledOut, candidate: Candidate) -> bool:
    return rules.reason(candidate) is not None


@pytest.mark.parametrize(
    ("candidate", "out"),
    [
        (asked(64, steps=8), True),  # the loop over steps is on the device and holds one step at a time
        (asked(128), True),
        (asked(128, steps=8), True),
        (asked(64, widths=WIDE), True),
        (asked(128, ON), True),
        (asked(64, ON, widths=WIDE), True),
        (asked(64, ON), False),  # XLA may need less memory, or more
        (asked(32), False),
        (asked(32, widths=WIDE), False),  # it needs more or less than batch 64 of the narrow one: not known
        (asked(128, widths=MIXED), False),  # one width is smaller
        (asked(128, policy=BF16), False),
        (asked(128, policy=F32), False),  # the 16-bit copies of the weights may be what did not fit
    ],
)
def test_memory_bounds_what_is_as_large(candidate, out):
    assert is_out(after((asked(64), OOM)), candidate) == out


@pytest.mark.parametrize(
    ("failed", "candidate", "out"),
    [
        (asked(64), replace(asked(128), accumulation=2), True),
        (asked(64), replace(asked(128), accumulation=4), False),  # micro-batches of 32
        (replace(asked(128), accumulation=2), asked(128), False),  # no sum of gradients beside it: not known
        (replace(asked(128), accumulation=2), replace(asked(256), accumulation=4), True),
        (asked(64), replace(asked(64), pipeline=Pipeline.DEVICE), True),
        (replace(asked(64), pipeline=Pipeline.DEVICE), asked(64), False),  # without the data there is more room
    ],
)
def test_memory_is_taken_by_what_is_on_the_device_at_once(failed, candidate, out):
    assert is_out(after((failed, OOM)), candidate) == out


def test_where_the_other_xla_fits_its_larger_batches_are_open_again():
    rules = after((asked(64, ON), OOM), measured=(asked(64, OFF),))
    assert not is_out(rules, asked(128, OFF))
    assert is_out(rules, asked(128, ON))


def test_memory_that_ran_out_once_where_more_has_fitted_bounds_nothing():
    assert not is_out(after((asked(64), OOM), measured=(asked(128),)), asked(256))


@pytest.mark.parametrize("kind", [COMPILE, UNSUPPORTED])
def test_a_program_that_failed_once_rules_out_its_own_shape(kind):
    rules = after((asked(64, ON), kind))
    assert is_out(rules, asked(64, ON, steps=8))
    open_still = [asked(32, ON), asked(128, ON), asked(64, ON, widths=WIDE), asked(64, OFF), asked(64, ON, BF16)]
    assert not any(is_out(rules, candidate) for candidate in open_still)


@pytest.mark.parametrize("kind", [COMPILE, UNSUPPORTED, FailureKind.INVALID])
@pytest.mark.parametrize("second", [asked(32, ON), asked(64, ON, widths=WIDE)])
def test_a_program_that_failed_at_two_shapes_rules_out_its_policy_with_that_xla_alone(kind, second):
    rules = after((asked(64, ON), kind), (second, kind))
    assert is_out(rules, asked(16, ON))
    assert is_out(rules, asked(256, ON, widths=MIXED, steps=8))
    open_still = [asked(64, OFF), asked(64, ON, BF16), asked(64, ON, F32), asked(128, OFF)]
    assert not any(is_out(rules, candidate) for candidate in open_still)


@pytest.mark.parametrize("other", [asked(32, ON, BF16), asked(32, OFF, F16)])
def test_a_program_that_failed_once_in_two_pairs_that_share_something_rules_out_both(other):
    rules = after((asked(64, ON), COMPILE), (other, COMPILE))
    assert is_out(rules, asked(16, ON))
    assert is_out(rules, Candidate(other.policy, 16, other.xla, NARROW))
    assert not is_out(rules, asked(16, ON, F32)), "a pair that was never tried"


def test_a_shape_that_fails_in_two_pairs_may_be_the_shape():
    assert not is_out(after((asked(64, ON), COMPILE), (asked(64, ON, BF16), COMPILE)), asked(32, ON))


def test_a_pair_in_which_something_was_measured_stays():
    rules = after((asked(64, ON), COMPILE), (asked(128, ON), COMPILE), measured=(asked(32, ON),))
    assert not is_out(rules, asked(16, ON))
    assert is_out(rules, asked(256, ON)), "where it fails repeatedly it is not tried for ever"


@pytest.mark.parametrize("kind", OF_SIZE)
def test_what_may_have_been_an_accident_rules_out_nothing_once(kind):
    rules = after((asked(64), kind))
    assert not any(is_out(rules, asked(batch, steps=steps)) for batch in (64, 128) for steps in (1, 8))


@pytest.mark.parametrize("kind", OF_SIZE)
def test_what_happened_twice_rules_out_what_is_as_large_in_every_respect(kind):
    rules = after((asked(64, steps=8), kind), (asked(128, steps=8), kind))
    assert is_out(rules, asked(64, widths=WIDE, steps=8))
    assert is_out(rules, asked(256, steps=8))
    open_still = [asked(32, steps=8), asked(256), asked(256, ON, steps=8), asked(256, policy=BF16, steps=8)]
    assert not any(is_out(rules, candidate) for candidate in open_still)


@pytest.mark.parametrize("kind", OF_SIZE)
def test_two_that_have_nothing_to_do_with_one_another_are_two_accidents(kind):
    rules = after((asked(64, steps=8), kind), (asked(128), kind))
    assert not is_out(rules, asked(64, widths=WIDE, steps=8))
    assert is_out(rules, asked(128, steps=8)), "as large as both"


@pytest.mark.parametrize("kind", OF_SIZE)
def test_it_is_taken_back_by_anything_as_large_that_was_measured(kind):
    failed = (asked(64), kind), (asked(128), kind)
    assert not is_out(after(*failed, measured=(asked(256),)), asked(512))
    assert is_out(after(*failed, measured=(asked(256, ON),)), asked(512)), "another XLA says nothing of it"


def test_one_failure_is_enough_where_the_policy_failed_with_the_other_xla_too():
    """A policy that overflows is not tried twice with each."""
    rules = after((asked(32), FailureKind.NAN), (asked(64), FailureKind.NAN), (asked(32, ON), FailureKind.NAN))
    assert is_out(rules, asked(64, ON))
    assert not is_out(rules, asked(64, ON, BF16))


def test_the_order_of_what_is_told_does_not_matter():
    facts = [(asked(64, ON), COMPILE), (asked(32, ON), COMPILE), (asked(64), OOM)]
    candidates = [asked(batch, xla, policy) for batch in (16, 64, 128) for xla in (OFF, ON) for policy in (F16, BF16)]
    outcomes = {tuple(is_out(after(*order), one) for one in candidates) for order in permutations(facts)}
    assert len(outcomes) == 1


def test_reasons_are_told_in_groups():
    rules = after((asked(64), OOM), (asked(16, ON, BF16), COMPILE), (asked(32, ON, BF16), COMPILE))
    space = [asked(batch, xla, policy) for policy in (F16, BF16) for xla in (OFF, ON) for batch in (64, 128)]
    assert [str(left.what) + " | " + left.reason for left in grouped(space, rules.reason)] == [
        "3 candidates: mixed_float16, XLA off or on, batch 64 or 128"
        " | did not fit into memory: mixed_float16, XLA off, batch 64",
        "2 candidates: mixed_bfloat16, XLA on, batch 64 or 128"
        " | failed: mixed_bfloat16, XLA on, batch 16 (compile); mixed_bfloat16, XLA on, batch 32 (compile)",
    ]
