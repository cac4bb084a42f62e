"""`task=train`: train with one candidate's settings, such as those of an exported `best.yaml`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from autotune.config.schema import Config
from autotune.decide import health
from autotune.errors import ConfigError, TrialFault
from autotune.record.events import Note, Trained
from autotune.record.record import Record
from autotune.space.build import own_widths
from autotune.space.recipe import Fidelity, evaluated_epochs, recipe_for
from autotune.tasks.session import Session, accepted_device, claimed, open_record, started
from autotune.trial import Candidate, FailureKind, Pipeline, Policy, Stage, TrainingRun, Xla
from autotune.worker.protocol import EvaluateArgs, Evaluation

MODEL = "model.keras"

# The record's trial number: a single training has no baseline (0) beside it.
_TRIAL = 1


def train(config: Config) -> int:
    """Train, evaluate on validation and test parts, keep the model in the run's folder; returns 0.

    Raises:
        UserError: a person's mistake, or a training that has no result.
    """
    if config.train.epochs is None:
        raise ConfigError("task=train needs the length of the training, but train.epochs is null; set train.epochs=20")
    device = accepted_device(config)
    with claimed(config) as folder, started(config, folder, device) as session:
        candidate = _candidate(session)
        examples = config.train.examples or session.ready.data.train
        if candidate.batch_size > examples:
            raise ConfigError(
                f"the batch must not exceed the training examples, but got {candidate.batch_size} for {examples:,};"
                " lower candidate.batch_size or raise train.examples"
            )
        record = open_record(session, ())
        try:
            _say(f"training {candidate} for {config.train.epochs} epochs of {examples:,} examples")
            run, evaluation = _train(session, record, candidate, Fidelity(examples, config.train.epochs))
            _report(session, run, evaluation)
        finally:
            record.close()
    return 0


def _candidate(session: Session) -> Candidate:
    config = session.config
    asked = config.candidate
    return Candidate(
        policy=Policy(asked.policy, tuple(asked.float32_layers)),
        batch_size=asked.batch_size or config.train.batch_size,
        xla=Xla(asked.xla.value),
        widths=tuple(asked.widths or own_widths(config, session.ready.facts.accelerator)),
        steps_per_execution=asked.steps_per_execution,
        accumulation=asked.accumulation,
        tf32=config.train.tf32 if asked.tf32 is None else asked.tf32,
        pipeline=Pipeline(asked.pipeline.value),
    )


def _train(
    session: Session, record: Record, candidate: Candidate, fidelity: Fidelity
) -> tuple[TrainingRun, Evaluation]:
    config = session.config
    path = session.folder.path / MODEL
    recipe = recipe_for(config.train, candidate, fidelity)
    with _explained():
        run = session.executor.train(candidate, config.train.seed, recipe, path)
    record.append(Trained(_TRIAL, Stage.EXPORT, run, None, run.train_s))
    if (failure := health.training_failure(run, config.constraint.max_skipped_share)) is not None:
        record.append(Note("health", str(failure), "warning"))
        raise ConfigError(f"the training has no result: {failure}")
    with _explained():
        return run, session.executor.evaluate(EvaluateArgs(str(path), None))


@contextmanager
def _explained() -> Iterator[None]:
    """A person's mistake that shows only when the model is built or loaded is told as one; a crash stays a fault."""
    try:
        yield
    except TrialFault as fault:
        if fault.kind in (FailureKind.CRASH, FailureKind.TIMEOUT, FailureKind.OOM):
            raise
        raise ConfigError(f"the training has no result: {fault.kind}: {fault.message}") from fault


def _report(session: Session, run: TrainingRun, evaluation: Evaluation) -> None:
    name, data = session.config.constraint.metric, session.ready.data
    for point in run.curve:
        loss = "not finite" if point.train_loss is None else f"{point.train_loss:.4f}"
        text = f"epoch {point.epoch}: loss {loss}"
        if point.epoch in evaluated_epochs(run.recipe.epochs, run.recipe.evaluations):
            text += f", validation {name} " + ("not finite" if point.metric is None else f"{point.metric:.4f}")
        _say(f"{text} ({point.elapsed_s:.1f} s)")
    if data.stand_in:
        _say(f"STAND-IN DATA: {data.stand_in}")
    _say(f"test {name} {evaluation.metric} on {evaluation.examples:,} examples ({run.recipe}, seed {run.seed})")
    _say(f"device {session.device.name}; {run.candidate.policy} in force as {run.effect.effective_dtype}")
    _say(f"model  {run.model_path}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
