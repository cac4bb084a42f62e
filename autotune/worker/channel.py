"""Lines over two pipes, from the parent's side: neither a full pipe nor an endless line may hold the parent."""

from __future__ import annotations

import contextlib
import os
import selectors

_CHUNK_BYTES = 1 << 16

# The longest answer holds one bit for each validation example: a million of them are a quarter of a megabyte.
MOST_LINE_BYTES = 32 << 20


class ChannelClosed(Exception):
    """The other side has closed its end."""


class LineTooLong(Exception):
    """What comes does not end: it is no answer, and is not kept."""


class Channel:
    """Sends and receives lines; waits only as long as it is told to.

    Args:
        write_fd: the pipe to the worker.
        read_fd: the pipe from the worker; both are owned and closed here.
    """

    def __init__(self, write_fd: int, read_fd: int) -> None:
        self._write_fd = write_fd
        self._read_fd = read_fd
        self._outgoing = bytearray()
        self._incoming = bytearray()
        self._searched = 0
        self._selector = selectors.DefaultSelector()
        self._selector.register(read_fd, selectors.EVENT_READ)
        os.set_blocking(write_fd, False)  # a stopped worker reads nothing, and a pipe holds 64 KiB

    def send(self, line: str) -> None:
        """Have a line sent; it leaves while `receive` waits."""
        # A path that is not UTF-8 holds lone surrogates; in JSON their escape means the same.
        self._outgoing += line.encode("utf-8", "backslashreplace") + b"\n"
        if self._write_fd not in self._selector.get_map():
            self._selector.register(self._write_fd, selectors.EVENT_WRITE)

    def receive(self, wait_s: float) -> bytes | None:
        """The next line without its end, or None if it is not complete within one wait of `wait_s`.

        Raises:
            ChannelClosed: there is none to come.
            LineTooLong: it is longer than any answer.
        """
        if (line := self._complete()) is not None:
            return line
        for key, _ in self._selector.select(wait_s):
            if key.fd == self._write_fd:
                self._write()
            else:
                self._read()
        return self._complete()

    def hang_up(self) -> None:
        """Close the pipe to the worker, which lets it end."""
        if self._write_fd >= 0:
            self._forget_writing()
            os.close(self._write_fd)
            self._write_fd = -1

    def close(self) -> None:
        """Close both pipes."""
        self.hang_up()
        self._selector.close()
        os.close(self._read_fd)

    def _write(self) -> None:
        try:
            written = os.write(self._write_fd, self._outgoing)
        except BlockingIOError:
            return
        except OSError:
            raise ChannelClosed from None
        del self._outgoing[:written]
        if not self._outgoing:
            self._forget_writing()

    def _forget_writing(self) -> None:
        with contextlib.suppress(KeyError):  # nothing was waiting to be written
            self._selector.unregister(self._write_fd)

    def _read(self) -> None:
        chunk = os.read(self._read_fd, _CHUNK_BYTES)
        if not chunk:
            raise ChannelClosed
        self._incoming += chunk

    def _complete(self) -> bytes | None:
        end = self._incoming.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._incoming)
            if self._searched > MOST_LINE_BYTES:
                raise LineTooLong
            return None
        line = bytes(self._incoming[:end])
        del self._incoming[: end + 1]
        self._searched = 0
        return line
