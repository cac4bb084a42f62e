"""Timed training steps: numbers from the worker, unjudged. A quantity that could not be had is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.trial.candidate import Candidate
from autotune.trial.effect import Effect


@dataclass(frozen=True, slots=True)
class BlockConditions:
    """What the machine did while one block ran; a quantity that could not be read is `None`.

    Attributes:
        foreign_cpu: share of the time of all cores that other processes used, 0 to 1.
        steal: share of the time of all cores that the hypervisor gave to others, 0 to 1.
        preemptions: involuntary context switches of the worker.
        gpu_clock_mhz: streaming multiprocessors' clock after the block [MHz].
        gpu_temperature_c: [degrees Celsius].
        gpu_power_w: power draw after the block [W].
        throttled: names of the reasons for which the GPU held its clocks back; empty if there were none.
        energy_j: energy that the GPU used during the block [J].
        quota_throttled: share of the block for which the container's CPU quota held the worker's threads back, 0 to 1:
            the time that its control group lost to quotas, summed over cores, by the time that the worker ran or lost
            (as if on one core all the time at least, so that waiting for a GPU does not enlarge it).
    """

    foreign_cpu: float | None = None
    steal: float | None = None
    preemptions: int | None = None
    gpu_clock_mhz: float | None = None
    gpu_temperature_c: float | None = None
    gpu_power_w: float | None = None
    throttled: tuple[str, ...] | None = None
    energy_j: float | None = None
    quota_throttled: float | None = None


@dataclass(frozen=True, slots=True)
class PipelineTiming:
    """The same training step fed by the input pipeline and on one batch that is already on the device.

    Entry i of both was measured one right after the other.

    Attributes:
        fed_step_ms: mean step time of each block with the pipeline [ms].
        resident_step_ms: of the neighbouring block on the resident batch [ms].
    """

    fed_step_ms: tuple[float, ...]
    resident_step_ms: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """Timed training steps of one candidate.

    The two tuples of blocks are paired: entry i of both was measured one right after the other in the same process,
    unless both models do not fit into memory together (see `apart_pairs`).

    Attributes:
        candidate: what was asked.
        effect: what was in force.
        block_step_ms: mean step time of each block [ms], candidate.
        baseline_step_ms: mean step time of the neighbouring baseline block [ms]; empty when the baseline is probed.
        steps_per_block: optimizer steps in one candidate block.
        warmup_step_ms: step times of the blocks before timing began [ms], kept apart.
        build_s: building and compiling the model object [s].
        first_step_s: the first train call: tracing, XLA compilation and one step [s].
        peak_memory_mb: peak memory above what was in use before [MB], of the device; elsewhere of the process, for the
            first model that it builds alone, since later ones reuse what that one has freed. `None` if unknown.
        loss: training loss after the last timed step; `None` if it was not finite.
        loss_finite: whether the loss was finite.
        worker: which worker process measured it (counted from 1 in a study).
        baseline_batch_size: examples per baseline step; 0 when the baseline is probed.
        baseline_steps_per_block: optimizer steps in one baseline block; 0 when the baseline is probed.
        conditions: what the machine did during each candidate block; empty where nothing was read.
        baseline_conditions: the same for each baseline block.
        sync_ms: time that one reading of the clock and one wait for an idle device take [ms]: what a block's length is
            wrong by at most.
        pipeline: what the input pipeline costs; `None` where it was not measured.
        apart_pairs: pairs of each round of alternating workers, where one process cannot hold baseline and candidate
            together; empty when both were alive in one worker.
        baseline_peak_memory_mb: as `peak_memory_mb`, of the reference when it was made in this process; where that is
            no GPU, one of the two models at most was the first.
        hopeless_below: sampling ended early, since the candidate's speedup is clearly below this; its interval is wider
            for it and its estimate a little low. `None` where it went on to the usual half-width.
    """

    candidate: Candidate
    effect: Effect
    block_step_ms: tuple[float, ...]
    baseline_step_ms: tuple[float, ...]
    steps_per_block: int
    warmup_step_ms: tuple[float, ...]
    build_s: float
    first_step_s: float
    peak_memory_mb: float | None
    loss: float | None
    loss_finite: bool
    worker: int = 0
    baseline_batch_size: int = 0
    baseline_steps_per_block: int = 0
    conditions: tuple[BlockConditions, ...] = ()
    baseline_conditions: tuple[BlockConditions, ...] = ()
    sync_ms: float | None = None
    pipeline: PipelineTiming | None = None
    apart_pairs: tuple[int, ...] = ()
    baseline_peak_memory_mb: float | None = None
    hopeless_below: float | None = None

    @property
    def step_time_ms(self) -> float:
        """Median step time over blocks [ms]."""
        ordered = sorted(self.block_step_ms)
        middle = len(ordered) // 2
        return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2

    @property
    def examples_per_s(self) -> float:
        """Throughput at the median step time [examples/s]."""
        return self.candidate.batch_size / self.step_time_ms * 1e3

    @property
    def compile_s(self) -> float:
        """The first train call less the steady steps of one execution [s]."""
        return max(0.0, self.first_step_s - self.step_time_ms * self.candidate.steps_per_execution / 1e3)
