from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from autotune.data.npz import load
from autotune.errors import DataError


def arrays(**changes: object) -> dict[str, object]:
    parts: dict[str, object] = {
        "x_train": np.ones((20, 4), np.float32),
        "y_train": np.arange(20) % 2,
        "x_test": np.zeros((10, 4), np.float32),
        "y_test": np.arange(10) % 2,
    }
    return {key: value for key, value in {**parts, **changes}.items() if value is not None}


def write(path: Path, **changes: object) -> str:
    np.savez(path, **arrays(**changes))  # type: ignore[arg-type]
    return str(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_two_and_three_parts(tmp_path: Path, save: object) -> None:
    path = tmp_path / "mine.npz"
    save(path, **arrays())  # type: ignore[operator]
    loaded = load(seed=0, path=str(path))
    assert loaded.validation is None
    assert loaded.train[0].shape == (20, 4)
    write(path, x_val=np.zeros((3, 4)), y_val=np.zeros(3, int))
    loaded = load(seed=0, path=str(path))
    assert loaded.validation is not None
    assert loaded.validation[0].shape == (3, 4)


def test_a_relative_path_is_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "mine.npz")
    monkeypatch.chdir(tmp_path)
    assert load(seed=0, path="mine.npz").origin == str(tmp_path / "mine.npz")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"x_test": None}, "lacks x_test; it holds x_train, y_test, y_train"),
        ({"x_val": np.zeros((3, 4))}, "lacks y_val"),
        ({"y_train": np.array([{}] * 20, dtype=object)}, "an array of objects is a pickle"),
    ],
)
def test_wrong_arrays_are_named(tmp_path: Path, changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        load(seed=0, path=write(tmp_path / "mine.npz", **changes))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none at .*absent\.npz"):
        load(seed=0, path=str(tmp_path / "absent.npz"))


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_named(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "mine.npz"
    content = Path(write(path)).read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(DataError, match=r"mine\.npz"):
        load(seed=0, path=str(path))


def test_damage_inside_a_whole_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    content = bytearray(Path(write(path)).read_bytes())
    start = content.index(b"\x93NUMPY") + 200
    content[start : start + 8] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"mine\.npz cannot be read"):
        load(seed=0, path=str(path))


def test_a_bare_array_is_no_npz(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(DataError, match=r"no \.npz file"):
        load(seed=0, path=str(path))
