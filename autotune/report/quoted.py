"""What a confirmation showed, in the words that may be quoted: new seeds, fresh processes, nothing of the screening."""

from __future__ import annotations

from autotune.record.events import FinalistsCompared
from autotune.record.view import StudyView, TrialView
from autotune.report import blocks, phrases, training
from autotune.report.measure import Measure
from autotune.report.objective import Goal
from autotune.report.reached import sizes
from autotune.trial import Accuracy, Confirmation, Interval

INPUT_BOUND = 0.2
"""A pipeline's share of a step from which on a faster step is mostly waiting for its input."""

Rows = list[tuple[str, str]]


def confirmed(view: StudyView, trial: TrialView) -> Rows:
    """The objective first, then speed, metric, learning and recipe, as far as they were confirmed."""
    confirmation = trial.confirmation
    if confirmation is None:
        return []
    measure, goal = Measure.of(view), Goal.of(view)
    rows: Rows = []
    if not goal.is_throughput and confirmation.gain is not None:
        rows.append((goal.label, _gain(goal, trial, confirmation, confirmation.gain)))
    if confirmation.speedup is not None:
        rows.append(("speed", _speed(confirmation, confirmation.speedup)))
    share = blocks.pipeline_share(trial)
    if share is not None and share.low > INPUT_BOUND:
        rows.append(("input", f"{pipeline(share, 'a step')}, so that a faster pipeline would pay"))
    if confirmation.accuracy is not None:
        rows.append((measure.name, _accuracy(view, measure, confirmation, confirmation.accuracy)))
    if (learned := training.end_to_end(measure, confirmation)) is not None:
        rows.append(("end to end", learned))
    rows.append(("recipe", f"{phrases.at_recipe(confirmation.recipe)}; the verdict speaks of nothing else"))
    return rows


def shortfall(view: StudyView, confirmation: Confirmation) -> str:
    """What a finalist that was not confirmed showed, in one line."""
    if confirmation.failure is not None:
        return f"failed, {phrases.one_line(str(confirmation.failure))}"
    measure, goal = Measure.of(view), Goal.of(view)
    speed = phrases.speedup(confirmation.speedup) if confirmation.speedup is not None else "not timed"
    text = f"{confirmation.timing.value} {speed}"
    if not goal.is_throughput:
        gain = phrases.speedup(confirmation.gain) if confirmation.gain is not None else "not measured"
        text = f"{goal.label} {goal.word(confirmation.verdict)} {gain}; speed {text}"
    accuracy = confirmation.accuracy
    if accuracy is None:
        text += f", {measure.name} not judged"
    else:
        text += (
            f"; {measure.name} {accuracy.verdict.value} {measure.delta_interval(accuracy.delta)}{measure.orientation}"
        )
        text += f" at a margin of {measure.allowance(accuracy.margin)}{_needed(accuracy)}"
    learned = confirmation.time_to_accuracy
    if learned is not None and (missed := training.not_reached(learned)):
        text += f"; float32's {measure.name} within the margin not reached on {missed} of {len(learned.seeds)} seeds"
    return text


def pipeline(share: Interval, step: str) -> str:
    """`the input pipeline takes 7 % [5, 9] of a step: compute-bound`."""
    bound = "too uncertain to call"
    if share.low > INPUT_BOUND:
        bound = "input-bound"
    elif share.high < INPUT_BOUND:
        bound = "compute-bound"
    return f"the input pipeline takes {percent_of_step(share)} of {step}: {bound}"


def percent_of_step(found: Interval) -> str:
    """`7 % [5, 9]`, of a step."""
    low, middle, high = (round(value * 100) for value in (found.low, found.estimate, found.high))
    return f"{middle} % [{low}, {high}]"


def compared(view: StudyView) -> list[str]:
    """Finalists that screening could not tell apart: how each pair compared, and which one was confirmed first."""
    return [comparison(found) for found in view.comparisons]


def comparison(found: FinalistsCompared) -> str:
    """`trial 6 against trial 5 in one process: 1.01x [0.99, 1.03] SAME: trial 5 goes first, ...`."""
    text = f"trial {found.trial} against trial {found.other} in one process: {phrases.speedup(found.speedup)}"
    return f"{text} {found.verdict.value}: trial {found.preferred} goes first, {phrases.one_line(found.reason)}"


def _gain(goal: Goal, trial: TrialView, confirmation: Confirmation, gain: Interval) -> str:
    text = f"{phrases.speedup(gain)} ({phrases.level(gain)}, {gain.method}), {goal.word(confirmation.verdict)}"
    if (found := sizes(goal, trial)) is not None:
        own, base = map(phrases.three_digits, found)
        text += f"; {own} {goal.unit} against {base} {goal.unit}"
    return text


def _speed(confirmation: Confirmation, interval: Interval) -> str:
    each = ", ".join(f"{ratio:.2f}" for ratio in confirmation.per_process)
    text = f"{phrases.speedup(interval)} ({phrases.level(interval)}, {interval.method}: {each})"
    text += f", {confirmation.timing.value}"
    if confirmation.step_time_ms and confirmation.baseline_step_time_ms:
        rate = confirmation.candidate.batch_size / confirmation.step_time_ms * 1e3
        own, base = map(phrases.three_digits, (confirmation.step_time_ms, confirmation.baseline_step_time_ms))
        text += f"; {rate:,.0f} examples/s, {own} ms/step against {base} ms/step"
    return text


def _accuracy(view: StudyView, measure: Measure, confirmation: Confirmation, accuracy: Accuracy) -> str:
    # One seed in ten that collapses is what no interval over three can show: the worst is told beside it.
    worst = measure.delta(min(accuracy.deltas))
    text = f"{measure.delta_interval(accuracy.delta)}{measure.orientation} over {len(accuracy.seeds)} new paired seeds"
    text += f" ({phrases.level(accuracy.delta)}; the worst seed {worst}), {accuracy.verdict.value} at a margin of"
    text += f" {measure.allowance(accuracy.margin)}{_needed(accuracy)}"
    text += f": {measure.value(confirmation.metric)} against {measure.value(confirmation.baseline_metric)}"
    if accuracy.sampling_error is not None:
        examples = f" of {view.worker.data.validation:,}" if view.worker is not None else ""
        text += f"; the validation part{examples} adds a sampling error of {measure.size(accuracy.sampling_error)},"
        text += " not in the interval"
    return text


def _needed(accuracy: Accuracy) -> str:
    """Seeds in all, those that it has had included."""
    return f" (about {accuracy.seeds_needed} seeds in all would decide it)" if accuracy.seeds_needed else ""
