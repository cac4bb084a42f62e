"""What the sample study measured: candidates, probes, trainings and confirmations, with realistic figures.

Baseline and candidate alternate in one worker, but for trial 3, whose pair did not fit into memory together. Another
process ran during three pairs of trial 5's screening and one of trial 4's confirmation.
"""

from __future__ import annotations

import math
from dataclasses import replace

from autotune.trial import (
    Accuracy,
    AccuracyVerdict,
    BlockConditions,
    Candidate,
    Confirmation,
    Effect,
    EpochPoint,
    Interval,
    LayerEffect,
    PipelineTiming,
    Policy,
    Probe,
    Products,
    Recipe,
    TimeToAccuracy,
    TimingVerdict,
    TrainingRun,
    Xla,
)

MARGIN = 0.01
RELATIVE_MARGIN = 0.02
WINNER = 4
OWN, ALIGNED = (3000, 1000), (3008, 1008)
F32, F16, BF16 = Policy("float32"), Policy("mixed_float16"), Policy("mixed_bfloat16")

CANDIDATES = {
    0: Candidate(F32, 32, Xla.AUTO, OWN, 1),
    1: Candidate(F16, 32, Xla.OFF, OWN, 1),
    2: Candidate(BF16, 128, Xla.ON, OWN, 8),
    3: Candidate(F16, 512, Xla.ON, ALIGNED, 8),
    4: Candidate(BF16, 256, Xla.ON, ALIGNED, 8),
    5: Candidate(BF16, 256, Xla.OFF, OWN, 8),
    6: Candidate(F16, 256, Xla.ON, ALIGNED, 1),
    7: Candidate(F32, 128, Xla.ON, OWN, 8),
    8: Candidate(BF16, 32, Xla.ON, OWN, 8),
}
STEP_MS = {0: 2.10, 1: 2.26, 2: 2.15, 3: 4.00, 4: 2.75, 5: 3.23, 7: 2.71, 8: 1.57}
SPEEDUP = {1: (0.93, 0.91, 0.95), 2: (3.91, 3.84, 3.98), 3: (8.40, 8.22, 8.58), 4: (6.11, 5.98, 6.24)}
SPEEDUP |= {5: (5.20, 4.96, 6.02), 7: (3.10, 3.04, 3.16), 8: (1.34, 1.31, 1.37)}
CONFIRMED = {4: ((5.94, 5.80, 6.09), (5.88, 5.97, 5.98)), 5: ((5.02, 4.87, 5.17), (4.95, 5.04, 5.07))}
CONFIRMED_STEP_MS = {4: 2.82, 5: 3.34}
BASELINE_METRIC = {0: 0.4420, 1: 0.4386, 2: 0.4454, 100: 0.4432, 101: 0.4398, 102: 0.4446}
GATE_DELTA = {3: (-0.0262, -0.0218), 4: (-0.0012, -0.0020), 5: (-0.0030, -0.0014)}
CONFIRM_DELTA = {4: (-0.0030, -0.0016, -0.0008), 5: (-0.0086, -0.0012, -0.0052)}
LOST_DELTA = {4: (-0.0186, -0.0204, -0.0168), 5: (-0.0086, -0.0012, -0.0052)}
NEW_SEEDS = (100, 101, 102)

ENERGY_SHARE = 0.68
"""Of a speedup, what is left of it per joule: a busier GPU draws more power."""

_WOBBLE = (0.99, 1.0, 1.01, 1.0, 1.02, 0.98, 1.0, 1.0, 0.99, 1.01, 1.0, 1.0)
_BLOCK_STEPS = 48


def one_process(values: tuple[float, float, float], factor: float = 1.0) -> Interval:
    """Over the twelve pairs of one process."""
    low, middle, high = sorted(value * factor for value in values)
    return Interval(middle, low, high, 0.95, 12, "Hodges-Lehmann on log ratios of interleaved pairs")


def pooled(values: tuple[float, float, float], factor: float = 1.0) -> Interval:
    """Over three fresh processes."""
    low, middle, high = sorted(value * factor for value in values)
    return Interval(middle, low, high, 0.95, 3, "t interval over 3 fresh processes")


def recipe(candidate: Candidate) -> Recipe:
    """The learning rate follows the batch."""
    factor = candidate.batch_size / 32
    steps = 8000 // candidate.batch_size * 3
    return Recipe(8000, 3, candidate.batch_size, "sgd", 0.01 * factor, 0.01, "linear", "cosine", 0, steps, 3)


