"""The study's trials on a roofline: what the device can do at most, and what each trial's step reached of it.

    reached     = FLOPs of the traced step / its measured time
    FLOP/byte   = those FLOPs / bytes that its layers move when each pass reads and writes once
    roof        = the lower of the rate of its dtypes and of bandwidth x FLOP/byte

FLOPs are those of the trial's own step. Bytes are worked out from the anatomy of the studied model, grown to the
trial's batch, so they are known for the user's own widths only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from autotune.explain.costs import layer_costs
from autotune.explain.forecast import Forecaster, with_rates
from autotune.explain.recorded import bare_device, device_profile
from autotune.explain.recurrent import on_target
from autotune.hardware.profile import Profile
from autotune.record.view import StudyView, TrialView
from autotune.trial import Effect

_DTYPES = ("float32", "tf32", "bfloat16", "float16")


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The highest rate of one dtype.

    Attributes:
        dtype: of the products' operands; `tf32` is how a GPU may run float32.
        tflops: [TFLOP/s].
        source: measured on this machine, or published.
    """

    dtype: str
    tflops: float
    source: str


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """What a trial's training step reached.

    Attributes:
        trial: its number.
        dtype: of the ceiling above it: that of most of its FLOPs.
        flop_per_byte: of its step.
        tflops: reached [TFLOP/s].
        share: of the roof at that FLOP/byte, 0 to 1; above 1 where caches hold what bandwidth is reckoned for; None
            where the roof is not known.
    """

    trial: int
    dtype: str
    flop_per_byte: float
    tflops: float
    share: float | None


@dataclass(frozen=True, slots=True)
class Roofline:
    """Ceilings of the device that measured, and the points below them.

    Attributes:
        bandwidth_gb_s: [GB/s]; None where it is not known.
        bandwidth_source: as for a ceiling; empty where it is not known.
    """

    ceilings: tuple[Ceiling, ...]
    bandwidth_gb_s: float | None
    bandwidth_source: str
    points: tuple[RooflinePoint, ...]


def measured_roofline(view: StudyView) -> Roofline | None:
    """The roofline of the device that measured; None where it has no rate that is known, or no trial a point."""
    found = rates(view)
    points = () if found is None or not found.ceilings else tuple(_points(view, found))
    if found is None or not points:
        return None
    bandwidth_gb_s = found.profile.bandwidth_gb_s
    return Roofline(found.ceilings, bandwidth_gb_s, "" if bandwidth_gb_s is None else found.source, points)


@dataclass(frozen=True, slots=True)
class Rates:
    """What the device that measured can do.

    Attributes:
        profile: with these rates.
        source: where they are from.
        measured: whether they were measured on this machine.
    """

    profile: Profile
    ceilings: tuple[Ceiling, ...]
    source: str
    measured: bool


def rates(view: StudyView) -> Rates | None:
    """As measured at the end of the study where it was, else as published; None where the device is not known.

    What was measured and then refuted by a trial that was faster is not used.
    """
    if view.started is None:
        return None
    profile = device_profile(view.started) or bare_device(view.started)
    if profile is None:
        return None
    calibration = view.inspected.anatomy.calibration if view.inspected and view.inspected.anatomy else None
    source = f"published for {profile.title}"
    if calibration is not None and not _refuted(view, calibrated := with_rates(profile, calibration)):
        profile, source = calibrated, "measured on this machine at the end of the study"
    else:
        calibration = None
    known = [(dtype, peak) for dtype in _DTYPES if (peak := profile.peak_tflops(dtype)) is not None]
    ceilings = tuple(Ceiling(dtype, peak, source) for dtype, peak in known)
    return Rates(profile, ceilings, source, calibration is not None)


def _refuted(view: StudyView, profile: Profile) -> bool:
    """Whether a trial's step took less than its products would at these rates: others used the machine meanwhile."""
    for trial in view.trials.values():
        least, took_ms = least_ms(step_flops(trial), profile), step_ms(trial)
        if least is not None and took_ms is not None and took_ms < least:
            return True
    return False


def step_flops(trial: TrialView) -> dict[str, int]:
    """FLOPs of one optimizer step by the dtype whose rate they run at; empty where the step could not be traced."""
    if trial.probe is None or not trial.probe.effect.is_traced:
        return {}
    flops: dict[str, int] = {}
    for product in trial.probe.effect.products:
        dtype = _rated(product.dtype, trial.probe.effect)
        flops[dtype] = flops.get(dtype, 0) + product.flops
    return {dtype: count for dtype, count in flops.items() if count}


def least_ms(flops: dict[str, int], profile: Profile) -> float | None:
    """Time of these FLOPs at the device's full rates [ms]; None where one of them is not known."""
    peaks = {dtype: profile.peak_tflops(dtype) for dtype in flops}
    if not flops or None in peaks.values():
        return None
    return sum(count / ((peaks[dtype] or 0.0) * 1e9) for dtype, count in flops.items())


def step_ms(trial: TrialView) -> float | None:
    """Median step time, confirmed if it was [ms]."""
    if trial.confirmation is not None and trial.confirmation.step_time_ms:
        return trial.confirmation.step_time_ms
    return trial.probe.step_time_ms if trial.probe is not None else None


def _points(view: StudyView, found: Rates) -> Iterator[RooflinePoint]:
    for number, trial in sorted(view.trials.items()):
        flops, took_ms, moved = step_flops(trial), step_ms(trial), moved_bytes(view, trial, found.profile)
        if not flops or not took_ms or not moved:
            continue
        total = sum(flops.values())
        reached = total / (took_ms * 1e9)
        yield RooflinePoint(
            trial=number,
            dtype=max(flops, key=lambda dtype: flops[dtype]),
            flop_per_byte=total / moved,
            tflops=reached,
            share=_share(reached, total, moved, least_ms(flops, found.profile), found.profile.bandwidth_gb_s),
        )


def _share(
    reached: float, flops: int, moved: int, compute_ms: float | None, bandwidth_gb_s: float | None
) -> float | None:
    """Of the lower roof; each dtype's FLOPs at its own rate."""
    if compute_ms is None or bandwidth_gb_s is None:
        return None
    return reached / min(flops / (compute_ms * 1e9), bandwidth_gb_s * flops / moved / 1e3)


def moved_bytes(view: StudyView, trial: TrialView, profile: Profile) -> int | None:
    """Bytes of one optimizer step when each pass reads and writes once; None for other layers than the inspected ones.

    Those are of the user's own widths, and all in one policy.

    Args:
        view: the study.
        trial: measured in it.
        profile: of the device.
    """
    anatomy = view.inspected.anatomy if view.inspected is not None else None
    if anatomy is None or view.baseline is None or trial.candidate.widths != view.baseline.candidate.widths:
        return None
    facts, candidate = on_target(anatomy, profile), trial.candidate
    if candidate.policy.float32_layers:
        return None
    step = Forecaster(facts, profile).step_of(candidate.policy.name)
    if step is None:
        return None
    costs = layer_costs(step, profile, candidate.micro_batch, fused=True, slots=facts.variables_per_weight)
    *layers, update = [cost.fused_bytes for cost in costs]
    return sum(layers) * candidate.accumulation + update


def _rated(dtype: str, effect: Effect) -> str:
    return "tf32" if dtype == "float32" and effect.tf32 else dtype
