"""What the machine does while a block runs. Read before and after it, and judged elsewhere; unknown is `None`.

One reading takes tens of microseconds on the host, and a few calls into the driver on a GPU.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from autotune.hardware.cgroup import read_limits, throttled_s, throttling_files
from autotune.hardware.gpu_watch import GpuWatch
from autotune.trial import BlockConditions

# The kernel counts in these ticks: 10 ms almost everywhere, so that a shorter time than a few of them tells nothing.
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_FEWEST_TICKS = 5

# proc(5), /proc/stat: user nice system idle iowait irq softirq steal; guests' time is part of user's.
_BUSY = (0, 1, 2, 5, 6)
_STEAL = 7


@dataclass(frozen=True, slots=True)
class HostReading:
    """Counters at one moment, in seconds since some fixed one.

    Attributes:
        wall_s: the clock.
        own_s: CPU time of this process with all its threads.
        machine_s: time that the cores worked, for anybody, and time that the hypervisor gave to others, both summed
            over the cores; `None` if the kernel does not tell.
        preemptions: involuntary context switches of this process.
        throttled_s: time for which CPU quotas held this process's group back, summed over the cores; `None` if unknown.
    """

    wall_s: float
    own_s: float
    machine_s: tuple[float, float] | None
    preemptions: int
    throttled_s: float | None = None


class Host:
    """The cores that this process may run on.

    Args:
        stat: file with the kernel's counters.
        cores: numbers of the cores.
        quota_cores: how many cores' worth of time the container may use; `None` for no limit.
        throttling: files that count what quotas took; see `throttling_files`.
    """

    def __init__(
        self, stat: Path, cores: frozenset[int], quota_cores: float | None, throttling: Sequence[Path] = ()
    ) -> None:
        self._stat = stat
        self._throttling = throttling
        self._cores = cores
        # Others who use cores beyond the quota do not take what this process could have had.
        self._tells_foreign = quota_cores is None or quota_cores >= len(cores)

    @classmethod
    def here(cls) -> Host:
        """This machine, or this container's share of it."""
        cores = frozenset(os.sched_getaffinity(0))
        return cls(Path("/proc/stat"), cores, read_limits().cpu_quota_cores, throttling_files())

    def read(self) -> HostReading:
        """The counters now."""
        machine_s = self._machine_s()
        preemptions = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        lost_s = throttled_s(self._throttling)
        return HostReading(time.perf_counter(), time.process_time(), machine_s, preemptions, lost_s)

    def between(self, before: HostReading, after: HostReading) -> BlockConditions:
        """What happened from one reading to the other.

        Foreign is all that the cores did beyond this process. Its children count as foreign: no step runs in one.
        """
        wall_s, own_s = after.wall_s - before.wall_s, after.own_s - before.own_s
        known = BlockConditions(
            preemptions=after.preemptions - before.preemptions, quota_throttled=_throttled_share(before, after)
        )
        if before.machine_s is None or after.machine_s is None or wall_s < _FEWEST_TICKS * _TICK_S:
            return known
        busy_s, steal_s = after.machine_s[0] - before.machine_s[0], after.machine_s[1] - before.machine_s[1]
        if busy_s == 0 and own_s > _FEWEST_TICKS * _TICK_S:
            return known  # counters that stand still, as in some sandboxes
        core_s = wall_s * len(self._cores)
        foreign = _share((busy_s - own_s) / core_s) if self._tells_foreign else None
        return replace(known, foreign_cpu=foreign, steal=_share(steal_s / core_s))

    def _machine_s(self) -> tuple[float, float] | None:
        try:
            lines = self._stat.read_text(encoding="ascii").splitlines()
            rows = {name: values for name, *values in (line.split() for line in lines if line.startswith("cpu"))}
            # The kernel rounds each row down to a tick: where all cores are meant, their sum is rounded once.
            wanted = ["cpu"] if len(self._cores) == len(rows) - 1 else [f"cpu{core}" for core in self._cores]
            ticks = [[int(value) for value in rows[name]] for name in wanted]
            busy = sum(row[field] for row in ticks for field in _BUSY)
            return busy * _TICK_S, sum(row[_STEAL] for row in ticks) * _TICK_S
        except (OSError, ValueError, LookupError):
            return None


class Watch:
    """Tells the conditions between `begin` and `end`; without a host or a GPU, nothing of that one."""

    def __init__(self, host: Host | None = None, gpu: GpuWatch | None = None) -> None:
        self._host = host
        self._gpu = gpu
        self._began: HostReading | None = None
        self._energy_mj: int | None = None

    def begin(self) -> None:
        """Read what a difference is taken of; the GPU's slower counter first, so that it starts no later."""
        self._energy_mj = None if self._gpu is None else self._gpu.energy_mj()
        self._began = None if self._host is None else self._host.read()

    def end(self) -> BlockConditions:
        """The conditions since `begin`."""
        found = BlockConditions()
        if self._host is not None and self._began is not None:
            found = self._host.between(self._began, self._host.read())
        if self._gpu is None:
            return found
        energy_mj, state = _since(self._energy_mj, self._gpu.energy_mj()), self._gpu.state()
        return replace(
            found,
            gpu_clock_mhz=state.sm_clock_mhz,
            gpu_temperature_c=state.temperature_c,
            gpu_power_w=state.power_w,
            throttled=state.throttled,
            energy_j=None if energy_mj is None else energy_mj / 1e3,
        )


def watch_here() -> Watch:
    """Of this machine, and of the GPU that the framework uses, if it uses one."""
    from autotune.worker.child import framework

    gpu = framework.used_gpu() if framework.accelerator() == "GPU" else None
    return Watch(Host.here(), None if gpu is None else GpuWatch.open(*gpu))


def _throttled_share(before: HostReading, after: HostReading) -> float | None:
    """Share of the time that this process wanted to run, on one core at least, in which a quota held it back.

    A quota holds back all cores on which there is something to run, so what was lost is set against as many: against
    what was lost and what was run together, which is the sum over threads of the time that they did not sleep. The
    group's other processes may have lost some of it, which cannot be told.
    """
    lost_s = _since(before.throttled_s, after.throttled_s)
    if lost_s is None:
        return None
    wanted_s = after.own_s - before.own_s + lost_s
    return _share(lost_s / max(after.wall_s - before.wall_s, wanted_s))


def _since(before: float | None, after: float | None) -> float | None:
    """What a counter has counted; `None` if it is unknown, or began anew, as with a driver or a group."""
    return None if before is None or after is None or after < before else after - before


def _share(value: float) -> float:
    """Within 0 and 1, where the roundings of two clocks may leave it just outside."""
    return min(1.0, max(0.0, value))
