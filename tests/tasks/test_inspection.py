"""Taking the studied model apart once, whatever comes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autotune.config.hardware import DeviceKind
from autotune.config.schema import Config
from autotune.errors import ConfigError, TrialFault
from autotune.hardware.catalogue import bundled
from autotune.hardware.policies import PolicyChoice, offered
from autotune.hardware.target import Target
from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read, read_lines
from autotune.record.record import Record
from autotune.record.tape import Resumed, Tape
from autotune.tasks.inspection import asked, choices_for, inspect_model
from autotune.trial import FailureKind, Stage, Xla
from autotune.trial.anatomy import ModelAnatomy
from autotune.worker.protocol import InspectArgs
from tests.sample_anatomy import sample_anatomy
from tests.sample_study import sample_events
from tests.sample_values import CANDIDATES, recipe
from tests.study.fake_machine import zen4, zen4_without_bf16

BEFORE = [event for event in sample_events() if not isinstance(event, ev.Exported)]


@dataclass
class Executor:
    """Takes a model apart in no time, or fails to."""

    fault: BaseException | None = None
    asked: list[InspectArgs] = field(default_factory=list)

    def inspect(self, args: InspectArgs) -> ModelAnatomy:
        self.asked.append(args)
        if self.fault is not None:
            raise self.fault
        return sample_anatomy()


def session(fault: BaseException | None = None, kind: DeviceKind = DeviceKind.cpu) -> Any:
    device = replace(zen4(), kind=kind)
    target = Target(device.profile, True, "here")
    return SimpleNamespace(config=Config(), device=device, target=target, executor=Executor(fault))


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A record up to the end of the study, before anything is exported."""
    record = Record(tmp_path / FILE_NAME)
    for event in BEFORE:
        record.append(event)
    record.append(ev.StageStarted(Stage.EXPORT, 1))
    record.close()
    return tmp_path / FILE_NAME


def resumed(path: Path) -> tuple[Record, Resumed]:
    """A later session that has come to where the model is taken apart."""
    again = Resumed(Tape(list(read_lines(path))), 0.0, (), "python -m autotune study.resume=true")
    record = Record(path, resumed=again)
    for event in (*BEFORE, ev.StageStarted(Stage.EXPORT, 1)):
        record.append(event)
    return record, again


def test_the_baselines_own_settings_are_asked_for_in_float32_and_in_the_best_16_bit(path: Path) -> None:
    record, again = resumed(path)
    running = session()
    inspect_model(running, record, again)
    record.close()
    [args] = running.executor.asked
    assert args.float32 == replace(CANDIDATES[0], xla=Xla.OFF)
    assert args.reduced == replace(args.float32, policy=CANDIDATES[2].policy)
    assert args.recipe == recipe(CANDIDATES[0])
    assert list(read(path))[-1] == ev.Inspected(sample_anatomy(), None)
    assert record.view.inspected == ev.Inspected(sample_anatomy(), None)


@pytest.mark.parametrize(("kind", "calibrated"), [(DeviceKind.cpu, True), (DeviceKind.gpu, False)])
def test_the_host_is_measured_only_where_it_is_the_device(path: Path, kind: DeviceKind, calibrated: bool) -> None:
    record, again = resumed(path)
    running = session(kind=kind)
    inspect_model(running, record, again)
    record.close()
    assert running.executor.asked[0].calibrate is calibrated


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (TrialFault(FailureKind.OOM, "no\nmemory"), "no memory"),
        (ConfigError("the builder is gone"), "the builder is gone"),
        (ValueError("odd"), "ValueError: odd"),
        (TrialFault(FailureKind.CRASH, "x" * 9000), "x" * 500),
    ],
    ids=str,
)
def test_whatever_goes_wrong_is_recorded_and_the_export_follows(path: Path, fault: Exception, said: str) -> None:
    record, again = resumed(path)
    inspect_model(session(fault), record, again)
    record.close()
    assert list(read(path))[-1] == ev.Inspected(None, said)


def test_ctrl_c_ends_it_and_leaves_it_to_a_later_session(path: Path) -> None:
    record, again = resumed(path)
    with pytest.raises(KeyboardInterrupt):
        inspect_model(session(KeyboardInterrupt()), record, again)
    record.close()
    assert not any(isinstance(event, ev.Inspected) for event in read(path))
    record, again = resumed(path)
    inspect_model(session(), record, again)
    record.close()
    assert sum(isinstance(event, ev.Inspected) for event in read(path)) == 1


def test_a_model_that_ends_every_session_does_not_keep_the_export_from_the_fourth(path: Path) -> None:
    running = session(KeyboardInterrupt())
    for _ in range(3):
        record, again = resumed(path)
        with pytest.raises(KeyboardInterrupt):
            inspect_model(running, record, again)
        record.close()
    assert len(running.executor.asked) == 3
    record, again = resumed(path)
    inspect_model(running, record, again)
    record.close()
    assert len(running.executor.asked) == 3
    assert list(read(path))[-1] == ev.Inspected(None, "3 sessions ended while the model was taken apart")


@pytest.mark.parametrize("fault", [None, TrialFault(FailureKind.OOM, "no memory")])
def test_what_an_earlier_session_recorded_stands(path: Path, fault: TrialFault | None) -> None:
    record, again = resumed(path)
    inspect_model(session(fault), record, again)
    record.close()
    before = path.read_bytes()
    record, again = resumed(path)
    running = session(ValueError("it is not asked again"))
    inspect_model(running, record, again)
    record.close()
    assert running.executor.asked == []
    assert record.view.inspected is not None
    assert path.read_bytes() == before, "a session that finds nothing new writes nothing"


@pytest.mark.parametrize(
    ("policies", "target", "policy"),
    [
        (["float32", "mixed_float16"], "cpu_avx2", "mixed_float16"),
        (None, "rtx3090", "mixed_float16"),
        (None, "cpu_amx", "mixed_bfloat16"),
        (None, "cpu_avx2", "mixed_bfloat16"),
        (None, "gtx1080ti", "mixed_float16"),
    ],
)
def test_the_policy_is_what_was_asked_for_else_the_targets_best_else_the_usual_one(
    policies: list[str] | None, target: str, policy: str
) -> None:
    config = Config()
    config.search.policies = policies
    own = replace(CANDIDATES[0], xla=Xla.OFF)
    profile = bundled(target)
    args = asked(config, zen4(), Target(profile, False, ""), own, recipe(own), calibrate=False)
    assert args.reduced is not None
    assert args.reduced.policy.name == policy


def test_settings_of_this_environment_count_where_the_device_is_the_target() -> None:
    device = zen4_without_bf16()
    here, away = (Target(device.profile, on_target, "") for on_target in (True, False))
    assert offered(choices_for(device, here)) == ("float32",)
    assert offered(choices_for(device, away)) == ("mixed_bfloat16", "float32")


def test_what_the_device_is_not_worth_is_not_timed() -> None:
    choices = (
        PolicyChoice("mixed_bfloat16", True, "native"),
        PolicyChoice("mixed_float16", False, "emulated"),
        PolicyChoice("float8", False, "none"),
    )
    device: Any = SimpleNamespace(policy_choices=lambda: choices)
    own = replace(CANDIDATES[0], xla=Xla.OFF)
    args = asked(Config(), device, Target(bundled("cpu_zen4"), True, ""), own, recipe(own), calibrate=True)
    assert (args.calibrate, args.emulated) == (True, ("float16",))
