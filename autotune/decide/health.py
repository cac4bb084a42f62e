"""Whether what was measured is what was asked for, and whether training in 16 bit went well."""

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
    computing = {layer.compute_dtype for layer in effect.layers if layer.parameters}
    asked = candidate.policy.compute_dtype
    if computing and asked not in computing:
        found = ", ".join(sorted(computing))
        return Failure(FailureKind.UNSUPPORTED, f"no layer computes in {asked}: each sets a dtype of its own ({found})")
    if other := computing - {asked, "float32"}:
        found = ", ".join(sorted(other))
        return Failure(FailureKind.INVALID, f"{asked} was asked for, but some layers compute in {found}")
    return None


def probe_failure(probe: Probe) -> Failure | None:
    """Why a probe does not count, or None."""
    if (failure := departure(probe.candidate, probe.effect)) is not None:
        return failure
    if not probe.loss_finite:
        return Failure(FailureKind.NAN, "the loss was not finite after the timed steps")
    return None


def training_failure(run: TrainingRun, max_skipped_share: float) -> Failure | None:
    """Why a training does not count, even if its metric looks fine, or None."""
    if (failure := departure(run.candidate, run.effect)) is not None:
        return failure
    steps = run.recipe.total_steps
    if run.loss_scale is not None and run.loss_scale < _LOWEST_LOSS_SCALE:
        return Failure(
            FailureKind.NAN,
            f"loss-scale collapse: the scale fell to {run.loss_scale:g} and {run.skipped_steps} of {steps} steps were"
            " skipped, so the model hardly learned",
        )
    if run.skipped_steps > max_skipped_share * steps:
        return Failure(
            FailureKind.NAN,
            f"the loss scaler skipped {run.skipped_steps} of {steps} steps, above constraint.max_skipped_share"
            f" ({max_skipped_share:g})",
        )
    if not run.loss_finite:
        return Failure(FailureKind.NAN, "the training loss was not finite")
    if run.metric is None:
        return Failure(FailureKind.NAN, "the metric on the validation part was not finite")
    if run.iterations + run.skipped_steps != steps:
        return Failure(
            FailureKind.INVALID,
            f"{run.iterations} optimizer steps were applied instead of {steps}: what changes their number (early"
            " stopping, gradient accumulation) cannot be compared",
        )
    return None
