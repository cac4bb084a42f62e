"""What parent and worker say to each other: one line of JSON a message, over two pipes of their own.

An empty line from the worker is a sign of life in the middle of a long operation. Standard output stays free for
whatever a framework or a person's own code prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from autotune import codec
from autotune.errors import TrialFault
from autotune.trial import Candidate, EarlyStop, Failure, FailureKind, Recipe

T = TypeVar("T")

_LONGEST_DETAIL = 1000


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `args` is the plain form of the operation's argument dataclass; `number` is repeated in its answer."""

    operation: str
    args: dict[str, Any]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome: exactly one of the three is set (a value may be None)."""

    value: Any = None
    failure: Failure | None = None
    user_error: tuple[str, str] | None = None  # class name in `autotune.errors`, message
    number: int = 0  # of the request: an answer that nobody waits for must not be taken for another's


@dataclass(frozen=True, slots=True)
class ProbeArgs:
    """Time a candidate; with a reference, in blocks that alternate with the reference's.

    Attributes:
        seed: of the initial weights and the order of examples.
        block_s, min_pairs, max_pairs, half_width, max_s: see `autotune.config.search.TimingConfig`.
        pipeline: whether the step is also timed on one batch that is already on the device.
        steps_per_block: optimizer steps in a block; None lets the worker find what lasts `block_s`.
        hopeless_below: sampling may end as soon as the speedup over the reference is clearly below this (see
            `autotune.decide.timing.hopeless`); None never ends it so.
    """

    candidate: Candidate
    recipe: Recipe
    reference: Candidate | None
    reference_recipe: Recipe | None
    seed: int
    block_s: float
    min_pairs: int
    max_pairs: int
    half_width: float
    max_s: float
    pipeline: bool = False
    steps_per_block: int | None = None
    hopeless_below: float | None = None


@dataclass(frozen=True, slots=True)
class TrainArgs:
    """Train a candidate on one seed; keep the trained model at `keep_path` if given.

    Attributes:
        stops: where the training ends early, and below what; a training that is stopped keeps no model.
    """

    candidate: Candidate
    recipe: Recipe
    seed: int
    keep_path: str | None = None
    stops: tuple[EarlyStop, ...] = ()


@dataclass(frozen=True, slots=True)
class HarmArgs:
    """Measure how much each layer harms in the candidate's 16-bit policy; `seed` is of the initial weights."""

    candidate: Candidate
    recipe: Recipe
    seed: int


@dataclass(frozen=True, slots=True)
class InspectArgs:
    """Take a model apart, in float32 and, if given, under a 16-bit policy; the recipe serves to compile it.

    Attributes:
        calibrate: whether to measure what this host can do.
        emulated: dtypes that this host only emulates, which are then not timed.
    """

    float32: Candidate
    reduced: Candidate | None
    recipe: Recipe
    calibrate: bool = False
    emulated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluateArgs:
    """Evaluate saved models on the test part, paired."""

    model_path: str
    baseline_path: str | None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Metrics on the test part; the counts are for class labels only.

    Attributes:
        examples: how many there are.
        only_model: examples that only the model gets right.
        only_baseline: examples that only the baseline gets right.
    """

    examples: int
    metric: float | None
    baseline_metric: float | None
    only_model: int | None = None
    only_baseline: int | None = None


@dataclass(frozen=True, slots=True)
class ExportArgs:
    """Write the SavedModel beside a trained model, and what it predicts on some inputs, for the reload check."""

    model_path: str
    saved_model_path: str
    reference_path: str
    examples: int = 64


@dataclass(frozen=True, slots=True)
class ReloadArgs:
    """Load an exported model under `policy` in this fresh process and compare its predictions with the reference.

    Attributes:
        builder: `model._target_`; its module is imported for a person's own layers, as whoever loads the model must.
    """

    path: str
    reference_path: str
    policy: str
    builder: str | None = None


@dataclass(frozen=True, slots=True)
class RegisterArgs:
    """Log and register an exported model with MLflow."""

    model_path: str
    tracking_uri: str
    run_id: str
    registered_model: str
    alias: str
    tags: dict[str, str]
    pip_requirements: list[str]
    reference_path: str
    builder: str | None = None


def understood(kind: type[T], operation: str, value: Any) -> T:
    """The value that an operation returned, as what it must be.

    Raises:
        TrialFault: it is something else.
    """
    try:
        return codec.restore(kind, value) if kind is not type(None) else value
    except Exception as error:  # cattrs tells a wrong shape in many ways
        said = f"the worker's answer to {operation} is no {kind.__name__}: {type(error).__name__}"
        raise TrialFault(FailureKind.CRASH, said, repr(value)[:_LONGEST_DETAIL]) from error
