from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from autotune.cli.complaints import describe_fault


def test_a_fault_is_told_on_a_full_disk_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    told = describe_fault(RuntimeError("the reason"))
    assert told == "fault: RuntimeError: the reason (AUTOTUNE_TRACEBACK=1 shows the traceback)"


def test_a_fault_that_names_a_path_which_is_no_utf8_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told = describe_fault(RuntimeError("cannot read caf\udce9"))
    assert told.startswith("fault: RuntimeError: cannot read caf")
    (trace,) = tmp_path.iterdir()
    assert "caf\\udce9" in trace.read_text(encoding="utf-8")
