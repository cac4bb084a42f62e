"""The `data` group: which examples a study trains on, and what happens when they cannot be had."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Dict, Optional

from autotune.config.checks import MISSING, positive, require


class OnUnavailable(Enum):
    """What a source does when its data is neither on this machine nor to be downloaded."""

    stand_in = "stand_in"
    error = "error"


@dataclass
class DataConfig:
    """One dataset, as `conf/data/*.yaml` describes it.

    Attributes:
        name: what reports and records call the dataset.
        _target_: dotted name of the data source, e.g. `autotune.data.cifar10.load`;
            its contract is in the docstring of `autotune.data`.
        dir: folder to read from instead of the places that the source knows.
        args: more keyword arguments for the source.
        on_unavailable: `stand_in` trains on a substitute and says so; `error` stops.
        download: whether the source may use the network.
        download_timeout_s: longest silence of the network before a download is given up, seconds.
        validation_examples: size of the validation part taken out of the training part, examples;
            ignored where the source brings its own validation part.
        split_seed: seeds that split, and is the `seed` that the source is called with.
        num_classes: number of classes, where it is not the largest label plus one.
        max_memory_gb: most memory that the prepared arrays may take, GB (1e9 bytes);
            None means what this machine has available.

    Raises:
        ConfigError: a value that cannot work.
    """

    name: str = MISSING
    _target_: str = MISSING
    dir: Optional[str] = None
    args: Dict[str, Any] = field(default_factory=dict)
    on_unavailable: OnUnavailable = OnUnavailable.stand_in
    download: bool = True
    download_timeout_s: float = 5.0
    validation_examples: int = 5000
    split_seed: int = 0
    num_classes: Optional[int] = None
    max_memory_gb: Optional[float] = None

    def __post_init__(self) -> None:
        remedy = "name one, as the files in conf/data do"
        require(bool(self.name.strip()), "data.name must not be empty", self.name, remedy)
        if self._target_ != MISSING:
            require(
                all(part.isidentifier() for part in self._target_.split(".")) and "." in self._target_,
                "data._target_ must be a dotted name such as my_module.load",
                self._target_,
            )
        require(
            self.dir is None or bool(self.dir.strip()),
            "data.dir must name a folder",
            self.dir,
            "leave it null to use the places that the source knows",
        )
        positive("data.download_timeout_s", self.download_timeout_s)
        positive("data.validation_examples", self.validation_examples)
        positive("data.max_memory_gb", self.max_memory_gb)
        require(self.split_seed >= 0, "data.split_seed must be 0 or more", self.split_seed)
        require(
            self.num_classes is None or self.num_classes >= 2,
            "data.num_classes must be 2 or more",
            self.num_classes,
            "leave it null for regression, or to count the classes in the labels",
        )
