"""Findings: what is wrong or worth knowing, from facts of this model alone.

registry   the kinds            precision   dtypes of outputs, losses, layers      numbers   magnitudes on a real batch
loss       outputs against losses and targets       training   a training step of a person's own
shapes     sizes against the target's units         hardware   what the target cannot speed up
speed      what a predicted step waits for          layers     layers that cost speed or exactness
"""

from __future__ import annotations

import autotune.explain.findings.hardware
import autotune.explain.findings.layers
import autotune.explain.findings.loss
import autotune.explain.findings.numbers
import autotune.explain.findings.precision
import autotune.explain.findings.shapes
import autotune.explain.findings.speed
import autotune.explain.findings.training  # noqa: F401 (each registers its kinds)
from autotune.explain.findings.registry import KINDS, Finding, Severity, findings

__all__ = ["KINDS", "Finding", "Severity", "findings"]
