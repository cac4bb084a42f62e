"""The worker's loop: read a request, do it, answer. Nothing here decides anything.

The parent starts `serve` in a process of its own (see `autotune.worker.process`).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from autotune import codec
from autotune.config.schema import Config
from autotune.data import Dataset, load
from autotune.errors import AutotuneError, TrialFault, UserError
from autotune.masking import masked
from autotune.trial import DatasetFacts, Failure, FailureKind
from autotune.worker.child.faults import failure_of
from autotune.worker.child.pulse import Pulse
from autotune.worker.protocol import (
    Answer,
    EvaluateArgs,
    ExportArgs,
    HarmArgs,
    InspectArgs,
    ProbeArgs,
    RegisterArgs,
    ReloadArgs,
    Request,
    TrainArgs,
)


class Session:
    """One worker's state: its configuration, its data, and what it has built.

    Args:
        alive: called at each step of an operation that may take hours.
    """

    def __init__(self, alive: Callable[[], None] = lambda: None) -> None:
        self._alive = alive
        self._config: Config | None = None
        self._dataset: Dataset | None = None
        self._prober: Any = None
        self._trainer: Any = None

    def open(self, config: dict[str, Any]) -> DatasetFacts:
        """Load the data, before the framework: a missing file is told within a second or two."""
        self._config = codec.restore(Config, config)
        dataset = self._dataset = load(self._config.data)
        return DatasetFacts(
            name=dataset.name,
            train=len(dataset.train),
            validation=len(dataset.validation),
            test=len(dataset.test),
            input_shape=tuple(dataset.input_shape),
            num_classes=None
            if dataset.num_classes is None
            else int(dataset.num_classes),  # a source may count by numpy
            origin=dataset.origin,
            fingerprint=dataset.fingerprint,
            stand_in=dataset.stand_in,
            notes=tuple(dataset.notes),
            majority=dataset.majority,
        )

    def start(self) -> Any:
        """Import the framework."""
        from autotune.worker.child import framework

        return framework.start()

    def prepare(self) -> None:
        """Find the builder and the metric, so that a wrong name is told before anything is measured."""
        from autotune.worker.child.build import ModelBuilder
        from autotune.worker.child.conditions import watch_here
        from autotune.worker.child.feed import Feed
        from autotune.worker.child.probe import Prober
        from autotune.worker.child.schedule import user_callbacks
        from autotune.worker.child.train import Trainer

        config, dataset = self._opened()
        feed = Feed(dataset.train, config.data.split_seed)
        builder = ModelBuilder(config, tuple(dataset.input_shape), dataset.num_classes)
        self._prober = Prober(builder, feed, partial(user_callbacks, config.train), watch_here())
        self._trainer = Trainer(config, dataset, builder, feed, self._alive)

    def probe(self, args: dict[str, Any]) -> Any:
        """See `Prober.probe`."""
        return self._prober.probe(codec.restore(ProbeArgs, args))

    def train(self, args: dict[str, Any]) -> Any:
        """See `Trainer.train`."""
        return self._trainer.train(codec.restore(TrainArgs, args))

    def harms(self, args: dict[str, Any]) -> Any:
        """See `harm.measured`."""
        from autotune.worker.child import harm
        from autotune.worker.child.build import ModelBuilder

        config, dataset = self._opened()
        builder = ModelBuilder(config, tuple(dataset.input_shape), dataset.num_classes)
        return harm.measured(builder, dataset.train, codec.restore(HarmArgs, args), self._alive)

    def inspect(self, args: dict[str, Any]) -> Any:
        """See `Inspector.inspect`; neither metric nor prober is needed for it."""
        from autotune.worker.child.inspection import Inspector

        config, dataset = self._opened()
        return Inspector(config, dataset, self._alive).inspect(codec.restore(InspectArgs, args))

    def evaluate(self, args: dict[str, Any]) -> Any:
        """See `artifacts.evaluate`."""
        from autotune.worker.child import artifacts

        config, dataset = self._opened()
        metric = self._trainer.metric
        asked = codec.restore(EvaluateArgs, args)
        return artifacts.evaluate(asked, dataset, metric, config.model._target_, self._alive)

    def export(self, args: dict[str, Any]) -> None:
        """See `artifacts.export`."""
        from autotune.worker.child import artifacts

        config, dataset = self._opened()
        artifacts.export(codec.restore(ExportArgs, args), dataset, config.model._target_)

    def reload(self, args: dict[str, Any]) -> float:
        """See `artifacts.reload_difference`."""
        from autotune.worker.child import artifacts

        return artifacts.reload_difference(codec.restore(ReloadArgs, args))

    def register(self, args: dict[str, Any]) -> Any:
        """See `autotune.tracking.register`."""
        import numpy as np

        from autotune.tracking.register import register_model
        from autotune.worker.child import artifacts

        asked = codec.restore(RegisterArgs, args)
        with np.load(asked.reference_path) as reference:
            example = reference["x"][:2]
        return register_model(
            model_path=asked.model_path,
            tracking_uri=asked.tracking_uri,
            run_id=asked.run_id,
            artifact_name="model",
            registered_model=asked.registered_model,
            alias=asked.alias,
            tags=asked.tags,
            pip_requirements=asked.pip_requirements,
            signature_example=example,
            load=lambda path: artifacts.load_model(str(path), asked.builder, compiled=False),
        )

    def _opened(self) -> tuple[Config, Dataset]:
        if self._config is None or self._dataset is None:
            raise RuntimeError("the worker was asked to work before its data was loaded")
        return self._config, self._dataset


def answer(session: Session, request: Request) -> Answer:
    """Do one request; whatever goes wrong is part of the answer."""
    try:
        operation: Callable[..., Any] = getattr(session, request.operation)
        return Answer(value=codec.plain(operation(**request.args)))
    except UserError as error:
        _log_cause(error)
        return Answer(user_error=(type(error).__name__, str(error)))
    except TrialFault as fault:
        _log_cause(fault)
        return Answer(failure=failure_of(fault))
    except Exception as error:  # noqa: BLE001 (a fault is an answer too)
        _log(error)
        return Answer(failure=failure_of(error))


def _log_cause(error: AutotuneError) -> None:
    """The worker's log keeps where a person's own code failed; the message is one line."""
    if error.__cause__ is not None:
        _log(error)


def _log(error: BaseException) -> None:
    with contextlib.suppress(Exception):  # a full disk, or a standard error that a person's code has closed
        sys.stderr.write(masked("".join(traceback.format_exception(error))))


def encoded(outcome: Answer) -> str:
    """One line; a value that JSON does not have, such as NaN, is a failure and not the end of the worker."""
    try:
        return codec.dumps(outcome)
    except (TypeError, ValueError, RecursionError) as error:
        failure = Failure(FailureKind.INVALID, f"the answer cannot be sent: {error}")
        return codec.dumps(Answer(failure=failure, number=outcome.number))


def serve(read_fd: int, write_fd: int, session: Session | None = None) -> None:
    """Answer requests, one at a time, until the parent closes its end, which also happens when it dies.

    Requests are read beside the work: when the parent dies during a training, nobody waits for its end, so this process
    group then ends itself. (A call that holds the interpreter holds that too; see `autotune.worker.guard`.)
    """
    for descriptor in (read_fd, write_fd):
        os.set_inheritable(descriptor, False)  # what a person's code starts must not keep the pipes open
    _go_first()
    session = session or Session(Pulse(write_fd))
    owner = os.getpid()
    waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    idle = threading.Event()
    idle.set()
    threading.Thread(target=_receive, args=(read_fd, waiting, idle), daemon=True).start()
    # A path that is not UTF-8 holds lone surrogates; in JSON their escape means the same.
    with os.fdopen(write_fd, "w", encoding="utf-8", errors="backslashreplace") as answers:
        while (line := waiting.get()) is not None:
            request = codec.loads(Request, line)
            outcome = replace(answer(session, request), number=request.number)
            if os.getpid() != owner:
                os._exit(1)  # a person's code has forked, and the copy has come back here: one of them answers
            idle.set()  # before the answer can be read, and the next request sent or the pipe closed upon it
            answers.write(encoded(outcome) + "\n")
            answers.flush()


def leave() -> NoReturn:
    """End this process at once, after what was registered to run at its end, with its files written.

    A framework that frees its memory piece by piece takes two to three seconds for it, and somebody waits for that.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # what a person's code has handed to threads is done
    atexit._run_exitfuncs()
    gc.unfreeze()  # what was opened before the framework is told, too
    is_file: dict[type, bool] = {}  # hundreds of thousands of objects are of a few thousand types
    for found in gc.get_objects():
        kind = type(found)  # and not its __class__: a proxy of what is gone raises when it is asked for that
        if kind not in is_file:
            is_file[kind] = issubclass(kind, io.IOBase)
        if is_file[kind]:
            with contextlib.suppress(Exception):
                found.flush()  # a file that a person's code keeps open
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a full disk, or a stream that a person's code has closed
            stream.flush()
    os._exit(0)


def _go_first() -> None:
    """Where memory runs out, the kernel shall take this process and what it starts, and not the parent (proc(5))."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _receive(read_fd: int, waiting: queue.SimpleQueue[str | None], idle: threading.Event) -> None:
    with os.fdopen(read_fd, encoding="utf-8") as requests:
        for line in requests:
            idle.clear()
            waiting.put(line)
    if not idle.is_set() and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    waiting.put(None)
