"""Why a trial's steps are as fast as they are, in clauses of measured facts, the most telling first."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from autotune.decide import pipeline
from autotune.explain.ablation import Factor, factor, is_timed
from autotune.explain.recorded import device_choices
from autotune.explain.roofline import Rates, least_ms, rates, step_flops, step_ms
from autotune.explain.settings import changed, settings_of
from autotune.record.events import BASELINE_TRIAL
from autotune.record.view import StudyView, TrialView
from autotune.trial import Candidate

_PARTS: dict[float, str] = {2: "half", 3: "a third", 4: "a quarter", 8: "an eighth", 16: "a sixteenth"}

_NO_GAIN = 1.02
"""A change that gains less is not worth having; the threshold of FASTER."""

# A step that is less than this of its products gains little from faster ones.
_FEW = 0.3

# Products that are faster by less than this leave nothing once their casts are paid for.
_NOT_FASTER = 1.1


def causes(view: StudyView, trial: TrialView) -> list[str]:
    """Clauses on a trial that was timed; of the baseline, what its step waits for."""
    if trial.probe is None:
        return []
    if trial.is_baseline:
        return list(_of_baseline(view, trial))
    if view.baseline is None:
        return []
    names = changed(settings_of(view.baseline), settings_of(trial))
    alone = _alone(view, trial)
    policy = list(_policy(view, trial, alone.get("policy"))) if "policy" in names else []
    calls = list(_calls(trial, view.baseline))
    told = policy + calls if _is_slow(trial, alone.get("policy")) else [*calls[:1], *policy, *calls[1:]]
    for name, step in alone.items():
        told += _told_alone(trial, name, step)
    told += [*_widths(trial, view.baseline), *_reached(view, trial)]
    if not told and names:
        told.append(f"{' and '.join(names)} changed together, and no trial shows one alone")
    return told


def fraction(times: float) -> str:
    """`a quarter of` for 4 times fewer, `2 times` for half as few."""
    if times < 1:
        return f"{1 / times:.3g} times"
    return f"{_PARTS.get(times, f'1/{times:.3g}')} of"


def percent(share: float) -> str:
    """`31%`, `2.4%` where it is small, and never a whole that is none."""
    if 0.995 <= share < 1:
        return "over 99%"
    return f"{share:.0%}" if share >= 0.0995 or share == 0 else f"{share * 100:.2g}%"


def share_of_peak(trial: TrialView, found: Rates | None) -> float | None:
    """Time of its FLOPs at the device's full rates over its step's, 0 to 1; None where either is not known."""
    took_ms = step_ms(trial)
    fastest_ms = None if found is None else least_ms(step_flops(trial), found.profile)
    return None if fastest_ms is None or not took_ms else fastest_ms / took_ms


def _alone(view: StudyView, trial: TrialView) -> dict[str, Factor]:
    """By setting: against the first trial that differs in nothing else, and where it is as the baseline's."""
    baseline = view.baseline
    if baseline is None or not is_timed(trial):
        return {}
    here, own = settings_of(trial), settings_of(baseline)
    found: dict[str, Factor] = {}
    for other in view.trials.values():  # the baseline is the first
        if not _near(trial.candidate, other.candidate) or not (other is baseline or is_timed(other)):
            continue
        there = settings_of(other)
        names = changed(there, here)
        if len(names) == 1 and names[0] not in found and there[names[0]] == own[names[0]]:
            found[names[0]] = factor(trial, other)
    return found


def _near(one: Candidate, other: Candidate) -> bool:
    """Whether they may differ in one setting: most trials of a large study do not come near one another."""
    return (
        (one.batch_size != other.batch_size)
        + (one.steps_per_execution != other.steps_per_execution)
        + (one.policy != other.policy)
        + (one.widths != other.widths)
    ) < 2


def _is_slow(trial: TrialView, alone: Factor | None) -> bool:
    """Whether reduced precision gained nothing: alone where that was measured, else all together."""
    if trial.candidate.policy.is_float32:
        return False
    if alone is not None:
        return alone.ratio < _NO_GAIN
    return trial.speedup is not None and trial.speedup.estimate < _NO_GAIN


def _calls(trial: TrialView, baseline: TrialView) -> Iterator[str]:
    """What a larger batch and more steps a call save, and what a step then takes."""
    own, reference = trial.candidate, baseline.candidate
    more = own.batch_size / reference.batch_size
    calls = more * own.steps_per_execution / reference.steps_per_execution
    steps = f"{own.steps_per_execution} steps a call"
    if more == 1:
        if calls != 1:
            yield f"{steps} need {fraction(calls)} the calls"
        return
    text = f"batch {own.batch_size} needs {fraction(more)} the steps"
    if (longer := _step_ratio(trial)) is not None:
        text += f", each {longer:.2f}x as long"
    yield text
    if calls not in (more, 1):
        yield f"with {steps} {fraction(calls)} the calls"


