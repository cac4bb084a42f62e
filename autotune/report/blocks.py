"""What stands behind a timed speed: how many pairs of blocks, how long, and what the machine did meanwhile."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from autotune.decide.pipeline import share
from autotune.decide.suspicion import overhead_share
from autotune.record.events import Probed
from autotune.record.view import StudyView, TrialView
from autotune.report import figures
from autotune.trial import BlockConditions, Interval, Probe, Stage, Suspicion


@dataclass(frozen=True, slots=True)
class Blocks:
    """The timed blocks of one trial in one stage.

    Attributes:
        probes: one a process.
        suspicious: pairs during which something disturbed, over all processes; they count as all others do.
    """

    probes: tuple[Probe, ...] = ()
    suspicious: tuple[Suspicion, ...] = ()

    @property
    def pairs(self) -> int:
        """Pairs of neighbouring blocks; of the baseline's own probe, blocks."""
        return sum(len(probe.block_step_ms) for probe in self.probes)

    @property
    def build_s(self) -> float | None:
        """Building and compiling the model object [s], median over processes."""
        return _median([probe.build_s for probe in self.probes])

    @property
    def first_step_s(self) -> float | None:
        """The first train call [s]: tracing, compilation and one execution; median over processes."""
        return _median([probe.first_step_s for probe in self.probes])

    @property
    def compile_s(self) -> float | None:
        """The first train call less the steady steps of one execution [s], median over processes."""
        return _median([probe.compile_s for probe in self.probes])

    @property
    def peak_memory_mb(self) -> float | None:
        """The largest over processes [MB]; `None` where it was not reported."""
        return max((probe.peak_memory_mb for probe in self.probes if probe.peak_memory_mb is not None), default=None)

    @property
    def lengths_ms(self) -> tuple[float, ...]:
        """How long each block was [ms], candidate's and baseline's."""
        return tuple(length for probe in self.probes for length in _lengths_ms(probe))

    @property
    def sync_ms(self) -> float | None:
        """The longest reading of the clock and wait for the device [ms]; `None` where it was not measured."""
        return max((probe.sync_ms for probe in self.probes if probe.sync_ms is not None), default=None)

    @property
    def sync_share(self) -> float | None:
        """The largest share of a block that the clock and the wait take, 0 to 1: what a step time is wrong by."""
        shares = [share for probe in self.probes if (share := overhead_share(probe)) is not None]
        return max(shares, default=None)

    @property
    def rounds_apart(self) -> int:
        """Most rounds of alternating workers in one process's place; 0 where both models were alive in one worker."""
        return max((len(probe.apart_pairs) for probe in self.probes), default=0)

    @property
    def conditions(self) -> tuple[BlockConditions, ...]:
        """What the machine did during each block, candidate's and baseline's."""
        return tuple(block for probe in self.probes for block in (*probe.conditions, *probe.baseline_conditions))


def screening(trial: TrialView) -> Blocks:
    """Of the one probe: the screening's, or the baseline's own."""
    return Blocks((trial.probe,), trial.suspicious) if trial.probe is not None else Blocks()


def confirmation(trial: TrialView) -> Blocks:
    """Of the fresh processes that confirmed it; none where it was not."""
    return _of(trial.confirming)


def shown(trial: TrialView) -> Blocks:
    """Of the stage that the trial's speed is shown from."""
    if figures.speed_stage(trial) is Stage.CONFIRM and trial.confirming:
        return confirmation(trial)
    return screening(trial)


def pipeline_share(trial: TrialView) -> Interval | None:
    """The input pipeline's share of a step, as the middle one of the confirming processes saw it, else the first probe.

    `None` where no process measured it.
    """
    for timed in (confirmation(trial), screening(trial)):
        measured = [probe.pipeline for probe in timed.probes if probe.pipeline is not None]
        shares = [found for pipeline in measured if (found := share(pipeline)) is not None]
        if shares:
            return sorted(shares, key=lambda found: found.estimate)[len(shares) // 2]
    return None


def confirmed_trials(view: StudyView) -> list[TrialView]:
    """Trials that fresh processes timed: the winner first, then by number."""
    found = [trial for _, trial in sorted(view.trials.items()) if trial.confirming]
    return sorted(found, key=lambda trial: not figures.is_winner(view, trial))


def _of(events: list[Probed]) -> Blocks:
    return Blocks(
        tuple(event.probe for event in events), tuple(found for event in events for found in event.suspicious)
    )


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def _lengths_ms(probe: Probe) -> list[float]:
    own = [step_ms * probe.steps_per_block for step_ms in probe.block_step_ms]
    return own + [step_ms * probe.baseline_steps_per_block for step_ms in probe.baseline_step_ms]
