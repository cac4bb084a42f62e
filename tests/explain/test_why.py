"""One line a trial: what became of it and why it is as fast as it is, with figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autotune.explain.causes import causes, fraction, percent
from autotune.explain.why import LONGEST, why
from autotune.record import events as ev
from autotune.record.view import StudyView, TrialView
from autotune.trial import Failure, FailureKind, PipelineTiming, Stage, TimingVerdict, TrialState, Xla
from tests.explain.studies import candidate, started, study
from tests.explain.test_roofline import FLOPS_AN_EXAMPLE, inspected
from tests.report.hostile import hostile_events
from tests.sample_anatomy import CALIBRATION, sample_anatomy
from tests.sample_gates import STOPPED, VOUCHED, stopped_events, vouched_events
from tests.sample_study import sample_events
from tests.sample_values import BF16, F16


def sample(**options: Any) -> StudyView:
    return StudyView.of(sample_events(**options))


def line(view: StudyView, number: int) -> str:
    found = why(view, view.trials[number])
    assert len(found) <= LONGEST
    assert "\n" not in found
    return found


def altered(view: StudyView, number: int, **changes: Any) -> TrialView:
    """A trial with another probe than it had."""
    trial = view.trials[number]
    assert trial.probe is not None
    trial.probe = replace(trial.probe, **changes)
    return trial


def test_the_winner_says_what_a_larger_batch_saves_and_costs() -> None:
    """Confirmed: 2.82 ms at 256 examples and 8 steps a call, 2.10 ms at 32 and 1."""
    assert line(sample(), 4) == (
        "5.94x: batch 256 needs an eighth of the steps, each 1.34x as long; over 99% of FLOPs in bfloat16;"
        " with 8 steps a call 1/64 of the calls"
    )


def test_before_the_confirmation_it_is_what_screening_measured() -> None:
    """2.1 ms x 4 / 2.5."""
    view = study((candidate(batch_size=128), 2.5))
    assert line(view, 1) == "2.50x: batch 128 needs a quarter of the steps, each 1.60x as long"


def test_more_steps_a_call_at_the_same_batch() -> None:
    view = study((candidate(steps_per_execution=8), 1.1))
    assert line(view, 1) == "1.10x: 8 steps a call need an eighth of the calls"


def test_a_smaller_batch_needs_more_steps() -> None:
    view = study((candidate(batch_size=16), 0.8))
    assert line(view, 1) == "0.80x: batch 16 needs 2 times the steps, each 0.62x as long"


def test_a_setting_that_a_trial_shows_alone_is_said_with_that_trial() -> None:
    view = study(
        (candidate(batch_size=128, policy=BF16), 2.2),
        (candidate(batch_size=128, policy=BF16, xla=Xla.ON), 2.5),
    )
    assert line(view, 2).endswith("over 99% of FLOPs in bfloat16; XLA on alone 1.14x (over trial 1)")


def test_a_single_change_is_said_to_be_all() -> None:
    view = study((candidate(xla=Xla.ON), 1.2))
    assert line(view, 1) == "1.20x: XLA on is all that differs from the baseline"


def test_changes_that_nothing_tells_apart_are_named_as_such() -> None:
    view = study((candidate(xla=Xla.ON, widths=(3008, 1008)), 1.2))
    altered(view, 1, effect=replace(view.trials[0].probe.effect, products=(), xla=True))  # type: ignore[union-attr]
    assert line(view, 1) == "1.20x: XLA and widths changed together, and no trial shows one alone"


def test_wider_layers_say_what_they_cost() -> None:
    wide = 2 * (2 * 3072 * 3008 + 3 * 3008 * 1008 + 3 * 1008 * 10)
    view = study((candidate(widths=(3008, 1008)), 1.1))
    assert f"widths 3008-1008 take {wide / FLOPS_AN_EXAMPLE:.2f}x the FLOPs an example" in line(view, 1)


def test_reduced_precision_that_gained_nothing_says_that_its_products_are_not_faster() -> None:
    view = study((candidate(policy=BF16), 0.7))
    slow = replace(CALIBRATION, tflops={"float32": 5.0, "bfloat16": 4.5})
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=slow), None))
    share = 32 * FLOPS_AN_EXAMPLE / 5e12 / 2.1e-3
    assert line(view, 1) == (
        "0.70x: over 99% of FLOPs in bfloat16; bfloat16 products at 0.90x float32's rate, measured here;"
        f" at the measured rate float32's products are only {share:.0%} of its step"
    )


def test_where_products_are_fast_the_step_that_is_not_products_is_blamed_alone() -> None:
    view = study((candidate(policy=BF16), 0.98))
    fast = replace(CALIBRATION, tflops={"float32": 20.0, "bfloat16": 40.0})
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=fast), None))
    share = 32 * FLOPS_AN_EXAMPLE / 20e12 / 2.1e-3
    assert share < 0.0995
    assert line(view, 1).startswith(
        "0.98x: over 99% of FLOPs in bfloat16; at the measured rate float32's products are only"
        f" {share * 100:.2g}% of its step"
    )


def test_a_step_that_is_mostly_products_is_not_called_anything_else() -> None:
    view = study((candidate(policy=BF16), 0.98))
    slow = replace(CALIBRATION, tflops={"float32": 1.5, "bfloat16": 3.0})
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=slow), None))
    assert "only" not in line(view, 1)
    share = 32 * FLOPS_AN_EXAMPLE / 1.5e12 / 2.1e-3
    assert f"float32's products are {share:.0%} of its step" in line(view, 1)


def test_without_a_measured_rate_the_devices_own_reason_is_told() -> None:
    """A Zen 4 is offered bfloat16, and a Pascal has no tensor cores."""
    assert line(study((candidate(policy=BF16), 0.7)), 1) == "0.70x: over 99% of FLOPs in bfloat16"
    view = study((candidate(policy=F16), 0.7))
    view.apply(started({"name": "gtx1080ti", "kind": "gpu"}))
    assert "; no fast float16 here: no tensor cores and no fast vector float16" in line(view, 1)
    capped = study((candidate(policy=BF16), 0.7))
    device = dict(capped.started.device) if capped.started else {}
    device["host"] = {**device["host"], "onednn": {**device["host"]["onednn"], "bf16": "eigen", "bf16_reason": "off"}}
    capped.apply(started(device))
    assert line(capped, 1) == "0.70x: over 99% of FLOPs in bfloat16; no fast bfloat16 here: off"


def test_of_a_mixed_policy_that_is_slower_alone_the_policy_comes_first_whatever_the_whole() -> None:
    view = study((candidate(batch_size=128), 2.5), (candidate(batch_size=128, policy=BF16), 2.0))
    fast = replace(CALIBRATION, tflops={"float32": 20.0, "bfloat16": 40.0})
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=fast), None))
    share = 2.5 * 32 * FLOPS_AN_EXAMPLE / 20e12 / 2.1e-3
    assert line(view, 2).startswith(
        "2.00x: over 99% of FLOPs in bfloat16, alone 0.80x (over trial 1); at the measured rate float32's products are"
        f" only {share:.0%} of its step"
    ), "of float32's step at that batch"


@pytest.mark.parametrize(("resident_ms", "told"), [(1.2, True), (1.9, False)])
def test_a_step_that_waits_for_its_input_is_said_where_reduced_precision_gained_nothing(
    resident_ms: float, told: bool
) -> None:
    view = study((candidate(policy=BF16), 0.9))
    altered(view, 0, pipeline=PipelineTiming((2.0,) * 8, (resident_ms,) * 8))
    assert line(view, 1).endswith("; the baseline waits for its input 40% of a step, measured") is told


def test_flops_that_were_only_declared_are_called_so() -> None:
    view = study((candidate(policy=BF16), 0.7))
    altered(view, 1, effect=replace(view.trials[1].probe.effect, products=()))  # type: ignore[union-attr]
    assert line(view, 1) == "0.70x: over 99% of FLOPs (declared) in bfloat16"


def test_how_near_the_peak_it_comes_is_said_beside_the_baseline() -> None:
    view = study((candidate(batch_size=128), 2.0))
    fast = replace(CALIBRATION, tflops={"float32": 5.0})
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=fast), None))
    own = 32 * FLOPS_AN_EXAMPLE / 5e12 / 2.1e-3
    assert line(view, 1).endswith(f"products reach {2 * own:.0%} of the measured peak, the baseline's {own:.0%}")


def test_the_baseline_says_what_its_step_is_made_of() -> None:
    view = inspected(study())
    fast = replace(CALIBRATION, tflops={"float32": 5.0})
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=fast), None))
    share = 32 * FLOPS_AN_EXAMPLE / 5e12 / 2.1e-3
    assert line(view, 0) == f"at the measured rate its products are {share:.0%} of a step"
    altered(view, 0, pipeline=PipelineTiming((2.0,) * 8, (1.5,) * 8))
    assert line(view, 0).endswith("; its input takes 25% of a step, measured")
    altered(view, 0, pipeline=PipelineTiming((1.5,) * 8, (1.6,) * 8))  # noise
    assert line(view, 0).endswith("; its input takes no time that could be told from 0, measured")


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert line(study(), 0) == ""
    view = study((candidate(batch_size=128), 2.0))
    view.apply(ev.TrialStarted(2, Stage.SCREEN, candidate(batch_size=64)))
    assert line(view, 2) == ""


def test_a_rejected_trial_says_what_it_lost_and_on_which_seeds() -> None:
    assert line(sample(), 3).startswith(
        "8.40x, but lost 2.40 pp on average, on each of 2 seeds (worst -2.62 pp, seed 0); batch 512 needs a sixteenth"
    )


def test_of_one_that_lost_on_some_seeds_it_says_so() -> None:
    view = sample()
    view.trials[3].deltas[Stage.VERIFY] = {0: 0.002, 1: -0.03}
    assert "but lost 1.40 pp on average, on 1 of 2 seeds (worst -3.00 pp, seed 1)" in line(view, 3)
    view.trials[3].deltas[Stage.VERIFY] = {0: -0.03}
    assert "but lost 3.00 pp on seed 0;" in line(view, 3)


def test_another_metric_keeps_its_own_unit() -> None:
    view = sample()
    assert view.started is not None
    view.started.config["constraint"]["metric"] = "mae"
    assert "but lost 0.024 of mae on average, on each of 2 seeds (worst -0.0262, seed 0)" in line(view, 3)


def test_a_training_that_was_stopped_early_is_said_with_its_seed_and_epoch() -> None:
    view = StudyView.of(stopped_events())
    told = "8.40x, but stopped on seed 1 after epoch 1 of 3: hopelessly behind float32's learning curve"
    assert line(view, STOPPED).startswith(told)


def test_a_verdict_that_another_vouches_for_names_it() -> None:
    view = StudyView.of(vouched_events(TrialState.REJECTED, 2, None))
    assert "but trial 2, which trains identically, missed the accuracy gate" in line(view, VOUCHED)


def test_a_dominated_trial_names_the_one_that_made_training_it_needless() -> None:
    assert line(sample(), 2).startswith("3.91x, not trained: trial 4 is faster (6.11x) and passed the accuracy gate")
    unconfirmed = sample(winner=False)
    assert line(unconfirmed, 2).startswith("3.91x, not trained: trial 4 is faster (6.11x)"), "the fastest that passed"
    for passed in (4, 5):
        unconfirmed.trials[passed].state = TrialState.REJECTED
    assert line(unconfirmed, 2).startswith("3.91x, not trained: slower than trial 5, which passed"), "its own reason"


def test_one_whose_training_was_broken_off_for_a_faster_one_is_not_called_untrained() -> None:
    view = sample()
    view.apply(ev.TrialJudged(5, TrialState.DOMINATED, "stopped after 1 of 3 seeds at -1.20 pp: trial 4 is faster"))
    view.trials[5].confirmation = None
    assert line(view, 5).startswith("5.20x, stopped after 1 of 3 seeds at -1.20 pp: trial 4 is faster; batch 256")


def test_a_trial_that_was_skipped_keeps_its_reason() -> None:
    view = sample()
    view.apply(ev.TrialJudged(2, TrialState.SKIPPED, "not trained: the budget is used"))
    assert line(view, 2).startswith("3.91x, not trained: the budget is used; batch 128 needs a quarter of the steps")


def test_one_that_passed_and_was_not_confirmed_names_the_one_that_was() -> None:
    view = sample()
    view.trials[5].confirmation = None
    assert "passed the accuracy gate and was not confirmed itself: trial 4 was confirmed" in line(view, 5)


def test_a_finalist_that_was_not_confirmed_says_which_verdict_failed() -> None:
    assert line(sample(), 5).startswith("5.02x, not confirmed: INCONCLUSIVE in accuracy on 3 new seeds (-0.50 pp)")
    view = sample()
    slower = view.trials[5].confirmation
    assert slower is not None
    view.trials[5].confirmation = replace(slower, verdict=TimingVerdict.UNCLEAR)
    assert "not confirmed: UNCLEAR in fresh processes, INCONCLUSIVE in accuracy" in line(view, 5)
    view.trials[5].confirmation = replace(slower, verdict=TimingVerdict.SAME, accuracy=None)
    assert "not confirmed: SAME in fresh processes" in line(view, 5)


def test_one_that_was_given_up_early_quotes_no_speed() -> None:
    view = inspected(study((candidate(batch_size=128), 2.0), (candidate(batch_size=64, policy=BF16), 1.6)))
    altered(view, 2, hopeless_below=1.75)
    assert line(view, 2) == (
        "given up after 12 pairs: clearly below 1.75x; batch 64 needs half of the steps; over 99% of FLOPs in bfloat16"
    )


def test_one_that_was_given_up_and_trained_all_the_same_says_what_that_showed() -> None:
    view = sample()
    altered(view, 3, hopeless_below=9.0)
    told = "given up after 12 pairs: clearly below 9.00x; but lost 2.40 pp on average"
    assert line(view, 3).startswith(told)


def test_a_failed_trial_says_what_was_ruled_out_for_it() -> None:
    view = sample()
    message = "XLA could not compile the train function: no algorithm worked for fusion.31"
    assert line(view, 6) == f"failed (compile): {message}; nothing else was ruled out for it"
    failed = "failed: mixed_float16, XLA on, batch 256 (compile)"
    view.apply(ev.Note("ruled_out", f"3 candidates: mixed_float16, XLA on, batch 256 or 512: {failed}"))
    view.apply(ev.Note("ruled_out", "9 candidates: float32: failed: mixed_float16, XLA on, batch 2560 (compile)"))
    assert line(view, 6) == f"failed (compile): {message}; for it 3 others were not tried"


def test_an_interrupted_screening_does_not_say_that_nothing_was_ruled_out() -> None:
    view = sample()
    view.apply(ev.StudyDecided(0, "stopped", "interrupt", 1.0))
    assert "ruled out" not in line(view, 6)


def test_one_that_failed_when_it_was_confirmed_says_so() -> None:
    view = sample()
    confirmed = view.trials[5].confirmation
    assert confirmed is not None
    view.trials[5].confirmation = replace(confirmed, failure=Failure(FailureKind.OOM, "no memory\nleft"))
    assert line(view, 5).startswith("failed (oom): no memory left")


@pytest.mark.parametrize(("objective", "trial", "gain"), [("energy", 2, "4.15x"), ("time_to_accuracy", 8, "2.30x")])
def test_under_another_objective_what_dominates_is_better_and_not_called_faster(
    objective: str, trial: int, gain: str
) -> None:
    view = sample(objective=objective)
    lines = {number: line(view, number) for number in view.trials}
    assert f"trial 4 is better ({gain})" in lines[trial]
    assert not any("faster" in told for told in lines.values())
    assert "trial 4 is faster" in line(sample(), trial)


def test_texts_of_anybodys_stay_on_one_short_line() -> None:
    view = StudyView.of(hostile_events())
    for number in view.trials:
        told = line(view, number)
        assert not {"\x1b", "\x07", "\u202e", "\r", "\x9b"} & set(told)


@pytest.mark.parametrize(
    ("times", "told"),
    [(2, "half of"), (4, "a quarter of"), (64, "1/64 of"), (6.4, "1/6.4 of"), (0.5, "2 times")],
)
def test_fractions_read_as_people_say_them(times: float, told: str) -> None:
    assert fraction(times) == told


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.0, "0%"), (0.0004, "0.04%"), (0.024, "2.4%"), (0.31, "31%"), (0.9997, "over 99%"), (1, "100%")],
)
def test_shares_are_never_rounded_to_what_they_are_not(share: float, told: str) -> None:
    assert percent(share) == told


def test_what_was_never_timed_has_no_causes() -> None:
    assert causes(sample(), sample().trials[6]) == []


def test_the_reason_of_one_that_was_given_up_has_room() -> None:
    view = study((candidate(policy=BF16), 0.5))
    altered(view, 1, hopeless_below=1.0)
    altered(view, 0, pipeline=PipelineTiming((2.0,) * 8, (1.2,) * 8))
    told = "given up after 12 pairs: clearly below 1.00x; the baseline waits for its input 40% of a step, measured"
    assert line(view, 1).startswith(told)
