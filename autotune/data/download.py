"""Downloads one file with a deadline that holds, whatever the network does."""

from __future__ import annotations

import hashlib
import os
import queue
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from autotune.errors import DataError

LONGEST_S = 600.0
"""A download that would take longer in all is given up as soon as that can be told."""

_CHUNK_BYTES = 1 << 20
_QUEUED_CHUNKS = 8

_Chunks: TypeAlias = "queue.Queue[bytes | Exception]"


class DownloadError(DataError):
    """The file could not be downloaded; nothing was left behind."""


def download(url: str, target: Path, *, sha256: str, total_bytes: int, timeout_s: float) -> None:
    """Downloads `url` to `target`, which appears only when it is complete and as expected.

    Args:
        url: what to fetch.
        target: file to write; its folder is made.
        sha256: what the content's must be, hex.
        total_bytes: its size, for telling early that it would take too long.
        timeout_s: longest silence: until the first byte (name look-up and connection included),
            and between two pieces.

    Raises:
        DownloadError: no network, silence, too slow, another content, or `target` not writable.
    """
    part: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        part = Path(name)
        with os.fdopen(handle, "wb") as out:
            got = _receive(url, out.write, total_bytes, timeout_s)
        if got != sha256:
            raise DownloadError(f"{url} sent something else (sha256 {got}, expected {sha256})")
        part.chmod(0o644)
        part.replace(target)
    except OSError as error:
        raise DownloadError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _receive(url: str, write: Callable[[bytes], object], total_bytes: int, limit_s: float) -> str:
    """Hands the content to `write` piece by piece and returns its sha256.

    A name look-up cannot be interrupted, so the network is left to a daemon thread and this one
    only waits for what it delivers. An abandoned thread holds no file and dies with the process.
    """
    chunks: _Chunks = queue.Queue(_QUEUED_CHUNKS)
    stop = threading.Event()
    threading.Thread(target=_fetch, args=(url, limit_s, chunks, stop), daemon=True).start()
    digest = hashlib.sha256()
    received = 0
    start = time.monotonic()
    try:
        while True:
            try:
                chunk = chunks.get(timeout=limit_s)
            except queue.Empty:
                raise DownloadError(f"{url} sent nothing for {limit_s:g} s") from None
            if isinstance(chunk, Exception):
                raise DownloadError(f"{url}: {_reason(chunk)}") from chunk
            if not chunk and received < total_bytes:
                raise DownloadError(f"{url} sent only {received:,} of {total_bytes:,} bytes")
            if not chunk:
                return digest.hexdigest()
            digest.update(chunk)
            write(chunk)
            received += len(chunk)
            _require_speed(url, received, total_bytes, time.monotonic() - start, limit_s)
    finally:
        stop.set()


def _fetch(url: str, timeout_s: float, chunks: _Chunks, stop: threading.Event) -> None:
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as response:
            chunk = b"-"
            while chunk and not stop.is_set():
                chunk = response.read1(_CHUNK_BYTES)
                _put(chunks, chunk, stop)
    except Exception as error:  # noqa: BLE001 (whatever it is, the waiting thread reports it)
        _put(chunks, error, stop)


def _put(chunks: _Chunks, item: bytes | Exception, stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            chunks.put(item, timeout=0.1)
            return
        except queue.Full:
            continue


def _require_speed(url: str, received: int, total: int, elapsed_s: float, limit_s: float) -> None:
    if received > total:
        raise DownloadError(f"{url} sent more than the {total:,} bytes expected")
    would_take_s = elapsed_s * total / received
    if elapsed_s > 2 * limit_s and would_take_s > LONGEST_S:
        raise DownloadError(f"{url} is too slow: it would take {would_take_s / 60:.0f} minutes")


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", "")) or str(error) or type(error).__name__
