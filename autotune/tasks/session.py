"""What every measuring task begins with: the device, the target, a folder, a worker, and what must be said of them."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import platform
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from autotune import sweep
from autotune.config.compose import to_yaml_dict
from autotune.config.environment import without_secrets
from autotune.config.hardware import DeviceKind
from autotune.config.output import claim_output_dir
from autotune.config.schema import Config, Task
from autotune.errors import ConfigError, HardwareError, TrialFault
from autotune.hardware.device import Device, detect, numbered_by_framework, seen_by_framework
from autotune.hardware.reports import check_objective
from autotune.hardware.target import Target, resolve_target
from autotune.masking import masked
from autotune.record.clock import StudyClock
from autotune.record.events import FORMAT, RETRY, Note, StudyStarted, WorkerReady
from autotune.record.folder import RunFolder
from autotune.record.lines import FILE_NAME
from autotune.record.record import Record, Sink
from autotune.record.tape import Resumed
from autotune.tasks.digests import code_digests
from autotune.trial import DatasetFacts, WorkerFacts
from autotune.worker.executor import LocalExecutor
from autotune.worker.log import last_words

_PACKAGES = ("autotune-keras", "hydra-core", "omegaconf", "optuna", "mlflow", "nvidia-ml-py")

# The rest is the parent's and the machine's own.
_MEMORY_SHARE = 0.85


@dataclass
class Session:
    """A run that is ready to measure."""

    config: Config
    device: Device
    target: Target
    folder: RunFolder
    executor: LocalExecutor
    ready: WorkerReady
    retries: Retries


class Retries:
    """Notes of what was asked of a worker a second time; they wait until there is a record."""

    def __init__(self) -> None:
        self._early: list[Note] = []
        self._record: Record | None = None

    def __call__(self, operation: str, fault: TrialFault) -> None:
        """One more."""
        note = Note(RETRY, f"{operation} is tried once more, in a fresh worker: {fault.kind}: {fault.message}")
        if self._record is None:
            self._early.append(note)
        else:
            self._record.aside(note)

    def tell(self, record: Record) -> None:
        """From now on, there is a record."""
        self._record = record
        for note in self._early:
            record.aside(note)


def study_name(folder: Path) -> str:
    """The study's name: its folder below the output root, such as `2026-11-29/20-15-00_cifar_mlp_rtx2060`."""
    return f"{folder.parent.name}/{folder.name}"


def accepted_device(config: Config) -> Device:
    """The device that is here.

    Raises:
        HardwareError: it is not what `hw.on_mismatch=error` or, of a task that searches, the objective asks for.
    """
    device = detect()
    resolve_target(config.hw, device)
    _check_objective(config, device)
    return device


def _check_objective(config: Config, device: Device) -> None:
    """An exported configuration has the study's objective, and is trained on devices that could not measure it."""
    if config.task.searches:
        check_objective(config.objective.name, device)


@contextmanager
def claimed(config: Config, earlier: Path | None = None) -> Iterator[RunFolder]:
    """A folder of this run's own, or that of an earlier session, which stays whatever happens.

    Raises:
        ConfigError: it cannot be made.
    """
    if earlier is not None:
        folder = RunFolder(earlier, earlier)
        folder.keep()
        yield folder
        return
    root = Path(config.output.root)
    standing = next(folder for folder in (root, *root.parents) if os.path.lexists(folder))
    path = claim_output_dir(config, datetime.now().astimezone(), config.model.name, config.hw.name)
    with RunFolder(path, standing) as folder:
        yield folder


@contextmanager
def started(config: Config, folder: RunFolder, device: Device, workers_before: int = 0) -> Iterator[Session]:
    """A worker with its data loaded and its framework imported; ended whatever happens.

    Args:
        workers_before: how many workers earlier sessions of the study had.

    Raises:
        UserError: the data, the builder or the metric cannot be had.
        TrialFault: the framework does not start.
    """
    facts: list[WorkerReady] = []

    def on_ready(number: int, worker: WorkerFacts, data: DatasetFacts) -> None:
        facts.append(WorkerReady(number, worker, data))

    log_path = folder.path / "worker.log"
    retries = Retries()
    executor = LocalExecutor(config, log_path, memory_limit_mb(device), on_ready, workers_before, retries)
    try:
        try:
            began = time.monotonic()
            check_against_data(config, executor.load_data())
            executor.start()
            ready = dataclasses.replace(facts[0], start_s=time.monotonic() - began)
        except TrialFault as fault:
            message = f"the worker does not start: {fault.message}; its last words: {last_words(log_path)}"
            raise TrialFault(fault.kind, message) from fault
        device = usable_device(device, ready.facts)
        _check_objective(config, device)
        yield Session(config, device, resolve_target(config.hw, device), folder, executor, ready, retries)
    finally:
        executor.close()


