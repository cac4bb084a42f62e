"""What one more trial costs this tool itself: deciding, the record, the console, MLflow and Optuna's journal.

The study is the real one; its executor is a stub that answers at once with made-up measurements (tests/study), so all
of the wall clock is this tool's own. The sinks are the real ones: plain lines, and MLflow on an SQLite file that has
its tables already. Counted is all from the first event until the last sink is closed and Optuna's journal is written,
over the number of trials, the baseline's aside. MLflow's writes go on beside the study, in a thread: they count as far
as they make the whole longer, which is more than they do beside a worker that measures.

A row with more trials has a space so large that its candidates do not run out. "growth" is a trial's cost over that of
the first row's, by the processor's time, which other work on the machine disturbs less than the wall clock.

The first row bears the baseline and the finalists among ten, the others among a thousand: "growth" below 1 is that.

Alone (three minutes on two cores): `python -m pytest tests/benchmarks/test_cost_of_a_trial.py -m bench -s`

Measured on 2026-12-01 on AMD EPYC, 2 cores (virtual, shared with other work: load average 1.1), Optuna 5.0, MLflow on
SQLite, twice: the machine was slower the second time, so compare within a run. Of the 105 ms that each of ten trials
took when it was profiled, 64 were the wait for MLflow's thread at the end, and 34 the study's own.

    sampler  trials  growth        wall [ms]     processor [ms]
    tpe          10  1.00          73    110     63     96
    random    1,000  0.82, 0.67    60     74     52     64
    tpe       1,000  1.73, 0.81   110     87    109     78

The same day, on a faster and quieter one (AMD EPYC with avx512_bf16, load average 1.2): 40 ms at ten trials, 29 at
1,000 of random, 30 of TPE.

Between the two runs TPE was asked three times for a candidate that was not measured yet, and then once.
"""

from __future__ import annotations

import dataclasses
import io
import math
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from autotune.config.compose import to_yaml_dict
from autotune.config.schema import Config
from autotune.config.search import Sampler
from autotune.console import console_sink
from autotune.record.events import Event, StudyStarted
from autotune.study import storage
from autotune.tracking.sink import MlflowSink
from autotune.tracking.store import prepare
from autotune.tracking.uri import Store
from tests.benchmarks.figures import cpu, print_table
from tests.study.fake_executor import DATA, FakeStudy, config_of

pytestmark = [
    pytest.mark.bench,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy:DeprecationWarning"),
]

FEW, MANY = 10, 1000
SAMPLERS = (Sampler.random, Sampler.tpe)
"""The first costs nothing itself: what grows with it is not the sampler's."""

MOST_MS = 60.0
MOST_GROWTH = 1.5
LARGE = dataclasses.replace(DATA, train=16_384)  # room for the batches below
# Of one batch size: two policies, with and without XLA, five numbers of steps a call.
_STEPS = [1, 2, 4, 8, 16]
_ALIKE = 2 * 2 * len(_STEPS)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one study, by its trials [ms]: wall clock, and this process's processor time."""

    sampler: Sampler
    trials: int
    wall_ms: float
    processor_ms: float


class WholeConfiguration(MlflowSink):
    """The MLflow sink, told the whole configuration, of which the stub's first line has a part only."""

    def __init__(self, config: Config, study: str, store: Store) -> None:
        super().__init__(config, study, store=store, flush_s=1200.0)  # all of it counts, however long it takes
        self._plain = to_yaml_dict(config)

    def on_event(self, event: Event) -> None:
        if isinstance(event, StudyStarted):
            event = dataclasses.replace(event, config=self._plain)
        super().on_event(event)


def test_a_trial_costs_milliseconds_and_the_thousandth_no_more_than_the_tenth(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'mlflow.db'}", str(tmp_path / "mlartifacts"))
    prepare(store, "autotune-net")
    _cost(tmp_path / "warm", FEW, Sampler.tpe, store)  # imports, and MLflow's first statements
    first = _cost(tmp_path / "first", FEW, Sampler.tpe, store)
    costs = [first, *(_cost(tmp_path / str(sampler.value), MANY, sampler, store) for sampler in SAMPLERS)]
    head = ("sampler", "trials", "growth", "wall [ms]", "processor [ms]")
    rows = [(cost.sampler.value, f"{cost.trials:,}", f"{_growth(cost, first):.2f}", *_shown(cost)) for cost in costs]
    print_table("This tool's own cost of a trial", head, rows, cpu())
    assert [cost for cost in costs if _growth(cost, first) > MOST_GROWTH or cost.wall_ms > MOST_MS] == []


def _growth(cost: Cost, first: Cost) -> float:
    return cost.processor_ms / first.processor_ms


def _shown(cost: Cost) -> tuple[str, str]:
    return f"{cost.wall_ms:.1f}", f"{cost.processor_ms:.1f}"


def _cost(folder: Path, trials: int, sampler: Sampler, store: Store) -> Cost:
    config = config_of(
        trials=trials, sampler=sampler, batch_sizes=_batch_sizes(trials), steps_per_execution=list(_STEPS)
    )
    config.train.examples = LARGE.train
    sink = WholeConfiguration(config, folder.name, store)
    sink.start()
    sink.run_id()
    began, busy = time.perf_counter(), time.process_time()
    study = FakeStudy(folder, config, data=LARGE, sinks=(console_sink(live=False, stream=io.StringIO()), sink)).run()
    storage.write(study.context.view, folder, config.constraint.margin)
    wall_s, processor_s = time.perf_counter() - began, time.process_time() - busy
    measured = len(study.context.view.trials) - 1
    assert measured == trials
    return Cost(sampler, trials, wall_s / trials * 1e3, processor_s / trials * 1e3)


def _batch_sizes(trials: int) -> list[int]:
    """So many that candidates do not run out, although most epochs do not divide into calls of many steps."""
    return [32 + 8 * number for number in range(math.ceil(3 * trials / _ALIKE) + 1)]
