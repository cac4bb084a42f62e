"""The whole configuration, typed; `conf/base.yaml` starts from it, so that a misspelt key cannot compose."""

import enum
from dataclasses import dataclass, field
from typing import List, Optional

from autotune.config.checks import positive, require
from autotune.config.constraint import ConstraintConfig
from autotune.config.data import DataConfig
from autotune.config.hardware import HardwareConfig
from autotune.config.model import ModelConfig
from autotune.config.objective import ObjectiveConfig
from autotune.config.search import SEARCHABLE_POLICIES, InputPipeline, SearchConfig
from autotune.config.study import StudyConfig
from autotune.config.tracking import TrackingConfig
from autotune.config.train import TrainConfig


class Task(enum.Enum):
    """What one run does."""

    tune = "tune"  # the study: measure, search, verify, confirm, export
    plan = "plan"  # the space, its cost and the margin that the budget can resolve; nothing is trained
    explain = (
        "explain"  # why the model is as fast as it is on the target, and what would change that; nothing is trained
    )
    train = "train"  # train with one candidate's settings, such as an exported one
    promote = "promote"  # move the production alias to an exported model, explicitly
    sync = "sync"  # send a study's record to MLflow, or what MLflow has missed of it
    report = "report"  # make a study's report again, from its record alone

    @property
    def searches(self) -> bool:
        """Whether candidates are looked for, or planned to be, so that objective and sampler matter."""
        return self in (Task.tune, Task.plan)


class XlaChoice(enum.Enum):
    """What is asked of `jit_compile`."""

    auto = "auto"
    on = "on"
    off = "off"


@dataclass
class CandidateConfig:
    """The settings that `task=train` trains with; null means the user's own.

    See `autotune.trial.Candidate` for what each is.
    """

    policy: str = "float32"
    float32_layers: List[str] = field(default_factory=list)
    batch_size: Optional[int] = None
    xla: XlaChoice = XlaChoice.auto
    widths: Optional[List[int]] = None
    steps_per_execution: int = 1
    accumulation: int = 1
    tf32: Optional[bool] = None
    pipeline: InputPipeline = InputPipeline.host

    def __post_init__(self) -> None:
        require(
            self.policy in SEARCHABLE_POLICIES,
            f"candidate.policy must be one of {', '.join(SEARCHABLE_POLICIES)}",
            self.policy,
        )
        require(
            not self.float32_layers or self.policy != "float32",
            "candidate.float32_layers needs a 16-bit candidate.policy",
            self.float32_layers,
            "in float32 every layer is",
        )
        positive("candidate.batch_size", self.batch_size)
        positive("candidate.steps_per_execution", self.steps_per_execution)
        positive("candidate.accumulation", self.accumulation)
        require(all(w >= 1 for w in self.widths or ()), "candidate.widths must be at least 1", self.widths)


@dataclass
class OutputConfig:
    """Where a run writes.

    Attributes:
        root: folder that holds every run's folder and the default MLflow store.
        name: name of this run's folder; null: date, time, model and target, made unique.
    """

    root: str = "outputs"
    name: Optional[str] = None


@dataclass
class ConsoleConfig:
    """How the run is shown: `live` redraws a table on a terminal, otherwise plain lines are printed."""

    live: bool = True


@dataclass
class Config:
    """Everything one run is made of."""

    task: Task = Task.tune
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    hw: HardwareConfig = field(default_factory=HardwareConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    constraint: ConstraintConfig = field(default_factory=ConstraintConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    tracking: TrackingConfig = field(default_factory=TrackingConfig)
    candidate: CandidateConfig = field(default_factory=CandidateConfig)
    output: OutputConfig = field(default_factory=OutputConfig)
    study: StudyConfig = field(default_factory=StudyConfig)
    console: ConsoleConfig = field(default_factory=ConsoleConfig)
