from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from autotune.data.restricted_pickle import read_pickle
from autotune.errors import DataError


def python2_pickle(values: bytes) -> bytes:
    """{'data': uint8 array, 'labels': [3, 7]} in protocol 2 as numpy 1 on Python 2 wrote it."""

    def text(value: bytes) -> bytes:
        return b"U" + struct.pack("B", len(value)) + value  # SHORT_BINSTRING

    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n"
        + (b"cnumpy\nndarray\n" + b"K\x00\x85" + text(b"b") + b"\x87R")
        + (b"(K\x01K" + bytes([len(values)]) + b"\x85")
        + (b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R")
        + (b"(K\x03" + text(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2 + b"K\x00tb")
        + (b"\x89" + text(values) + b"tb")
    )
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + b"](K\x03K\x07e" + b"u."


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_of_every_protocol(tmp_path: Path, protocol: int) -> None:
    array = np.arange(256, dtype=np.uint8).reshape(16, 16)
    path = tmp_path / "batch"
    path.write_bytes(pickle.dumps({b"data": array, b"labels": [1, 2]}, protocol))
    got = read_pickle(path)
    np.testing.assert_array_equal(got[b"data"], array)
    assert got[b"labels"] == [1, 2]


@pytest.mark.parametrize(("ours", "theirs"), [(b"numpy._core.", b"numpy.core.")])
@pytest.mark.parametrize("protocol", [0, 2])
def test_files_of_the_other_numpy(tmp_path: Path, ours: bytes, theirs: bytes, protocol: int) -> None:
    array = np.arange(6, dtype=np.uint8)
    content = pickle.dumps(array, protocol)
    assert ours in content
    path = tmp_path / "batch"
    path.write_bytes(content.replace(ours, theirs))
    np.testing.assert_array_equal(read_pickle(path), array)


def test_files_of_python_2(tmp_path: Path) -> None:
    values = bytes([0, 127, 128, 255])
    path = tmp_path / "batch"
    path.write_bytes(python2_pickle(values))
    got = read_pickle(path)
    assert got[b"data"].tolist() == list(values)
    assert got[b"labels"] == [3, 7]


class Hostile:
    def __init__(self, call: object, *args: object) -> None:
        self.call, self.args = call, args

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call, self.args


@pytest.mark.parametrize(
    ("call", "args", "named"),
    [
        (os.system, ("touch {proof}",), "system"),
        (eval, ("open('{proof}', 'w')",), "eval"),
        (getattr, (np, "load"), "getattr"),
        (np.load, ("{proof}",), "load"),
        (np.memmap, ("{proof}", "uint8", "w+", 0, 1), "memmap"),
    ],
)
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_hostile_pickle_is_refused_by_name(
    tmp_path: Path, call: object, args: tuple[object, ...], named: str, protocol: int
) -> None:
    proof = tmp_path / "proof"
    filled = [a.format(proof=proof) if isinstance(a, str) else a for a in args]
    if call is getattr:
        filled = ["text", "upper"]
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps({b"data": Hostile(call, *filled)}, protocol))
    with pytest.raises(DataError, match=named) as caught:
        read_pickle(path)
    assert str(path) in str(caught.value)
    assert not proof.exists()


def test_a_codec_other_than_latin1_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "batch"
    path.write_bytes(b"c_codecs\nencode\n(Va\nVzip\ntR.")
    with pytest.raises(DataError, match=r"_codecs\.encode to 'zip'"):
        read_pickle(path)


@pytest.mark.parametrize("kept_bytes", [0, 1, 50, -1])
def test_a_truncated_pickle_is_named(tmp_path: Path, kept_bytes: int) -> None:
    path = tmp_path / "data_batch_3"
    path.write_bytes(pickle.dumps({b"data": np.zeros(99, np.uint8)}, 2)[:kept_bytes])
    with pytest.raises(DataError, match="half-written") as caught:
        read_pickle(path)
    assert str(path) in str(caught.value)
    assert path.exists()


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_pickle(tmp_path)
