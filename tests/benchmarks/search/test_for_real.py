"""The same for real, once: this tuner and a plain TPE sweep on this machine, by the wall clock, set-up included.

Both begin with nothing, start their own workers, measure the same baseline and confirm with the same code. The sweep
has as many trials as this tuner screens; nobody tells it when to stop. A small model, so that it takes minutes: its
trainings are short beside the start of a worker, which is when a search gains least.

Alone (about ten minutes on two cores): `python -m pytest tests/benchmarks/search/test_for_real.py -m bench -s`
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autotune.config.schema import Config
from autotune.record.record import Record
from autotune.study.budget import Budget
from autotune.study.context import StudyContext
from autotune.study.study import run_study
from autotune.tasks.session import Session, accepted_device, claimed, open_record, started
from autotune.trial import Stage
from tests.benchmarks.figures import cpu, print_table
from tests.benchmarks.search import rivals
from tests.benchmarks.search.rivals import Rival
from tests.benchmarks.truth.workers import configured

pytestmark = [pytest.mark.bench, pytest.mark.timeout(0)]

OVERRIDES = (
    "model=digits_mlp",
    "tracking=off",
    "search.budget=null",
    "search.timing.pipeline=false",
    "train.examples=1024",
    "train.epochs=30",
)


def test_this_tuner_costs_less_than_a_sweep_of_as_many_trials(tmp_path: Path) -> None:
    config = configured((*OVERRIDES, f"output.root={tmp_path}"))
    rows, walls_s = [], {}
    for name, search in (("this tuner", _study), ("tpe", _sweep)):
        began = time.monotonic()
        with _begun(config) as (context, accelerator):
            winner, speedup, trainings = search(context, accelerator)
        walls_s[name] = time.monotonic() - began
        rows.append((name, walls_s[name], trainings, speedup, winner))
    table = [
        (name, f"{wall_s / walls_s['tpe']:.2f}", f"{wall_s:.0f}", str(trainings), f"{speedup:.2f}", winner)
        for name, wall_s, trainings, speedup, winner in rows
    ]
    head = ("digits_mlp", "over tpe's", "wall [s]", "trainings", "confirmed speedup", "answer")
    print_table(f"for real, {config.search.trials} trials each", head, table, cpu())
    assert walls_s["this tuner"] < walls_s["tpe"]


@contextmanager
def _begun(config: Config) -> Iterator[tuple[StudyContext, str]]:
    """A study with its worker started, as `task=tune` begins it."""
    device = accepted_device(config)
    with claimed(config) as folder, started(config, folder, device) as session:
        record = open_record(session, ())
        try:
            yield _context(session, record), session.ready.facts.accelerator
        finally:
            record.close()


def _context(session: Session, record: Record) -> StudyContext:
    return StudyContext(
        config=session.config,
        device=session.device,
        target=session.target.profile,
        executor=session.executor,
        record=record,
        budget=Budget(session.config.search.budget_s, lambda: record.elapsed_s),
        data=session.ready.data,
        worker_start_s=session.ready.start_s,
    )


Found = tuple[str, float, int]
"""The answer, its confirmed speedup (1 for the baseline), and how many trainings there were."""


def _study(context: StudyContext, accelerator: str) -> Found:
    run_study(context, accelerator)
    return _told(context, trainings=_recorded(context))


def _sweep(context: StudyContext, accelerator: str) -> Found:
    rival = Rival(context, accelerator, 0, rivals.tpe, context.config.search.trials)
    before = _recorded(context)  # the baseline's: a rival's own trials are recorded when they are confirmed
    rival.confirmed(len(rival.trials) - 1)
    confirming = sum(len(trial.runs.get(Stage.CONFIRM, ())) for trial in context.view.trials.values())
    return _told(context, trainings=before + sum(len(trial.runs) for trial in rival.trials) + confirming)


def _recorded(context: StudyContext) -> int:
    return sum(len(runs) for trial in context.view.trials.values() for runs in trial.runs.values())


def _told(context: StudyContext, trainings: int) -> Found:
    confirmed = next((found for found in context.view.confirmations if found.succeeded), None)
    if confirmed is None or confirmed.speedup is None:
        return "the baseline", 1.0, trainings
    return str(confirmed.candidate), confirmed.speedup.estimate, trainings
