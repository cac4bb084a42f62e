"""A driver library made from `fake_nvml.c`, and programs that see it as the machine's own through the true pynvml."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAKE = Path(__file__).with_name("fake_nvml.c")
RTX_2080TI, RTX_2060 = "NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2060"
UUID_1 = "GPU-10000000-0000-0000-0000-000000000000"


def build(folder: Path) -> None:
    """Compile it into a folder; skips the test where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler (cc or gcc) to build the fake NVML driver library with")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", str(library), str(FAKE)], check=True)


def run(folder: Path, scenario: str, code: str, **environ: str) -> Any:
    """What a program prints as JSON, in a process that sees the driver in `folder`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CUDA_", "NVIDIA_", "FAKE_", "LD_"))}
    environ |= {"LD_LIBRARY_PATH": str(folder), "FAKE_NVML_SCENARIO": scenario}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=kept | environ,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)
