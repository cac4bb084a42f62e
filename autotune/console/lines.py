"""The text of one event as one plain line: stage, trial, then figures with their units, in columns."""

from __future__ import annotations

from collections.abc import Callable

from autotune.printable import printable
from autotune.record import events as ev
from autotune.record.view import StudyView
from autotune.report import figures, phrases, quoted
from autotune.report.measure import UNKNOWN, Measure
from autotune.report.objective import Goal
from autotune.trial import Candidate
from autotune.trial.harm import most_harmful_first

Line = tuple[str, str, str]
"""What it is about (a stage or a heading), which trial, and the text."""

_POLICY_COLUMNS = 14  # mixed_bfloat16
_HARMFUL = 5  # layers whose harm is told


def lines_of(event: ev.Event, view: StudyView) -> list[Line]:
    """The lines of one event; none for what is not worth reading. `view` has already taken the event."""
    write = _WRITERS.get(type(event))
    return [(about, trial, printable(text)) for about, trial, text in write(event, view)] if write else []


def _started(event: ev.StudyStarted, view: StudyView) -> list[Line]:
    where = phrases.place(event.device)
    if not event.on_target:
        where += f" (OFF TARGET: {phrases.place(event.target)} was asked for)"
    return [("study", "", f"{phrases.model_name(view)} on {where}, writing to {event.output_dir}")]


def _resumed(event: ev.StudyResumed, view: StudyView) -> list[Line]:
    trainings = sum(len(runs) for trial in view.trials.values() for runs in trial.runs.values())
    measured = f"{len(view.trials)} trials and {trainings} trainings"
    text = f"goes on after {phrases.clock(event.elapsed_s)} with {measured} of earlier sessions"
    return [("resumed", "", text), *(("changed", "", change) for change in event.changed)]


def _worker(event: ev.WorkerReady, view: StudyView) -> list[Line]:
    facts, data = event.facts, event.data
    versions = ", ".join(
        f"{name} {version}" for name, version in facts.versions.items() if name in ("tensorflow", "keras")
    )
    text = f"ready on {facts.accelerator} after {facts.import_s:.1f} s ({versions})"
    lines = [("worker", f"{event.worker}", text)]
    if view.worker is event:  # the data is the same in every later one
        sizes = f"{data.train:,} training, {data.validation:,} validation, {data.test:,} test examples"
        why = f" (STAND-IN: {data.stand_in})" if data.stand_in else ""
        lines.append(("data", "", f"{data.name}: {sizes}{why}"))
    return lines


def _note(event: ev.Note, _view: StudyView) -> list[Line]:
    return [("WARNING" if event.level == "warning" else "note", "", event.text)]


def _space(event: ev.SpacePlanned, view: StudyView) -> list[Line]:
    space = event.space
    text = f"{space.size} candidates: {', '.join(space.policies)}; batch {', '.join(map(str, space.batch_sizes))}"
    text += "".join(f"; {name} {', '.join(values)}" for name, values in phrases.searched_further(space))
    lines = [("space", "", text), *(("left out", "", f"{left.what}: {left.reason}") for left in space.left_out)]
    for candidate, step_ms, ratio in figures.predicted_ranking(view, most=3):
        figure = f"{candidate}: {step_ms:.2f} ms/step, {ratio:.2f}x on the target"
        lines.append(("predicted", "", f"{figure}: PREDICTED by a roofline, not measured"))
    return lines


def _fidelity(event: ev.FidelityPlanned, _view: StudyView) -> list[Line]:
    shares = ", ".join(f"{stage} {share_s:.0f} s" for stage, share_s in event.shares_s.items())
    text = f"{event.recipe}, about {event.baseline_train_s:.1f} s per baseline training; {shares}"
    return [("plan", "", text), *(("plan", "", reason) for reason in event.reasons)]


def _stage(event: ev.StageStarted, _view: StudyView) -> list[Line]:
    return [(event.stage.value, "", f"begins, at most {event.planned} to do")]


def _probed(event: ev.Probed, view: StudyView) -> list[Line]:
    probe = event.probe
    text = f"{_settings(probe.candidate, view)}  {phrases.three_digits(probe.step_time_ms):>6} ms/step"
    text += f"  {probe.examples_per_s:>10,.0f} examples/s"
    if event.gain is not None:
        text += f"  {Goal.of(view).label} {phrases.speedup(event.gain)}"
    if event.speedup is not None:
        text += f"{', speed' if event.gain is not None else ' '} {phrases.speedup(event.speedup)}"
    if event.timing is not None:
        text += f" {event.timing.value}"
    if probe.hopeless_below is not None:
        text += f"  (given up after {len(probe.block_step_ms)} pairs: clearly below {probe.hopeless_below:.2f}x)"
    if event.suspicious:
        text += f"  ({len(event.suspicious)} of {len(probe.block_step_ms)} pairs disturbed, counted all the same)"
    return [(event.stage.value, f"{event.trial}", text)]


