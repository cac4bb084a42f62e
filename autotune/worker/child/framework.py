"""What is TensorFlow's own, behind one small seam: devices, threads, memory, synchronising. The rest speaks Keras."""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autotune.trial import WorkerFacts

_TOLD = ("TF_", "XLA_", "ONEDNN_", "DNNL_", "OMP_", "CUDA_", "NVIDIA_TF32", "KERAS_")
# Terraform's, among them secrets; and what every worker has, as earlier ones had by a call.
_NOT_TOLD = ("TF_TOKEN", "TF_VAR", "TF_CLI", "TF_FORCE_GPU_ALLOW_GROWTH")
# Keras imports them where they are there, for its wrappers and galleries alone: a third of the whole import. Whoever
# wants them later imports them as ever; only these wrappers and galleries say then that they are not there.
_NOT_FOR_TRAINING = ("sklearn", "matplotlib")

_PACKAGES = ("tensorflow", "keras", "numpy", "ml-dtypes", "scikit-learn")


def start() -> WorkerFacts:
    """Import the framework and say what it sees. The first call takes seconds."""
    began = time.perf_counter()
    with _not_found(*_NOT_FOR_TRAINING):
        import keras  # noqa: F401  (so that its import is part of the time told)
        import tensorflow as tf

    with contextlib.suppress(RuntimeError):  # a data source has used the GPU: the environment has said it (`executor`)
        for gpu in tf.config.list_physical_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)
    gc.freeze()  # all of the framework's objects, which a full collection would go through: 0.4 s at each model
    import_s = time.perf_counter() - began
    return WorkerFacts(
        accelerator=accelerator(),
        devices=tuple(_describe(device) for device in tf.config.list_physical_devices()),
        intra_op_threads=tf.config.threading.get_intra_op_parallelism_threads(),
        inter_op_threads=tf.config.threading.get_inter_op_parallelism_threads(),
        onednn=_onednn(),
        tf32=tf32(),
        versions=_versions(),
        environment={
            key: value for key, value in os.environ.items() if key.startswith(_TOLD) and not key.startswith(_NOT_TOLD)
        },
        import_s=import_s,
        pid=os.getpid(),
    )


@contextlib.contextmanager
def _not_found(*names: str) -> Iterator[None]:
    """Within, packages that nobody has imported yet are taken not to be installed."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None is how the import system says it
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def accelerator() -> str:
    """`GPU`, `TPU` or `CPU`: where TensorFlow places a model by itself."""
    import tensorflow as tf

    kinds = {device.device_type for device in tf.config.list_logical_devices()}
    return "TPU" if "TPU" in kinds else "GPU" if "GPU" in kinds else "CPU"


def used_gpu() -> tuple[int, str] | None:
    """Place among CUDA's GPUs, and name, of the one on which a model is placed; None if that is not certain."""
    import tensorflow as tf

    visible = tf.config.get_visible_devices("GPU")
    # TensorFlow passes over visible GPUs that are much smaller than the best, and does not tell which.
    if not visible or len(tf.config.list_logical_devices("GPU")) < len(visible):
        return None
    name = tf.config.experimental.get_device_details(visible[0]).get("device_name")
    return (tf.config.list_physical_devices("GPU").index(visible[0]), name) if name else None


def tf32() -> bool | None:
    """Whether float32 matrix products may run in TF32; None where no device has it (it begins at capability 8.0)."""
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    capabilities = [tf.config.experimental.get_device_details(gpu).get("compute_capability") for gpu in gpus]
    if not any(capability and tuple(capability) >= (8, 0) for capability in capabilities):
        return None
    if os.environ.get("NVIDIA_TF32_OVERRIDE") == "0":
        return False
    return bool(tf.config.experimental.tensor_float_32_execution_enabled())


def allow_tf32(allowed: bool | None) -> None:
    """Let float32 matrix products run in TF32 or not, in this process; None is TensorFlow's default, which lets them.

    Nothing changes on a device that has no TF32. Some kernels read this when they run, others when they are chosen,
    and what is chosen stays in use, such as a plan of cuBLASLt or cuDNN: so a process must hold to one setting.
    """
    import tensorflow as tf

    tf.config.experimental.enable_tensor_float_32_execution(allowed is not False)


def deterministic() -> bool:
    """Whether TensorFlow's determinism switch is on; it turns XLA off silently."""
    from tensorflow.python.framework import config

    return bool(config.is_op_determinism_enabled())


def reset_peak_memory() -> None:
    """Start a new peak, so that the next `peak_memory_mb` speaks of what comes now."""
    import tensorflow as tf

    if accelerator() == "GPU":
        tf.config.experimental.reset_memory_stats("GPU:0")
        return
    with contextlib.suppress(OSError):  # read-only in some containers: the peak is then the process's own
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM (proc(5))


def peak_memory_mb() -> float | None:
    """Peak memory since the last reset [MB]: the device's on a GPU, the process's resident size on a CPU."""
    import tensorflow as tf

    if accelerator() == "GPU":
        return float(tf.config.experimental.get_memory_info("GPU:0")["peak"]) / 1e6
    return _status_mb("VmHWM")


def memory_mb() -> float | None:
    """Memory in use now [MB]: the device's on a GPU, the process's resident size on a CPU."""
    import tensorflow as tf

    if accelerator() == "GPU":
        return float(tf.config.experimental.get_memory_info("GPU:0")["current"]) / 1e6
    return _status_mb("VmRSS")


def _status_mb(field: str) -> float | None:
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(field + ":"):
                return float(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return None


def _describe(device: Any) -> dict[str, Any]:
    import tensorflow as tf

    facts: dict[str, Any] = {"name": device.name, "type": device.device_type}
    if device.device_type == "GPU":
        details = tf.config.experimental.get_device_details(device)
        facts["device_name"] = details.get("device_name")
        capability = details.get("compute_capability")
        facts["compute_capability"] = list(capability) if capability else None
    return facts


def _onednn() -> bool | None:
    try:
        from tensorflow.python.util import _pywrap_util_port

        return bool(_pywrap_util_port.IsMklEnabled())
    except (ImportError, AttributeError):
        return None


def _versions() -> dict[str, str]:
    import tensorflow as tf

    found = {name: importlib.metadata.version(name) for name in _PACKAGES}
    build = tf.sysconfig.get_build_info()
    found |= {key: str(build[key]) for key in ("cuda_version", "cudnn_version") if build.get(key)}
    return found
