"""What the machine does during a block, from counters made here and from this machine's own."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from dataclasses import astuple
from pathlib import Path
from types import ModuleType

import pytest

from autotune.hardware.gpu_watch import GpuWatch
from autotune.trial import BlockConditions
from autotune.worker.child.conditions import Host, HostReading, Watch

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
LINUX = pytest.mark.skipif(not Path("/proc/stat").exists(), reason="no /proc/stat here")


def stat(folder: Path, *cores: str) -> Path:
    """A /proc/stat whose first line is the sum of the others."""
    rows = [[int(value) for value in row.split()] for row in cores]
    lines = ["cpu  " + " ".join(str(sum(column)) for column in zip(*rows, strict=True))]
    lines += [f"cpu{number} {row}" for number, row in enumerate(cores)]
    path = folder / "stat"
    path.write_text("\n".join([*lines, "intr 12 0 7", "ctxt 99"]), encoding="ascii")
    return path


#           user nice system idle iowait irq softirq steal guest guest_nice
BEFORE = ("100 10 50 900 20 1 2 0 30 0", "200 10 50 800 20 1 2 5 30 0")


def test_busy_time_is_all_but_idle_waiting_and_stolen_and_counts_guests_once(tmp_path: Path) -> None:
    host = Host(stat(tmp_path, *BEFORE), frozenset({0, 1}), None)
    reading = host.read()
    assert reading.machine_s == pytest.approx((426 * TICK_S, 5 * TICK_S))
    assert reading.own_s == pytest.approx(time.process_time(), abs=0.5)


def test_only_cores_that_this_process_may_use_count(tmp_path: Path) -> None:
    host = Host(stat(tmp_path, *BEFORE), frozenset({1}), None)
    assert host.read().machine_s == pytest.approx((263 * TICK_S, 5 * TICK_S))


@pytest.mark.parametrize("text", ["", "cpu\ncpu0 1 2 3", "intr 1 2", "cpu  a b\ncpu0 a b"])
def test_counters_that_cannot_be_read_are_unknown(tmp_path: Path, text: str) -> None:
    (tmp_path / "stat").write_text(text, encoding="ascii")
    assert Host(tmp_path / "stat", frozenset({0, 1}), None).read().machine_s is None
    assert Host(tmp_path / "none", frozenset({0, 1}), None).read().machine_s is None


def between(
    after: tuple[float, float] | None, *, wall_s: float = 0.5, own_s: float = 0.3, quota_cores: float | None = None
) -> BlockConditions:
    """On two cores, from zero."""
    host = Host(Path("unread"), frozenset({0, 1}), quota_cores)
    return host.between(HostReading(7.0, 2.0, (40.0, 3.0), 11), HostReading(7.0 + wall_s, 2.0 + own_s, after, 15))


def test_what_the_cores_did_beyond_this_process_is_foreign() -> None:
    found = between((40.7, 3.02))  # 0.7 s of work in 1 s of two cores, 0.3 s of it ours; 0.02 s stolen
    assert found.foreign_cpu == pytest.approx(0.4)
    assert found.steal == pytest.approx(0.02)
    assert found.preemptions == 4


def test_shares_stay_within_bounds_although_two_clocks_round() -> None:
    assert between((40.25, 3.0)).foreign_cpu == 0.0
    assert between((41.4, 3.0)).foreign_cpu == 1.0


def test_under_a_quota_the_cores_of_others_tell_nothing_but_steal_does() -> None:
    found = between((40.7, 3.02), quota_cores=1.5)
    assert (found.foreign_cpu, found.preemptions) == (None, 4)
    assert found.steal == pytest.approx(0.02)
    assert between((40.7, 3.02), quota_cores=2.0).foreign_cpu == pytest.approx(0.4)


@pytest.mark.parametrize("unknown", [{"after": None}, {"after": (40.04, 3.0), "wall_s": 0.03}, {"after": (40.0, 3.0)}])
def test_no_counters_too_short_a_time_or_counters_that_stand_still_are_unknown(unknown: dict[str, object]) -> None:
    assert between(**unknown) == BlockConditions(preemptions=4)  # type: ignore[arg-type]


def held_back(lost_s: float | None, *, wall_s: float, own_s: float, before_s: float | None = 5.0) -> float | None:
    host = Host(Path("unread"), frozenset({0, 1}), 1.0)
    before = HostReading(7.0, 2.0, None, 11, before_s)
    after = HostReading(7.0 + wall_s, 2.0 + own_s, None, 11, lost_s)
    return host.between(before, after).quota_throttled


def test_what_a_quota_took_is_a_share_of_what_was_wanted() -> None:
    assert held_back(5.0, wall_s=0.5, own_s=0.5) == 0.0
    assert held_back(5.2, wall_s=0.5, own_s=0.3) == pytest.approx(0.4), "one thread"
    assert held_back(6.6, wall_s=0.5, own_s=2.4) == pytest.approx(0.4), "eight of them"
    assert held_back(5.2, wall_s=0.5, own_s=0.05) == pytest.approx(0.4), "one that waits for a GPU besides"


def test_what_a_quota_took_is_unknown_where_its_counter_is_or_began_anew() -> None:
    assert held_back(None, wall_s=0.5, own_s=0.3) is None
    assert held_back(5.0, wall_s=0.5, own_s=0.3, before_s=None) is None
    assert held_back(4.0, wall_s=0.5, own_s=0.3) is None


def test_the_files_that_count_what_a_quota_took_are_read_each_time(tmp_path: Path) -> None:
    counter = tmp_path / "cpu.stat"
    host = Host(Path("none"), frozenset({0}), 1.0, (counter,))
    counter.write_text("throttled_usec 1500000", encoding="ascii")
    before = host.read()
    counter.write_text("throttled_usec 2500000", encoding="ascii")
    assert (before.throttled_s, host.read().throttled_s) == (1.5, 2.5)


@LINUX
def test_a_process_beside_this_one_is_seen() -> None:
    """It spins on a core on which this process sleeps, and may have to share it: more than half of it is not ours."""
    core = min(os.sched_getaffinity(0))
    host = Host(Path("/proc/stat"), frozenset({core}), None)
    spin = (
        f"import os, time; os.sched_setaffinity(0, {{{core}}}); end = time.time() + 20\nwhile time.time() < end: pass"
    )
    with subprocess.Popen([sys.executable, "-c", spin]) as other:
        try:
            time.sleep(0.3)
            before = host.read()
            time.sleep(0.5)
            found = host.between(before, host.read())
        finally:
            other.kill()
    if found.foreign_cpu is None:
        pytest.skip("this kernel's counters stand still")
    assert found.foreign_cpu > 0.5


@LINUX
def test_a_reading_is_far_cheaper_than_a_block() -> None:
    watch = Watch(Host.here())
    taken_ms = []
    for _ in range(50):
        began = time.perf_counter()
        watch.begin()
        watch.end()
        taken_ms.append((time.perf_counter() - began) * 1e3)
    assert statistics.median(taken_ms) < 1.0


def gpu(*energy_mj: int) -> GpuWatch:
    """A driver whose energy counter shows these values one after the other, and nothing else."""
    readings = list(energy_mj)
    driver = ModuleType("pynvml")
    driver.__dict__.update(
        nvmlDeviceGetTotalEnergyConsumption=lambda handle: readings.pop(0),
        nvmlDeviceGetTemperature=lambda handle, sensor: 61,
    )
    return GpuWatch(driver, handle=0, whole=True)


def test_a_gpus_energy_is_a_difference_and_the_rest_is_as_it_stands_after_the_block() -> None:
    watch = Watch(gpu=gpu(1_000_000, 1_012_500, 1_012_500, 1_020_000))
    watch.begin()
    assert watch.end() == BlockConditions(energy_j=12.5, gpu_temperature_c=61)
    watch.begin()
    assert watch.end().energy_j == 7.5


def test_an_energy_counter_that_began_anew_tells_nothing() -> None:
    watch = Watch(gpu=gpu(1_000_000, 200))
    watch.begin()
    assert watch.end() == BlockConditions(gpu_temperature_c=61)


def test_without_anything_to_read_nothing_is_known() -> None:
    watch = Watch()
    watch.begin()
    assert set(astuple(watch.end())) == {None}
