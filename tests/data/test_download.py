"""A real socket for each way in which a network fails."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from autotune.data import download as module
from autotune.data.cifar10 import KERAS_ARCHIVES, KERAS_FOLDER, load_release
from autotune.data.cifar10_files import FOLDER
from autotune.data.download import DownloadError, download
from autotune.errors import DataError
from tests.data.sample_files import batch_members, pack, release

CONTENT = b"0123456789" * 1000
SOON_S = 8
"""Far above the time limits below, even on a busy machine; far below what the servers hold out."""

SHA256 = hashlib.sha256(CONTENT).hexdigest()


@contextmanager
def server(answer: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """An address at which every connection is given to `answer`, until the block ends."""
    over = threading.Event()
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(0.05)

        def serve() -> None:
            while not over.is_set():
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                with connection:
                    try:
                        answer(connection, over)
                    except OSError:  # the other side gave up, as it should
                        continue

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/file"
        finally:
            over.set()
            thread.join()


def header(length: int) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()


def whole(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(header(len(CONTENT)) + CONTENT)


def silent(connection: socket.socket, over: threading.Event) -> None:
    over.wait(20)


def stalled(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(header(len(CONTENT)) + CONTENT[:100])
    over.wait(20)


def cut(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(header(len(CONTENT)) + CONTENT[:100])


def trickling(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(header(len(CONTENT)))
    while not over.wait(0.02):
        connection.sendall(b"0")


def endless(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not over.is_set():
        connection.sendall(b"0" * 10_000)


def login_page(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(header(6) + b"<html>")


def changed(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(header(len(CONTENT)) + CONTENT[::-1])


def not_found(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def fetch(url: str, target: Path, timeout_s: float = 0.3) -> None:
    download(url, target, sha256=SHA256, total_bytes=len(CONTENT), timeout_s=timeout_s)


def test_a_download_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file"
    with server(whole) as url:
        fetch(url, target, timeout_s=5)
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (silent, "sent nothing|timed out"),
        (stalled, "sent nothing|timed out"),
        (cut, "sent only 100 of 10,000 bytes"),
        (trickling, "too slow: it would take"),
        (endless, "sent more than the 10,000 bytes"),
        (login_page, "sent only 6 of"),
        (changed, "sent something else"),
        (not_found, "Not Found"),
    ],
)
def test_a_failed_download_ends_soon_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[socket.socket, threading.Event], None],
    complaint: str,
) -> None:
    monkeypatch.setattr(module, "LONGEST_S", 2.0)
    start = time.monotonic()
    with server(answer) as url, pytest.raises(DownloadError, match=complaint):
        fetch(url, tmp_path / "file")
    assert time.monotonic() - start < SOON_S
    assert not list(tmp_path.iterdir())


def test_a_name_look_up_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def hang(*args: object, **kwargs: object) -> object:
        over.wait(20)
        raise OSError("look-up ended")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    start = time.monotonic()
    try:
        with pytest.raises(DownloadError, match=r"sent nothing for 0\.3 s"):
            fetch("http://nowhere.invalid/file", tmp_path / "file")
        assert time.monotonic() - start < SOON_S
    finally:
        over.set()


def test_a_target_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DownloadError, match="cannot be written"):
        fetch("http://127.0.0.1:9/", tmp_path / "file" / "below")


def test_cifar10_is_downloaded_to_where_keras_looks(keras_cache: Path) -> None:
    archive = pack(batch_members())

    def answer(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(4096)
        connection.sendall(header(len(archive)) + archive)

    with server(answer) as url:
        loaded = load_release(release(archive, url), seed=0, on_unavailable="error")
    assert loaded.stand_in is None
    assert (keras_cache / KERAS_ARCHIVES[0]).read_bytes() == archive
    assert (keras_cache / KERAS_FOLDER / FOLDER / "test_batch").is_file()


def test_a_silent_network_makes_the_data_unavailable_in_time(keras_cache: Path) -> None:
    start = time.monotonic()
    with server(silent) as url, pytest.raises(DataError, match=url):
        load_release(release(b"-", url), seed=0, download_timeout_s=0.3, on_unavailable="error")
    assert time.monotonic() - start < SOON_S
