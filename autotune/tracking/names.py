"""What MLflow accepts as a name or a text, and what this package calls things there."""

from __future__ import annotations

import re

from autotune.config.schema import Config
from autotune.trial import Candidate, Xla

# Limits of MLflow 3 (mlflow.utils.validation); it cuts longer texts silently.
MAX_NAME = 250
MAX_PARAM = 6000
MAX_TAG = 8000

# The registry's aliases: what may be served, and what a person has yet to decide on.
PRODUCTION = "production"
CANDIDATE = "candidate"


def name(text: str) -> str:
    """A metric's or tag's name made of `text`: letters, digits, `_`, `-` and `.` stay, the rest becomes `_`."""
    cleaned = re.sub(r"[^\w.-]", "_", text).strip(".")[:MAX_NAME]
    return cleaned or "unnamed"


def spelt(value: object) -> str:
    """A value as a parameter or a tag: `true` and `false` as in YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def shortened(text: str, limit: int) -> str:
    """The text, or its beginning with a visible mark that says how long it was."""
    if len(text) <= limit:
        return text
    mark = f" ... [cut from {len(text):,} characters]"
    return text[: limit - len(mark)] + mark


def run_name(trial: int, candidate: Candidate, baseline: Candidate | None, mark: str = "") -> str:
    """`07 mixed_bfloat16 b512 xla x8`: trial, policy, batch, and what else differs from the baseline.

    A mark such as `rejected` comes before the policy, since tables show the beginning of a name and nothing of tags.
    """
    words = [f"{trial:02d}", *mark.split(), str(candidate.policy), f"b{candidate.batch_size}"]
    if candidate.xla is Xla.ON:
        words.append("xla")
    if candidate.steps_per_execution > 1:
        words.append(f"x{candidate.steps_per_execution}")
    words += [f"{name}-{value}" for name, value in candidate.further.items()]
    if baseline and candidate.widths != baseline.widths:
        words.append("w" + widths(candidate))
    return " ".join(words)


def widths(candidate: Candidate) -> str:
    """`3008-1008`, or `none` for a model without any."""
    return "-".join(map(str, candidate.widths)) or "none"


def experiment(chosen: str | None, model: str) -> str:
    """The experiment that a study's runs belong to."""
    return chosen or f"autotune-{model}"


def registered_model(config: Config) -> str:
    """The registered model that exports become versions of; `/` and `:` have a meaning in `models:/` URIs."""
    return re.sub(r"[/:]", "_", config.tracking.registered_model or config.model.name)
