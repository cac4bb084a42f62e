"""The whole explanation of one model on one target, as values: what console, JSON and Markdown show."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config.hardware import DeviceKind
from autotune.explain import advice
from autotune.explain.alignment import Aligned, aligned_sizes
from autotune.explain.costs import LayerCost, layer_costs
from autotune.explain.findings import Finding, findings
from autotune.explain.findings.registry import named
from autotune.explain.forecast import Forecast, Gain, gain, settings
from autotune.explain.recurrent import in_cudnn
from autotune.explain.situation import Situation
from autotune.trial.anatomy import LayerAnatomy, Ranges


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer: in float32, and in the target's best 16-bit policy if there is one."""

    anatomy: LayerAnatomy
    float32: LayerCost
    reduced: LayerCost | None
    sizes: tuple[Aligned, ...]


@dataclass(frozen=True, slots=True)
class Predicted:
    """One predicted setting, and its throughput over the user's own in float32."""

    forecast: Forecast
    gain: Gain


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of a model without training it.

    Attributes:
        answer: one sentence.
        policy: of the 16-bit column; None without one.
        own: the user's own settings in float32; None where nothing is predicted.
        assumptions: behind every prediction, one sentence each.
    """

    model: str
    target: str
    batch_size: int
    answer: str
    policy: str | None
    own: Forecast | None
    rows: tuple[LayerRow, ...]
    predicted: tuple[Predicted, ...]
    advice: tuple[advice.Advice, ...]
    findings: tuple[Finding, ...]
    ranges: Ranges | None
    left_out: tuple[str, ...]
    assumptions: tuple[str, ...]
    failures: dict[str, str]
    seconds: dict[str, float]


def explain(situation: Situation) -> Explanation:
    """Judge everything that was found."""
    facts, own = situation.facts, situation.own()
    policy = facts.reduced.policy if facts.reduced is not None else None
    return Explanation(
        model=situation.config.model.name,
        target=situation.target.title,
        batch_size=situation.batch_size,
        answer=advice.conclusion(situation),
        policy=policy,
        own=own,
        rows=_rows(situation, policy),
        predicted=_predicted(situation, own),
        advice=advice.advise(situation),
        findings=findings(situation),
        ranges=facts.ranges,
        left_out=tuple(
            f"{choice.policy}: {choice.reason}"
            for choice in situation.choices
            if not choice.offered and choice.policy.startswith("mixed_")
        ),
        assumptions=_assumptions(situation, own),
        failures=facts.failures,
        seconds=facts.seconds,
    )


def _rows(situation: Situation, policy: str | None) -> tuple[LayerRow, ...]:
    target, batch = situation.target, situation.batch_size
    full = layer_costs(situation.facts.float32, target, batch)
    step = situation.forecaster.step_of(policy) if policy else None
    half = {cost.name: cost for cost in layer_costs(step, target, batch)} if step is not None else {}
    dtypes = ["float32"] if policy is None else ["float32", policy.removeprefix("mixed_")]
    return tuple(
        LayerRow(layer, cost, half.get(layer.name), aligned_sizes(layer, target, dtypes, batch))
        for layer, cost in zip(situation.facts.float32.layers, full, strict=True)
    )


def _predicted(situation: Situation, own: Forecast | None) -> tuple[Predicted, ...]:
    """Every policy that the target is worth, at the user's batch and its doublings, without and with XLA."""
    if own is None:
        return ()
    xla = {DeviceKind.gpu: (False, True), DeviceKind.tpu: (True,)}.get(situation.target.kind, (False,))
    sizes = advice.batch_sizes(situation)
    found = (
        situation.forecaster.forecast(setting)
        for setting in settings(
            reversed(situation.offered), dict.fromkeys((sizes[0], *sizes[1::2], sizes[-1])), xla=xla
        )
    )
    return tuple(Predicted(one, gain(one, own)) for one in found if one is not None)


def _assumptions(situation: Situation, own: Forecast | None) -> tuple[str, ...]:
    if own is None:
        return ()
    host = situation.forecaster.host
    said = [
        f"rates of {situation.target.title}: {situation.target.source}",
        f"the host's part of a step: {host.source}; {situation.forecaster.surroundings}",
        *_fed(situation),
        "without XLA every operation reads and writes memory, as the traced step has them; the band lets all be fused",
        "nothing was timed on the target: predictions rank, and the study measures",
    ]
    refused = [layer.name for layer in situation.facts.float32.layers if not layer.compiles]
    if refused and situation.target.kind is not DeviceKind.cpu:
        said.append(f"XLA is not predicted: {named(refused)} cannot be compiled by it, so Keras leaves it out")
    by_cudnn = [layer.name for layer in situation.layers if in_cudnn(layer, situation.target)]
    if by_cudnn:
        said.append(f"cuDNN runs {named(by_cudnn)} in a few kernels, whose number is an assumption")
    if situation.target.kind is DeviceKind.cpu:
        said.append("XLA on a CPU replaces its kernels, which no rate tells of: it is not predicted")
    return tuple(said)


def _fed(situation: Situation) -> list[str]:
    """What bounds steps on a host that is not here: the one measurement that there is of making batches."""
    measured_ms, forecaster = situation.facts.feed_ms, situation.forecaster
    if measured_ms is None or forecaster.host.batch_size is not None:
        return []
    batch = situation.facts.float32.batch_size
    said = f"no host makes batches faster than this one, where one of {batch} took {measured_ms:.3g} ms"
    return [f"{said}: no step is shorter"]
