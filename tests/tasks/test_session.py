"""What every measuring task begins with, as far as it needs no worker."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.hardware import DeviceKind, HardwareConfig
from autotune.config.objective import Objective
from autotune.config.schema import Config, Task
from autotune.errors import ConfigError, HardwareError
from autotune.hardware.nvml import GpuReading
from autotune.tasks import session
from autotune.tasks.session import accepted_device, check_against_data, usable_device
from autotune.trial import WorkerFacts
from tests.study.fake_executor import DATA
from tests.study.fake_machine import zen4

FACTS = WorkerFacts("CPU", (), 0, 0, None, None, {}, {}, 1.0, 1)


def test_a_batch_larger_than_the_training_part_is_refused_before_the_framework_is_imported():
    config = Config()
    config.train.batch_size = 8192
    with pytest.raises(
        ConfigError, match=r"train.batch_size must not exceed the training part, but got 8,192 for 4,096"
    ):
        check_against_data(config, DATA)
    config.train.batch_size = 4096
    check_against_data(config, DATA)


def test_a_candidates_batch_counts_only_where_it_is_trained():
    config = Config()
    config.candidate.batch_size = 8192
    check_against_data(config, DATA)
    config.task = Task.train
    with pytest.raises(ConfigError, match=r"candidate.batch_size must not exceed"):
        check_against_data(config, DATA)


def test_more_examples_than_there_are_are_refused():
    config = Config()
    config.train.examples = 5000
    with pytest.raises(ConfigError, match=r"train.examples must not exceed"):
        check_against_data(config, DATA)


def test_a_gpu_that_tensorflow_cannot_use_is_not_the_device():
    gpu = replace(zen4(), kind=DeviceKind.gpu, name="NVIDIA H200")
    device = usable_device(gpu, FACTS)
    assert device.kind is DeviceKind.cpu
    assert any("NVIDIA H200 is here, but TensorFlow cannot use it" in note for note in device.notes)
    assert usable_device(gpu, replace(FACTS, accelerator="GPU")) is gpu


def test_which_of_unlike_gpus_is_used_is_the_frameworks_to_say():
    old, new = (GpuReading(index, name=name) for index, name in enumerate(("NVIDIA GTX 1080 Ti", "NVIDIA H200")))
    unclear = replace(zen4(), kind=DeviceKind.gpu, name="NVIDIA GTX 1080 Ti", gpus=(old, new), order_is_certain=False)
    first = {"name": "/physical_device:GPU:0", "type": "GPU", "device_name": "NVIDIA H200"}
    device = usable_device(unclear, replace(FACTS, accelerator="GPU", devices=(first, {"type": "GPU"})))
    assert (device.name, device.gpus) == ("NVIDIA H200", (new, old))


@pytest.mark.parametrize("objective", [Objective.energy, Objective.memory])
def test_what_the_device_must_report_matters_only_where_it_is_searched_for(monkeypatch, objective):
    """`best.yaml` of a study of energy on a GPU, trained on a CPU."""
    monkeypatch.setattr(session, "detect", zen4)
    config = Config(hw=HardwareConfig(name="auto", title="what is here", kind=DeviceKind.auto))
    config.objective.name = objective
    for task in (Task.tune, Task.plan):
        config.task = task
        with pytest.raises(HardwareError, match=f"objective={objective.value} needs a device that reports it"):
            accepted_device(config)
    config.task = Task.train
    assert accepted_device(config).kind is DeviceKind.cpu
