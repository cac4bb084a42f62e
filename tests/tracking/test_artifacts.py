from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autotune.record.events import Exported
from autotune.record.view import StudyView
from autotune.tracking.artifacts import MANIFEST, digest, manifest, manifest_text, study_files
from tests.sample_study import sample_events


def test_a_digest_is_of_the_contents(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text("x")
    second.write_text("x")
    assert digest(first) == digest(second) == digest(Path(first))
    second.write_text("y")
    assert digest(first) != digest(second)
    assert digest("x") != digest("y")
    with pytest.raises(FileNotFoundError):
        digest(tmp_path / "gone")


def test_a_folders_digest_is_of_all_that_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "one" / "deep" / "x").write_text("1")
    before = digest(tmp_path / "one")
    (tmp_path / "one" / "deep" / "x").rename(tmp_path / "one" / "deep" / "y")
    renamed = digest(tmp_path / "one")
    (tmp_path / "one" / "deep" / "y").write_text("2")
    assert len({before, renamed, digest(tmp_path / "one")}) == 3


@pytest.mark.parametrize("text", ["", "cut in the mid", "[]", "7"])
def test_a_tag_that_cannot_be_read_is_no_manifest(text: str) -> None:
    assert manifest({MANIFEST: text}) == {}
    assert manifest({}) == {}


def test_a_manifest_comes_back() -> None:
    assert manifest({MANIFEST: manifest_text({"a/b.csv": "0123"})}) == {"a/b.csv": "0123"}


def test_the_files_of_a_study_are_found_where_its_folder_is_now(tmp_path: Path) -> None:
    old, now = "/gone/study", tmp_path / "moved"
    for name in ("record.jsonl", "report/trials.csv", "report/summary.md", "export/model.keras"):
        (now / name).parent.mkdir(parents=True, exist_ok=True)
        (now / name).write_text(name)
    events = [
        replace(e, files={"model.keras": f"{old}/export/model.keras", "gone": f"{old}/export/gone"})
        if isinstance(e, Exported)
        else e
        for e in sample_events(output_dir=old)
    ]
    found = study_files(now, StudyView.of(events))
    assert {name: path.read_text() for name, path in found.items()} == {
        name: name for name in ("record.jsonl", "report/trials.csv", "report/summary.md", "export/model.keras")
    }
