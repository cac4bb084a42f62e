"""What is left of memory, and what the kernel's out-of-memory killer has done, in control groups of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.hardware.cgroup import memory_left_bytes, oom_kills

V1 = "4:memory:/docker/abc\n0::/\n"
EVENTS = "low 0\nhigh 0\nmax 12\noom 3\noom_kill {}\noom_group_kill 0\n"
CONTROL = "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n"
VMSTAT = "pgfault 5\noom_kill {}\n"


@pytest.mark.parametrize(
    ("groups", "files", "kills"),
    [
        ("0::/\n", {}, None),
        ("0::/\n", {"sys/fs/cgroup/memory.events": EVENTS.format(2)}, 2),
        ("0::/job\n", {"sys/fs/cgroup/job/memory.events": EVENTS.format(0), "proc/vmstat": VMSTAT.format(9)}, 0),
        (V1, {"sys/fs/cgroup/memory/docker/abc/memory.oom_control": CONTROL.format(4)}, 4),
        (V1, {"sys/fs/cgroup/memory/memory.oom_control": CONTROL.format(1)}, 1),  # a container's own view
        ("0::/\n", {"proc/vmstat": VMSTAT.format(7)}, 7),
        ("0::/\n", {"sys/fs/cgroup/memory.events": "oom_kill many\n"}, None),
        ("0::/\n", {"sys/fs/cgroup/memory/memory.failcnt": "12"}, None),
    ],
)
def test_kills_are_counted_where_the_victim_was(
    tmp_path: Path, groups: str, files: dict[str, str], kills: int | None
) -> None:
    write(tmp_path, {"proc/self/cgroup": groups, **files})
    assert oom_kills(tmp_path) == kills


def test_what_is_left_is_the_least_on_the_way_up(tmp_path: Path) -> None:
    job = "sys/fs/cgroup/slice/job"
    write(
        tmp_path,
        {
            "proc/self/cgroup": "0::/slice/job\n",
            f"{job}/memory.max": "5000",
            f"{job}/memory.current": "3000",
            f"{job}/memory.stat": "anon 7\ninactive_file 500\n",
        },
    )
    assert memory_left_bytes(tmp_path) == 2500
    write(tmp_path, {"sys/fs/cgroup/slice/memory.max": "9000", "sys/fs/cgroup/slice/memory.current": "8000"})
    assert memory_left_bytes(tmp_path) == 1000
    write(tmp_path, {"sys/fs/cgroup/slice/memory.max": "max", f"{job}/memory.max": "max"})
    assert memory_left_bytes(tmp_path) is None


def test_version_1_counts_what_is_cached_below_a_group_under_another_name(tmp_path: Path) -> None:
    group = "sys/fs/cgroup/memory/docker/abc"
    write(
        tmp_path,
        {
            "proc/self/cgroup": V1,
            f"{group}/memory.limit_in_bytes": "5000",
            f"{group}/memory.usage_in_bytes": "4000",
            f"{group}/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
        },
    )
    assert memory_left_bytes(tmp_path) == 1300


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
