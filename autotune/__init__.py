"""A hardware-aware precision autotuner for Keras 3 on TensorFlow."""

__version__ = "0.1.0"
