"""Going on with a study that did not end."""

from dataclasses import dataclass
from typing import Optional

from autotune.config.checks import require

RESUMES = ("false", "true", "auto")


@dataclass
class StudyConfig:
    """Which study a run belongs to.

    Attributes:
        resume: `true`: go on with the newest unfinished study of this model and target, or with the one in `folder`;
            `auto`: the same if there is one, else a new study; `false`: a new study.
        folder: the folder of an earlier run.
        accept_changes: go on although something changed since that leaves the old measurements valid.
    """

    resume: str = "false"
    folder: Optional[str] = None
    accept_changes: bool = False

    def __post_init__(self) -> None:
        self.resume = self.resume.casefold()
        require(self.resume in RESUMES, "study.resume must be true, auto or false", self.resume)
