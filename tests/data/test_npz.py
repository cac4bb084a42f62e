from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from autotune.data.npz import load
from autotune.errors import DataError
from tests.data.peak import takes_at_most


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


@pytest.mark.parametrize("path", [None, 3, ["mine.npz"]])
def test_what_is_no_path_names_its_key(path: object) -> None:
    with pytest.raises(DataError, match=r"data\.args\.path must be the path of an \.npz file, but got"):
        load(seed=0, path=path)  # type: ignore[arg-type]


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


def packed(path: Path, **members: bytes) -> str:
    """An .npz whose members are `arrays()`, or the bytes that are given."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays().items():
            if key not in members:
                stream = io.BytesIO()
                np.save(stream, array)  # type: ignore[arg-type]
                archive.writestr(f"{key}.npy", stream.getvalue())
        for name, content in members.items():
            archive.writestr(name if "." in name else f"{name}.npy", content)
    return str(path)


def npy(descr: str, shape: str, content: bytes = b"") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (npy("'|u1'", "(999999999999,)"), "x_train promises 1,000,000,000,127 bytes"),
        (npy("'<f8'", "(99999, 99999, 99999)"), "x_train promises"),
        (npy("'<f4'", "(-1,)"), "mine.npz cannot be read"),
        (npy("'<f4'", "(20, 4)", b"0" * 319), "x_train promises"),
        (npy("'<f4'", "(20, 4)", b"0" * 321), "x_train promises"),
        (npy("'|O'", "(1,)", b"cposix\nsystem\n(Vtouch MARK\ntR."), "x_train is an array of objects"),
        (npy("[('a', '|O')]", "(1,)", b"0" * 8), "x_train is an array of objects"),
        (npy("__import__('os').system('touch MARK')", "(1,)"), "mine.npz cannot be read"),
        (b"cposix\nsystem\n(Vtouch MARK\ntR.", "mine.npz cannot be read"),
        (b"\x93NUMPY\x09\x00", "mine.npz cannot be read"),
        (b"", "mine.npz cannot be read"),
    ],
)
def test_a_member_that_is_not_what_it_says(tmp_path: Path, monkeypatch, content: bytes, complaint: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = packed(tmp_path / "mine.npz", x_train=content)
    with takes_at_most(1), pytest.raises(DataError, match=complaint):
        load(seed=0, path=path)
    assert not (tmp_path / "MARK").exists()


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch) -> None:
    """64 MiB of zeros in a file of some kilobytes, on a machine that has less than that left."""
    monkeypatch.setattr("autotune.data.memory.available_bytes", lambda root: 1 << 20)
    path = packed(tmp_path / "mine.npz", x_train=npy("'|u1'", f"({1 << 26},)", bytes(1 << 26)))
    assert Path(path).stat().st_size < 1 << 18
    with takes_at_most(1), pytest.raises(DataError, match=r"needs 0\.07 GB of memory"):
        load(seed=0, path=path)


def test_members_that_nobody_asked_for_stay_packed(tmp_path: Path) -> None:
    path = packed(tmp_path / "mine.npz", **{"bomb.npy": bytes(1 << 26), "../x.npy": b"", "/etc/x.npy": b""})
    with takes_at_most(1):
        assert load(seed=0, path=path).train[0].shape == (20, 4)
    assert [entry.name for entry in tmp_path.iterdir()] == ["mine.npz"]


def test_a_size_that_the_archive_lies_about_is_found(tmp_path: Path) -> None:
    """The directory says 400 bytes, the member unpacks to more."""
    path = Path(packed(tmp_path / "mine.npz", x_train=npy("'|u1'", "(4096,)", bytes(4096))))
    content, true = path.read_bytes(), 128 + 4096
    size = len(npy("'|u1'", "(4096,)", bytes(4096)))
    assert size == true
    path.write_bytes(content.replace(size.to_bytes(4, "little"), (400).to_bytes(4, "little")))
    with pytest.raises(DataError, match=r"mine\.npz cannot be read"):
        load(seed=0, path=str(path))
