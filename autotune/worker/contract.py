"""Where a study gets its measurements: `probe` and `train`, of whatever executor."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from autotune.trial import Candidate, EarlyStop, LayerHarm, Probe, Recipe, Stage, TrainingRun


class Executor(Protocol):
    """What a study may ask for."""

    def probe(
        self,
        candidate: Candidate,
        recipe: Recipe,
        reference: tuple[Candidate, Recipe] | None,
        stage: Stage,
        hopeless_below: float | None = None,
    ) -> Probe:
        """Time a candidate, in blocks that alternate with the reference's if there is one; more exactly to confirm.

        Args:
            candidate, recipe, reference: what is asked for, and what it is timed against.
            stage: for which it is.
            hopeless_below: it may end early once its speedup is clearly below this.

        Raises:
            TrialFault: it could not be measured.
        """

    def train(
        self,
        candidate: Candidate,
        seed: int,
        recipe: Recipe,
        keep_path: Path | None = None,
        stops: tuple[EarlyStop, ...] = (),
    ) -> TrainingRun:
        """Train a candidate on one seed.

        Args:
            candidate, seed, recipe: what is asked for.
            keep_path: where the trained model is kept, if it is.
            stops: where it ends early, and below what.

        Raises:
            TrialFault: there is no result.
        """

    def harms(self, candidate: Candidate, recipe: Recipe) -> tuple[LayerHarm, ...]:
        """How much each layer harms in the candidate's 16-bit policy, measured on one real batch.

        Args:
            candidate: whose policy, widths and micro-batch it is measured with.
            recipe: how it is trained.

        Raises:
            TrialFault: it could not be measured.
        """

    def replace(self) -> None:
        """Go on in a fresh process."""
