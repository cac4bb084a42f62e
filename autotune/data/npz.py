"""A person's own arrays, from one .npz file.

    numpy.savez("mine.npz", x_train=..., y_train=..., x_test=..., y_test=...)
    python -m autotune data=npz data.args.path=mine.npz

`x_val` and `y_val` are optional. What the arrays must be is in the docstring of `autotune.data`.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

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
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise DataError(f"data.args.path must be an .npz file, but there is none at {file}.")
    try:
        arrays = _arrays(file)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
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
    with zipfile.ZipFile(file) as members:
        wanted = {f"{key}.npy" for key in REQUIRED + OPTIONAL}
        sizes = [m.file_size for m in members.infolist() if m.filename in wanted]
    require_memory(sum(sizes), str(file))
    with np.load(file, allow_pickle=False) as content:
        available = sorted(content.files)
        missing = [key for key in REQUIRED if key not in available]
        if ("x_val" in available) != ("y_val" in available):
            missing += [key for key in OPTIONAL if key not in available]
        if missing:
            raise DataError(
                f"{file} must hold {', '.join(REQUIRED)} (and optionally {', '.join(OPTIONAL)}), "
                f"but lacks {', '.join(missing)}; it holds {', '.join(available) or 'nothing'}."
            )
        return {key: content[key] for key in REQUIRED + OPTIONAL if key in available}
