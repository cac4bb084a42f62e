"""One study, in order: baseline, screen, verify, confirm, decide. What it finds is in the record."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from autotune.config.objective import Objective
from autotune.errors import UserError
from autotune.hardware.policies import offered, policy_choices
from autotune.hardware.roofline import predict_step_time_ms
from autotune.record.events import BASELINE_TRIAL, SpacePlanned, StudyDecided, TrialJudged
from autotune.record.view import TrialView
from autotune.space.build import build_space, optimizer_slots
from autotune.space.space import Space
from autotune.study.baseline import probe_baseline, train_baseline
from autotune.study.confirm import confirm
from autotune.study.context import StudyContext
from autotune.study.front import search_front
from autotune.study.prior import listed, told_of_works, unknown_layers, works_of
from autotune.study.screen import Screening, screen
from autotune.study.verify import Verification
from autotune.trial import Candidate, Confirmation, Policy, Predicted, TrialState, Xla

# What a final state says of a candidate. One that was skipped may have been trained, or may have passed the gate.
_SHOWN: dict[TrialState | None, str] = {
    TrialState.SLOWER: "not faster than the baseline",
    TrialState.REJECTED: "less accurate",
    TrialState.FAILED: "failed",
    TrialState.DOMINATED: "dominated",
}
_LEFT = "not confirmed"


def plan_study(context: StudyContext, accelerator: str) -> Space:
    """Probe the baseline, plan the fidelity, and record the space: all that `task=plan` does."""
    probe_baseline(context, accelerator)
    assert context.baseline_probe is not None
    space = build_space(
        context.config, context.device, context.target, context.baseline_probe, context.fidelity, context.data
    )
    _note_no_bound(context)
    predicted, note = _predictions(context, space)
    context.record.append(SpacePlanned(space.summary(), context.baseline, predicted, note))
    return space


def _note_no_bound(context: StudyContext) -> None:
    """Say so when no batch can be told to be too large before it has failed."""
    assert context.baseline_probe is not None
    names = [layer.name for layer in context.baseline_probe.effect.layers if layer.activations_per_example is None]
    if names:
        text = f"memory bounds no batch beforehand: what layers put out is not known ({listed(names)})"
        context.note("memory", text)


def run_study(context: StudyContext, accelerator: str) -> None:
    """The whole study. It ends with a `StudyDecided`, also when it is interrupted.

    Raises:
        UserError: the baseline cannot be used.
        KeyboardInterrupt: after everything that was measured has been decided upon and recorded.
    """
    screening = None
    try:
        space = plan_study(context, accelerator)
        train_baseline(context)
        if context.config.objective.name is Objective.pareto:
            search_front(context, space)
        else:
            screening = screen(context, space)
        winner = _find_winner(context, screening)
    except UserError:
        _close(screening)
        raise
    except KeyboardInterrupt:
        _close(screening)
        _finish_trials(context)
        _decide(context, _confirmed(context), interrupted="interrupt")
        raise
    _close(screening)
    _decide(context, winner, interrupted=None)


def _close(screening: Screening | None) -> None:
    """Told at the end: what accuracy has taken out of the running makes others worth measuring until then."""
    if screening is not None:
        screening.close()


def _find_winner(context: StudyContext, screening: Screening | None) -> int:
    """The first candidate that passes the gate and is then confirmed, or the baseline.

    No more verdicts are looked at than the error level was shared among.
    """
    verification, verdicts, most = Verification(context, screening), 0, context.config.search.finalists
    reason = f"search.finalists={most} verdicts were looked at, and the error level is used"
    while verdicts < most:
        trial = verification.next()
        if trial is None:
            break
        found = confirm(context, trial)
        if found.confirmation.succeeded:
            verification.close(f"trial {trial.number} was confirmed")
            return trial.number
        verdicts += found.is_verdict
        if found.ended is not None:
            reason = found.ended
            break
    verification.close(reason)
    return BASELINE_TRIAL


def _finish_trials(context: StudyContext) -> None:
    """Give every trial a final state after an interruption, the one that was being measured among them."""
    for trial in list(context.view.trials.values()):
        if trial.state in (None, TrialState.SCREENED):
            context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, "the study was interrupted"))


def _confirmed(context: StudyContext) -> int:
    """The trial that was confirmed before an interruption, or the baseline."""
    return next((c.trial for c in context.view.confirmations if c.succeeded), BASELINE_TRIAL)


def _decide(context: StudyContext, winner: int, interrupted: str | None) -> None:
    _note_target(context, winner)
    reason = _why_winner(context, winner) if winner != BASELINE_TRIAL else _why_none(context, interrupted)
    context.record.append(StudyDecided(winner, reason, interrupted, context.budget.elapsed_s))


def _note_target(context: StudyContext, winner: int) -> None:
    """Say so when the winner's policy is one that the absent target would not be offered."""
    started = context.view.started
    if winner == BASELINE_TRIAL or started is None or started.on_target:
        return
    policy = context.view.trials[winner].candidate.policy.name
    for choice in policy_choices(context.target):
        if choice.policy == policy and not choice.offered:
            text = f"{policy} won on this device, but would not be offered on {context.target.title}: {choice.reason}"
            context.note("off_target", text, "warning")


