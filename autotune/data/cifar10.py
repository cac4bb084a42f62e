"""CIFAR-10: 50,000 training and 10,000 test images, 32x32 RGB, 10 classes.

Looked for in `data.dir`, then in Keras's cache, then downloaded into that cache in the layout
that `keras.datasets.cifar10` uses, so that both share it. Not to be had, a stand-in takes its
place, or an error, as `data.on_unavailable` says. Damaged files are an error in any case: they are
neither deleted nor trained on.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from autotune.data import keras_cache, stand_in
from autotune.data.cifar10_files import CLASSES, FILES, FOLDER, Release, read_folder, unpack
from autotune.data.dataset import LoadedData, Pair
from autotune.data.download import DownloadError
from autotune.data.download import download as fetch
from autotune.errors import DataError

log = logging.getLogger(__name__)

RELEASE = Release(
    url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    # Source of the sum: keras/src/datasets/cifar10.py of Keras 3.15.
    sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    archive_bytes=170_498_071,
    rows=10_000,
)

KERAS_FOLDER = "cifar-10-batches-py-target"
"""Keras 3.15 unpacks the archive into this folder, and keeps it beside with `_archive` added."""

KERAS_ARCHIVES = (f"{KERAS_FOLDER}_archive", f"{FOLDER}.tar.gz")
DIR_ARCHIVES = (f"{FOLDER}.tar.gz", "cifar-10-python.tar.gz")


def load(
    *,
    seed: int,
    dir: str | None = None,
    download: bool = True,
    download_timeout_s: float = 5.0,
    on_unavailable: str = "stand_in",
) -> LoadedData:
    """CIFAR-10, or its stand-in.

    Args:
        seed: part of the contract; nothing here is random.
        dir: the folder with the six files or their archive, or the folder above; None looks in
            Keras's cache.
        download: whether the network may be used when the cache has nothing.
        download_timeout_s: longest silence of the network, seconds.
        on_unavailable: "stand_in", or "error" for a DataError.

    Raises:
        DataError: damaged files; nothing in `dir`; or unavailable with on_unavailable="error".
    """
    return load_release(
        RELEASE,
        seed=seed,
        dir=dir,
        download=download,
        download_timeout_s=download_timeout_s,
        on_unavailable=on_unavailable,
    )


def load_release(
    release: Release,
    *,
    seed: int,
    dir: str | None = None,
    download: bool = True,
    download_timeout_s: float = 5.0,
    on_unavailable: str = "stand_in",
) -> LoadedData:
    """As `load`, for a given release."""
    if dir is not None:
        return _from_dir(Path(dir).expanduser().absolute(), release)
    cached = _from_cache(release)
    if cached is not None:
        return cached
    reason = "data.download is false"
    if download:
        try:
            return _downloaded(release, download_timeout_s)
        except DownloadError as error:
            reason = str(error)
    reason = f"CIFAR-10 is not in {keras_cache.datasets_dir()} and was not downloaded ({reason})"
    if on_unavailable == "error":
        raise DataError(f"{reason}; set data.dir to the folder {FOLDER}, or data.on_unavailable=stand_in.")
    return stand_in.load(
        seed=seed,
        train_examples=release.rows * 5,
        test_examples=release.rows,
        reason=reason,
    )


def _from_dir(folder: Path, release: Release) -> LoadedData:
    for candidate in (folder, folder / FOLDER, folder / KERAS_FOLDER / FOLDER):
        pairs = read_folder(candidate, release.rows)
        if pairs is not None:
            return _loaded(pairs, candidate)
    for archive in (folder, *(folder / name for name in DIR_ARCHIVES)):
        if archive.is_file():
            return _from_archive(archive, release, sha256=None)
    found = "it does not exist" if not folder.exists() else "they are not there"
    raise DataError(
        f"data.dir must hold CIFAR-10's files {FILES[0]} ... {FILES[-1]}, a folder {FOLDER} or "
        f"{DIR_ARCHIVES[-1]}, but got {folder}: {found}; leave data.dir out to use Keras's cache."
    )


def _from_cache(release: Release) -> LoadedData | None:
    cache = keras_cache.datasets_dir()
    for folder in (cache / KERAS_FOLDER / FOLDER, cache / FOLDER):
        pairs = read_folder(folder, release.rows)
        if pairs is not None:
            return _loaded(pairs, folder)
    for name in KERAS_ARCHIVES:
        if (cache / name).is_file():
            return _from_archive(cache / name, release, release.sha256, cache / KERAS_FOLDER)
    return None


def _downloaded(release: Release, timeout_s: float) -> LoadedData:
    cache = keras_cache.datasets_dir()
    archive = cache / KERAS_ARCHIVES[0]
    log.info("downloading %d MB from %s to %s", release.archive_bytes / 1e6, release.url, archive)
    fetch(
        release.url,
        archive,
        sha256=release.sha256,
        total_bytes=release.archive_bytes,
        timeout_s=timeout_s,
    )
    return _from_archive(archive, release, None, cache / KERAS_FOLDER)


def _from_archive(archive: Path, release: Release, sha256: str | None, keep_in: Path | None = None) -> LoadedData:
    """Reads an archive; what it held is kept in `keep_in`, for next time, where that works."""
    if keep_in is not None:
        try:
            return _read_unpacked(unpack(archive, keep_in, sha256), archive, release)
        except OSError:
            pass  # a cache that is read-only or full can still be read
    try:
        with tempfile.TemporaryDirectory(prefix="cifar-10-") as scratch:
            return _read_unpacked(unpack(archive, Path(scratch), sha256), archive, release)
    except OSError as error:
        raise DataError(f"{archive} cannot be unpacked: {error.strerror or error}.") from error


def _read_unpacked(folder: Path, archive: Path, release: Release) -> LoadedData:
    pairs = read_folder(folder, release.rows)
    assert pairs is not None  # unpack has seen all six
    return _loaded(pairs, archive)


def _loaded(pairs: tuple[Pair, Pair], origin: Path) -> LoadedData:
    return LoadedData(train=pairs[0], test=pairs[1], origin=str(origin), num_classes=CLASSES)
