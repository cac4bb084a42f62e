"""How a worker answers, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from autotune.worker.child.main import Session, answer
from autotune.worker.protocol import Request


def test_a_file_that_a_persons_code_keeps_open_is_written_whenever_it_was_opened(tmp_path: Path) -> None:
    """Their data is loaded before the framework, whose objects are then kept out of collections: theirs with them."""
    code = (
        "import gc; early = open('early', 'w'); early.write('a'); gc.freeze()\n"
        "late = open('late', 'w'); late.write('b')\n"
        "from autotune.worker.child.main import leave; leave()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)
    assert [(tmp_path / name).read_text() for name in ("early", "late")] == ["a", "b"]


def test_a_proxy_of_what_is_gone_keeps_no_file_from_being_written(tmp_path: Path) -> None:
    """It raises when it is asked what it is."""
    code = (
        "import weakref; gone = weakref.proxy(type('Gone', (), {})())\n"
        "late = open('late', 'w'); late.write('b')\n"
        "from autotune.worker.child.main import leave; leave()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60, capture_output=True)
    assert (tmp_path / "late").read_text() == "b"
    assert done.stderr == b""


def test_the_log_has_a_failures_traceback_without_passwords(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing:
        def register(self) -> Any:
            raise ConnectionError("cannot reach https://me:S3cret@host/api")

    answer(cast("Session", Failing()), Request(operation="register", args={}, number=1))
    logged = capsys.readouterr().err
    assert "ConnectionError: cannot reach https://***@host/api" in logged
    assert "Traceback" in logged
    assert "S3cret" not in logged
