"""Unpickles numbers and arrays, and nothing that could run code.

A pickle is a program; `pickle.load` on a downloaded file runs it. What the CIFAR-10 files need is listed here, for
files written by Python 2, by numpy 1 and by numpy 2. numpy's own classes are no part of it: with the states that a
pickle gives them, an array of bytes passes for an array of objects, whose pointers are then the file's to choose.
Stand-ins take their places, which let a state through once it has been checked.
"""

from __future__ import annotations

import io
import math
import pickle
import pickletools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from autotune.errors import DataError

_NUMBER = re.compile(r"[<>=|]?[biuf](?:1|2|4|8|16)?")
"""Codes of bool, integers and floats, as numpy writes them; `b` alone is the int8 of an array not yet filled."""

_ORDERS = ("<", ">", "=", "|")


# How the argument of an opcode ends: after so many bytes; after as many as are told by its first bytes, of which there
# are so many; after so many lines.
_WIDTHS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}
_ENDS = {ord(opcode.code): opcode.arg.n if opcode.arg else 0 for opcode in pickletools.opcodes}
_FIXED = {code: size for code, size in _ENDS.items() if size >= 0}
_COUNTED = {code: _WIDTHS[size] for code, size in _ENDS.items() if size in _WIDTHS}
_LINES = {code: 2 if code in b"ci" else 1 for code, size in _ENDS.items() if size == pickletools.UP_TO_NEWLINE}
_PUT, _STOP, _FRAME = ord("p"), ord("."), 0x95
_PUTS = frozenset(b"pqr")
"""PUT, BINPUT and LONG_BINPUT."""


class ForbiddenGlobalError(pickle.UnpicklingError):
    """The pickle asks for something other than numbers and arrays; the text is its name."""


class _Global:
    """What a pickle gets when it asks for something by name: to be called, never to be changed."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make

    def __call__(self, *args: Any) -> Any:
        return self._make(*args)

    def __setstate__(self, _state: object) -> NoReturn:
        raise ForbiddenGlobalError(f"a change of {self._make.__name__}")


def _no_array(*_args: object) -> NoReturn:
    raise ForbiddenGlobalError("a call of numpy.ndarray")


_ARRAY_CLASS = _Global(_no_array)
"""Stands for `numpy.ndarray`, which pickles name and only `_reconstruct` needs."""


class _Dtype:
    """Stands for `numpy.dtype`: a number's code and byte order."""

    __slots__ = ("_code",)

    def __init__(self, code: Any, *_align_and_copy: object) -> None:
        text = code.decode("latin1") if isinstance(code, bytes) else code
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            raise ForbiddenGlobalError(f"numpy.dtype({code!r})")
        self._code = text

    def __setstate__(self, state: Any) -> None:
        _version, order, subarray, names, fields, *_sizes = state
        order = order.decode("latin1") if isinstance(order, bytes) else order
        if order not in _ORDERS or not (subarray is names is fields is None):
            raise ForbiddenGlobalError("a numpy.dtype of more than a number")
        self._code = order + self._code.lstrip("".join(_ORDERS))

    def real(self) -> np.dtype[Any]:
        return np.dtype(self._code)


class _Array(np.ndarray):
    """An array that fills itself from a pickle's state only if that describes numbers."""

    def __setstate__(self, state: Any) -> None:
        _version, shape, dtype, is_fortran, content = state
        checked: Any = (1, shape, _checked(dtype, shape, content), bool(is_fortran), bytes(content))
        super().__setstate__(checked)


def _reconstruct(kind: Any, _shape: object, _code: object) -> npt.NDArray[Any]:
    """Stands for numpy's function of this name, by which protocols 0 to 4 begin an array."""
    if kind is not _ARRAY_CLASS:
        raise ForbiddenGlobalError(f"an array of the class {kind!r}")
    return np.empty(0, np.uint8).view(_Array)


def _frombuffer(content: Any, dtype: Any, shape: Any, order: Any, *_axes: object) -> npt.NDArray[Any]:
    """Stands for numpy's function of this name, by which protocol 5 makes an array."""
    real = _checked(dtype, shape, content)
    return np.frombuffer(content, real).reshape(shape, order="F" if order == "F" else "C").view(_Array)


