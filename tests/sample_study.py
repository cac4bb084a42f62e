"""Events of one whole study, as a real one would write them: for the tests of everything that reads a record.

    sample_events()                                  on its target, with a confirmed winner, exported
    sample_events(on_target=False, stand_in=True)    another device than asked for, another dataset than asked for
    sample_events(winner=False)                      no finalist was confirmed; the baseline is exported
    sample_events(interrupted=True)                  ended by Ctrl-C in the verify stage, nothing exported

Trials: 0 baseline; 1 slower; 2, 7, 8 dominated; 3 rejected (accuracy, float16); 4 and 5 finalists, of which 4 wins;
6 failed (compile).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autotune.record import events as ev
from autotune.trial import (
    Accuracy,
    AccuracyVerdict,
    Candidate,
    Confirmation,
    DatasetFacts,
    Effect,
    EpochPoint,
    Failure,
    FailureKind,
    Interval,
    LayerEffect,
    LeftOut,
    Policy,
    Predicted,
    Probe,
    Recipe,
    SpaceSummary,
    Stage,
    TimingVerdict,
    TrainingRun,
    TrialState,
    WorkerFacts,
    Xla,
)

MARGIN = 0.01
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
SPEEDUP |= {5: (5.20, 5.09, 5.31), 7: (3.10, 3.04, 3.16), 8: (1.34, 1.31, 1.37)}
BASELINE_METRIC = {0: 0.4420, 1: 0.4386, 2: 0.4454, 100: 0.4432, 101: 0.4398, 102: 0.4446}
GATE_DELTA = {3: (-0.0262, -0.0218), 4: (-0.0012, -0.0020), 5: (-0.0030, -0.0014)}
CONFIRM_DELTA = {4: (-0.0030, -0.0016, -0.0008), 5: (-0.0086, -0.0012, -0.0052)}
LOST_DELTA = {4: (-0.0186, -0.0204, -0.0168), 5: (-0.0086, -0.0012, -0.0052)}

RTX3090 = {"name": "rtx3090", "title": "NVIDIA GeForce RTX 3090", "kind": "gpu", "arch": "Ampere GA102"}
RTX2060 = {"name": "rtx2060", "title": "NVIDIA GeForce RTX 2060 6GB", "kind": "gpu", "arch": "Turing TU106"}


def sample_events(
    *,
    on_target: bool = True,
    stand_in: bool = False,
    winner: bool = True,
    interrupted: bool = False,
    output_dir: str = "/studies/cifar_mlp-rtx3090",
) -> list[ev.Event]:
    """All events of the study, in the order of a record; nothing is read from or written to `output_dir`."""
    events = [*_opening(on_target, stand_in, output_dir), *_baseline(), *_screen(), *_verify()]
    if interrupted:
        # Ctrl-C while the second candidate of the verify stage was being trained.
        cut = next(i for i, e in enumerate(events) if isinstance(e, ev.TrialStarted) and e.trial == 5 and e.seed == 1)
        reason = "interrupted before a finalist was confirmed: the baseline stays"
        return [*events[: cut + 1], ev.StudyDecided(ev.BASELINE_TRIAL, reason, "interrupt", 221.0)]
    events += [*_confirm(winner)]
    if winner:
        reason = "trial 4 is 5.94 times as fast as float32 and not less accurate within 1.0 pp"
        events.append(ev.StudyDecided(WINNER, reason, None, 352.0))
    else:
        reason = "no finalist was both faster than float32 and not less accurate: the baseline stays"
        events.append(ev.StudyDecided(ev.BASELINE_TRIAL, reason, None, 349.0))
    return [*events, _exported(on_target, stand_in, winner, output_dir)]


def _config(target: str, output_dir: str) -> dict[str, Any]:
    return {
        "task": "tune",
        "model": {"name": "cifar_mlp", "_target_": "autotune.models.cifar.mlp", "widths": list(OWN), "args": {}},
        "data": {"name": "cifar10", "_target_": "autotune.data.cifar10.load", "validation_examples": 5000},
        "hw": {"name": target, "on_mismatch": "run"},
        "search": {"trials": 8, "budget": "6m", "gate_seeds": 2, "finalists": 2, "verify": "fastest"},
        "constraint": {"metric": "accuracy", "direction": "higher", "margin": MARGIN, "seeds": 3},
        "objective": {"name": "throughput", "threshold": 1.02},
        "train": {"optimizer": "sgd", "learning_rate": 0.01, "batch_size": 32, "schedule": "cosine", "seed": 0},
        "tracking": {"enabled": True, "uri": None, "experiment": None, "registered_model": None, "log_model": True},
        "candidate": {"policy": "float32", "batch_size": None, "xla": "auto", "widths": None, "steps_per_execution": 1},
        "output": {"root": output_dir.rpartition("/")[0], "name": None},
        "console": {"live": True},
    }


def _opening(on_target: bool, stand_in: bool, output_dir: str) -> Iterator[ev.Event]:
    target = RTX3090 if on_target else RTX2060
    yield ev.StudyStarted(
        format=ev.FORMAT,
        study="cifar_mlp-rtx3090-20260301-101500",
        started_unix_s=1772360100.0,
        config=_config(target["name"], output_dir),
        target=target,
        device=RTX3090,
        on_target=on_target,
        target_note="the device is the target" if on_target else "the device here is not the target, an RTX 2060",
        output_dir=output_dir,
        command=f"python -m autotune model=cifar_mlp hw={target['name']}",
        versions={"autotune": "0.1.0", "optuna": "5.0.0"},
    )
    if not on_target:
        text = "target NVIDIA GeForce RTX 2060 6GB is not here: all figures are of NVIDIA GeForce RTX 3090"
        yield ev.Note("off_target", text, "warning")
    reason = "CIFAR-10 is not on this machine and there is no network" if stand_in else None
    data = DatasetFacts(
        "digits stand-in" if stand_in else "cifar10", 45000, 5000, 10000, (32, 32, 3), 10, "/data", "5f1c", reason
    )
    versions = {"tensorflow": "2.21.0", "keras": "3.15.0"}
    facts = WorkerFacts("GPU", ({"name": "GPU:0"},), 0, 0, None, True, versions, {}, 9.7, 4242)
    yield ev.WorkerReady(1, facts, data)
    if stand_in:
        text = "cifar10 cannot be had: training on scikit-learn's handwritten digits in its shape instead"
        yield ev.Note("stand_in", text, "warning")
    left_out = (
        LeftOut("pure float16", "no loss scaling and no float32 weights: not for selection"),
        LeftOut("batch sizes above 512", "16 times the user's own (search.max_batch_factor)"),
    )
    space = SpaceSummary(
        ("float32", "mixed_float16", "mixed_bfloat16"),
        (32, 64, 128, 256, 512),
        ("off", "on"),
        (1, 8),
        (OWN, ALIGNED),
        120,
        left_out,
    )
    predicted = () if on_target else tuple(Predicted(CANDIDATES[n], ms * 2.4) for n, ms in STEP_MS.items())
    yield ev.SpacePlanned(space, CANDIDATES[0], predicted, "" if on_target else "roofline from published peaks")
    yield ev.FidelityPlanned(
        _recipe(CANDIDATES[0]),
        baseline_train_s=4.1,
        shares_s={"baseline": 40.0, "screen": 90.0, "verify": 80.0, "confirm": 110.0, "export": 40.0},
        reasons=("budget 360 s", "8,000 examples x 3 epochs: accuracy has settled at batch 32"),
        resolvable_margin={"0.3 pp": 0.0052, "0.5 pp": 0.0087, "0.8 pp": 0.0139},
    )


def _baseline() -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.BASELINE, 4)
    yield ev.TrialStarted(0, Stage.BASELINE, CANDIDATES[0])
    yield ev.Probed(0, Stage.BASELINE, _probe(0), None, None, 5.2)
    for seed in (0, 1, 2):
        yield ev.TrialStarted(0, Stage.BASELINE, CANDIDATES[0], seed)
        yield ev.Trained(0, Stage.BASELINE, _run(0, seed, BASELINE_METRIC[seed]), None, 4.4)
    yield ev.Note("noise", "the baseline's spread over 3 seeds is 0.34 pp", "info")


def _screen() -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.SCREEN, 8)
    for trial in range(1, 9):
        yield ev.TrialStarted(trial, Stage.SCREEN, CANDIDATES[trial])
        if trial == 6:
            message = "XLA could not compile the train function: no algorithm worked for fusion.31"
            failure = Failure(FailureKind.COMPILE, message, "INTERNAL: no algorithm worked")
            yield ev.TrialFailed(trial, Stage.SCREEN, CANDIDATES[trial], failure)
            continue
        timing = TimingVerdict.SLOWER if trial == 1 else TimingVerdict.FASTER
        yield ev.Probed(trial, Stage.SCREEN, _probe(trial), _interval(*SPEEDUP[trial], n=12), timing, 8.5)
        if trial == 1:
            yield ev.TrialJudged(1, TrialState.SLOWER, "0.93 times the baseline's throughput")


def _verify() -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.VERIFY, 14)
    for trial, deltas in GATE_DELTA.items():
        for seed, delta in enumerate(deltas):
            yield ev.TrialStarted(trial, Stage.VERIFY, CANDIDATES[trial], seed)
            yield ev.Trained(trial, Stage.VERIFY, _run(trial, seed, BASELINE_METRIC[seed] + delta), delta, 2.1)
        state = TrialState.REJECTED if trial == 3 else TrialState.PASSED
        mean_pp = sum(deltas) / len(deltas) * 100
        yield ev.TrialJudged(trial, state, f"mean difference {mean_pp:+.2f} pp, the gate is at -0.50 pp")
    for trial in (2, 7, 8):
        yield ev.TrialJudged(trial, TrialState.DOMINATED, "slower than trial 5, which passed")


def _confirm(winner: bool) -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.CONFIRM, 2)
    seeds = (100, 101, 102)
    for seed in seeds:
        yield ev.TrialStarted(0, Stage.CONFIRM, CANDIDATES[0], seed)
        yield ev.Trained(0, Stage.CONFIRM, _run(0, seed, BASELINE_METRIC[seed]), None, 4.4)
    for trial, deltas in (CONFIRM_DELTA if winner else LOST_DELTA).items():
        for seed, delta in zip(seeds, deltas, strict=True):
            yield ev.TrialStarted(trial, Stage.CONFIRM, CANDIDATES[trial], seed)
            yield ev.Trained(trial, Stage.CONFIRM, _run(trial, seed, BASELINE_METRIC[seed] + delta), delta, 2.1)
        yield ev.FinalistConfirmed(_confirmation(trial, deltas))


def _confirmation(trial: int, deltas: tuple[float, ...]) -> Confirmation:
    verdict = AccuracyVerdict.PASS if trial == WINNER else AccuracyVerdict.INCONCLUSIVE
    if trial == WINNER and deltas != CONFIRM_DELTA[WINNER]:
        verdict = AccuracyVerdict.FAIL
    mean, half = sum(deltas) / len(deltas), 0.0034 if trial == WINNER else 0.0110
    delta = Interval(mean, mean - half, mean + half, 0.955, len(deltas), "paired t")
    needed = 7 if verdict is AccuracyVerdict.INCONCLUSIVE else None
    accuracy = Accuracy(verdict, delta, deltas, (100, 101, 102), MARGIN, 0.0225, needed)
    baseline = sum(BASELINE_METRIC[seed] for seed in (100, 101, 102)) / 3
    return Confirmation(
        trial=trial,
        candidate=CANDIDATES[trial],
        timing=TimingVerdict.FASTER,
        speedup=_pooled(5.94, 5.80, 6.09) if trial == WINNER else _pooled(5.02, 4.87, 5.17),
        per_process=(5.88, 5.97, 5.98) if trial == WINNER else (4.95, 5.04, 5.07),
        accuracy=accuracy,
        baseline_metric=baseline,
        metric=baseline + mean,
        step_time_ms=2.82 if trial == WINNER else 3.34,
        baseline_step_time_ms=2.10,
        recipe=_recipe(CANDIDATES[trial]),
        gain=_pooled(5.94, 5.80, 6.09) if trial == WINNER else _pooled(5.02, 4.87, 5.17),
        verdict=TimingVerdict.FASTER,
    )


def _exported(on_target: bool, stand_in: bool, winner: bool, output_dir: str) -> ev.Exported:
    folder = f"{output_dir}/export"
    production = on_target and winner and not stand_in
    return ev.Exported(
        trial=WINNER if winner else ev.BASELINE_TRIAL,
        folder=folder,
        files={
            "config": f"{folder}/best.yaml",
            "keras": f"{folder}/model.keras",
            "saved_model": f"{folder}/saved_model",
        },
        test_metric=0.4391 if winner else 0.4417,
        baseline_test_metric=0.4417 if winner else None,
        test_delta=Interval(-0.0026, -0.0091, 0.0039, 0.95, 10000, "paired normal") if winner else None,
        reload_difference={"keras": 0.0, "saved_model": 1.2e-7},
        alias="production" if production else "candidate",
        alias_reason="on its target, real data, PASS" if production else "not everything that production needs holds",
    )


def _interval(estimate: float, low: float, high: float, n: int) -> Interval:
    return Interval(estimate, low, high, 0.95, n, "paired t on log ratios")


def _pooled(estimate: float, low: float, high: float) -> Interval:
    return Interval(estimate, low, high, 0.95, 3, "t interval over 3 fresh processes")


def _recipe(candidate: Candidate) -> Recipe:
    factor = candidate.batch_size / 32
    steps = 8000 // candidate.batch_size * 3
    return Recipe(8000, 3, candidate.batch_size, "sgd", 0.01 * factor, 0.01, "linear", "cosine", 0, steps)


def _effect(candidate: Candidate) -> Effect:
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
    return Effect(candidate.xla is not Xla.OFF, layers, "float32", scaled, "SGD", True, False, "GPU")


def _probe(trial: int) -> Probe:
    candidate, step_ms = CANDIDATES[trial], STEP_MS[trial]
    wobble = (0.99, 1.0, 1.01, 1.0, 1.02, 0.98, 1.0, 1.0, 0.99, 1.01, 1.0, 1.0)
    return Probe(
        candidate=candidate,
        effect=_effect(candidate),
        block_step_ms=tuple(step_ms * w for w in wobble),
        baseline_step_ms=() if trial == 0 else tuple(STEP_MS[0] * w for w in reversed(wobble)),
        steps_per_block=48,
        warmup_step_ms=(step_ms * 1.4, step_ms * 1.05),
        build_s=0.4,
        first_step_s=3.1 if candidate.xla is not Xla.OFF else 0.9,
        peak_memory_mb=410.0 + candidate.batch_size,
        loss=2.05,
        loss_finite=True,
        worker=1,
    )


def _run(trial: int, seed: int, metric: float) -> TrainingRun:
    candidate = CANDIDATES[trial]
    recipe = _recipe(candidate)
    curve = tuple(EpochPoint(e, 2.3 - 0.2 * e, metric - 0.03 * (3 - e), 1.3 * e) for e in (1, 2, 3))
    skipped = 2 if candidate.policy == F16 else 0
    scale = 8192.0 if candidate.policy == F16 else None
    iterations = recipe.total_steps - skipped
    return TrainingRun(
        candidate, seed, recipe, metric, curve, iterations, skipped, scale, True, 3.9, f"w{seed}", _effect(candidate)
    )
