"""Batch sizes that nobody listed: the largest that fits is found, and no larger one is tried where it gains nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from autotune.config.search import Sampler, SearchConfig
from autotune.space.space import Space
from autotune.study.batch_sizes import BatchSizes
from autotune.study.propose import Proposer
from autotune.trial import Candidate, FailureKind, Stage, Xla
from tests.study.fake_executor import BF16, F32, WIDTHS, FakeStudy, World, config_of, fault, usual_speed

OWN = Candidate(F32, 32, Xla.OFF, WIDTHS)
SIZES = (32, 64, 128, 256, 512)
EXAMPLES = 512 * 7 * 3 * 5  # many sizes divide it


def space_of(**choices) -> Space:
    usual = {
        "baseline": OWN,
        "policies": (F32, BF16),
        "batch_sizes": SIZES,
        "xla": (Xla.OFF,),
        "steps_per_execution": (1,),
        "widths": (WIDTHS,),
        "left_out": (),
        "largest_batch": (),
        "examples": EXAMPLES,
        "longest_batch_for_more": None,
    }
    return Space(**(usual | choices))


def bf16(batch: int, steps: int = 1) -> Candidate:
    return Candidate(BF16, batch, Xla.OFF, WIDTHS, steps)


def sizes_of(space: Space, gains: dict[int, float], too_large: int | None = None) -> BatchSizes:
    """Of bfloat16 alone, with the largest batch that the default allows."""
    sizes = BatchSizes(space, 512)
    for batch, gain in gains.items():
        sizes.measured(bf16(batch), gain)
    if too_large is not None:
        sizes.failed(bf16(too_large), FailureKind.OOM)
    return sizes


def searched(sizes: BatchSizes, wall: int, speed: Callable[[Candidate], float] = usual_speed) -> list[int]:
    """What is tried where everything above a wall runs out of memory."""
    tried = []
    while (found := sizes.next()) is not None:
        tried.append(found.candidate.batch_size)
        if found.candidate.batch_size > wall:
            sizes.failed(found.candidate, FailureKind.OOM)
        else:
            sizes.measured(found.candidate, speed(found.candidate))
        assert len(tried) < 20
    return tried


@pytest.mark.parametrize("wall", [*range(128, 256)])
def test_after_a_doubling_that_failed_the_largest_that_fits_takes_three_probes(wall):
    """Wherever the wall: multiples of 16, an eighth of the batch that fitted, all divisors or nearly."""
    sizes = sizes_of(space_of(), {32: 1.5, 64: 2.3, 128: 3.4}, too_large=256)
    tried = searched(sizes, wall)
    assert len(tried) <= 3
    fitted = max([128, *(size for size in tried if size <= wall)])
    assert fitted == wall // 16 * 16
    if fitted > 128:
        [told] = sizes.largest()
        assert told.startswith(f"mixed_bfloat16, XLA off: batch {fitted} is the largest that fitted into memory")


def test_doublings_that_were_passed_over_come_first():
    sizes = sizes_of(space_of(), {32: 1.5, 64: 2.3}, too_large=512)
    assert searched(sizes, wall=200) == [256, 128, 192, 224, 208]
    assert searched(sizes_of(space_of(), {32: 1.5, 64: 2.3}, too_large=512), wall=400) == [256, 384, 448, 416]


def test_where_an_estimate_ended_the_doubling_the_bound_comes_first():
    """460 is within the fifth doubling, 512 is not: multiples of 32."""
    space = space_of(largest_batch=((F32, 460), (BF16, 460)))
    measured = {32: 1.5, 64: 2.3, 128: 3.4, 256: 5.2}
    assert searched(sizes_of(space, measured), wall=1000) == [448]
    assert searched(sizes_of(space, measured), wall=300) == [448, 352, 320, 288]
    assert searched(sizes_of(space, {32: 1.5, 128: 3.4}), wall=1000) == [], "before the largest doubling was measured"


def test_nothing_lies_beyond_what_the_configuration_allows():
    """The next doubling was left out by `max_batch_factor`, so memory is not what ended it."""
    space = space_of(batch_sizes=(32, 64), largest_batch=((BF16, 100),))
    sizes = BatchSizes(space, 64)
    sizes.measured(bf16(32), 1.5)
    sizes.measured(bf16(64), 2.5)
    assert sizes.next() is None


def test_an_epoch_keeps_four_steps_in_a_found_size_too():
    sizes = sizes_of(space_of(examples=512), {32: 1.5, 64: 2.3}, too_large=256)
    assert searched(sizes, wall=1000) == [128], "224 x 4 = 896 examples are more than there are"


@pytest.mark.parametrize(
    ("gains", "tries"),
    [
        ({64: 2.0, 128: 3.0}, True),
        ({64: 2.0, 128: 2.03}, False),  # 1.5 % a doubling
        ({64: 2.0, 128: 1.9}, False),
        ({128: 2.0}, True),  # nothing is known, and a probe costs seconds
    ],
)
def test_more_is_looked_for_only_while_throughput_grows(gains, tries):
    assert (sizes_of(space_of(), gains, too_large=256).next() is not None) == tries


def test_more_is_not_looked_for_where_it_could_not_become_the_best():
    sizes = sizes_of(space_of(), {64: 1.0, 128: 1.3}, too_large=256)
    sizes.measured(Candidate(F32, 512, Xla.OFF, WIDTHS), 1.6)
    assert sizes.next() is not None, "1.3 x 1.3 = 1.69"
    sizes.measured(Candidate(F32, 256, Xla.OFF, WIDTHS), 1.7)
    assert sizes.next() is None


def test_a_bisection_ends_when_throughput_stops_growing():
    sizes = sizes_of(space_of(), {32: 1.0, 64: 1.5, 128: 2.2}, too_large=256)
    assert searched(sizes, wall=1000, speed=lambda c: 2.0) == [192]


def test_other_failures_are_no_wall():
    sizes = sizes_of(space_of(), {64: 2.0, 128: 3.0})
    sizes.failed(bf16(256), FailureKind.CRASH)
    assert sizes.next() is None


def test_a_gap_that_is_ruled_out_does_not_silence_the_others():
    """With the wide layers 192 is the next size, which is known not to fit with narrower ones already at 160."""
    wide = (192, 128)
    space = space_of(widths=(WIDTHS, wide))
    proposer = Proposer(space, SearchConfig(trials=5, sampler=Sampler.random))
    for batch, gain in {64: 2.0, 128: 3.0}.items():
        proposer.tell(replace(bf16(batch), widths=wide), 1.1 * gain)
        proposer.tell(Candidate(F32, batch, Xla.OFF, WIDTHS), gain)
    proposer.fail(replace(bf16(256), widths=wide), FailureKind.OOM)
    proposer.fail(bf16(160), FailureKind.OOM)
    proposer.fail(Candidate(F32, 256, Xla.OFF, WIDTHS), FailureKind.OOM)
    assert proposer.ask() == Candidate(F32, 192, Xla.OFF, WIDTHS)
    assert proposer.told is not None


def test_sizes_that_leave_out_many_examples_are_not_tried_and_others_say_how_many():
    # Of 2,048 examples 144 leaves out 32, 160 128, 176 112, 192 128, 208 176, 224 32 and 240 128; 64 is the most.
    sizes = sizes_of(space_of(examples=2048), {64: 2.0, 128: 3.0}, too_large=256)
    found = sizes.next()
    assert found is not None
    assert found.reason == (
        "batch 224 is tried with mixed_bfloat16, XLA off: between 128, which fitted into memory, and 256, which did"
        " not; a doubling still gained 50 %; 32 of 2,048 examples are left out of each of its epochs"
    )
    assert searched(sizes, wall=200) == [224, 144]


def test_steps_per_call_go_with_a_size_whose_epoch_is_a_multiple_of_them():
    space = space_of(steps_per_execution=(1, 8), examples=8 * 192 * 5)  # 192: 40 steps; 160: 48 steps; 224: 34
    sizes = BatchSizes(space, 512)
    for batch, gain in {64: 2.0, 128: 3.0}.items():
        sizes.measured(bf16(batch, 1), gain)
    sizes.measured(bf16(128, 8), 3.2)
    sizes.failed(bf16(256), FailureKind.OOM)
    first = sizes.next()
    assert first is not None
    assert first.candidate.steps_per_execution == (8 if space.examples // first.candidate.batch_size % 8 == 0 else 1)
    assert space.holds(first.candidate)


def flat_from(batch: int) -> Callable[[Candidate], float]:
    """Throughput that grows up to a batch, and no further."""
    return lambda c: 1.0 if c.xla is Xla.AUTO else min(c.batch_size, batch) / 32 * (1.5 if c.policy == BF16 else 1.0)


def test_two_doublings_that_gain_nothing_rule_out_what_is_larger():
    sizes = sizes_of(space_of(), {32: 1.5, 64: 1.52, 128: 1.51})
    assert sizes.reason(bf16(128)) is None
    reason = sizes.reason(bf16(256))
    assert reason == "larger batches gained nothing: mixed_bfloat16, XLA off, batch 32: 1.50x, 64: 1.52x, 128: 1.51x"
    assert sizes.reason(replace(bf16(256), xla=Xla.ON)) is None
    assert sizes.reason(Candidate(F32, 256, Xla.OFF, WIDTHS)) is None


@pytest.mark.parametrize("between", [48, 96, 112])
def test_a_size_between_two_doublings_does_not_hide_them(between):
    sizes = sizes_of(space_of(), {32: 1.5, between: 1.5, 64: 1.5, 128: 1.5, 256: 1.5})
    reason = sizes.reason(bf16(512))
    assert reason is not None
    assert reason.endswith("batch 32: 1.50x, 64: 1.50x, 128: 1.50x")


@pytest.mark.parametrize(
    "gains",
    [
        {32: 1.5, 64: 1.52},
        {32: 1.5, 64: 1.52, 128: 1.6},
        {32: 1.5, 64: 1.6, 128: 1.61},
        {32: 1.5, 64: 1.52, 128: 1.54},  # 1.3 % each, and together more than 1 %
        {32: 1.5, 64: 1.5, 96: 1.5},  # no second doubling
    ],
)
def test_less_than_that_rules_out_nothing(gains):
    assert sizes_of(space_of(), gains).reason(bf16(512)) is None


@pytest.mark.parametrize(("gain", "most"), [(1.0, 1.0), (1.03, 0.06), (1.06, 0.005)])
def test_noise_seldom_rules_out_batches_that_gain(gain, most):
    """Screening ends at a half-width of 5 %, so its estimates are off by 2.5 % (standard deviation)."""
    noise, ruled_out = random.Random(1), 0
    for _ in range(2000):
        gains = {32 * 2**n: gain**n * noise.gauss(1, 0.025) for n in range(3)}
        ruled_out += sizes_of(space_of(), gains).reason(bf16(512)) is not None
    assert ruled_out / 2000 <= most
    assert gain > 1 or ruled_out / 2000 > 0.3, "where nothing is gained it spares something"


def test_only_candidates_that_differ_in_their_batch_alone_are_compared():
    sizes = sizes_of(space_of(steps_per_execution=(1, 8)), {32: 1.5, 64: 1.51})
    sizes.measured(bf16(128, 8), 1.5)
    assert sizes.reason(bf16(256)) is None


def test_a_study_finds_the_largest_batch_that_fits_and_says_so(tmp_path):
    """A wall at 110: 128 fails, 96 fits, 120 and 112 do not, and 104 would leave out 72 of 2,048 examples."""
    world = World(fault=lambda r: fault(FailureKind.OOM) if r.candidate.batch_size > 110 else None)
    study = FakeStudy(tmp_path, config_of(trials=40), world).run()
    found = [c for c in study.screened() if c.batch_size not in (32, 64, 128)]
    assert {c.batch_size for c in found} == {96, 120, 112}
    assert len([c for c in found if (c.policy, c.xla) == (BF16, Xla.ON)]) <= 3
    assert study.view.winner.candidate.batch_size == 96
    told = study.notes("batch")
    assert any(text.startswith("batch 96 is tried with mixed_bfloat16, XLA on: between 64, which") for text in told)
    assert any("XLA on: batch 96 is the largest that fitted into memory, 112 did not" in text for text in told)
    assert study.view.winner.confirmation.recipe.total_steps == 2048 // 96 * 3


def test_found_sizes_count_as_trials(tmp_path):
    world = World(fault=lambda r: fault(FailureKind.OOM) if r.candidate.batch_size > 110 else None)
    study = FakeStudy(tmp_path, config_of(trials=10, sampler=Sampler.tpe), world).run()
    assert len(study.screened()) == 10
    assert {c.batch_size for c in study.screened()} - {32, 64, 128}


def test_sizes_that_the_user_listed_are_the_only_ones(tmp_path):
    world = World(fault=lambda r: fault(FailureKind.OOM) if r.candidate.batch_size > 110 else None)
    study = FakeStudy(tmp_path, config_of(trials=40, batch_sizes=[32, 64, 128]), world).run()
    assert {c.batch_size for c in study.screened()} <= {32, 64, 128}
    config = config_of(trials=100, batch_sizes=[32, 64, 128, 256])
    flat = FakeStudy(tmp_path / "flat", config, World(speed=flat_from(1))).run()
    assert {c.batch_size for c in flat.screened()} == {32, 64, 128, 256}


def test_a_study_stops_where_larger_batches_gain_nothing(tmp_path):
    config = config_of(trials=100, sampler=Sampler.tpe, max_batch_factor=16, steps_per_execution=[1])
    study = FakeStudy(tmp_path, config, World(speed=flat_from(32))).run()
    size = study.view.space.space.size
    # At least the largest two of five sizes of three of the four pairs (the guesses reach the largest of one).
    assert len(study.screened()) <= size - 5
    assert any("larger batches gained nothing" in text for text in study.notes("ruled_out"))
    assert {c.batch_size for c in study.screened() if c.xla is Xla.ON} == {32, 64, 128}
    assert study.trained(Stage.CONFIRM), "bfloat16 alone is faster here"


def test_in_a_space_that_is_measured_whole_nothing_planned_gives_way_to_a_found_size():
    space = space_of(batch_sizes=(32, 64, 128), examples=2048)
    proposer, planned = Proposer(space, SearchConfig(trials=100)), set(space.candidates())
    order = []
    while (candidate := proposer.ask()) is not None:
        order.append(candidate)
        if candidate.batch_size > 110:
            proposer.fail(candidate, FailureKind.OOM)
        else:
            proposer.tell(candidate, usual_speed(candidate))
    unplanned = [candidate not in planned for candidate in order]
    assert any(unplanned)
    assert unplanned == sorted(unplanned), "found sizes are the last"
