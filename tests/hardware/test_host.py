from __future__ import annotations

from pathlib import Path

import pytest

from autotune.hardware.cgroup import Limits, read_limits, throttled_s, throttling_files
from autotune.hardware.host import read_host

CPUINFO = """\
processor\t: {n}
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R) Gold 6242
physical id\t: {package}
core id\t\t: {core}
flags\t\t: fpu avx2 fma avx512f avx512_vnni

"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_two_packages_of_two_cores_with_two_threads(tmp_path: Path) -> None:
    threads = [(n, n % 2, n // 2 % 2) for n in range(8)]
    text = "".join(CPUINFO.format(n=n, package=package, core=core) for n, package, core in threads)
    meminfo = "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nHugePages_Total: 0\n"
    root = write(tmp_path, {"proc/cpuinfo": text, "proc/meminfo": meminfo})
    host = read_host({"OMP_NUM_THREADS": "4"}, root)
    assert (host.logical_cores, host.physical_cores) == (8, 4)
    assert host.cpu_model == "Intel(R) Xeon(R) Gold 6242"
    assert (host.cpu_vendor, host.cpu_family, host.cpu_model_number) == ("GenuineIntel", 6, 85)
    assert host.cpu_flags == {"fpu", "avx2", "fma", "avx512f", "avx512_vnni"}
    assert (host.memory_total_mb, host.memory_available_mb) == (16384, 8192)
    assert host.thread_variables == (("OMP_NUM_THREADS", "4"),)


def test_an_arm_machine_has_no_x86_flags(tmp_path: Path) -> None:
    text = "processor\t: 0\nFeatures\t: fp asimd bf16\n\nHardware\t: board\n"
    host = read_host({}, write(tmp_path, {"proc/cpuinfo": text}))
    assert host.cpu_flags == frozenset()
    assert host.logical_cores == 1
    assert host.physical_cores is None
    assert host.onednn.fp16_native is None


def test_a_system_without_proc_still_answers(tmp_path: Path) -> None:
    host = read_host({}, tmp_path)
    assert host.memory_total_mb is None
    assert host.usable_memory_mb is None
    assert host.logical_cores is not None
    assert host.python_version


def test_usable_is_the_least_of_what_is_known(tmp_path: Path) -> None:
    files = {
        "proc/cpuinfo": "".join(CPUINFO.format(n=n, package=0, core=n) for n in range(64)),
        "proc/meminfo": "MemTotal: 16777216 kB\n",
        "sys/fs/cgroup/cpu.max": "50000 100000\n",
        "sys/fs/cgroup/memory.max": "2147483648\n",
    }
    host = read_host({}, write(tmp_path, files))
    assert host.usable_cores == 0.5
    assert host.usable_memory_mb == 2048


V2 = "0::/system.slice/job.scope\n"
V1 = "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/\n"


@pytest.mark.parametrize(
    ("groups", "files", "limits"),
    [
        ("", {}, Limits(None, None)),
        (V2, {"cpu.max": "max 100000", "memory.max": "max"}, Limits(None, None)),
        (V2, {"cpu.max": "250000 100000"}, Limits(2.5, None)),
        (
            V2,
            {
                "cpu.max": "400000 100000",
                "system.slice/cpu.max": "150000 100000",
                "system.slice/job.scope/cpu.max": "max 100000",
                "system.slice/job.scope/memory.max": "1048576",
            },
            Limits(1.5, 1.0),
        ),
        (
            V1,
            {
                "cpu,cpuacct/cpu.cfs_quota_us": "200000",
                "cpu,cpuacct/cpu.cfs_period_us": "100000",
                "memory/docker/abc/memory.limit_in_bytes": "3145728",
                "memory/memory.limit_in_bytes": "9223372036854771712",
            },
            Limits(2.0, 3.0),
        ),
        (
            V1,
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            Limits(None, None),
        ),
        ("garbage\n", {"cpu.max": "nonsense"}, Limits(None, None)),
    ],
)
def test_container_limits(tmp_path: Path, groups: str, files: dict[str, str], limits: Limits) -> None:
    mounted = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    root = write(tmp_path, {"proc/self/cgroup": groups} | mounted)
    assert read_limits(root) == limits


STAT_V2 = "usage_usec 9000\nnr_periods 3\nnr_throttled 1\nthrottled_usec {}\n"
STAT_V1 = "nr_periods 3\nnr_throttled 1\nthrottled_time {}\n"


@pytest.mark.parametrize(
    ("groups", "files", "lost_s"),
    [
        ("", {}, None),
        (V2, {"cpu.stat": "usage_usec 9000\n"}, None),  # the root of version 2 has no quota to tell of
        (V2, {"cpu.stat": STAT_V2.format("none")}, None),
        (V2, {"system.slice/job.scope/cpu.stat": STAT_V2.format(0)}, 0.0),
        (
            V2,
            {
                "cpu.stat": "usage_usec 9000\n",
                "system.slice/cpu.stat": STAT_V2.format(250_000),
                "system.slice/job.scope/cpu.stat": STAT_V2.format(1_500_000),
                "system.slice/other.scope/cpu.stat": STAT_V2.format(9_000_000),
            },
            1.75,
        ),
        (V1, {"cpu,cpuacct/docker/abc/cpu.stat": STAT_V1.format(1_500_000_000)}, 1.5),
        (V1, {"cpu/cpu.stat": STAT_V1.format(250_000_000)}, 0.25),  # a container that sees its own group as the root
    ],
)
def test_what_a_quota_took_is_summed_over_the_levels_that_have_one(
    tmp_path: Path, groups: str, files: dict[str, str], lost_s: float | None
) -> None:
    mounted = {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    root = write(tmp_path, {"proc/self/cgroup": groups} | mounted)
    assert throttled_s(throttling_files(root)) == (None if lost_s is None else pytest.approx(lost_s))


def test_a_tree_with_two_names_counts_once(tmp_path: Path) -> None:
    mounted = {"sys/fs/cgroup/cpu,cpuacct/cpu.stat": STAT_V1.format(1_000_000_000)}
    root = write(tmp_path, {"proc/self/cgroup": V1} | mounted)
    (root / "sys/fs/cgroup/cpu").symlink_to("cpu,cpuacct")
    files = throttling_files(root)
    assert throttled_s(files) == pytest.approx(1.0)
    files[0].unlink()
    assert throttled_s(files) is None, "a group that is gone"
