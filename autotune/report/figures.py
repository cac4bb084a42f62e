"""What one trial showed, with the stage that showed it: a confirmed figure replaces the one of an earlier stage."""

from __future__ import annotations

from autotune.record.view import StudyView, TrialView
from autotune.report.objective import Goal
from autotune.trial import Candidate, Effect, Interval, Stage, TrialState, Xla


def effect(trial: TrialView) -> Effect | None:
    """What was in force when it was measured."""
    if trial.probe is not None:
        return trial.probe.effect
    return next((run.effect for runs in trial.runs.values() for run in runs), None)


def xla(trial: TrialView) -> str:
    """`on` or `off` as in force, `on!` where that is not what was asked; `on?` asked for, but not seen in force."""
    asked = trial.candidate.xla
    if (in_force := effect(trial)) is None:
        return f"{asked.value}?"
    text = "on" if in_force.xla else "off"
    return text if asked in (Xla.AUTO, Xla(text)) else f"{text}!"


def policy(trial: TrialView) -> str:
    """The policy with its float32 layers, and `float32 (TF32)` where its matrix products were let run in TF32."""
    in_force = effect(trial)
    tf32 = trial.candidate.policy.is_float32 and in_force is not None and in_force.tf32
    return f"{trial.candidate.policy} (TF32)" if tf32 else str(trial.candidate.policy)


def speed_stage(trial: TrialView) -> Stage | None:
    """The stage that the speed shown comes from."""
    if trial.confirmation is not None and trial.confirmation.speedup is not None:
        return Stage.CONFIRM
    if trial.probe is None:
        return None
    return Stage.BASELINE if trial.is_baseline else Stage.SCREEN


def speedup(trial: TrialView) -> Interval | None:
    """Throughput over the baseline's, confirmed if it was."""
    if trial.confirmation is not None and trial.confirmation.speedup is not None:
        return trial.confirmation.speedup
    return trial.speedup


def gain(view: StudyView, trial: TrialView) -> Interval | None:
    """The objective's ratio to the baseline's, confirmed if it was; `None` where it was not measured."""
    if Goal.of(view).is_throughput:
        return speedup(trial)
    if trial.confirmation is not None and trial.confirmation.gain is not None:
        return trial.confirmation.gain
    return trial.objective_gain


def step_time_ms(trial: TrialView) -> float | None:
    """Median step time [ms], of the same stage as the speedup."""
    if speed_stage(trial) is Stage.CONFIRM and trial.confirmation is not None and trial.confirmation.step_time_ms:
        return trial.confirmation.step_time_ms
    return trial.probe.step_time_ms if trial.probe is not None else None


def examples_per_s(trial: TrialView) -> float | None:
    """Throughput [examples/s], of the same stage as the speedup."""
    step_ms = step_time_ms(trial)
    return None if step_ms is None else trial.candidate.batch_size / step_ms * 1e3


def delta_interval(trial: TrialView) -> Interval | None:
    """The paired accuracy difference with its interval, of the last stage that judged one."""
    if trial.confirmation is not None and trial.confirmation.accuracy is not None:
        return trial.confirmation.accuracy.delta
    if trial.accuracy is None or trial.delta(Stage.CONFIRM) is not None:
        return None  # the gate's interval is not of the later seeds that are shown
    return trial.accuracy.delta


def delta(trial: TrialView) -> float | None:
    """The mean paired accuracy difference, higher is better, of the last stage that trained it, or its twin."""
    if trial.confirmation is not None and trial.confirmation.accuracy is not None:
        return trial.confirmation.accuracy.delta.estimate
    if trial.vouched_by is not None:  # it has no trainings of its own at the gate
        return trial.accuracy.delta.estimate if trial.accuracy is not None else None
    return trial.latest_delta


def judged_on_new_seeds(trial: TrialView) -> bool:
    """Whether the accuracy shown is the confirmation's, and not of the gate's seeds or of some that were begun."""
    return trial.confirmation is not None and trial.confirmation.accuracy is not None


def vouched_by(trial: TrialView) -> int | None:
    """The trial whose trainings the accuracy difference is from, where they are not its own."""
    if judged_on_new_seeds(trial):
        return None
    return trial.vouched_by


def is_winner(view: StudyView, trial: TrialView) -> bool:
    """Whether this candidate is the study's answer; a baseline that stays is not a winner."""
    return view.decided is not None and view.decided.winner == trial.number and not trial.is_baseline


def state(view: StudyView, trial: TrialView) -> str:
    """One word: what has become of the trial."""
    if trial.is_baseline:
        return "failed" if trial.state is TrialState.FAILED else "baseline"
    if is_winner(view, trial):
        return "winner"
    if trial.confirmation is not None:
        if trial.confirmation.succeeded:
            return "confirmed"
        return "failed" if trial.confirmation.failure is not None else "unconfirmed"
    return state_word(trial)


def state_word(trial: TrialView) -> str:
    """The state alone, without what the confirmation or the decision made of it."""
    return trial.state.value if trial.state is not None else "started"


def verdict(view: StudyView, trial: TrialView) -> str:
    """The verdicts, or the failure, or why it was left."""
    confirmation = trial.confirmation
    if confirmation is not None:
        if confirmation.failure is not None:
            return str(confirmation.failure)
        accuracy = confirmation.accuracy.verdict.value if confirmation.accuracy is not None else "not judged"
        goal = Goal.of(view)
        reached = "" if goal.is_throughput else f"{goal.label} {goal.word(confirmation.verdict)}, speed "
        return f"{reached}{confirmation.timing.value}, accuracy {accuracy}"
    if trial.failure is not None and trial.state is TrialState.FAILED:
        return str(trial.failure)
    if trial.reason:
        return trial.reason
    return trial.timing.value if trial.timing is not None else ""


def predicted_step_ms(view: StudyView, candidate: Candidate) -> float | None:
    """What the target's peaks predict [ms]; nothing here was measured on it."""
    return view.predicted_ms.get(candidate)


def predicted_speedup(view: StudyView, candidate: Candidate) -> float | None:
    """Predicted throughput over the baseline's on the target."""
    if view.space is None:
        return None
    own = predicted_step_ms(view, candidate)
    base = predicted_step_ms(view, view.space.baseline)
    if not own or not base:
        return None
    return (candidate.batch_size / own) / (view.space.baseline.batch_size / base)


def predicted_ranking(view: StudyView, most: int = 5) -> list[tuple[Candidate, float, float]]:
    """The target's own ranking: candidate, predicted step time [ms], predicted speedup; fastest first."""
    if view.space is None:
        return []
    found = [
        (one.candidate, one.step_time_ms, ratio)
        for one in view.space.predicted
        if (ratio := predicted_speedup(view, one.candidate)) is not None
    ]
    return sorted(found, key=lambda entry: -entry[2])[:most]
