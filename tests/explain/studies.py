"""Small studies on a CPU whose every figure can be worked out on paper: the 3072-3000-1000-10 perceptron."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from autotune.record import events as ev
from autotune.record.view import StudyView
from autotune.trial import Candidate, Interval, Probe, Stage, TimingVerdict, Xla
from tests import sample_values as values
from tests.sample_values import F32, OWN
from tests.study.fake_machine import study_started, zen4

BASELINE = Candidate(F32, 32, Xla.AUTO, OWN)


def candidate(**settings: Any) -> Candidate:
    return replace(BASELINE, **{"xla": Xla.OFF, **settings})


def probe(asked: Candidate, **more: Any) -> Probe:
    """XLA is off for the baseline, as on a CPU."""
    effect = replace(values.effect(asked), xla=asked.xla is Xla.ON, tf32=None)
    return replace(values.probe(0), candidate=asked, effect=effect, **more)


def started(device: dict[str, Any] | None = None, **groups: Any) -> ev.StudyStarted:
    """On a quiet Zen 4, for itself, unless another device is given."""
    first = study_started(Path("/studies"))
    config = first.config | {"model": {"name": "net", "_target_": "mine.net", "widths": list(OWN)}} | groups
    return replace(first, device=zen4().to_json() if device is None else device, config=config)


def study(*trials: tuple[Candidate, float] | tuple[Candidate, float, float], **more: Any) -> StudyView:
    """Trials with their speedups, known to a share on either side (5 % unless given); the last one wins.

    The baseline's step takes 2.1 ms, and a trial's as long as its speedup says.
    """
    view = StudyView()
    view.apply(started())
    view.apply(ev.Probed(0, Stage.BASELINE, probe(BASELINE), None, None, 1.0))
    for number, (asked, ratio, *width) in enumerate(trials, start=1):
        share = 1 + (width[0] if width else 0.05)
        speedup = Interval(ratio, ratio / share, ratio * share, 0.95, 12, "made up")
        step_ms = values.STEP_MS[0] * asked.batch_size / BASELINE.batch_size / ratio
        timed = probe(asked, block_step_ms=(step_ms,) * 12, baseline_step_ms=(values.STEP_MS[0],) * 12, **more)
        view.apply(ev.Probed(number, Stage.SCREEN, timed, speedup, TimingVerdict.FASTER, 1.0))
    view.apply(ev.StudyDecided(len(trials), "it is faster", None, 1.0))
    return view