def effect(candidate: Candidate) -> Effect:
    """Hidden layers compute in what was asked for; the last one in float32, as its outputs must."""
    first, second = candidate.widths
    shapes = (("hidden_1", 3072, first), ("hidden_2", first, second), ("class", second, 10))
    layers = tuple(
        LayerEffect(
            name=name,
            kind="Dense",
            compute_dtype="float32" if name == "class" else candidate.policy.compute_dtype,
            variable_dtype="float32",
            parameters=(inputs + 1) * units,
            flops_per_example=2 * inputs * units,
            activations_per_example=units,
        )
        for name, inputs, units in shapes
    )
    scaled = candidate.policy == F16
    tf32 = candidate.tf32 is not False
    found = Effect(candidate.xla is not Xla.OFF, layers, "float32", scaled, "SGD", tf32, False, "GPU")
    found = replace(found, accumulation=candidate.accumulation, pipeline=candidate.pipeline)
    return replace(found, products=_products(candidate, layers), scales_loss=True if scaled else None)


def _products(candidate: Candidate, layers: tuple[LayerEffect, ...]) -> tuple[Products, ...]:
    """One product forward and two backward a layer; the gradient of the first one's input is not needed."""
    by_dtype: dict[str, list[int]] = {}
    for number, layer in enumerate(layers):
        assert layer.flops_per_example is not None
        each = layer.flops_per_example * candidate.batch_size
        by_dtype.setdefault(layer.compute_dtype, []).extend([each] * (2 if number == 0 else 3))
    return tuple(Products(dtype, len(flops), sum(flops)) for dtype, flops in by_dtype.items())


def probe(trial: int, *, step_ms: float | None = None, worker: int = 1, against: int = 0, fed: bool = False) -> Probe:
    """Timed steps of one trial beside those of `against`; `fed` times the input pipeline as well."""
    candidate, step_ms = CANDIDATES[trial], step_ms or STEP_MS[trial]
    is_baseline = trial == 0
    busy = {5: (2, 6, 7)}.get(trial, ()) if worker == 1 else {(4, 3): (4,)}.get((trial, worker), ())
    return Probe(
        candidate=candidate,
        effect=effect(candidate),
        block_step_ms=tuple(step_ms * w for w in _WOBBLE),
        baseline_step_ms=() if is_baseline else tuple(STEP_MS[against] * w for w in reversed(_WOBBLE)),
        steps_per_block=_BLOCK_STEPS,
        warmup_step_ms=(step_ms * 1.4, step_ms * 1.05),
        build_s=0.4,
        first_step_s=3.1 if candidate.xla is not Xla.OFF else 0.9,
        peak_memory_mb=410.0 + candidate.batch_size,
        loss=2.05,
        loss_finite=True,
        worker=worker,
        baseline_steps_per_block=0 if is_baseline else _BLOCK_STEPS,
        conditions=_conditions(step_ms, 212.0 if is_baseline else 312.0, busy, hot=worker == 3),
        baseline_conditions=() if is_baseline else _conditions(STEP_MS[against], 212.0, ()),
        sync_ms=0.06,
        pipeline=_pipeline(step_ms, 0.075 if is_baseline else 0.22) if fed else None,
        apart_pairs=(4, 4, 4) if trial == 3 else (),
        baseline_peak_memory_mb=None if is_baseline else 442.0,
        baseline_batch_size=0 if is_baseline else CANDIDATES[against].batch_size,
    )


