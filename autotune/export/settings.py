"""`best.yaml`: the whole configuration with the winning settings, which Hydra composes back."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from omegaconf import OmegaConf

from autotune.config.compose import to_yaml_dict
from autotune.config.schema import CandidateConfig, Config, OutputConfig, Task, XlaChoice
from autotune.config.search import InputPipeline
from autotune.masking import masked
from autotune.report.phrases import train_command
from autotune.trial import Candidate, Recipe

FILE_NAME = "best.yaml"

_WINNER = ("winning settings", "with them, at the recipe they were confirmed at")
_BASELINE = ("float32 baseline (no candidate was confirmed)", "it, at the recipe it was measured at")

_HEADER = """\
The {what} of study {study}, as a whole configuration.

  {command}

trains {how} ({recipe}). A longer training is an override away:
train.examples=null train.epochs=50. train.batch_size stays the user's own: the learning rate follows
candidate.batch_size from it by train.scaling.
"""


def write_settings(
    folder: Path, config: Config, candidate: Candidate, recipe: Recipe, study: str, *, is_baseline: bool = False
) -> Path:
    """Write `best.yaml` into the export folder; the path that it names is the folder's own.

    Args:
        folder: the export's.
        config: of the study.
        candidate: what is exported.
        recipe: it was trained at.
        study: its name.
        is_baseline: whether that is float32 itself, since nothing was confirmed.
    """
    exported = dataclasses.replace(
        config,
        task=Task.train,
        candidate=CandidateConfig(
            policy=candidate.policy.name,
            float32_layers=list(candidate.policy.float32_layers),
            batch_size=candidate.batch_size,
            xla=XlaChoice(candidate.xla.value),
            widths=list(candidate.widths),
            steps_per_execution=candidate.steps_per_execution,
            accumulation=candidate.accumulation,
            tf32=candidate.tf32,
            pipeline=InputPipeline(candidate.pipeline.value),
        ),
        train=dataclasses.replace(config.train, examples=recipe.examples, epochs=recipe.epochs),
        search=dataclasses.replace(config.search, batch_sizes=_that_fit(config.search.batch_sizes, recipe.examples)),
        output=OutputConfig(),  # the study's own folder is of this machine, and its name is taken
        tracking=dataclasses.replace(config.tracking, uri=_without_password(config.tracking.uri)),
    )
    content = {"defaults": ["base", "_self_"], **to_yaml_dict(exported)}
    path = folder / FILE_NAME
    what, how = _BASELINE if is_baseline else _WINNER
    command = train_command(str(folder), content)
    header = _HEADER.format(what=what, how=how, study=study, command=command, recipe=recipe)
    # Whatever a folder is called, no line of this is one of the configuration.
    commented = "".join(f"# {line}".rstrip() + "\n" for line in header.splitlines())
    # OmegaConf reads `1e3` as a number where YAML's own writer leaves it without quotes.
    path.write_text(commented + OmegaConf.to_yaml(content), encoding="utf-8", errors="surrogateescape")
    return path


def _that_fit(batches: list[int] | None, examples: int) -> list[int] | None:
    """The batches that a person listed, without those for which the recipe had too few examples."""
    return [batch for batch in batches if batch <= examples] or None if batches else None


def _without_password(uri: str | None) -> str | None:
    """A tracking address that may be read by anyone; one with a password is left to MLFLOW_TRACKING_URI."""
    return uri if uri is None or masked(uri) == uri else None
