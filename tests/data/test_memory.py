from __future__ import annotations

from pathlib import Path

import pytest

from autotune.data.memory import available_bytes, require_memory
from autotune.errors import DataError


def write(root: Path, name: str, content: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def meminfo(root: Path, kib: int) -> None:
    write(root, "proc/meminfo", f"MemTotal: 9999 kB\nMemAvailable:   {kib} kB\n")


def test_no_system_that_tells_is_unknown(tmp_path: Path) -> None:
    assert available_bytes(tmp_path) is None
    require_memory(10**18, "all", root=tmp_path)


def test_the_machine(tmp_path: Path) -> None:
    meminfo(tmp_path, 1000)
    assert available_bytes(tmp_path) == 1_024_000


def test_the_limit_of_a_container(tmp_path: Path) -> None:
    meminfo(tmp_path, 10**6)
    write(tmp_path, "sys/fs/cgroup/memory.max", "5000\n")
    write(tmp_path, "sys/fs/cgroup/memory.current", "3000\n")
    assert available_bytes(tmp_path) == 2000
    write(tmp_path, "sys/fs/cgroup/memory.stat", "anon 7\ninactive_file 500\n")
    assert available_bytes(tmp_path) == 2500
    write(tmp_path, "sys/fs/cgroup/memory.max", "max\n")
    assert available_bytes(tmp_path) == 1024 * 10**6


def test_the_limit_of_an_older_container(tmp_path: Path) -> None:
    write(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "5000")
    write(tmp_path, "sys/fs/cgroup/memory/memory.usage_in_bytes", "6000")
    assert available_bytes(tmp_path) == 0
    write(tmp_path, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712")
    assert available_bytes(tmp_path) is None


def test_too_large_for_the_machine(tmp_path: Path) -> None:
    meminfo(tmp_path, 10**6)
    with pytest.raises(DataError, match=r"mine needs 2\.00 GB of memory, but 1\.02 GB"):
        require_memory(2 * 10**9, "mine", root=tmp_path)
    require_memory(10**9, "mine", root=tmp_path)


def test_the_configured_limit_goes_before_the_machine(tmp_path: Path) -> None:
    meminfo(tmp_path, 1)
    require_memory(10**9, "mine", 1.0, root=tmp_path)
    with pytest.raises(DataError, match=r"data\.max_memory_gb is 1; raise it"):
        require_memory(10**9 + 1, "mine", 1.0, root=tmp_path)
