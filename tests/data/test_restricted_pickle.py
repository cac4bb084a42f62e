from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

from autotune.data.restricted_pickle import read_pickle
from autotune.errors import DataError
from tests.data.peak import takes_at_most


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


SHAPES = {
    # numpy itself takes all of these for arrays whose elements are pointers of the file's choice.
    "fields": b"cnumpy\ndtype\n(VV8\nI0\nI1\ntR"
    b"(I3\nV|\nN(Vf\nt(dVf\n(cnumpy\ndtype\n(VO\nI0\nI1\ntRI0\ntsI8\nI1\nI0\ntb",
    "objects": b"cnumpy\ndtype\n(VO8\nI0\nI1\ntR",
    "renamed": b"cnumpy\ndtype\n(Vu8\nI0\nI1\ntR(I3\nVO\nNNNI-1\nI-1\nI0\ntb",
    "subarray": b"cnumpy\ndtype\n(Vu8\nI0\nI1\ntR(I3\nV|\n(Vu8\n(I4\nttNNI-1\nI-1\nI0\ntb",
    "records": b"cnumpy\ndtype\n(Vu8,O\nI0\nI1\ntR",
    "none": b"N",
}


@pytest.mark.parametrize("dtype", SHAPES)
@pytest.mark.parametrize("way", ["state", "buffer"])
def test_bytes_cannot_pass_for_pointers(tmp_path: Path, dtype: str, way: str) -> None:
    begun = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntVb\ntR"
    made = {
        "state": begun + b"(I1\n(I1\nt" + SHAPES[dtype] + b"I00\nVAAAAAAAA\ntb.",
        "buffer": b"cnumpy.core.numeric\n_frombuffer\n(C\x08AAAAAAAA" + SHAPES[dtype] + b"(I1\ntVC\ntR.",
    }[way]
    path = tmp_path / "batch"
    path.write_bytes(made)
    with pytest.raises(DataError, match="is refused: its pickle asks for"):
        read_pickle(path)


@pytest.mark.parametrize("sizes", [b"I9999999999\n", b"I-1\n", b"I2\nI4\nI2\n", b"F8.0\n", b"I01\nI8\n", b""])
def test_a_shape_that_the_content_does_not_fill_is_refused(tmp_path: Path, sizes: bytes) -> None:
    dtype = b"cnumpy\ndtype\n(Vu1\nI0\nI1\ntR"
    path = tmp_path / "batch"
    path.write_bytes(b"cnumpy.core.numeric\n_frombuffer\n(C\x08AAAAAAAA" + dtype + b"(" + sizes + b"tVC\ntR.")
    with pytest.raises(DataError, match="not a whole pickle file"):
        read_pickle(path)