def check_against_data(config: Config, data: DatasetFacts) -> None:
    """What can be refused once the sizes of the parts are known, before the framework is imported.

    Raises:
        ConfigError: a batch or a number of examples that the training part does not hold.
    """
    asked = {"train.batch_size": config.train.batch_size, "train.examples": config.train.examples}
    if config.task is Task.train:
        asked["candidate.batch_size"] = config.candidate.batch_size
    for key, value in asked.items():
        if value is not None and value > data.train:
            raise ConfigError(
                f"{key} must not exceed the training part, but got {value:,} for {data.train:,} examples of"
                f" {data.name}; lower it"
            )


def usable_device(device: Device, facts: WorkerFacts) -> Device:
    """The device that TensorFlow really uses, which is not always what the driver shows.

    Raises:
        HardwareError: a kind of device that this version does not drive.
    """
    if facts.accelerator == "TPU":
        raise HardwareError(
            "TensorFlow places models on a TPU, which is not driven yet; hide it, or use a GPU or a CPU"
        )
    if device.kind is DeviceKind.gpu and facts.accelerator == "CPU":
        reason = f"{device.name} is here, but TensorFlow cannot use it: models run on the CPU (worker.log says why)"
        cpu = detect({**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        return dataclasses.replace(cpu, notes=(reason,))
    gpu = next((found for found in facts.devices if found["type"] == "GPU"), {})
    if device.kind is DeviceKind.cpu and facts.accelerator == "GPU":
        capability = gpu.get("compute_capability")
        return seen_by_framework(device, gpu.get("device_name"), tuple(capability) if capability else None)
    return numbered_by_framework(device, gpu.get("device_name"))


def beginning(config: Config, device: Device, folder: Path | None = None) -> StudyStarted:
    """How a study of this configuration starts on this device, in this folder."""
    target = resolve_target(config.hw, device)
    plain = _without_secrets(to_yaml_dict(config))
    return StudyStarted(
        format=FORMAT,
        study=study_name(folder) if folder else "",
        started_unix_s=time.time(),
        config=plain,
        target={"name": target.profile.name, "title": target.profile.title, "kind": target.profile.kind.value},
        device=device.to_json(),
        on_target=target.on_target,
        target_note=target.reason,
        output_dir=str(folder) if folder else "",
        command=command(),
        versions={"python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
        code=code_digests(plain),
        sweep=sweep.current(),
    )


def command() -> str:
    """What this process was started with, as a shell takes it; without credentials."""
    return without_secrets(masked(shlex.join([Path(sys.executable).name, "-m", "autotune", *sys.argv[1:]])))


def open_record(
    session: Session,
    sinks: Sequence[Sink],
    clock: StudyClock | None = None,
    resumed: Resumed | None = None,
) -> Record:
    """The record, begun with what a reader of any figure must know.

    Args:
        session: of the run.
        sinks: told of every event.
        clock: of a study that began earlier than now.
        resumed: what earlier sessions recorded.
    """
    session.folder.keep()
    record = Record(session.folder.path / FILE_NAME, sinks, clock, resumed)
    record.append(beginning(session.config, session.device, session.folder.path))
    record.append(session.ready)
    _note_circumstances(session, record)
    session.retries.tell(record)
    return record


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"  # a checkout that is run as it is


def _without_secrets(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration for the record: a tracking address may hold a password."""
    uri = config["tracking"]["uri"]
    return config if uri is None else {**config, "tracking": {**config["tracking"], "uri": masked(uri)}}


def _note_circumstances(session: Session, record: Record) -> None:
    data, facts = session.ready.data, session.ready.facts
    if data.stand_in:
        record.append(Note("stand_in", data.stand_in, "warning"))
    if not session.target.on_target:
        record.append(Note("off_target", session.target.reason, "warning"))
    if facts.tf32 and session.config.train.tf32 is not False:
        record.aside(Note("tf32", "float32 runs its matrix products in TF32 on this GPU, the baseline's too"))
    for text in (*session.device.notes, *data.notes):
        record.aside(Note("device" if text in session.device.notes else "data", text))


def memory_limit_mb(device: Device) -> float | None:
    """What a worker may take of this machine's memory [MB]; None if that is not known."""
    available = device.host.memory_available_mb
    limit = device.host.usable_memory_mb
    known = [size for size in (available, limit) if size is not None]
    return _MEMORY_SHARE * min(known) * 2**20 / 1e6 if known else None
