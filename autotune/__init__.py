"""A hardware-aware precision autotuner for Keras 3 on TensorFlow."""

from pathlib import Path

__version__ = "0.1.0"

# Installed, `autotune.conf` and `autotune.models` lie in this folder. In a checkout that is run without being
# installed they lie beside it.
_HERE = Path(__file__).resolve().parent
if not (_HERE / "models").is_dir():
    __path__.append(str(_HERE.parent))
