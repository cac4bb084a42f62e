"""`task=explain`: why the model is as fast as it is on the target, and what would change that. Nothing is trained."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from autotune.config.hardware import DeviceKind
from autotune.config.schema import Config
from autotune.console.explain import print_explanation
from autotune.errors import ConfigError, TrialFault
from autotune.explain.explanation import explain as judge
from autotune.explain.situation import situation_on
from autotune.hardware.device import Device, detect
from autotune.hardware.target import Target, resolve_target
from autotune.report.explained import write
from autotune.space.build import own_widths
from autotune.space.recipe import Fidelity, recipe_for
from autotune.tasks.inspection import asked, choices_for
from autotune.tasks.session import check_against_data, claimed, command, memory_limit_mb
from autotune.trial import Candidate, DatasetFacts, FailureKind, Policy, WorkerFacts, Xla
from autotune.trial.anatomy import ModelAnatomy
from autotune.worker.inspector import InspectionWorker
from autotune.worker.log import last_words
from autotune.worker.protocol import InspectArgs

_ACCELERATORS = {DeviceKind.gpu: "GPU", DeviceKind.tpu: "TPU"}


def explain(config: Config) -> int:
    """Inspect, predict, print; write `explain.json` and `explain.md` into the run's folder; return 0.

    Raises:
        UserError: a person's mistake.
        TrialFault: the worker does not start.
    """
    began = time.monotonic()
    device = detect()
    target = resolve_target(config.hw, device)
    with claimed(config) as folder:
        _say(f"taking {config.model.name} apart on the CPU, for {target.profile.title}; nothing is trained")
        data, worker, facts = _inspected(config, device, target, folder.path / "worker.log")
        choices = choices_for(device, target)
        explanation = judge(situation_on(config, target.profile, facts, here=target.on_target, choices=choices))
        folder.keep()
        took_s = time.monotonic() - began
        write(explanation, folder.path, _about(data, worker, facts, took_s))
        if data.stand_in:
            _say(f"STAND-IN DATA: {data.stand_in}")
        print_explanation(explanation, folder.path)
        _say(f"  {took_s:.0f} s in all")
    return 0


def _inspected(
    config: Config, device: Device, target: Target, log_path: Path
) -> tuple[DatasetFacts, WorkerFacts, ModelAnatomy]:
    worker = InspectionWorker(config, log_path, memory_limit_mb(device))
    with closing(worker):
        try:
            data = worker.load_data()
            check_against_data(config, data)
            facts = worker.start()
        except TrialFault as fault:
            message = f"the worker does not start: {fault.message}; its last words: {last_words(log_path)}"
            raise TrialFault(fault.kind, message) from fault
        try:
            return data, facts, worker.inspect(_asked(config, device, target, data))
        except TrialFault as fault:
            if fault.kind in (FailureKind.CRASH, FailureKind.TIMEOUT, FailureKind.OOM):
                raise
            raise ConfigError(f"the model cannot be explained: {fault.kind}: {fault.message}") from fault


def _asked(config: Config, device: Device, target: Target, data: DatasetFacts) -> InspectArgs:
    """The user's own settings; the host is measured where it is the target."""
    profile = target.profile
    widths = own_widths(config, _ACCELERATORS.get(profile.kind, "CPU"))
    own = Candidate(Policy("float32"), config.train.batch_size, Xla.OFF, widths)
    recipe = recipe_for(config.train, own, Fidelity(max(data.train, own.batch_size), config.train.epochs or 1))
    here = profile.kind is DeviceKind.cpu and target.on_target
    return asked(config, device, target, own, recipe, calibrate=here)


def _about(data: DatasetFacts, worker: WorkerFacts, facts: ModelAnatomy, took_s: float) -> dict[str, Any]:
    measured = facts.calibration
    return {
        "command": command(),
        "data": f"{data.name}: {data.train:,} training examples, {data.origin}",
        "stand_in": data.stand_in,
        "versions": ", ".join(f"{name} {version}" for name, version in worker.versions.items()),
        "host": "" if measured is None else f"measured here: {measured}",
        "took": f"{took_s:.0f} s in all, {worker.import_s:.0f} s of it the framework's import",
    }


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
