"""Unpickles numbers and arrays, and nothing that could run code.

A pickle is a program; `pickle.load` on a downloaded file runs it. What the CIFAR-10 files need is
listed here, for files written by Python 2, by numpy 1 and by numpy 2.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from autotune.errors import DataError

_NUMPY_GLOBALS = frozenset(
    {
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        # Arrays in pickle protocols 0 to 4.
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        # Arrays in protocol 5.
        ("numpy.core.numeric", "_frombuffer"),
        ("numpy._core.numeric", "_frombuffer"),
    }
)


class ForbiddenGlobalError(pickle.UnpicklingError):
    """The pickle asks for something other than numbers and arrays; the text is its name."""


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _NUMPY_GLOBALS:
            # numpy renamed numpy.core in version 2; both must read the other's files.
            return super().find_class(_spelling_of_this_numpy(module), name)
        if (module, name) == ("_codecs", "encode"):
            return _encode_latin1
        raise ForbiddenGlobalError(f"{module}.{name}")


def read_pickle(path: Path) -> Any:
    """The object in `path`, made of builtin values and numpy arrays only.

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


def _spelling_of_this_numpy(module: str) -> str:
    if not module.startswith(("numpy.core.", "numpy._core.")):
        return module
    core = "numpy._core" if int(np.__version__.partition(".")[0]) >= 2 else "numpy.core"
    return f"{core}.{module.rpartition('.')[2]}"


def _encode_latin1(text: str, encoding: str) -> bytes:
    """Stands for `_codecs.encode`, by which Python 3 writes bytes in protocols 0 to 2."""
    if encoding not in ("latin1", b"latin1"):
        raise ForbiddenGlobalError(f"_codecs.encode to {encoding!r}")
    return text.encode("latin1")
