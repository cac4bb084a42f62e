"""Predicted steps: parts by hand, and the one public figure of this kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.explain.advice import advise, batch_sizes, conclusion
from autotune.explain.assumed import LARGE_BYTES, MEASURED, PUBLISHED, Host
from autotune.explain.explanation import explain
from autotune.explain.forecast import Forecaster, Setting, calibrated, gain
from autotune.explain.situation import Situation
from autotune.hardware.catalogue import bundled
from autotune.trial.anatomy import Calibration
from tests.explain.inspected import config
from tests.explain.made import CARD, cifar_mlp, model

HOST = Host(call_ms=2.0, step_ms=1.0, operation_us=10.0, source="made up")


def of(target: str = "rtx2080", **more: object) -> Situation:
    facts = replace(cifar_mlp(), **more)  # type: ignore[arg-type]
    return Situation.of(config("cifar_mlp", optimizer="sgd"), facts, Forecaster(facts, bundled(target)))


def test_a_step_is_the_sum_of_its_parts() -> None:
    facts = model(10, (1000, 1000))
    found = Forecaster(facts, CARD, HOST).forecast(Setting("float32", 10))
    assert found is not None
    assert (found.call_ms, found.input_ms) == (2.0, 1.0)
    assert found.kernels_ms == pytest.approx((5 + 4 + 4) * 10e-3)
    products = 3 * 4 * (1e6 + 10 * 2000) / 100e9 * 1e3
    rest = (20e6 + 80) / 100e9 * 1e3
    assert found.device_ms == pytest.approx((products + rest) / PUBLISHED.efficiency)
    assert found.step_ms == pytest.approx(found.host_ms + found.device_ms)
    low, high = found.band_ms
    assert low < found.step_ms < high


def test_no_step_is_shorter_than_the_making_of_its_batch() -> None:
    """3 ms for 32 examples, half a millisecond of it for the batch itself; the rest grows."""
    quick, slow = of(feed_ms=0.1), of(feed_ms=3.0)
    large = Setting("float32", 512)
    unbound, bound = (situation.forecaster.forecast(large) for situation in (quick, slow))
    assert unbound is not None
    assert bound is not None
    assert (unbound.waiting_ms, unbound.bound) == (0.0, "compute")
    assert bound.step_ms == bound.band_ms[0] == pytest.approx(0.5 + 2.5 * 16)
    assert bound.device_ms == unbound.device_ms
    assert bound.bound == "host"
    own = slow.own()
    assert own is not None
    assert (own.waiting_ms, own.band_ms[0]) == (0.0, 3.0)  # the fastest scenario alone would be shorter
    gained = next(one.gain for one in advise(slow) if one.setting == large)
    assert gained.ratio == pytest.approx(16 * own.step_ms / 40.5)
    assert gained.high < next(one.gain for one in advise(quick) if one.setting == large).ratio
    assert any("one of 32 took 3 ms: no step is shorter" in said for said in explain(slow).assumptions)


def test_of_a_host_that_was_measured_the_pipeline_is_in_the_hosts_own_part() -> None:
    facts, host = replace(cifar_mlp(), feed_ms=30.0), replace(HOST, step_ms=30.0, batch_size=32)
    found = Forecaster(facts, CARD, host).forecast(Setting("float32", 64))
    assert found is not None
    assert (found.input_ms, found.waiting_ms) == (60.0, 0.0)
    assert found.band_ms[0] < 60.0  # others may have used the machine meanwhile


def test_more_steps_a_call_save_the_call_alone() -> None:
    forecaster = Forecaster(model(10, (100, 100)), CARD, HOST)
    one, eight = (forecaster.forecast(Setting("float32", 10, steps_per_execution=steps)) for steps in (1, 8))
    assert one is not None
    assert eight is not None
    assert one.step_ms - eight.step_ms == pytest.approx(2.0 * 7 / 8)


def test_a_setting_over_itself_is_one() -> None:
    found = of().own()
    assert found is not None
    assert gain(found, found).ratio == gain(found, found).low == gain(found, found).high == 1.0


@pytest.mark.parametrize(("policy", "seconds"), [("float32", 501.0), ("mixed_float16", 464.0)])
def test_the_public_run_lies_in_the_band(policy: str, seconds: float) -> None:
    """CIFAR MLP, batch 32, RTX 2080: 501 s in float32 and 464 s mixed, for 50 epochs of 1,563 steps."""
    found = of().own(policy)
    assert found is not None
    measured_ms = seconds * 1e3 / (50 * 1563)
    low, high = found.band_ms
    assert low < measured_ms < high
    assert found.step_ms == pytest.approx(measured_ms, rel=0.25)


def test_the_public_run_is_host_bound_with_little_to_gain() -> None:
    situation = of()
    speedup = situation.over_own(Setting("mixed_float16", 32))
    assert speedup is not None
    assert speedup.low < 501 / 464 < speedup.high
    said = conclusion(situation)
    assert said.startswith("host-bound at batch 32")
    assert "little to gain from mixed_float16 alone" in said


def test_the_advice_names_what_gains() -> None:
    advice = advise(of())
    by_override = {one.override: one for one in advice}
    assert advice[0].override == "train.batch_size=512"
    assert advice[0].gain.low > 2
    assert by_override["search.steps_per_execution=[8]"].worthwhile
    assert by_override["search.xla=[true]"].gain.ratio > 1
    assert not by_override["search.policies=[mixed_float16]"].worthwhile
    together = advice[-1]
    assert together.gain.ratio > advice[0].gain.ratio
    assert (together.setting.policy, together.setting.xla) == ("mixed_float16", True)


def test_at_a_large_batch_the_policy_is_what_gains() -> None:
    situation = of()
    facts = situation.facts
    large = Situation.of(config(batch_size=16384), facts, Forecaster(facts, bundled("rtx2080")))
    assert conclusion(large).startswith("compute-bound")
    found = large.over_own(Setting("mixed_float16", 16384))
    assert found is not None
    assert found.ratio > 1.5


def test_no_batch_is_advised_that_does_not_fit() -> None:
    facts = cifar_mlp()
    small = replace(CARD, memory_gb=0.12)
    assert batch_sizes(Situation.of(config(), facts, Forecaster(facts, small)))[-1] < 512
    few = replace(facts, targets=replace(facts.targets, examples=1000))
    assert batch_sizes(Situation.of(config(), few, Forecaster(few, CARD))) == (32, 64)


def test_unknown_rates_predict_nothing_and_say_so() -> None:
    facts = cifar_mlp()
    situation = Situation.of(config(), facts, Forecaster(facts, replace(CARD, peaks=())))
    assert situation.own() is None
    assert advise(situation) == ()
    assert "nothing is predicted" in conclusion(situation)


def test_a_target_without_16_bit_arithmetic() -> None:
    situation = of("p100_sxm2_16gb")
    assert situation.own("mixed_float16") is None
    assert "no policy gains" in conclusion(situation)


def test_bfloat16_is_the_same_step_without_loss_scaling() -> None:
    situation = of("a100_sxm4_40gb")
    step = situation.forecaster.step_of("mixed_bfloat16")
    assert step is not None
    assert {product.dtype for layer in step.layers for product in layer.products} == {"bfloat16"}
    assert step.layers[-1] == situation.facts.float32.layers[-1]


def test_xla_on_a_cpu_is_not_predicted() -> None:
    rates = Calibration({"float32": 0.1, "bfloat16": 0.2}, 20.0, 1.0, 0.5)
    forecaster = calibrated(cifar_mlp(), bundled("cpu_zen4"), rates, feed_ms=0.25, batch_size=32)
    assert (forecaster.target.peak_tflops("bfloat16"), forecaster.target.bandwidth_gb_s) == (0.2, 20.0)
    assert (forecaster.host.call_ms, forecaster.host.step_ms) == (0.5, 0.25)
    assert forecaster.surroundings == MEASURED
    assert forecaster.forecast(Setting("float32", 32)) is not None
    assert forecaster.forecast(Setting("float32", 32, xla=True)) is None


def test_results_too_large_for_memory_that_is_there_wait_for_new_pages() -> None:
    """On this host only; what is smaller costs what it did."""
    facts = model(10, (1000, 1000))
    limit = -(-LARGE_BYTES // 4000)
    small, large = Setting("float32", limit - 1), Setting("float32", limit)
    reused, new = Forecaster(facts, CARD, HOST), Forecaster(facts, CARD, HOST, new_memory_gb_s=1.0)
    assert new.forecast(small) == reused.forecast(small)
    slow, fast = new.forecast(large), reused.forecast(large)
    assert slow is not None
    assert fast is not None
    assert slow.device_ms > fast.device_ms
    assert slow.optimizer_ms == fast.optimizer_ms


def test_so_does_a_gradient_of_many_weights() -> None:
    facts, own = model(10, (3072, 3000)), Setting("float32", 10)
    slow = Forecaster(facts, CARD, HOST, new_memory_gb_s=10.0).forecast(own)
    fast = Forecaster(facts, CARD, HOST).forecast(own)
    assert slow is not None
    assert fast is not None
    written_ms = 4 * 3072 * 3000 * 2 * (1 / 10e9 - 1 / 100e9) * 1e3
    assert slow.device_ms - fast.device_ms == pytest.approx(written_ms / PUBLISHED.efficiency)
