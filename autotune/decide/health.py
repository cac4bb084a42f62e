"""Whether what was measured is what was asked for, and whether training in 16 bit went well.

A run in 16 bit can go wrong in silence: steps are skipped, the model stands still, and the metric of a short training
looks as fine as float32's. So health has a say of its own, before the metric has.
"""

from __future__ import annotations

from autotune.trial import Candidate, Effect, Failure, FailureKind, Probe, TrainingRun, Xla

# Keras's dynamic loss scale starts at 2**15; below 1 it no longer lifts gradients but flushes them.
_LOWEST_LOSS_SCALE = 1.0


def departure(candidate: Candidate, effect: Effect) -> Failure | None:
    """Why the candidate did not get what it asked for, or None if it did."""
    if effect.output_dtype != "float32":
        return Failure(FailureKind.INVALID, f"the model's output is {effect.output_dtype}, on which a loss overflows")
    if candidate.xla is not Xla.AUTO and effect.xla != (candidate.xla is Xla.ON):
        cause = " (TensorFlow's determinism switch turns it off)" if effect.deterministic else ""
        state = "on" if effect.xla else "off"
        return Failure(FailureKind.UNSUPPORTED, f"XLA was asked to be {candidate.xla.value} but is {state}{cause}")
    return (
        _other_dtype(candidate.policy.compute_dtype, effect)
        or _not_in_float32(candidate, effect)
        or _unscaled_loss(effect)
        or _other_dimension(candidate, effect)
    )


def _other_dimension(candidate: Candidate, effect: Effect) -> Failure | None:
    """One of the settings that are searched only when asked for is not in force."""
    pairs = (
        ("TF32", candidate.tf32 if effect.tf32 is not None else None, effect.tf32),
        ("micro-batches per optimizer step", candidate.accumulation, effect.accumulation),
        ("input pipeline", candidate.pipeline.value, effect.pipeline.value),
    )
    for name, asked, in_force in pairs:
        if asked is not None and asked != in_force:
            return Failure(FailureKind.UNSUPPORTED, f"{name}: {_told(asked)} was asked for, but is {_told(in_force)}")
    return None


def _told(value: object) -> str:
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _other_dtype(asked: str, effect: Effect) -> Failure | None:
    """Layers that say that they compute in something else, or a training step in which nothing does as they say."""
    computing = {layer.compute_dtype for layer in effect.layers if layer.parameters}
    if computing and asked not in computing:
        found = ", ".join(sorted(computing))
        return Failure(FailureKind.UNSUPPORTED, f"no layer computes in {asked}: each sets a dtype of its own ({found})")
    if other := computing - {asked, "float32"}:
        found = ", ".join(sorted(other))
        return Failure(FailureKind.INVALID, f"{asked} was asked for, but some layers compute in {found}")
    multiplied = {product.dtype for product in effect.products}
    # Float32 is not held to this: a cast within a person's own layer is part of the model that they brought.
    if asked != "float32" and effect.is_traced and asked not in multiplied:
        return Failure(
            FailureKind.UNSUPPORTED,
            f"layers say that they compute in {asked}, but the training step multiplies in"
            f" {', '.join(sorted(multiplied))} alone: they cast their inputs",
        )
    return None


def _not_in_float32(candidate: Candidate, effect: Effect) -> Failure | None:
    """A layer that was to stay in float32 and does not.

    The effect holds layers that hold no others, by their own names; of those that do, the worker itself has made sure.
    """
    asked = {path.rpartition("/")[2] for path in candidate.policy.float32_layers}
    kept = {layer.name for layer in effect.layers if layer.compute_dtype == "float32"}
    for layer in effect.layers:
        # Models within the model may each have a layer of that name.
        if layer.name in asked - kept:
            said = f"{layer.name} was asked to compute in float32, but computes in {layer.compute_dtype}"
            return Failure(FailureKind.UNSUPPORTED, said)
    return None


def _unscaled_loss(effect: Effect) -> Failure | None:
    """A loss scaler divides every gradient by its scale; of a loss that was not scaled, little is left."""
    if not effect.loss_scaling or effect.scales_loss is not False:
        return None
    return Failure(
        FailureKind.INVALID,
        f"the model's own train_step does not scale its loss, so that {effect.optimizer} gets gradients divided by"
        " the loss scale (32768 at first); add `loss = self.optimizer.scale_loss(loss)` before the gradient is taken",
    )


def probe_failure(probe: Probe) -> Failure | None:
    """Why a probe does not count, or None."""
    if (failure := departure(probe.candidate, probe.effect)) is not None:
        return failure
    if not probe.loss_finite:
        return Failure(FailureKind.NAN, "the loss was not finite after the timed steps")
    return None


def training_failure(run: TrainingRun, max_skipped_share: float) -> Failure | None:
    """Why a training does not count, even if its metric looks fine, or None; to be stopped early is no failure."""
    if (failure := departure(run.candidate, run.effect)) is not None:
        return failure
    steps = run.asked_steps
    if (failure := _scaler_failure(run, steps, max_skipped_share)) is not None:
        return failure
    if not run.loss_finite:
        return Failure(FailureKind.NAN, "the training loss was not finite")
    if run.iterations + run.skipped_steps != steps:  # before the metric, which a training that was stopped may lack
        return Failure(
            FailureKind.INVALID,
            f"{run.iterations} optimizer steps were applied instead of {steps}: what changes their number (early"
            " stopping, gradient accumulation) cannot be compared",
        )
    if run.metric_is_lost:
        return Failure(FailureKind.NAN, "the metric on the validation part was not finite")
    return None


def _scaler_failure(run: TrainingRun, steps: int, max_skipped_share: float) -> Failure | None:
    scales = [(point.loss_scale, f" in epoch {point.epoch}") for point in run.curve if point.loss_scale is not None]
    if run.loss_scale is not None:
        scales.append((run.loss_scale, ""))
    lowest, when = min(scales, key=lambda scale: scale[0], default=(_LOWEST_LOSS_SCALE, ""))
    if lowest < _LOWEST_LOSS_SCALE:
        return Failure(
            FailureKind.NAN,
            f"loss-scale collapse: the scale fell to {lowest:g}{when}, and {run.skipped_steps} of {steps} steps were"
            " skipped, so the model hardly learned",
        )
    if run.skipped_steps > max_skipped_share * steps:
        return Failure(
            FailureKind.NAN,
            f"the loss scaler skipped {run.skipped_steps} of {steps} steps, above constraint.max_skipped_share"
            f" ({max_skipped_share:g})",
        )
    return None
