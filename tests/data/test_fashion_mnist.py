from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from autotune.data import fashion_mnist
from autotune.data.fashion_mnist import DEBIAN_FOLDER, FILES, default_folders, load, read_idx
from autotune.errors import DataError
from tests.data.peak import takes_at_most


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.tobytes()


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x_train": rng.integers(0, 256, (30, 28, 28), dtype=np.uint8),
        "y_train": np.arange(30, dtype=np.uint8) % 10,
        "x_test": rng.integers(0, 256, (20, 28, 28), dtype=np.uint8),
        "y_test": np.arange(20, dtype=np.uint8) % 10,
    }


def write(folder: Path, gz: bool = False) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for part, array in arrays().items():
        content = idx(array)
        if gz:
            (folder / f"{FILES[part]}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / FILES[part]).write_bytes(content)
    return folder


@pytest.mark.parametrize("gz", [False, True])
def test_plain_and_compressed(tmp_path: Path, gz: bool) -> None:
    loaded = load(seed=0, dir=str(write(tmp_path, gz)))
    expected = arrays()
    np.testing.assert_array_equal(loaded.train[0], expected["x_train"][..., None])
    np.testing.assert_array_equal(loaded.train[1], expected["y_train"])
    np.testing.assert_array_equal(loaded.test[0], expected["x_test"][..., None])
    np.testing.assert_array_equal(loaded.test[1], expected["y_test"])
    assert (loaded.num_classes, loaded.stand_in) == (10, None)
    assert loaded.origin == str(tmp_path)


def test_the_default_folders_and_their_order(
    keras_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_folders() == [DEBIAN_FOLDER, keras_cache / "fashion-mnist"]
    debian = tmp_path / "debian"
    monkeypatch.setattr(fashion_mnist, "DEBIAN_FOLDER", debian)
    write(keras_cache / "fashion-mnist")
    assert load(seed=0).origin == str(keras_cache / "fashion-mnist")
    write(debian, gz=True)
    assert load(seed=0).origin == str(debian)


def test_nowhere_names_the_folders_and_the_package(
    keras_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debian = tmp_path / "debian"
    monkeypatch.setattr(fashion_mnist, "DEBIAN_FOLDER", debian)
    with pytest.raises(DataError, match="dataset-fashion-mnist") as caught:
        load(seed=0)
    assert str(debian) in str(caught.value)
    assert str(keras_cache / "fashion-mnist") in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (write(tmp_path, gz=True) / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(DataError, match="lacks t10k-labels-idx1-ubyte"):
        load(seed=0, dir=str(tmp_path))


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda content: content[:-1], "must hold 23,520 values .* but got only 23,519"),
        (lambda content: content + b"0", "but got more"),
        (lambda content: content[:7], "ends within its header"),
        (lambda content: b"", "but got nothing"),
        (lambda content: b"\0\0\x0d" + content[3:], "magic number 00000803, but got 00000d03"),
        (lambda content: b"<html>" * 9, "magic number"),
        (
            lambda content: content[:4] + b"\xff" * 12 + content[16:],
            "holds 79,228,162,458,924,105",
        ),
    ],
)
@pytest.mark.parametrize("gz", [False, True])
def test_a_damaged_file_is_named_and_kept(
    tmp_path: Path, spoil: Callable[[bytes], bytes], complaint: str, gz: bool
) -> None:
    content = spoil(idx(arrays()["x_train"]))
    path = tmp_path / ("images.gz" if gz else "images")
    path.write_bytes(gzip.compress(content) if gz else content)
    with pytest.raises(DataError, match=complaint) as caught:
        read_idx(path, 3)
    assert str(path) in str(caught.value)
    assert path.exists()


@pytest.mark.parametrize("content", [gzip.compress(b"0" * 9999, mtime=0)[:20], b"no gzip", b""])
def test_a_damaged_compression_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"images\.gz"):
        read_idx(path, 3)


def test_more_images_than_labels(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / FILES["y_train"]).write_bytes(idx(np.zeros(29, np.uint8)))
    with pytest.raises(DataError, match="got 30 and 29"):
        load(seed=0, dir=str(tmp_path))


def test_a_bomb_is_read_no_further_than_its_header_says(tmp_path: Path) -> None:
    """256 MiB of zeros behind the header of two small images."""
    path = tmp_path / "images.gz"
    with gzip.open(path, "wb", 1) as stream:
        stream.write(idx(np.zeros((2, 28, 28), np.uint8)))
        for _ in range(16):
            stream.write(bytes(1 << 24))
    with takes_at_most(1), pytest.raises(DataError, match=r"must hold 1,568 values .* but got more"):
        read_idx(path, 3)
