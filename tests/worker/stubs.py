"""A worker without a framework: the true process, pipes and loop, around operations that do one wrong thing each."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from autotune.trial import DatasetFacts, WorkerFacts
from autotune.worker.child.main import serve
from autotune.worker.child.pulse import Pulse

LAUNCH = (
    "import sys; sys.path.append(sys.argv[1])\n"
    "from tests.worker import stubs\n"
    "stubs.run(stubs.Stub, int(sys.argv[2]), int(sys.argv[3]))"
)
ACTOR = LAUNCH.replace("stubs.Stub", "stubs.Actor")

SLEEPER = "import time; time.sleep(600)"

BLOCK = 10_000_000


def run(kind: type[Stub], read_fd: int, write_fd: int) -> None:
    serve(read_fd, write_fd, kind(write_fd))  # type: ignore[arg-type]


class Stub:
    """Stands where `Session` stands; `fd` is the pipe of answers, as a person's code might come by it."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.kept: list[Any] = []

    def echo(self, value: Any = None) -> Any:
        return value

    def environment(self, name: str) -> str | None:
        return os.environ.get(name)

    def size(self, text: str) -> int:
        return len(text)

    def sleep(self) -> None:
        time.sleep(600)

    def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(600)

    def stop_later(self) -> None:
        """Between two requests."""
        subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -STOP {os.getpid()}"])

    def immune(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(600)

    def hold_interpreter(self) -> None:
        """A C call that never returns and lets no other thread of the interpreter run."""
        self.start_others()
        ctypes.PyDLL(None).sleep(600)

    def start_others(self) -> None:
        """One in the worker's group, one in a session of its own, one in such a session whose parent has ended."""
        made = [subprocess.Popen([sys.executable, "-c", SLEEPER], start_new_session=own).pid for own in (False, True)]
        daemon = f"import os\nif os.fork() == 0:\n    os.setsid()\n    print(os.getpid(), flush=True)\n    {SLEEPER}"
        with subprocess.Popen([sys.executable, "-c", daemon], stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            made.append(int(parent.stdout.readline()))
        Path("others").write_text(" ".join(str(pid) for pid in made), encoding="utf-8")

    def leave_others(self) -> None:
        self.start_others()
        os.kill(os.getpid(), signal.SIGSEGV)

    def die(self, number: int) -> None:
        os.kill(os.getpid(), number)
        time.sleep(600)

    def exit(self, status: int) -> None:
        os._exit(status)

    def die_once(self, number: int) -> str:
        if not Path("died").exists():
            Path("died").touch()
            os.kill(os.getpid(), number)
        return "alive"

    def write(self, text: str) -> str:
        os.write(self.fd, text.encode("latin-1"))
        return "after"

    def write_for_ever(self) -> None:
        while True:
            os.write(self.fd, b"x" * 65536)

    def signs_of_life(self, count: int, pause_s: float) -> str:
        pulse = Pulse(self.fd)
        for _ in range(count):
            pulse()
            time.sleep(pause_s)
        return "done"

    def fork_and_fail(self) -> str:
        """The copy raises, and comes back into the loop."""
        if (pid := os.fork()) == 0:
            raise RuntimeError("the copy")
        os.waitpid(pid, 0)
        return "the worker"

    def raise_one(self, name: str) -> None:
        raise {"silent": Silent(), "memory": MemoryError("no room"), "surrogate": ValueError("name \udcff")}[name]

    def deep(self) -> Any:
        value: Any = []
        for _ in range(100_000):
            value = [value]
        return value

    def close_streams(self) -> None:
        sys.stdout.close()
        sys.stderr.close()
        raise ValueError("quiet")

    def eat(self, most_mb: int, then: int = 0) -> None:
        """Take memory as fast as it comes, and hold it."""
        for _ in range(most_mb * 1_000_000 // BLOCK):
            self.kept.append(bytearray(b"x") * BLOCK)
        if then:
            time.sleep(0.5)
            os.kill(os.getpid(), then)
        time.sleep(600)

    def eat_in_a_fork(self, most_mb: int) -> None:
        if os.fork() == 0:
            self.eat(most_mb)
        time.sleep(600)

    def share_with_forks(self, size_mb: int, forks: int, seconds: float) -> str:
        self.kept.append(bytearray(b"x") * (size_mb * 1_000_000))
        for _ in range(forks):
            if os.fork() == 0:
                time.sleep(seconds)
                os._exit(0)
        time.sleep(seconds)
        return "done"

    def print_for_ever(self, until_mb: int) -> str:
        for number in range(until_mb):
            print(f"{number} " + "x" * 1_000_000, flush=True)
            time.sleep(0.02)
        time.sleep(0.5)  # what is written while the log is being cut may be lost
        print("last words", flush=True)
        return "done"

    def temporary(self) -> str:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            return file.name

    def fill(self, size_mb: int) -> None:
        with Path(os.environ["TMPDIR"], "large").open("wb") as file:
            file.write(b"x" * size_mb * 1_000_000)


class Actor(Stub):
    """Acts as a session does, up to the operation that the file `hangs` names."""

    def __getattribute__(self, name: str) -> Any:
        hangs = Path("hangs")
        if hangs.exists() and hangs.read_text(encoding="utf-8") == name:
            return lambda **_: time.sleep(600)
        return super().__getattribute__(name)

    def open(self, config: Any) -> DatasetFacts:
        return DatasetFacts("mine", 16, 4, 20, (4,), 2, "here", "always the same")

    def start(self) -> WorkerFacts:
        return WorkerFacts("CPU", (), 1, 1, None, None, {}, {}, 0.1, os.getpid())

    def prepare(self) -> None:
        pass


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")
