"""Fashion-MNIST: 60,000 training and 10,000 test images, 28x28 grey, 10 classes of clothing.

Read from its four IDX files, plain or .gz. The format (https://yann.lecun.com/exdb/mnist/): two
zero bytes, a type (8 for unsigned bytes), the number of dimensions, each dimension as a
big-endian 32-bit number, the values.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

import numpy as np

from autotune.data import keras_cache
from autotune.data.dataset import Array, LoadedData, Pair
from autotune.errors import DataError

DEBIAN_PACKAGE = "dataset-fashion-mnist"
DEBIAN_FOLDER = Path("/usr/share/datasets/fashion-mnist")
FILES = {
    "x_train": "train-images-idx3-ubyte",
    "y_train": "train-labels-idx1-ubyte",
    "x_test": "t10k-images-idx3-ubyte",
    "y_test": "t10k-labels-idx1-ubyte",
}
CLASSES = 10
MAX_FILE_BYTES = 1 << 30
_UNSIGNED_BYTE = 8
"""IDX code of the type of the values."""


def load(
    *,
    seed: int,
    dir: str | None = None,
) -> LoadedData:
    """uint8 (n, 28, 28, 1) images and (n,) labels from IDX files.

    Args:
        seed: part of the contract; nothing here is random.
        dir: folder of the four files; None looks where Debian's package puts them, then in
            `datasets/fashion-mnist` of Keras's cache.

    Raises:
        DataError: no folder holds the files, some are missing, or one is damaged.
    """
    del seed
    folders = [Path(dir).expanduser().absolute()] if dir is not None else default_folders()
    for folder in folders:
        paths = _paths(folder)
        if paths:
            return LoadedData(
                train=_pair(paths["x_train"], paths["y_train"]),
                test=_pair(paths["x_test"], paths["y_test"]),
                origin=str(folder),
                num_classes=CLASSES,
            )
    raise DataError(
        f"Fashion-MNIST's files ({FILES['x_train']}[.gz] and three more) are not in "
        f"{' or '.join(map(str, folders))}; install Debian's package {DEBIAN_PACKAGE}, "
        "or set data.dir to their folder."
    )


def default_folders() -> list[Path]:
    """Where the files are looked for when `data.dir` names no folder, in order."""
    return [DEBIAN_FOLDER, keras_cache.datasets_dir() / "fashion-mnist"]


def read_idx(path: Path, ndim: int) -> Array:
    """The uint8 array of `ndim` dimensions in an IDX file, plain or .gz.

    Raises:
        DataError: another format, or a length that its header contradicts.
    """
    remedy = "it may be half-written or corrupt: move it away and fetch it again."
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as stream:
            shape = _shape(stream.read(4 + 4 * ndim), path, ndim, remedy)
            size = math.prod(shape)
            # Only now, since a small .gz can hold any number of bytes.
            content: bytes = stream.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}); {remedy}") from error
    if len(content) != size:
        got = f"only {len(content):,}" if len(content) < size else "more"
        raise DataError(
            f"{path} must hold {size:,} values for the shape {shape} in its header, but got {got}; {remedy}"
        )
    return np.frombuffer(content, np.uint8).reshape(shape)


def _shape(header: bytes, path: Path, ndim: int, remedy: str) -> tuple[int, ...]:
    """The dimensions in a header, if they are those of a file that can be read."""
    magic = bytes([0, 0, _UNSIGNED_BYTE, ndim])
    if header[:4] != magic:
        raise DataError(
            f"{path} must begin with the IDX magic number {magic.hex()}, but got {header[:4].hex() or 'nothing'};"
            f" {remedy}"
        )
    if len(header) < 4 + 4 * ndim:
        raise DataError(f"{path} ends within its header; {remedy}")
    shape = struct.unpack(f">{ndim}I", header[4:])
    if math.prod(shape) > MAX_FILE_BYTES:
        raise DataError(
            f"{path} holds {math.prod(shape):,} bytes by the shape {shape} in its header, more than the"
            f" {MAX_FILE_BYTES:,} that are read; it is no Fashion-MNIST."
        )
    return shape


def _paths(folder: Path) -> dict[str, Path]:
    """Path of each file; empty if the folder holds none of them."""
    found: dict[str, Path] = {}
    for part, name in FILES.items():
        for path in (folder / name, folder / f"{name}.gz"):
            if path.is_file():
                found.setdefault(part, path)
    missing = [name for part, name in FILES.items() if part not in found]
    if found and missing:
        raise DataError(
            f"{folder} lacks {', '.join(missing)} (plain or .gz) of Fashion-MNIST's four files; "
            "complete it, or set data.dir to another folder."
        )
    return found


def _pair(images: Path, labels: Path) -> Pair:
    x = read_idx(images, 3)[..., None]
    y = read_idx(labels, 1)
    if len(x) != len(y):
        raise DataError(
            f"{images} and {labels.name} must hold as many images as labels, but got "
            f"{len(x)} and {len(y)}; fetch both again."
        )
    return x, y