def _trained(event: ev.Trained, view: StudyView) -> list[Line]:
    measure, run = Measure.of(view), event.run
    text = f"seed {run.seed:<4} {measure.name} {measure.value(run.metric)}"
    if run.stopped is not None:
        seen = next((point.metric for point in run.curve if point.epoch == run.stopped.epoch), None)
        text = (
            f"seed {run.seed:<4} stopped early after epoch {run.stopped.epoch} of {run.recipe.epochs}: {measure.name}"
            f" {measure.value(seen)}, worse than {measure.value(run.stopped.metric)}"
        )
    if event.delta is not None:
        text += f"  difference {measure.delta(event.delta)}{measure.orientation}"
    text += f"  in {event.duration_s:.1f} s"
    if run.skipped_steps:
        text += f"  ({run.skipped_steps} of {run.asked_steps} steps skipped by the loss scaler)"
    return [(event.stage.value, f"{event.trial}", text)]


def _failed(event: ev.TrialFailed, view: StudyView) -> list[Line]:
    return [(event.stage.value, f"{event.trial}", f"{_settings(event.candidate, view)}  FAILED {event.failure}")]


def _judged(event: ev.TrialJudged, view: StudyView) -> list[Line]:
    stage = view.stage.stage.value if view.stage is not None else ""
    return [(stage, f"{event.trial}", f"{event.state.value}: {event.reason}")]


def _harm(event: ev.HarmMeasured, view: StudyView) -> list[Line]:
    if event.failure is not None:
        return []  # a note says so
    harms = most_harmful_first(event.layers)[:_HARMFUL]
    worst = ", ".join(f"{harm.layer} {'not finite' if harm.error is None else f'{harm.error:.2g}'}" for harm in harms)
    stage = view.stage.stage.value if view.stage is not None else ""
    name = event.candidate.policy.name
    text = f"harm of each layer alone in {name}, relative error of the gradient: {worst or 'none'}"
    return [(stage, f"{event.trial}", text)]


def _compared(event: ev.FinalistsCompared, view: StudyView) -> list[Line]:
    stage = view.stage.stage.value if view.stage is not None else ""
    return [(stage, f"{event.trial}", quoted.comparison(event))]


def _confirmed(event: ev.FinalistConfirmed, view: StudyView) -> list[Line]:
    result = event.confirmation
    if result.failure is not None:
        return [("confirm", f"{result.trial}", f"FAILED {result.failure}")]
    measure, goal = Measure.of(view), Goal.of(view)
    speed = phrases.speedup(result.speedup) if result.speedup is not None else UNKNOWN
    processes = len(result.per_process)
    text = f"{result.timing.value} {speed} over {processes} fresh process{'es' if processes != 1 else ''}"
    if not goal.is_throughput:
        gain = phrases.speedup(result.gain) if result.gain is not None else UNKNOWN
        text = f"{goal.label} {goal.word(result.verdict)} {gain}; speed {text}"
    if result.accuracy is not None:
        delta = f"{measure.delta_interval(result.accuracy.delta)}{measure.orientation}"
        text += f"; {measure.name} {result.accuracy.verdict.value} {delta} over {len(result.accuracy.seeds)} new seeds"
    return [("confirm", f"{result.trial}", text)]


def _decided(event: ev.StudyDecided, _view: StudyView) -> list[Line]:
    early = f" (ended early: {event.interrupted})" if event.interrupted else ""
    return [("decided", "", f"{event.reason}{early}")]


def _exported(event: ev.Exported, _view: StudyView) -> list[Line]:
    return [("export", f"{event.trial}", f"{event.folder}, alias {event.alias_told}")]


def _sink_failed(event: ev.SinkFailed, _view: StudyView) -> list[Line]:
    return [("WARNING", "", f"{event.sink} did not take everything, the local record does: {event.message}")]


def _settings(candidate: Candidate, view: StudyView) -> str:
    choices = view.space.space.widths if view.space is not None else ()
    room = max((len("-".join(map(str, widths))) for widths in choices), default=1)
    return (
        f"{candidate.policy!s:<{_POLICY_COLUMNS}} batch {candidate.batch_size:<5} XLA {candidate.xla.value:<4}"
        f" widths {phrases.widths(candidate) or UNKNOWN:<{room}} steps/call {candidate.steps_per_execution:<3}"
        + (f" {phrases.further(candidate)}" if candidate.further else "")
    )


_WRITERS: dict[type, Callable[..., list[Line]]] = {
    ev.StudyStarted: _started,
    ev.StudyResumed: _resumed,
    ev.WorkerReady: _worker,
    ev.Note: _note,
    ev.SpacePlanned: _space,
    ev.FidelityPlanned: _fidelity,
    ev.StageStarted: _stage,
    ev.Probed: _probed,
    ev.Trained: _trained,
    ev.TrialFailed: _failed,
    ev.TrialJudged: _judged,
    ev.HarmMeasured: _harm,
    ev.FinalistsCompared: _compared,
    ev.FinalistConfirmed: _confirmed,
    ev.StudyDecided: _decided,
    ev.Exported: _exported,
    ev.SinkFailed: _sink_failed,
}
