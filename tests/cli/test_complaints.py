from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from autotune.cli.complaints import describe_fault, one_line


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


def test_no_password_is_told_nor_kept_in_the_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUB_TOKEN", "t0psecret")
    address = f"https://me:S3cret@host/{'a' * 1_000}"
    assert one_line(f"but got '{address}' and t0psecret").startswith("but got 'https://***@host/aaa")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told = describe_fault(RuntimeError(f"{address} and t0psecret"))
    (trace,) = tmp_path.iterdir()
    for text in (told, trace.read_text(encoding="utf-8")):
        assert "S3cret" not in text
        assert "t0psecret" not in text
        assert "$HUB_TOKEN" in text