def _conditions(
    step_ms: float, power_w: float, busy: tuple[int, ...], *, hot: bool = False
) -> tuple[BlockConditions, ...]:
    return tuple(
        BlockConditions(
            foreign_cpu=0.31 if block in busy else 0.02,
            steal=0.0,
            quota_throttled=0.0,
            preemptions=14 if block in busy else 1,
            gpu_clock_mhz=1740.0 - 15 * (block // 4),
            gpu_temperature_c=61.0 + block // 3,
            gpu_power_w=power_w + 3 * (block % 4),
            throttled=("power_cap",) if hot and block == 11 else (),
            energy_j=power_w * step_ms * _BLOCK_STEPS / 1e3,
        )
        for block in range(len(_WOBBLE))
    )


def _pipeline(step_ms: float, share: float) -> PipelineTiming:
    resident = tuple(step_ms * (1 - share) * w for w in reversed(_WOBBLE))
    return PipelineTiming(tuple(step_ms * w for w in _WOBBLE), resident)


def confirming(trial: int, worker: int) -> Probe:
    """One fresh process of the confirmation."""
    return probe(trial, step_ms=CONFIRMED_STEP_MS[trial], worker=worker, fed=True)


def compared() -> Probe:
    """The two finalists in one process."""
    return replace(probe(4, worker=1, against=5, step_ms=2.79), conditions=(), baseline_conditions=())


def run(trial: int, seed: int, metric: float) -> TrainingRun:
    """One training; the loss scaler of float16 skips two steps of the first epoch and halves its scale twice."""
    candidate = CANDIDATES[trial]
    own, scaled = recipe(candidate), candidate.policy == F16
    train_s = (3.9 if trial == 0 else 1.6) + 0.03 * (seed % 3)
    curve = tuple(
        EpochPoint(
            epoch=epoch,
            train_loss=2.3 - 0.2 * epoch,
            metric=metric - 0.03 * (3 - epoch),
            elapsed_s=train_s * epoch / 3,
            loss_scale=(8192.0 if epoch < 3 else 16384.0) if scaled else None,
            skipped_steps=2 if scaled and epoch == 1 else 0,
        )
        for epoch in (1, 2, 3)
    )
    return TrainingRun(
        candidate=candidate,
        seed=seed,
        recipe=own,
        metric=metric,
        curve=curve,
        iterations=own.total_steps - (2 if scaled else 0),
        skipped_steps=2 if scaled else 0,
        loss_scale=16384.0 if scaled else None,
        loss_finite=True,
        train_s=train_s,
        weights_digest=f"w{seed}",
        effect=effect(candidate),
    )


def confirmation(trial: int, deltas: tuple[float, ...], objective: str, *, relative: bool = False) -> Confirmation:
    """What a finalist showed, with these differences."""
    baseline = sum(BASELINE_METRIC[seed] for seed in NEW_SEEDS) / 3
    speedup, per_process = CONFIRMED[trial]
    time = _time_to_accuracy(trial, deltas)
    gain = pooled(speedup, ENERGY_SHARE) if objective == "energy" else pooled(speedup)
    return Confirmation(
        trial=trial,
        candidate=CANDIDATES[trial],
        timing=TimingVerdict.FASTER,
        speedup=pooled(speedup),
        per_process=per_process,
        accuracy=_accuracy(trial, deltas, RELATIVE_MARGIN * baseline if relative else MARGIN, relative),
        baseline_metric=baseline,
        metric=baseline + sum(deltas) / len(deltas),
        step_time_ms=CONFIRMED_STEP_MS[trial],
        baseline_step_time_ms=STEP_MS[0],
        recipe=recipe(CANDIDATES[trial]),
        objective=objective,
        gain=time.ratio if objective == "time_to_accuracy" else gain,
        verdict=TimingVerdict.UNCLEAR
        if objective == "time_to_accuracy" and time.ratio is None
        else TimingVerdict.FASTER,
        time_to_accuracy=time,
        epoch_s=0.543,
        baseline_epoch_s=1.31,
    )


def _accuracy(trial: int, deltas: tuple[float, ...], margin: float, relative: bool) -> Accuracy:
    verdict = AccuracyVerdict.PASS if trial == WINNER else AccuracyVerdict.INCONCLUSIVE
    if deltas == LOST_DELTA[WINNER]:
        verdict = AccuracyVerdict.FAIL
    mean, half = sum(deltas) / len(deltas), 0.0034 if trial == WINNER else 0.0110
    return Accuracy(
        verdict=verdict,
        delta=Interval(mean, mean - half, mean + half, 0.955, len(deltas), "paired t"),
        deltas=deltas,
        seeds=NEW_SEEDS,
        margin=margin,
        level=0.0225,
        seeds_needed=7 if verdict is AccuracyVerdict.INCONCLUSIVE else None,
        relative_margin=RELATIVE_MARGIN if relative else None,
        sampling_error=0.0031,
    )


def _time_to_accuracy(trial: int, deltas: tuple[float, ...]) -> TimeToAccuracy:
    """The metric rises by 3 pp an epoch, so that float32's less 1 pp is reached in the last of three, or never."""
    baseline = tuple(_reached_s(0, seed, 0.0) for seed in NEW_SEEDS)
    own = [_reached_s(trial, seed, delta) for seed, delta in zip(NEW_SEEDS, deltas, strict=True)]
    known = [other / mine for other, mine in zip(baseline, own, strict=True) if other and mine]
    ratio = math.prod(known) ** (1 / len(known)) if len(known) == len(own) else None
    return TimeToAccuracy(NEW_SEEDS, baseline, tuple(own), None if ratio is None else over_seeds(ratio, 3))


def over_seeds(ratio: float, seeds: int) -> Interval:
    """A ratio of times to accuracy."""
    return Interval(ratio, ratio * 0.95, ratio / 0.95, 0.95, seeds, f"t interval on log ratios over {seeds} seeds")


def _reached_s(trial: int, seed: int, delta: float) -> float | None:
    return run(trial, seed, 0.44).train_s * (2 / 3 + (0.02 - delta) / 0.09) if delta >= -MARGIN else None