@pytest.mark.parametrize(
    "content",
    [
        b"cnumpy\nndarray\n(I8\ntR.",  # an array straight from the class
        b"(I8\ninumpy\nndarray\n.",
        b"\x80\x02cnumpy\nndarray\n)\x81.",
        b"cnumpy\nndarray\n}b.",  # a change of what is named, which would outlive this file
        b"cnumpy\ndtype\n(N}V__call__\nc_codecs\nencode\nstb.",
        b"c_codecs\nencode\n(N}V_make\nNstb.",
        b"cnumpy.core.multiarray\n_reconstruct\n(c_codecs\nencode\n(I0\ntVb\ntR.",
        b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x8c\x06system\x93.",  # STACK_GLOBAL
        b"cautotune.data.restricted_pickle\n_Array\n.",
        b"cnumpy.core.multiarray\n_reconstruct.__globals__\n.",
        b"\x82\x01.",  # the extension registry
        b"Pname\n.",  # a persistent id
    ],
)
def test_other_ways_to_something_that_can_be_called(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "batch"
    path.write_bytes(content)
    with pytest.raises(DataError):
        read_pickle(path)
    fine = pickle.dumps(np.arange(3, dtype=np.uint8), 2)
    path.write_bytes(fine)
    assert read_pickle(path).tolist() == [0, 1, 2], "and nothing was changed by it"


@pytest.mark.parametrize("number", [b"r\xff\xff\xff\x7f", b"p2000000000\n", b"r\x00\x00\x00\x10"])
def test_a_few_bytes_cannot_ask_for_gigabytes(tmp_path: Path, number: bytes) -> None:
    path = tmp_path / "batch"
    path.write_bytes(b"I1\n" + number + b".")
    with takes_at_most(1), pytest.raises(DataError, match="object number"):
        read_pickle(path)


BEFORE = {
    "a short string": b"U\x03abc",
    "a long string": b"T" + struct.pack("<i", 300) + b"p" * 300,
    "text": b"X" + struct.pack("<I", 4) + b"r\xc3\xbcr",
    "longer text": b"\x8d" + struct.pack("<Q", 2) + b"pq",
    "bytes": b"C\x02rr",
    "more bytes": b"B" + struct.pack("<I", 3) + b"p1\n",
    "bytes that change": b"\x96" + struct.pack("<Q", 5) + b"r\0\0\0\0",
    "a number in text": b"F1.5\n",
    "a number": b"J\xff\xff\xff\x7f",
    "a large number": b"\x8a\x04rrrr",
    "a name": b"cnumpy\nndarray\n",
    "a frame": b"\x80\x04\x95" + struct.pack("<Q", 9) + b"N",
}


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_nor_can_they_after_any_other_step(tmp_path: Path, before: bytes) -> None:
    """Whose argument may hold what looks like one, and which must not be lost count of."""
    path = tmp_path / "batch"
    path.write_bytes(before + b"r\xff\xff\xff\x7f.")
    with takes_at_most(1), pytest.raises(DataError, match="object number"):
        read_pickle(path)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_only_looks_like_an_object_number_is_read(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "batch"
    images = np.frombuffer(b"r\xff\xff\xff\x7fp2000000000\n" * 20, np.uint8)
    names = [f"p{number}" for number in range(2000)]
    path.write_bytes(pickle.dumps({"data": images, "names": names, "r\n": 2**2000}, protocol))
    got = read_pickle(path)
    assert got["data"].tobytes() == images.tobytes()
    assert (got["names"], got["r\n"]) == (names, 2**2000)


@pytest.mark.parametrize("dtype", ["bool", "int8", ">i2", "<u4", "int64", "float16", ">f4", "float64"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_numbers_of_every_size_and_order(tmp_path: Path, dtype: str, protocol: int) -> None:
    array = np.asfortranarray(np.arange(12).reshape(3, 4).astype(dtype))
    path = tmp_path / "batch"
    path.write_bytes(pickle.dumps(array, protocol))
    got = read_pickle(path)
    np.testing.assert_array_equal(got, array)
    assert got.dtype.newbyteorder("=") == array.dtype.newbyteorder("=")


def test_a_frame_that_ends_within_a_step_hides_nothing(tmp_path: Path) -> None:
    """Python skips what is left of such a frame, and reads other steps than those that were looked at."""
    path = tmp_path / "batch"
    frame = b"\x80\x04\x95" + struct.pack("<Q", 3) + b"J\x01\x02"
    path.write_bytes(frame + b"\x00\x00U\x05r\xff\xff\xff\x7f.N.")
    with takes_at_most(1), pytest.raises(DataError, match="a frame ends within step 2"):
        read_pickle(path)


def test_nor_does_a_frame_within_a_frame(tmp_path: Path) -> None:
    path = tmp_path / "batch"
    inner = b"\x95" + struct.pack("<Q", 1) + b"N"
    path.write_bytes(b"\x80\x04\x95" + struct.pack("<Q", 20) + inner + b"." + b"N" * 20)
    with pytest.raises(DataError, match="a frame ends within step 2"):
        read_pickle(path)
