"""Reads the six files of CIFAR-10's Python version, from a folder or from its archive.

Layout (https://www.cs.toronto.edu/~kriz/cifar.html): each file is a pickled dict with `data`,
uint8 (10000, 3072), the three colour planes of an image one after the other, and `labels`, a list
of 10,000 numbers from 0 to 9.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

import numpy as np

from autotune.data.dataset import Array, Pair
from autotune.data.restricted_pickle import read_pickle
from autotune.errors import DataError

FOLDER = "cifar-10-batches-py"
TRAIN_FILES = tuple(f"data_batch_{number}" for number in range(1, 6))
TEST_FILE = "test_batch"
FILES = (*TRAIN_FILES, TEST_FILE)
CLASSES = 10
PIXELS = 3 * 32 * 32
MAX_MEMBER_BYTES = 100 << 20
"""The files are 31 MB each, or 44 MB in a pickle protocol that writes bytes as text."""

MAX_UNPACKED_BYTES = 1 << 30
"""Of an archive, whose six files and the rest are 187 MB."""


@dataclass(frozen=True, slots=True)
class Release:
    """What is published as CIFAR-10; tests read a small one.

    Attributes:
        url: where the archive is.
        sha256: of the archive, hex.
        archive_bytes: size of the archive.
        rows: images in each of the six files.
    """

    url: str
    sha256: str
    archive_bytes: int
    rows: int


def read_folder(folder: Path, rows: int) -> tuple[Pair, Pair] | None:
    """Training and test pair, uint8 (n, 32, 32, 3) and (n,); None if none of the files is there.

    Raises:
        DataError: some of the files are missing, or one is damaged.
    """
    missing = [name for name in FILES if not (folder / name).is_file()]
    if len(missing) == len(FILES):
        return None
    if missing:
        raise DataError(
            f"{folder} lacks {', '.join(missing)} of CIFAR-10's six files; it may be "
            "half-written: complete it, or move it away to have it fetched again."
        )
    x_train: Array = np.empty((rows * len(TRAIN_FILES), 32, 32, 3), np.uint8)
    y_train: Array = np.empty(rows * len(TRAIN_FILES), np.uint8)
    for index, name in enumerate(TRAIN_FILES):
        piece = slice(index * rows, (index + 1) * rows)
        _read_file(folder / name, x_train[piece], y_train[piece])
    x_test: Array = np.empty((rows, 32, 32, 3), np.uint8)
    y_test: Array = np.empty(rows, np.uint8)
    _read_file(folder / TEST_FILE, x_test, y_test)
    return (x_train, y_train), (x_test, y_test)


def unpack(archive: Path, parent: Path, sha256: str | None) -> Path:
    """Unpacks the six files of `archive` into `parent/cifar-10-batches-py`, all or nothing.

    Only members with one of the six names are written, each by its own name; nothing else in
    the archive can place a file anywhere.

    Args:
        archive: a .tar.gz file.
        parent: folder that will hold the unpacked one.
        sha256: what the archive's must be; None skips the check.

    Returns:
        The folder with the six files.

    Raises:
        DataError: the archive is incomplete, damaged, or not what it should be.
        OSError: `parent` cannot be written.
    """
    if sha256 is not None:
        _require_sha256(archive, sha256)
    parent.mkdir(parents=True, exist_ok=True)
    target = parent / FOLDER
    scratch = Path(tempfile.mkdtemp(prefix=f".{FOLDER}-", dir=parent))
    try:
        _write_members(archive, scratch)
        scratch.chmod(0o755)  # mkdtemp makes it private; a cache may be shared
        try:
            scratch.replace(target)
        except OSError:
            # Another process may have put it there meanwhile, complete since it does as we do.
            if not all((target / name).is_file() for name in FILES):
                raise
        return target
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _read_file(path: Path, images: Array, labels: Array) -> None:
    """Fills `images` and `labels` from one file."""
    batch = read_pickle(path)
    if not isinstance(batch, dict):
        raise _wrong(path, f"must hold a dict, but got {type(batch).__name__}")
    batch = {_as_text(key): value for key, value in batch.items()}
    if "data" not in batch or "labels" not in batch:
        raise DataError(
            f"{path} must hold 'data' and 'labels', but got {sorted(batch)}; is it CIFAR-10's "
            "Python version (and not CIFAR-100)?"
        )
    data, values = batch["data"], _as_array(batch["labels"])
    if not (isinstance(data, np.ndarray) and data.dtype == np.uint8):
        raise _wrong(path, f"data must be a uint8 array, but got {_kind(data)}")
    if data.shape != (len(images), PIXELS):
        raise _wrong(path, f"data must be of shape {(len(images), PIXELS)}, but got {data.shape}")
    if values is None or values.shape != (len(images),) or values.dtype.kind not in "iu":
        got = _kind(batch["labels"]) if values is None else f"{values.dtype} {values.shape}"
        raise _wrong(path, f"labels must be {len(images)} integers, but got {got}")
    if values.min() < 0 or values.max() >= CLASSES:
        raise _wrong(
            path,
            f"labels must be 0 to {CLASSES - 1}, but got {values.min()} to {values.max()}",
        )
    images[...] = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    labels[...] = values


def _wrong(path: Path, what: str) -> DataError:
    return DataError(f"{path}: {what}; it may be half-written or corrupt: move it away and fetch it again.")


def _as_array(values: object) -> Array | None:
    """None for what makes no array, such as lists of unequal lengths."""
    try:
        return np.asarray(values)
    except ValueError:
        return None


def _as_text(key: object) -> str:
    return key.decode("latin1") if isinstance(key, bytes) else str(key)


def _kind(value: object) -> str:
    return str(value.dtype) if isinstance(value, np.ndarray) else type(value).__name__


def _require_sha256(archive: Path, expected: str) -> None:
    with archive.open("rb") as stream:
        got = hashlib.file_digest(stream, "sha256").hexdigest()
    if got != expected:
        raise DataError(
            f"{archive} is not CIFAR-10's archive: its sha256 must be {expected}, but got {got}; "
            "it may be half-downloaded: move it away to have it fetched again."
        )


def _write_members(archive: Path, folder: Path) -> None:
    wanted = {str(PurePosixPath(FOLDER) / name): name for name in FILES}
    try:
        with gzip.open(archive) as unzipped, tarfile.open(fileobj=_limited(unzipped), mode="r|") as tar:
            for member in tar:
                name = wanted.get(member.name)
                if name is None:
                    continue
                if not member.isreg() or member.size > MAX_MEMBER_BYTES:
                    raise DataError(
                        f"{archive} is refused: its {member.name} is no plain file of at most "
                        f"{MAX_MEMBER_BYTES >> 20} MiB; get CIFAR-10's archive from its site."
                    )
                source = tar.extractfile(member)
                assert source is not None
                with (folder / name).open("wb") as out:
                    shutil.copyfileobj(source, out, 1 << 20)
    except (tarfile.TarError, zlib.error, EOFError, ValueError, OverflowError) as error:
        raise _damaged(archive, error) from error
    except OSError as error:
        if error.errno is not None:
            raise  # of the file system: no space, no permission
        raise _damaged(archive, error) from error  # gzip reports a bad stream as an OSError
    missing = [name for name in wanted if not (folder / wanted[name]).is_file()]
    if missing:
        raise DataError(
            f"{archive} lacks {', '.join(missing)}; it is not CIFAR-10's Python version, or not "
            "whole: move it away and fetch it again."
        )


class _Limited:
    """A stream that ends with an error past `MAX_UNPACKED_BYTES`.

    A small .gz can hold any number of bytes, and tarfile takes a member's long name into memory at whatever size.
    """

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._left = MAX_UNPACKED_BYTES

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._left -= len(content)
        if self._left < 0:
            raise tarfile.ReadError(f"it unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB")
        return content


def _limited(stream: gzip.GzipFile) -> IO[bytes]:
    return cast(IO[bytes], _Limited(stream))  # what tarfile needs of a file, and no more


def _damaged(archive: Path, error: Exception) -> DataError:
    return DataError(
        f"{archive} cannot be unpacked ({type(error).__name__}: {error}); it may be "
        "half-downloaded or corrupt: move it away and fetch it again."
    )
