"""Events of one whole study, as a real one would write them: for the tests of everything that reads a record.

    sample_events()                                  on its target, with a confirmed winner, exported
    sample_events(on_target=False, stand_in=True)    another device than asked for, another dataset than asked for
    sample_events(winner=False)                      no finalist was confirmed; the baseline is exported
    sample_events(interrupted=True)                  ended by Ctrl-C in the verify stage, nothing exported
    sample_events(objective="energy")                or "time_to_accuracy": another objective than throughput
    sample_events(relative=True)                     a margin of 2 % of float32's own accuracy instead of 1 pp
    sample_events(inspected=True)                    the model was taken apart before the export

Trials: 0 baseline; 1 slower; 2, 7, 8 dominated; 3 rejected (accuracy, float16); 4 and 5 finalists, of which 4 wins;
6 failed (compile). What was measured is in `tests.sample_values`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autotune.decide.suspicion import suspicions
from autotune.record import events as ev
from autotune.trial import (
    DatasetFacts,
    Failure,
    FailureKind,
    Interval,
    LeftOut,
    Predicted,
    SpaceSummary,
    Stage,
    TimingVerdict,
    TrialState,
    WorkerFacts,
)
from tests import sample_values as values
from tests.sample_anatomy import sample_anatomy
from tests.sample_values import (
    ALIGNED,
    BASELINE_METRIC,
    CANDIDATES,
    CONFIRM_DELTA,
    CONFIRMED,
    GATE_DELTA,
    LOST_DELTA,
    MARGIN,
    NEW_SEEDS,
    OWN,
    RELATIVE_MARGIN,
    SPEEDUP,
    STEP_MS,
    WINNER,
)

__all__ = [
    "BASELINE_METRIC",
    "CANDIDATES",
    "CONFIRM_DELTA",
    "GATE_DELTA",
    "MARGIN",
    "SPEEDUP",
    "WINNER",
    "sample_events",
]

RTX3090 = {"name": "rtx3090", "title": "NVIDIA GeForce RTX 3090", "kind": "gpu", "arch": "Ampere GA102"}
RTX2060 = {"name": "rtx2060", "title": "NVIDIA GeForce RTX 2060 6GB", "kind": "gpu", "arch": "Turing TU106"}


def sample_events(
    *,
    on_target: bool = True,
    stand_in: bool = False,
    winner: bool = True,
    interrupted: bool = False,
    objective: str = "throughput",
    relative: bool = False,
    inspected: bool = False,
    output_dir: str = "/studies/cifar_mlp-rtx3090",
) -> list[ev.Event]:
    """All events of the study, in the order of a record; nothing is read from or written to `output_dir`."""
    config = _config(RTX3090["name"] if on_target else RTX2060["name"], output_dir)
    config["objective"]["name"] = objective
    config["constraint"] |= {"margin": RELATIVE_MARGIN, "relative": True} if relative else {}
    events = [
        *_opening(config, on_target, stand_in, output_dir),
        *_baseline(),
        *_screen(objective),
        *_verify(objective),
    ]
    if interrupted:
        # Ctrl-C while the second candidate of the verify stage was being trained.
        cut = next(i for i, e in enumerate(events) if isinstance(e, ev.TrialStarted) and e.trial == 5 and e.seed == 1)
        reason = "interrupted before a finalist was confirmed: the baseline stays"
        return [*events[: cut + 1], ev.StudyDecided(ev.BASELINE_TRIAL, reason, "interrupt", 221.0)]
    events += [*_confirm(winner, objective, relative)]
    if winner:
        reason = "trial 4 is 5.94 times as fast as float32 and not less accurate within 1.0 pp"
        events.append(ev.StudyDecided(WINNER, reason, None, 352.0))
    else:
        reason = "no finalist was both faster than float32 and not less accurate: the baseline stays"
        events.append(ev.StudyDecided(ev.BASELINE_TRIAL, reason, None, 349.0))
    if inspected:
        events += [ev.InspectionStarted(1), ev.Inspected(sample_anatomy(), None)]
    return [*events, _exported(on_target, stand_in, winner, output_dir)]


def _config(target: str, output_dir: str) -> dict[str, Any]:
    return {
        "task": "tune",
        "model": {"name": "cifar_mlp", "_target_": "autotune.models.cifar.mlp", "widths": list(OWN), "args": {}},
        "data": {"name": "cifar10", "_target_": "autotune.data.cifar10.load", "validation_examples": 5000},
        "hw": {"name": target, "on_mismatch": "run"},
        "search": {"trials": 8, "budget": "6m", "gate_seeds": 2, "finalists": 2, "verify": "fastest"},
        "constraint": {"metric": "accuracy", "direction": "higher", "margin": MARGIN, "relative": False, "seeds": 3},
        "objective": {"name": "throughput", "threshold": 1.02},
        "train": {"optimizer": "sgd", "learning_rate": 0.01, "batch_size": 32, "schedule": "cosine", "seed": 0},
        "tracking": {"enabled": True, "uri": None, "experiment": None, "registered_model": None, "log_model": True},
        "candidate": {"policy": "float32", "batch_size": None, "xla": "auto", "widths": None, "steps_per_execution": 1},
        "output": {"root": output_dir.rpartition("/")[0], "name": None},
        "console": {"live": True},
    }


def _opening(config: dict[str, Any], on_target: bool, stand_in: bool, output_dir: str) -> Iterator[ev.Event]:
    target = RTX3090 if on_target else RTX2060
    yield ev.StudyStarted(
        format=ev.FORMAT,
        study="cifar_mlp-rtx3090-20260301-101500",
        started_unix_s=1772360100.0,
        config=config,
        target=target,
        device=RTX3090,
        on_target=on_target,
        target_note="the device is the target" if on_target else "the device here is not the target, an RTX 2060",
        output_dir=output_dir,
        command=f"python -m autotune model=cifar_mlp hw={target['name']}",
        versions={"autotune": "0.1.0", "optuna": "5.0.0"},
        code={"autotune": "0f1e2d"},
    )
    if not on_target:
        text = "target NVIDIA GeForce RTX 2060 6GB is not here: all figures are of NVIDIA GeForce RTX 3090"
        yield ev.Note("off_target", text, "warning")
    reason = "CIFAR-10 is not on this machine and there is no network" if stand_in else None
    name = "digits stand-in" if stand_in else "cifar10"
    data = DatasetFacts(
        name, 45000, 5000, 10000, (32, 32, 3), 10, "/data", "5f1c", reason, majority=None if stand_in else 0.1
    )
    versions = {"tensorflow": "2.21.0", "keras": "3.15.0"}
    facts = WorkerFacts("GPU", ({"name": "GPU:0"},), 0, 0, None, True, versions, {}, 9.7, 4242)
    yield ev.WorkerReady(1, facts, data, 12.5)
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
        values.recipe(CANDIDATES[0]),
        baseline_train_s=4.1,
        shares_s={"baseline": 40.0, "screen": 90.0, "verify": 80.0, "confirm": 110.0, "export": 40.0},
        reasons=("budget 360 s", "8,000 examples x 3 epochs: accuracy has settled at batch 32"),
        resolvable_margin={"0.3 pp": 0.0052, "0.5 pp": 0.0087, "0.8 pp": 0.0139},
    )


def _baseline() -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.BASELINE, 4)
    yield ev.TrialStarted(0, Stage.BASELINE, CANDIDATES[0])
    yield ev.Probed(0, Stage.BASELINE, values.probe(0, fed=True), None, None, 5.2)
    for seed in (0, 1, 2):
        yield ev.TrialStarted(0, Stage.BASELINE, CANDIDATES[0], seed)
        yield ev.Trained(0, Stage.BASELINE, values.run(0, seed, BASELINE_METRIC[seed]), None, 4.4)
    yield ev.Note("noise", "the baseline's spread over 3 seeds is 0.34 pp", "info")


def _screen(objective: str) -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.SCREEN, 8)
    for trial in range(1, 9):
        yield ev.TrialStarted(trial, Stage.SCREEN, CANDIDATES[trial])
        if trial == 6:
            message = "XLA could not compile the train function: no algorithm worked for fusion.31"
            failure = Failure(FailureKind.COMPILE, message, "INTERNAL: no algorithm worked")
            yield ev.TrialFailed(trial, Stage.SCREEN, CANDIDATES[trial], failure)
            continue
        timing = TimingVerdict.SLOWER if trial == 1 else TimingVerdict.FASTER
        probe = values.probe(trial)
        gain = values.one_process(SPEEDUP[trial], values.ENERGY_SHARE) if objective == "energy" else None
        found = suspicions(probe)
        yield ev.Probed(trial, Stage.SCREEN, probe, values.one_process(SPEEDUP[trial]), timing, 8.5, gain, found)
        if trial == 1:
            yield ev.TrialJudged(1, TrialState.SLOWER, "0.93 times the baseline's throughput")


def _verify(objective: str) -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.VERIFY, 14)
    for trial, deltas in GATE_DELTA.items():
        for seed, delta in enumerate(deltas):
            yield ev.TrialStarted(trial, Stage.VERIFY, CANDIDATES[trial], seed)
            yield ev.Trained(trial, Stage.VERIFY, values.run(trial, seed, BASELINE_METRIC[seed] + delta), delta, 2.1)
        state = TrialState.REJECTED if trial == 3 else TrialState.PASSED
        mean_pp = sum(deltas) / len(deltas) * 100
        gain = values.over_seeds(2.3, 2) if objective == "time_to_accuracy" and trial != 3 else None
        yield ev.TrialJudged(trial, state, f"mean difference {mean_pp:+.2f} pp, the gate is at -0.50 pp", gain=gain)
    for trial in (2, 7, 8):
        yield ev.TrialJudged(trial, TrialState.DOMINATED, "slower than trial 5, which passed")


def _confirm(winner: bool, objective: str, relative: bool) -> Iterator[ev.Event]:
    yield ev.StageStarted(Stage.CONFIRM, 2)
    yield _compared()
    for seed in NEW_SEEDS:
        yield ev.TrialStarted(0, Stage.CONFIRM, CANDIDATES[0], seed)
        yield ev.Trained(0, Stage.CONFIRM, values.run(0, seed, BASELINE_METRIC[seed]), None, 4.4)
    for number, (trial, deltas) in enumerate((CONFIRM_DELTA if winner else LOST_DELTA).items()):
        for process, (seed, delta) in enumerate(zip(NEW_SEEDS, deltas, strict=True)):
            yield _timed_again(trial, process, 2 + 3 * number + process, objective)
            yield ev.TrialStarted(trial, Stage.CONFIRM, CANDIDATES[trial], seed)
            run = values.run(trial, seed, BASELINE_METRIC[seed] + delta)
            yield ev.Trained(trial, Stage.CONFIRM, run, delta, 2.1)
        yield ev.FinalistConfirmed(values.confirmation(trial, deltas, objective, relative=relative))


def _compared() -> ev.FinalistsCompared:
    """Trial 5's screening was disturbed: its interval reaches into that of trial 4."""
    speedup = Interval(1.18, 1.16, 1.20, 0.95, 12, "Hodges-Lehmann on log ratios of interleaved pairs")
    return ev.FinalistsCompared(
        trial=4,
        other=5,
        probe=values.compared(),
        speedup=speedup,
        verdict=TimingVerdict.FASTER,
        preferred=4,
        reason="it is faster",
        duration_s=6.3,
    )


def _timed_again(trial: int, process: int, worker: int, objective: str) -> ev.Probed:
    probe, ratio = values.confirming(trial, worker), CONFIRMED[trial][1][process]
    bounds = (ratio * 0.99, ratio, ratio * 1.01)
    return ev.Probed(
        trial=trial,
        stage=Stage.CONFIRM,
        probe=probe,
        speedup=values.one_process(bounds),
        timing=TimingVerdict.FASTER,
        duration_s=6.1,
        gain=values.one_process(bounds, values.ENERGY_SHARE) if objective == "energy" else None,
        suspicious=suspicions(probe),
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
        registered=f"cifar_mlp version 3 (alias {'production' if production else 'candidate'})",
    )