def _step_ratio(trial: TrialView) -> float | None:
    """Its step time over the baseline's beside it, as confirmed if it was; of what was given up, nothing is quoted."""
    confirmed, probe = trial.confirmation, trial.probe
    if confirmed is not None and confirmed.step_time_ms and confirmed.baseline_step_time_ms:
        return confirmed.step_time_ms / confirmed.baseline_step_time_ms
    if probe is None or not probe.baseline_step_ms or probe.hopeless_below is not None:
        return None
    return probe.step_time_ms / statistics.median(probe.baseline_step_ms)


def _policy(view: StudyView, trial: TrialView, alone: Factor | None) -> Iterator[str]:
    assert trial.probe is not None
    effect, dtype = trial.probe.effect, trial.candidate.policy.compute_dtype
    told = "FLOPs" if effect.is_traced else "FLOPs (declared)"
    text = f"{percent(effect.share_16bit)} of {told} in {dtype}"
    if alone is not None and alone.against != BASELINE_TRIAL:
        text += f", alone {alone.ratio:.2f}x (over trial {alone.against})"
    float32 = view.trials[alone.against if alone is not None else BASELINE_TRIAL]
    reasons = list(_why_not_faster(view, trial, float32)) if _is_slow(trial, alone) else []
    # Of one that was given up the line is half full already, and its reason is what a person asks for.
    yield from [*reasons, text] if trial.probe.hopeless_below is not None else [text, *reasons]


def _why_not_faster(view: StudyView, trial: TrialView, float32: TrialView) -> Iterator[str]:
    """What keeps reduced precision from gaining: products that are not faster, or a step that is not products.

    Args:
        view: the study.
        trial: in 16 bit.
        float32: the same in float32, or the baseline.
    """
    assert view.started is not None
    dtype, found = trial.candidate.policy.compute_dtype, rates(view)
    own, full = (found.profile.peak_tflops(name) if found else None for name in (dtype, "float32"))
    refused = [
        choice.reason
        for choice in device_choices(view.started)
        if choice.policy == trial.candidate.policy.name and not choice.offered
    ]
    if found is not None and found.measured and own and full and own < _NOT_FASTER * full:
        yield f"{dtype} products at {own / full:.2f}x float32's rate, measured here"
    elif refused:
        yield f"no fast {dtype} here: {refused[0]}"
    if found is not None and (share := share_of_peak(float32, found)) is not None:
        yield f"at {_rate(found)} float32's products are {'only ' * (share < _FEW)}{percent(share)} of its step"
    baseline = view.baseline
    if baseline is not None and (waits := _input_share(baseline)) is not None and waits > _FEW:
        yield f"the baseline waits for its input {percent(waits)} of a step, measured"


def _told_alone(trial: TrialView, name: str, found: Factor) -> Iterator[str]:
    """What a setting gained by itself, if no other clause says it."""
    told = f"{name} {settings_of(trial).text(name)}"
    if found.against != BASELINE_TRIAL:
        if name != "policy":
            yield f"{told} alone {found.ratio:.2f}x (over trial {found.against})"
    elif name not in ("policy", "batch", "steps per execution"):
        yield f"{told} is all that differs from the baseline"


def _widths(trial: TrialView, baseline: TrialView) -> Iterator[str]:
    own, other = (_flops_per_example(one) for one in (trial, baseline))
    if trial.candidate.widths != baseline.candidate.widths and own and other:
        yield f"widths {settings_of(trial).text('widths')} take {own / other:.2f}x the FLOPs an example"


def _flops_per_example(trial: TrialView) -> float | None:
    flops = sum(step_flops(trial).values())
    return flops / trial.candidate.batch_size if flops else None


def _reached(view: StudyView, trial: TrialView) -> Iterator[str]:
    """How near the products come to the device's rate, beside the baseline's."""
    if trial.probe is not None and trial.probe.hopeless_below is not None:
        return
    found = rates(view)
    own = share_of_peak(trial, found)
    other = share_of_peak(view.baseline, found) if view.baseline is not None else None
    if found is not None and own is not None and other is not None:
        yield f"products reach {percent(own)} of the {_peak(found)}, the baseline's {percent(other)}"


def _of_baseline(view: StudyView, trial: TrialView) -> Iterator[str]:
    found = rates(view)
    if found is not None and (share := share_of_peak(trial, found)) is not None:
        yield f"at {_rate(found)} its products are {percent(share)} of a step"
    if (waits := _input_share(trial)) is not None:
        what = f"{percent(waits)} of a step" if waits > 0 else "no time that could be told from 0"
        yield f"its input takes {what}, measured"


def _input_share(trial: TrialView) -> float | None:
    """Share of a step that its batch is waited for, 0 to 1; None where that was not measured."""
    timed = trial.probe.pipeline if trial.probe is not None else None
    found = pipeline.share(timed) if timed is not None else None
    return None if found is None else max(0.0, found.estimate)


def _rate(found: Rates) -> str:
    return "the measured rate" if found.measured else "the published rate"


def _peak(found: Rates) -> str:
    return "measured peak" if found.measured else "published peak"