def _checked(dtype: Any, shape: Any, content: Any) -> np.dtype[Any]:
    """The dtype, if the content is exactly as many numbers of it as the shape says."""
    if not isinstance(dtype, _Dtype) or not isinstance(content, bytes | bytearray):
        raise ForbiddenGlobalError("an array of something other than numbers")
    real = dtype.real()
    if not all(type(size) is int and size >= 0 for size in shape) or math.prod(shape) * real.itemsize != len(content):
        raise pickle.UnpicklingError(f"an array of shape {shape} and {real} has {len(content):,} bytes")
    return real


def _encode_latin1(text: str, encoding: str) -> bytes:
    """Stands for `_codecs.encode`, by which Python 3 writes bytes in protocols 0 to 2."""
    if encoding not in ("latin1", b"latin1"):
        raise ForbiddenGlobalError(f"_codecs.encode to {encoding!r}")
    return text.encode("latin1")


_GLOBALS = {
    ("numpy", "ndarray"): _ARRAY_CLASS,
    ("numpy", "dtype"): _Global(_Dtype),
    ("_codecs", "encode"): _Global(_encode_latin1),
    # numpy renamed numpy.core in version 2.
    ("numpy.core.multiarray", "_reconstruct"): _Global(_reconstruct),
    ("numpy._core.multiarray", "_reconstruct"): _Global(_reconstruct),
    ("numpy.core.numeric", "_frombuffer"): _Global(_frombuffer),
    ("numpy._core.numeric", "_frombuffer"): _Global(_frombuffer),
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _GLOBALS[module, name]
        except KeyError:
            raise ForbiddenGlobalError(f"{module}.{name}") from None


def read_pickle(path: Path) -> Any:
    """The object in `path`, made of builtin values and numpy arrays of numbers only.

    Strings of Python 2 come back as bytes.

    Raises:
        DataError: the file cannot be read, is no whole pickle, or names a forbidden global.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from error
    return read_pickle_bytes(content, path)


def read_pickle_bytes(content: bytes, where: Path | str) -> Any:
    """As `read_pickle`, from memory; `where` names the file in messages."""
    try:
        _refuse_huge_memo(content)
        return _ArrayUnpickler(io.BytesIO(content), encoding="bytes").load()
    except ForbiddenGlobalError as error:
        raise DataError(
            f"{where} is refused: its pickle asks for {error}, which a file of arrays has no use "
            "for and which could run code; get the file from a source that you trust."
        ) from error
    except Exception as error:  # a damaged pickle may raise anything, as its documentation says
        raise DataError(
            f"{where} is not a whole pickle file ({type(error).__name__}: {error}); it may be "
            "half-written or corrupt: move it away and fetch it again."
        ) from error


def _refuse_huge_memo(content: bytes) -> None:
    """Refuse to number an object higher than there are steps: five bytes can ask for a table of 32 GiB.

    Also refuse a step that goes beyond its frame, or a frame within a frame, which no pickle has: what is left of a
    frame is skipped then, and what is read is another step than the one that was looked at.
    """
    frame_end = 0
    for step, (code, begin, end) in enumerate(_steps(content)):
        if begin <= frame_end < end or (code == _FRAME and begin <= frame_end):
            raise pickle.UnpicklingError(f"a frame ends within step {step}")
        if code == _FRAME:
            frame_end = end + int.from_bytes(content[begin:end], "little")
        if code in _PUTS:
            argument = content[begin:end]
            number = int(argument) if code == _PUT else int.from_bytes(argument, "little")
            if not 0 <= number <= step + 1:
                raise pickle.UnpicklingError(f"object number {number} after {step} steps")


def _steps(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Opcode of each step, and where its argument begins and ends; up to the first that is none, or not whole.

    `pickletools.genops` tells the same, but makes a string of each image: a second for CIFAR-10.
    """
    position = 0
    while position < len(content):
        code, begin = content[position], position + 1
        if code in _FIXED:
            end = begin + _FIXED[code]
        elif code in _COUNTED:
            argument = begin + _COUNTED[code]
            end = argument + int.from_bytes(content[begin:argument], "little")
        else:
            end = begin
            for _ in range(_LINES.get(code, 0)):
                end = content.find(b"\n", end) + 1 or len(content) + 1
            if end == begin:
                return
        if end > len(content):
            return
        yield code, begin, end
        if code == _STOP:
            return
        position = end
