"""Candidates as Optuna's parameters, for whoever samples them or shows them in Optuna's own terms."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution

from autotune.space.space import Space
from autotune.trial import Candidate, Pipeline, Policy, Xla

FURTHER = ("accumulation", "tf32", "pipeline")
"""What is searched only when it is asked for, and is a parameter of Optuna's only then."""

_TF32 = {None: "default", True: "on", False: "off"}


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """The space as Optuna's distributions; widths are one dimension, as `3000-1000`."""
    found: dict[str, BaseDistribution] = {
        "policy": CategoricalDistribution([policy.name for policy in space.policies]),
        "batch_size": CategoricalDistribution(list(space.batch_sizes)),
        "xla": CategoricalDistribution([xla.value for xla in space.xla]),
        "steps_per_execution": CategoricalDistribution(list(space.steps_per_execution)),
        "widths": CategoricalDistribution([_joined(widths) for widths in space.widths]),
    }
    further: dict[str, list[Any]] = {
        "accumulation": list(space.accumulations),
        "tf32": [_TF32[value] for value in space.tf32],
        "pipeline": [pipeline.value for pipeline in space.pipelines],
    }
    return found | {name: CategoricalDistribution(values) for name, values in further.items() if len(values) > 1}


def params(candidate: Candidate, searched: Collection[str] = ()) -> dict[str, Any]:
    """A candidate as Optuna's parameters; of those that are searched only when asked for, the ones that were."""
    further = {
        "accumulation": candidate.accumulation,
        "tf32": _TF32[candidate.tf32],
        "pipeline": candidate.pipeline.value,
    }
    return {
        "policy": str(candidate.policy),
        "batch_size": candidate.batch_size,
        "xla": candidate.xla.value,
        "steps_per_execution": candidate.steps_per_execution,
        "widths": _joined(candidate.widths),
        **{name: value for name, value in further.items() if name in searched},
    }


def from_params(values: dict[str, Any], own: Candidate) -> Candidate:
    """The candidate of Optuna's parameters; what is none of them is as in `own`, as is TF32 but for float32."""
    policy = Policy(values["policy"])
    asked = {name: value for value, name in _TF32.items()}.get(values.get("tf32", ""), own.tf32)
    return Candidate(
        policy=policy,
        batch_size=values["batch_size"],
        xla=Xla(values["xla"]),
        widths=tuple(int(width) for width in values["widths"].split("-") if width),
        steps_per_execution=values["steps_per_execution"],
        accumulation=values.get("accumulation", own.accumulation),
        tf32=asked if policy.is_float32 else own.tf32,
        pipeline=Pipeline(values.get("pipeline", own.pipeline)),
    )


def _joined(widths: tuple[int, ...]) -> str:
    return "-".join(map(str, widths))
