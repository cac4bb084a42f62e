"""Which of several GPUs a model is placed on, with TensorFlow's lists of devices made here."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.slow

NAMES = {"a": "NVIDIA A100", "b": "Quadro T400", "c": "NVIDIA A100"}


@pytest.mark.parametrize(
    ("visible", "logical", "used"),
    [
        ("abc", 3, (0, "NVIDIA A100")),
        ("ca", 2, (2, "NVIDIA A100")),
        ("b", 1, (1, "Quadro T400")),
        ("b", 2, (1, "Quadro T400")),  # split in two
        ("bc", 1, None),  # one is passed over
        ("d", 1, None),  # has no name
        ("", 0, None),
    ],
)
def test_the_first_visible_gpu_is_used_and_known_by_its_place_among_all(
    monkeypatch: pytest.MonkeyPatch, visible: str, logical: int, used: tuple[int, str] | None
) -> None:
    import tensorflow as tf

    from autotune.worker.child import framework

    details = SimpleNamespace(get_device_details=lambda gpu: {"device_name": NAMES.get(gpu)})
    config = SimpleNamespace(
        list_physical_devices=lambda kind: list("abcd"),
        get_visible_devices=lambda kind: list(visible),
        list_logical_devices=lambda kind: [None] * logical,
        experimental=details,
    )
    monkeypatch.setattr(tf, "config", config)
    assert framework.used_gpu() == used


@pytest.mark.long
def test_the_import_leaves_out_what_training_does_not_use_and_whoever_wants_it_has_it_later() -> None:
    script = (
        "import sys\n"
        "import sklearn\n"  # as somebody's own data may have done before
        "from autotune.worker.child import framework\n"
        "assert framework.start().import_s > 0\n"
        "assert sys.modules['sklearn'] is sklearn\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import keras, matplotlib.pyplot\n"
        "assert keras.wrappers.SKLearnClassifier(lambda X, y: None)\n"
        "try:\n"
        "    keras.visualization.plot_image_gallery([])\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "matplotlib" in done.stdout