def _why_winner(context: StudyContext, winner: int) -> str:
    confirmation = next(c for c in context.view.confirmations if c.trial == winner)
    assert confirmation.gain is not None
    assert confirmation.accuracy is not None
    return (
        f"x{confirmation.gain.estimate:.2f} the baseline's {_what(confirmation)}, and not less accurate within"
        f" {confirmation.accuracy.margin:g} on {len(confirmation.accuracy.seeds)} new seeds"
    )


def _what(confirmation: Confirmation) -> str:
    """Of what the gain is a multiple."""
    names = {
        Objective.pareto.value: "throughput",
        Objective.energy.value: "examples per joule",
        Objective.memory.value: "memory efficiency",
        Objective.time_to_accuracy.value: "speed to float32's accuracy",
    }
    return names.get(confirmation.objective, confirmation.objective)


def _why_none(context: StudyContext, interrupted: str | None) -> str:
    if interrupted:
        return "stopped before a faster candidate was confirmed, so the baseline stays"
    if context.view.confirmations:
        return "; ".join(_why_not_confirmed(c) for c in context.view.confirmations)
    candidates = [trial for trial in context.view.trials.values() if not trial.is_baseline]
    if not candidates:
        return "the space holds nothing but the baseline"
    return _why_no_finalist(candidates)


def _why_not_confirmed(confirmation: Confirmation) -> str:
    if confirmation.failure is not None:
        return f"trial {confirmation.trial} failed when it was confirmed ({confirmation.failure})"
    what = "time" if Objective(confirmation.objective).is_of_throughput else confirmation.objective
    text = f"trial {confirmation.trial} was {confirmation.verdict.value} in {what}"
    if confirmation.accuracy is None:
        return f"{text}, and its accuracy was not judged"
    text += f" and {confirmation.accuracy.verdict.value} in accuracy"
    if confirmation.accuracy.seeds_needed:
        text += f" (about {confirmation.accuracy.seeds_needed} seeds in all would decide it)"
    return text


def _why_no_finalist(candidates: list[TrialView]) -> str:
    """What each was shown to be; one that was left for another reason, trained or not, may be both."""
    words = Counter(_SHOWN.get(trial.state, _LEFT) for trial in candidates)
    told = ", ".join(f"{words[word]} {word}" for word in (*_SHOWN.values(), _LEFT) if words[word])
    return f"of {len(candidates)} candidates none was shown to be both faster and as accurate: {told}"


def _predictions(context: StudyContext, space: Space) -> tuple[tuple[Predicted, ...], str]:
    """The target's own step times by roofline, over this space and over the policies that the target itself offers."""
    assert context.baseline_probe is not None
    works = works_of(context.baseline_probe)
    if works is None:
        names = listed(unknown_layers(context.baseline_probe.effect))
        return (), f"nothing is predicted for {context.target.title}: the work of layers is not known ({names})"
    beside = told_of_works(context.baseline_probe)
    slots = optimizer_slots(context.config)
    predicted, note = [], f"peak rates of {context.target.title} are not known"
    for candidate in dict.fromkeys([context.baseline, *space.candidates(), *_target_candidates(context, space)]):
        found = predict_step_time_ms(
            context.target,
            works,
            candidate.policy.name,
            candidate.micro_batch,
            optimizer_slots=slots,
            tf32=candidate.tf32 is not False,
        )
        if found is not None:
            predicted.append(Predicted(candidate, found.step_time_ms * candidate.accumulation))
            note = "; ".join(filter(None, ("a plain roofline", *found.assumptions, beside)))
    return tuple(predicted), note


def _target_candidates(context: StudyContext, space: Space) -> list[Candidate]:
    """What the target would be offered but this device is not: its own policies at the user's widths."""
    if context.target.name == context.device.profile.name:
        return []
    return [
        replace(context.baseline, policy=Policy(name), batch_size=batch, xla=Xla.OFF)
        for name in offered(policy_choices(context.target))
        for batch in space.batch_sizes
    ]
