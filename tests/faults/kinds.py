"""What can go wrong in a worker, done for real to the process that this runs in."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from autotune.errors import ConfigError
from tests.faults.disk import fill

# Longer than any test; what waits for it is ended.
_FOR_EVER_S = 600

SLEEPER = f"import time; time.sleep({_FOR_EVER_S})"


class Kinds:
    """Each method is one fault; `fd` is the pipe of answers, as a person's code might come by it.

    What returns nothing lets the operation go on and answer; what returns a value answers that.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def sigsegv(self) -> None:
        """A read from address zero."""
        ctypes.string_at(0)

    def sigabrt(self) -> None:
        """As a failed check in C++ ends."""
        os.abort()

    def sigbus(self) -> None:
        """A page of a file that is no longer that long."""
        with tempfile.TemporaryFile() as file:
            file.truncate(mmap.PAGESIZE)
            page = mmap.mmap(file.fileno(), mmap.PAGESIZE)
            file.truncate(0)
            page[0]

    def sigfpe(self) -> None:
        os.kill(os.getpid(), signal.SIGFPE)

    def sigkill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def exits_with_0(self) -> None:
        os._exit(0)

    def exits_with_3(self) -> None:
        sys.exit(3)

    def raises(self) -> None:
        raise RuntimeError("a person's own code failed\nwith a second line")

    def raises_memory_error(self) -> None:
        """The allocator's own answer to 2 EB."""
        np.ones(1 << 58)

    def raises_not_implemented(self) -> None:
        raise NotImplementedError("no such kernel")

    def sleeps(self) -> None:
        time.sleep(_FOR_EVER_S)

    def stops(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    def holds_the_interpreter(self) -> None:
        """A C call that lets no other thread run."""
        ctypes.PyDLL(None).sleep(_FOR_EVER_S)

    def ignores_signals(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(_FOR_EVER_S)

    def eats_memory(self) -> None:
        """As fast as it comes."""
        kept = []
        while True:
            kept.append(bytearray(b"x") * 10_000_000)

    def babbles(self) -> None:
        os.write(self.fd, b"{this is no answer\n")

    def writes_without_an_end(self) -> None:
        while True:
            os.write(self.fd, b"x" * 65536)

    def closes_its_pipes(self) -> None:
        os.closerange(3, 4096)
        time.sleep(_FOR_EVER_S)

    def answers_another_shape(self) -> Any:
        return {"surprise": [1, 2, 3]}

    def answers_nan(self) -> Any:
        """Of which JSON knows nothing."""
        return {"metric": float("nan")}

    def floods_its_log(self) -> None:
        for _ in range(40):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write("\n")

    def leaves_processes(self) -> None:
        """One in its group, one in a session of its own."""
        for own in (False, True):
            subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=own)

    def leaves_processes_and_dies(self) -> None:
        self.leaves_processes()
        self.sigsegv()

    def forks_and_both_return(self) -> None:
        os.fork()

    def raises_config_error(self) -> None:
        """What a metric or a callback of a person's own that fails is told as."""
        raise ConfigError("the metric scores.error_rate failed: ZeroDivisionError: division by zero")

    def fills_the_disk(self) -> None:
        """The one that the run's folder is on."""
        fill(Path("outputs"))

    def fills_its_temporary_folder(self) -> None:
        with tempfile.NamedTemporaryFile() as file:
            while True:
                file.write(bytes(1_000_000))
                file.flush()
