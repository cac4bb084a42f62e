"""A person's own arrays, from one .npz file.

    numpy.savez("mine.npz", x_train=..., y_train=..., x_test=..., y_test=...)
    python -m autotune data=npz data.args.path=mine.npz

`x_val` and `y_val` are optional. What the arrays must be is in the docstring of `autotune.data`.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path

from numpy.lib import format as npy

from autotune.data.dataset import Array, LoadedData
from autotune.data.memory import require_memory
from autotune.errors import DataError

REQUIRED = ("x_train", "y_train", "x_test", "y_test")
OPTIONAL = ("x_val", "y_val")


def load(*, seed: int, path: str) -> LoadedData:
    """The arrays of an .npz file.

    Args:
        seed: part of the contract; nothing here is random.
        path: the file; relative to the current working directory.

    Raises:
        DataError: no such file, another format, missing arrays, or arrays of objects.
    """
    del seed
    if not isinstance(path, str):
        raise DataError(f"data.args.path must be the path of an .npz file, but got {path!r}.")
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise DataError(f"data.args.path must be an .npz file, but there is none at {file}.")
    try:
        arrays = _arrays(file)
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(
            f"{file} cannot be read as arrays ({error}); write it with numpy.savez, from arrays "
            "of numbers (an array of objects is a pickle and is refused)."
        ) from error
    has_validation = "x_val" in arrays
    return LoadedData(
        train=(arrays["x_train"], arrays["y_train"]),
        test=(arrays["x_test"], arrays["y_test"]),
        validation=(arrays["x_val"], arrays["y_val"]) if has_validation else None,
        origin=str(file),
    )


def _arrays(file: Path) -> dict[str, Array]:
    if not zipfile.is_zipfile(file):
        raise DataError(f"{file} is no .npz file, or not whole; write it with numpy.savez.")
    with zipfile.ZipFile(file) as archive:
        members = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        _require_keys(file, sorted(members))
        wanted = {key: members[key] for key in REQUIRED + OPTIONAL if key in members}
        for key, entry in wanted.items():
            _check_header(archive, key, entry)
        require_memory(sum(entry.file_size for entry in wanted.values()), str(file))
        return {key: _array(archive, entry) for key, entry in wanted.items()}


def _require_keys(file: Path, available: list[str]) -> None:
    missing = [key for key in REQUIRED if key not in available]
    if ("x_val" in available) != ("y_val" in available):
        missing += [key for key in OPTIONAL if key not in available]
    if missing:
        raise DataError(
            f"{file} must hold {', '.join(REQUIRED)} (and optionally {', '.join(OPTIONAL)}), "
            f"but lacks {', '.join(missing)}; it holds {', '.join(available) or 'nothing'}."
        )


def _check_header(archive: zipfile.ZipFile, key: str, entry: zipfile.ZipInfo) -> None:
    """Refuse an array whose header promises other than the member holds: numpy makes room for it before it reads."""
    with archive.open(entry) as stream:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _is_fortran, dtype = read(stream)
        promised = stream.tell() + math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise ValueError(f"{key} is an array of objects")
    if min(shape, default=0) < 0 or promised != entry.file_size:
        raise ValueError(
            f"{key} promises {promised:,} bytes by its shape {shape} of {dtype}, but has {entry.file_size:,}"
        )


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    with archive.open(entry) as stream:
        found: Array = npy.read_array(stream, allow_pickle=False)
        return found
