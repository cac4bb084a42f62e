"""What peaks let expect of the first candidates. Figures are worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.hardware import DeviceKind
from autotune.hardware.profile import Profile
from autotune.study.guesses import first_guesses
from autotune.study.prior import expected, fastest, told_of_works, unknown_layers, works_of
from autotune.trial import Candidate, Effect, LayerEffect, Probe, Products, Xla
from tests.study.fake_executor import BF16, F16, F32
from tests.study.test_batch_sizes import space_of

WIDTHS = (1000,)
OWN = Candidate(F32, 32, Xla.AUTO, WIDTHS)

# No bandwidth limit; 16 bit is eight times as fast.
GPU = Profile("made_up", "made up", DeviceKind.gpu, bandwidth_gb_s=1e9, peaks=(("float16", 80.0), ("float32", 10.0)))
GPU = replace(GPU, tensor_cores=frozenset({"float16"}))


def probe(step_ms: float, mflop_per_example: float) -> Probe:
    layer = LayerEffect("all", "Dense", "float32", "float32", 0, int(mflop_per_example * 1e6), 1)
    effect = Effect(False, (layer,), "float32", False, "SGD", None, False, "GPU")
    return Probe(OWN, effect, (step_ms,), (), 10, (), 0.1, 0.1, None, 1.0, True)


def test_the_hosts_part_of_a_step_is_what_the_baseline_took_beyond_its_peak():
    """100 MFLOP x 3 passes x 32 = 9.6 GFLOP: 0.96 ms in float32 and 0.12 ms in float16, beside 2 ms on the host."""
    rates = expected(space_of(policies=(F32, F16)), GPU, probe(2.96, 100))
    assert rates[F32, 32] == pytest.approx(32 / 2.96e-3, rel=1e-3)
    assert rates[F16, 32] == pytest.approx(32 / 2.12e-3, rel=1e-3)
    assert rates[F16, 512] == pytest.approx(512 / (2e-3 + 16 * 0.12e-3), rel=1e-3)


def test_a_baseline_faster_than_its_peak_has_no_host():
    rates = expected(space_of(policies=(F32,)), GPU, probe(0.5, 100))
    assert rates[F32, 64] == pytest.approx(64 / 1.92e-3, rel=1e-3)


def test_float32_is_expected_at_the_rate_of_its_own_format():
    """TF32 runs at 80 TFLOP/s, so in 0.12 ms; where the user has switched it off, float32 takes its 0.96 ms."""
    device = replace(GPU, peaks=(("tf32", 80.0), ("float32", 10.0)), tensor_cores=frozenset({"tf32"}))
    for own, step_ms in ((None, 0.12), (True, 0.12), (False, 0.96)):
        measured = probe(0.01, 100)
        measured = replace(measured, candidate=replace(measured.candidate, tf32=own))
        rates = expected(space_of(policies=(F32,)), device, measured)
        assert rates[F32, 32] == pytest.approx(32 / step_ms * 1e3, rel=1e-3)


@pytest.mark.parametrize("device", [replace(GPU, peaks=()), replace(GPU, bandwidth_gb_s=None)])
def test_without_peaks_nothing_is_expected(device):
    assert expected(space_of(policies=(F32, F16)), device, probe(2.96, 100)) == {}


def test_a_policy_without_a_peak_leaves_no_ranking():
    assert expected(space_of(policies=(F32, BF16)), GPU, probe(2.96, 100)) == {}


def made_of(*layers: LayerEffect, traced: int = 0) -> Probe:
    """A model of these layers, whose traced step of 32 examples has so many FLOPs an example."""
    measured = probe(1.0, 0)
    products = (Products("float32", 3, 32 * traced),) if traced else ()
    return replace(measured, effect=replace(measured.effect, layers=layers, products=products))


DENSE = LayerEffect("first", "Dense", "float32", "float32", 0, 1_000_000, 5)
RECURRENT = LayerEffect("lstm_cell", "LSTMCell", "float32", "float32", 7, None, 10)
UNSEEN = LayerEffect("mine", "Mine", "float32", "float32", 7, 0, None)


def test_what_the_traced_step_multiplies_beyond_its_layers_is_part_of_what_is_expected():
    """A layer's 1 MFLOP forward and 33 more, of which the layers know nothing: 3 x 34 x 32 MFLOP take 0.3264 ms."""
    measured = made_of(DENSE, RECURRENT, traced=102_000_000)
    assert sum(work.flops_per_example for work in works_of(measured)) == pytest.approx(34e6)
    rates = expected(space_of(policies=(F32,)), GPU, replace(measured, block_step_ms=(0.001,)))
    assert rates[F32, 32] == pytest.approx(32 / 0.3264e-3, rel=1e-3)
    told = told_of_works(measured)
    assert told.startswith("97% of the FLOPs are the traced step's")
    assert "lstm_cell (LSTMCell)" in told
    assert "first" not in told


def test_a_first_layer_whose_inputs_need_no_gradient_takes_nothing_from_the_others():
    measured = made_of(DENSE, traced=2_000_000)
    assert [work.flops_per_example for work in works_of(measured)] == [1e6]
    assert told_of_works(measured) == ""


@pytest.mark.parametrize(
    ("layers", "traced", "unknown"),
    [((DENSE, RECURRENT), 0, ["lstm_cell"]), ((UNSEEN, DENSE), 3_000_000, ["mine"])],
    ids=["a kind that is not counted in a step that was not traced", "outputs that nobody saw"],
)
def test_nothing_is_expected_of_a_model_whose_work_is_not_known(layers, traced, unknown):
    measured = made_of(*layers, traced=traced)
    assert works_of(measured) is None
    assert unknown_layers(measured.effect) == unknown
    assert expected(space_of(policies=(F32,)), GPU, measured) == {}


def test_batches_beyond_the_point_where_they_gain_are_not_among_the_fastest():
    """In float32 the work is all there is, in float16 the host is half of it: 32 is enough for one, not the other."""
    busy = expected(space_of(policies=(F32, F16)), GPU, probe(0.96 + 0.02, 100))
    pairs = fastest(busy, (F32, F16))
    assert [batch for policy, batch in pairs if policy == F32] == [32]
    assert pairs[0][0] == F16
    assert (F16, 512) not in pairs


def test_large_batches_are_guessed_where_they_are_expected_to_gain():
    def batches(step_ms: float) -> list[int]:
        space = space_of(policies=(F32, F16), baseline=replace(OWN, xla=Xla.OFF), widths=(WIDTHS,))
        guesses = list(first_guesses(space, expected(space, GPU, probe(step_ms, 100))))
        assert [(c.policy, c.batch_size) for c in guesses[:3]] == [(F16, 32), (F16, 64), (F32, 64)]
        return [c.batch_size for c in guesses[3:]]

    assert batches(step_ms=20.0) == [512, 256, 128], "the host bounds every step"
    assert batches(step_ms=0.96) == [], "the device is busy already"


def test_the_guesses_keep_the_baselines_xla():
    space = space_of(baseline=replace(OWN, xla=Xla.ON), xla=(Xla.OFF, Xla.ON), widths=(WIDTHS,))
    assert {c.xla for c in first_guesses(space)} == {Xla.ON}, "mixed precision alone, and not XLA off with it"
    assert {c.xla for c in first_guesses(replace(space, xla=(Xla.OFF,)))} == {Xla.OFF}
