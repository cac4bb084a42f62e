from __future__ import annotations

import subprocess
import sys

from autotune.record.view import StudyView
from autotune.tracking.evidence import version_tags
from autotune.tracking.version import version_description
from tests.sample_study import sample_events


def _text(**study: bool) -> str:
    return version_description(version_tags(StudyView.of(sample_events(**study))))


def test_a_version_says_what_it_is_and_what_was_confirmed() -> None:
    text = _text()
    assert text.startswith("Decided: trial 4 is 5.94 times as fast as float32")
    assert "- **settings**: mixed_bfloat16 batch=256 xla=on" in text
    assert "- **speed**: 5.94x float32's [5.8, 6.09], FASTER" in text
    assert "- **accuracy**: -0.0018 better than float32's (below zero: worse) [-0.0052, 0.0016], PASS" in text
    assert "OFF TARGET" not in text
    assert "STAND-IN" not in text


def test_an_absent_target_and_a_stand_in_are_told() -> None:
    text = _text(on_target=False, stand_in=True)
    assert "- **target**: NVIDIA GeForce RTX 2060 6GB: OFF TARGET" in text
    assert "- **data**: STAND-IN: CIFAR-10 is not on this machine" in text


def test_a_kept_baseline_claims_no_speed() -> None:
    text = _text(winner=False)
    assert "the baseline stays" in text
    assert "**speed**" not in text
    assert "**accuracy**" not in text


def test_tags_of_something_else_are_no_text() -> None:
    assert version_description({"speedup": "5.94"}) == ""


def test_what_the_worker_imports_to_register_a_model_is_light() -> None:
    code = "import sys, autotune.tracking.register; sys.exit(bool({'optuna', 'yaml', 'scipy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
