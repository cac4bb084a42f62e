"""Findings of a studied model, and what a record says of its configuration, device and target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.compose import to_yaml_dict
from autotune.config.hardware import DeviceKind
from autotune.config.schema import Config
from autotune.explain.findings import findings
from autotune.explain.forecast import Forecaster
from autotune.explain.recorded import bare_device, config_of, device_choices, device_profile, target_profile
from autotune.explain.situation import Situation
from autotune.explain.studied import findings_of, situation_of
from autotune.hardware.catalogue import bundled
from autotune.record import events as ev
from autotune.record.view import StudyView
from tests.explain.inspected import config
from tests.explain.studies import candidate, started, study
from tests.report.hostile import EVIL, hostile_events
from tests.sample_anatomy import CALIBRATION, sample_anatomy
from tests.sample_study import sample_events
from tests.sample_values import OWN
from tests.study.fake_machine import zen4, zen4_without_bf16


def test_the_findings_are_those_of_the_same_model_on_the_same_target() -> None:
    view = StudyView.of(sample_events(inspected=True))
    facts = sample_anatomy()
    own = config(learning_rate=0.01, optimizer="sgd")
    expected = findings(Situation.of(own, facts, Forecaster(facts, bundled("rtx3090"))))
    found = findings_of(view)
    assert found == expected
    assert {"host-bound", "steps-per-call", "tf32-already"} <= {one.kind for one in found}


def test_off_its_target_they_are_the_targets() -> None:
    view = StudyView.of(sample_events(inspected=True, on_target=False))
    situation = situation_of(view)
    assert situation is not None
    assert situation.target.title == bundled("rtx2060").title
    assert "tf32-already" not in {one.kind for one in findings_of(view)}, "an RTX 2060 has no TF32"


def test_rates_that_were_measured_here_are_used_where_the_device_is_the_target() -> None:
    view = study((candidate(batch_size=128), 2.0))
    view.apply(ev.Inspected(replace(sample_anatomy(), calibration=CALIBRATION), None))
    here = situation_of(view)
    assert here is not None
    assert dict(here.target.peaks) == CALIBRATION.tflops
    assert here.forecaster.host.call_ms == CALIBRATION.call_ms
    assert view.started is not None
    away = replace(view.started, on_target=False, target={"name": "rtx2060", "title": "", "kind": "gpu"})
    view.apply(away)
    there = situation_of(view)
    assert there is not None
    assert there.target == bundled("rtx2060")


def test_settings_of_onednn_that_keep_the_device_from_bfloat16_do_so_where_it_is_the_target() -> None:
    """And nowhere else: what is not here is judged by itself."""
    device = zen4_without_bf16().to_json()
    view = study((candidate(batch_size=128), 2.0))
    view.apply(started(device))
    view.apply(ev.Inspected(sample_anatomy(), None))
    assert "no-16-bit-hardware" in {one.kind for one in findings_of(view)}
    hw = {"name": "cpu_zen4", "title": "Zen 4", "kind": "cpu", "cpu_flags": device["host"]["cpu_flags"]}
    view.apply(replace(started(device, hw=hw), on_target=False))
    assert "no-16-bit-hardware" not in {one.kind for one in findings_of(view)}


def test_the_widths_are_those_that_were_studied() -> None:
    view = study((candidate(batch_size=128), 2.0))
    view.apply(started(model={"name": "net", "_target_": "mine.net", "widths": [4096, 4096]}))
    view.apply(ev.Inspected(sample_anatomy(), None))
    situation = situation_of(view)
    assert situation is not None
    assert situation.config.model.widths == list(OWN)


def test_without_an_anatomy_there_are_none() -> None:
    assert findings_of(StudyView()) == ()
    assert findings_of(StudyView.of(sample_events())) == ()
    failed = StudyView.of(sample_events())
    failed.apply(ev.Inspected(None, "oom: no memory"))
    assert findings_of(failed) == ()


def test_a_configuration_comes_back_as_it_was_recorded() -> None:
    asked = Config()
    asked.model.name, asked.model._target_, asked.model.widths = "net", "mine.net", [96, 64]
    asked.train.optimizer, asked.train.optimizer_args = "adam", {"beta_1": 0.8}
    asked.candidate.steps_per_execution = 4
    asked.search.policies = ["float32", "mixed_float16"]
    found = config_of(replace(started(), config=to_yaml_dict(asked)))
    assert found is not None
    assert (found.model, found.train) == (asked.model, asked.train)
    assert (found.candidate, found.search) == (asked.candidate, asked.search)


def test_a_record_that_lacks_keys_or_has_others_is_read_all_the_same() -> None:
    found = config_of(replace(started(), config={"train": {"batch_size": 64, "of_a_later_version": True}}))
    assert found is not None
    assert found.train.batch_size == 64
    assert found.train.optimizer == Config().train.optimizer


@pytest.mark.parametrize("train", [{"batch_size": "many"}, {"batch_size": -1}, {"schedule": "spiral"}])
def test_a_value_that_cannot_be_is_no_configuration(train: dict[str, object]) -> None:
    assert config_of(replace(started(), config={"train": train})) is None


def test_no_text_of_a_record_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "told")
    found = config_of(replace(started(), config={"model": {"name": "${oc.env:SECRET}", "_target_": "mine.net"}}))
    assert found is not None
    assert found.model.name == "${oc.env:SECRET}"
    assert "${oc.env:HOME}" in EVIL
    view = StudyView.of(hostile_events(inspected=True))
    assert findings_of(view) == ()


def test_a_cpu_is_known_with_its_own_flags_and_cores() -> None:
    profile = device_profile(started())
    assert profile is not None
    assert (profile.name, profile.sm_count) == ("cpu_zen4", 8)
    assert "avx512_bf16" in profile.cpu_flags
    assert device_choices(started()) == zen4().policy_choices()


def test_a_device_of_no_bundled_profile_is_its_kind_and_no_more() -> None:
    unknown = started({"name": "A card", "kind": "gpu", "profile": "unknown_gpu"})
    assert device_profile(unknown) is None
    bare = bare_device(unknown)
    assert bare is not None
    assert (bare.kind, bare.title, bare.peaks) == (DeviceKind.gpu, "A card", ())
    assert bare_device(started({"name": "A card"})) is None
    assert device_choices(started({"name": "A card"})) == ()


def test_a_persons_own_profile_is_the_target_as_it_was_written() -> None:
    hw = {"name": "mine", "title": "My card", "kind": "gpu", "peak_tflops": {"float32": 3}, "bandwidth_gb_s": 100}
    profile = target_profile(started(hw=hw))
    assert profile is not None
    assert (profile.title, profile.peak_tflops("float32"), profile.bandwidth_gb_s) == ("My card", 3.0, 100.0)


def test_an_absent_target_that_is_not_known_is_none() -> None:
    away = replace(started(), on_target=False, target={"name": "nobody's"})
    assert target_profile(away) is None
    assert target_profile(started()) == device_profile(started()), "hw=auto is the device"
