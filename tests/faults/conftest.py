"""A person's folder, in which nothing may be left running, and small real file systems."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.person import Person
from tests.faults.rehearsed import Rehearsed


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    """Their folder's name is one that scripts stumble over; at the end none of their processes and workers is left."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    folder = tmp_path / "Jörg's réseau"
    folder.mkdir()
    made = Person(folder)
    yield made
    assert made.running() == []
    assert list(temporary.glob("autotune-worker-*")) == []


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Rehearsed:
    """The small study without a fault."""
    study = Rehearsed(Person(tmp_path_factory.mktemp("undisturbed")))
    assert study.run().returncode == 0
    return study


@pytest.fixture
def mounted() -> Iterator[Callable[[Path, str], Path]]:
    """Mounts a file system of memory on a new folder, with options such as `size=2m`, or skips the test."""
    places: list[Path] = []

    def mount(place: Path, options: str) -> Path:
        place.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode != 0:
            pytest.skip("mounting is not allowed here")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
