"""Predicted steps of `task=explain` beside measured ones, on this machine's own CPU.

Rates are those of the few-second measurement that `task=explain` makes with `hw=auto`; each candidate is then timed as
a study's screening times one alone, in a worker of its own. A band is what the prediction promises: of all steps, at
most one in five may be outside of its own, and of all speedups over the user's own settings, too.

Alone (three minutes on two cores): `python -m pytest tests/benchmarks/test_predictions.py -m bench -s`
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.config.schema import Config
from autotune.explain.forecast import Forecast, Setting, gain
from autotune.explain.situation import Situation, situation_on
from autotune.hardware.device import detect
from autotune.hardware.policies import offered, policy_choices
from autotune.hardware.target import resolve_target
from autotune.space.build import baseline_candidate
from autotune.space.recipe import Fidelity, recipe_for
from autotune.tasks.inspection import asked
from autotune.trial import Candidate, Policy, Stage, Xla
from autotune.worker.inspector import InspectionWorker
from tests.benchmarks.figures import cpu, print_table
from tests.benchmarks.truth.workers import configured, fresh_worker

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

MODELS = ("digits_mlp", "cifar_mlp", "cifar_cnn")
FACTORS = (1, 2, 4, 8)
"""Batches, over the user's own."""

MOST_OUTSIDE = 0.2

Row = tuple[str, ...]
_STEP, _SPEEDUP, _NO, _OWN = 5, 8, "NO", ""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """A row for each setting of each model."""
    rows = [row for model in MODELS for row in _rows(model, tmp_path_factory.mktemp(model))]
    steps = ("predicted [ms]", "band", "measured [ms]", "within")
    head = ("model", "setting", *steps, "speedup predicted", "measured", "within")
    print_table("Predicted and measured steps", head, rows, cpu())
    return rows


def test_measured_steps_are_within_the_bands_of_predicted_ones(table: list[Row]) -> None:
    within = [row[_STEP] for row in table]
    assert within.count(_NO) <= MOST_OUTSIDE * len(within)


def test_measured_speedups_are_within_the_bands_of_predicted_ones(table: list[Row]) -> None:
    within = [row[_SPEEDUP] for row in table if row[_SPEEDUP] != _OWN]
    assert within.count(_NO) <= MOST_OUTSIDE * len(within)


def _rows(model: str, folder: Path) -> list[Row]:
    config = configured((f"model={model}", "hw=auto", "search.timing.pipeline=false"))
    situation = _situation(config, folder)
    low = [policy for policy in offered(policy_choices(detect().profile)) if policy != "float32"]
    own = replace(baseline_candidate(config, "CPU"), xla=Xla.OFF)
    candidates = [
        replace(own, policy=Policy(policy), batch_size=own.batch_size * factor)
        for policy in ("float32", *low[:1])
        for factor in FACTORS
    ]
    measured = _measured(config, candidates, folder)
    return [_row(model, situation, candidate, own, measured) for candidate in candidates]


def _situation(config: Config, folder: Path) -> Situation:
    device = detect()
    target = resolve_target(config.hw, device)
    with closing(InspectionWorker(config, folder / "inspection.log", None)) as worker:
        data = worker.load_data()
        worker.start()
        own = replace(baseline_candidate(config, "CPU"), xla=Xla.OFF)
        recipe = recipe_for(config.train, own, Fidelity(data.train, 1))
        facts = worker.inspect(asked(config, device, target, own, recipe, calibrate=True))
    assert facts.calibration is not None
    return situation_on(config, target.profile, facts, here=True, choices=device.policy_choices())


def _measured(config: Config, candidates: list[Candidate], folder: Path) -> dict[Candidate, float]:
    """Median step times [ms], each model alone in one worker."""
    with fresh_worker(config, folder) as worker:
        return {one: worker.probe(one, None, Stage.SCREEN).step_time_ms for one in candidates}


def _forecast(situation: Situation, candidate: Candidate) -> Forecast:
    found = situation.forecaster.forecast(Setting(candidate.policy.name, candidate.batch_size))
    assert found is not None
    return found


def _row(model: str, situation: Situation, one: Candidate, own: Candidate, measured: dict[Candidate, float]) -> Row:
    predicted, base = _forecast(situation, one), _forecast(situation, own)
    low, high = predicted.band_ms
    speedup = one.batch_size / own.batch_size * measured[own] / measured[one]
    promised = gain(predicted, base)
    return (
        model,
        f"{one.policy} b{one.batch_size}",
        f"{predicted.step_ms:.3g}",
        f"{low:.3g} to {high:.3g}",
        f"{measured[one]:.3g}",
        _yes(within=low <= measured[one] <= high),
        str(promised),
        f"{speedup:.2f}x",
        _OWN if one == own else _yes(within=promised.low <= speedup <= promised.high),
    )


def _yes(*, within: bool) -> str:
    return "yes" if within else _NO
