"""A study that is sent again: resumed, from its record, or after something broke in the middle of it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.config.schema import Config
from autotune.errors import TrackingError
from autotune.record.events import (
    BASELINE_TRIAL,
    Event,
    InFlight,
    Probed,
    StudyDecided,
    StudyResumed,
    StudyStarted,
    TrialFailed,
    TrialStarted,
)
from autotune.tracking import store as stores
from autotune.tracking import study_log
from autotune.tracking.sink import MlflowSink
from autotune.tracking.store import OpenStore
from autotune.tracking.study_log import StudyLog
from autotune.tracking.uri import Store
from autotune.tracking.wanted import Wanted
from autotune.trial import Stage
from tests.sample_study import sample_events
from tests.tracking.logged import EXPERIMENT, STUDY, contents, runs, tell

pytestmark = pytest.mark.slow

RESUMED = StudyResumed(1772370000.0, 200.0, (), None, (), "python -m autotune study.resume=true")


def sent(store: Store, events: list[Event]) -> StudyLog:
    """The study of a record, sent at once."""
    wanted = Wanted(STUDY)
    for number, event in enumerate(events):
        wanted.take(event, 1772360100000 + number * 1000)
    wanted.finish()
    log = StudyLog(store, EXPERIMENT, wanted)
    log.send()
    log.send_files()
    return log


def cut_in_flight(events: list[Event]) -> int:
    """Where a kill leaves a training of trial 4 without its outcome."""
    return next(i for i, e in enumerate(events) if isinstance(e, TrialStarted) and (e.trial, e.seed) == (4, 1)) + 1


def test_what_is_there_is_not_sent_again(config: Config, store: Store, tmp_path: Path) -> None:
    file = tmp_path / "trials.csv"
    file.write_text("trial\n0\n")
    sink = MlflowSink(config, STUDY, store=store)
    tell(sink, sample_events())
    sink.log_artifacts({"report/trials.csv": file})
    sink.close()
    before = contents(store)
    again = sent(store, sample_events())
    assert (again.sent.runs, again.sent.values, again.sent.files) == (0, 0, 0)
    assert contents(store) == before


def test_the_history_of_a_metric_is_the_same_after_a_second_time(store: Store) -> None:
    for _ in range(2):
        sent(store, sample_events())
    points = contents(store)["4"]["points"]
    assert points
    assert all(len(set(held)) == len(held) for held in points.values()), "no point twice"


def test_another_study_of_the_same_name_is_another_one(store: Store) -> None:
    """Two people with one server, and folders of the same name below different roots."""
    events = sample_events()
    assert isinstance(events[0], StudyStarted)
    first = sent(store, events)
    second = sent(store, [replace(events[0], output_dir="/elsewhere/cifar_mlp-rtx3090"), *events[1:]])
    assert first.run_id != second.run_id
    assert len(runs(store)) == 20


@pytest.mark.parametrize("killed_at", [1, pytest.param(7, marks=pytest.mark.long), 30, 60])
def test_a_study_that_was_killed_and_resumed_is_one_study(config: Config, store: Store, killed_at: int) -> None:
    events = sample_events()
    killed = MlflowSink(config, STUDY, store=store)
    tell(killed, events[:killed_at])
    run_id = killed.run_id()
    assert {run.info.status for run in runs(store)} >= {"RUNNING"}

    resumed = MlflowSink(config, STUDY, store=store)
    for event in events[:killed_at]:
        resumed.on_replayed(event, 1.0)
    tell(resumed, [RESUMED, *events[killed_at:]])
    assert resumed.run_id() == run_id
    resumed.close()
    held = contents(store)
    assert len(runs(store)) == 10
    assert held["study"]["status"] == "FINISHED"
    assert {number: run["status"] for number, run in held.items() if run["status"] != "FINISHED"} == {"6": "FAILED"}
    killed.close()


def test_what_was_in_flight_is_killed_and_the_parent_runs_again(config: Config, store: Store) -> None:
    events = sample_events()
    cut = cut_in_flight(events)
    killed = MlflowSink(config, STUDY, store=store)
    tell(killed, events[:cut])
    assert killed.run_id() is not None
    assert contents(store)["4"]["status"] == "RUNNING"

    resumed = MlflowSink(config, STUDY, store=store)
    for event in events[:cut]:
        resumed.on_replayed(event, 1.0)
    tell(resumed, [RESUMED])
    assert resumed.run_id() is not None
    held = contents(store)
    assert (held["study"]["status"], held["4"]["status"], held["3"]["status"]) == ("RUNNING", "KILLED", "FINISHED")
    tell(resumed, events[cut - 1 : cut])
    assert resumed.run_id() is not None
    assert contents(store)["4"]["status"] == "RUNNING", "it is measured again"
    tell(resumed, events[cut:])
    resumed.close()
    assert contents(store)["4"]["status"] == "FINISHED"
    killed.close()


@pytest.mark.parametrize("known", [12, 30])
def test_what_was_in_flight_and_is_not_asked_for_again_is_closed(config: Config, store: Store, known: int) -> None:
    """The resumed study is interrupted before trial 4 is proposed, or after it was screened."""
    events = sample_events()
    cut = cut_in_flight(events)
    killed = MlflowSink(config, STUDY, store=store)
    tell(killed, events[:cut])
    assert killed.run_id() is not None
    resumed = MlflowSink(config, STUDY, store=store)
    for event in events[:known]:
        resumed.on_replayed(event, 1.0)
    tell(resumed, [replace(RESUMED, in_flight=InFlight(4, Stage.VERIFY, 1))])
    assert resumed.run_id() is not None
    assert contents(store)["4"]["status"] == "KILLED"
    resumed.close()
    killed.close()


def test_nothing_new_is_nothing_sent(config: Config, store: Store) -> None:
    """Ctrl-C while the worker of a resumed study starts."""
    events = sample_events()
    killed = MlflowSink(config, STUDY, store=store)
    tell(killed, events[:50])
    assert killed.run_id() is not None
    before = contents(store)
    resumed = MlflowSink(config, STUDY, store=store)
    for event in events[:20]:
        resumed.on_replayed(event, 1.0)
    resumed.close()
    assert contents(store) == before
    killed.close()


def test_an_interrupted_study_that_goes_on_loses_what_no_longer_holds(config: Config, store: Store) -> None:
    interrupted = sample_events(interrupted=True)
    first = MlflowSink(config, STUDY, store=store)
    tell(first, interrupted)
    first.close()
    assert contents(store)["study"]["tags"]["interrupted"] == "interrupt"

    whole = sample_events()
    resumed = MlflowSink(config, STUDY, store=store)
    for event in interrupted[:-1]:
        resumed.on_replayed(event, 1.0)
    tell(resumed, [RESUMED, *whole[len(interrupted) - 1 :]])
    resumed.close()
    study = contents(store)["study"]
    assert study["status"] == "FINISHED"
    assert "interrupted" not in study["tags"]
    assert study["params"]["policy"] == "mixed_bfloat16"
    assert "changed_params" not in study["tags"]


def test_a_trial_that_failed_and_then_did_not_is_no_failure_any_more(store: Store) -> None:
    """As after a resumption whose session measured it again."""
    events = sample_events()
    failed = next(event for event in events if isinstance(event, TrialFailed))
    events = events[: events.index(failed) + 1]
    probed = next(event for event in events if isinstance(event, Probed) and event.trial != BASELINE_TRIAL)
    sent(store, events)
    assert {"failure", "failure_message"} <= contents(store)[str(failed.trial)]["tags"].keys()
    sent(store, [replace(probed, trial=failed.trial) if event is failed else event for event in events])
    assert not {"failure", "failure_message"} & contents(store)[str(failed.trial)]["tags"].keys()


def test_a_parameter_that_cannot_be_changed_is_named(store: Store) -> None:
    """A study had kept the baseline when its budget ended, went on with more of it, and found a winner."""
    events = sample_events()
    sent(store, [replace(e, winner=0) if isinstance(e, StudyDecided) else e for e in events])
    assert contents(store)["study"]["params"]["policy"] == "float32"
    sent(store, events)
    study = contents(store)["study"]
    assert study["params"]["policy"] == "float32"
    assert "policy=mixed_bfloat16" in study["tags"]["changed_params"]
    assert study["tags"]["winner"] == "4"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> dict[str, dict[str, Any]]:
    """What a store holds that took the sample study at once."""
    folder = tmp_path_factory.mktemp("whole")
    store = Store(f"sqlite:///{folder}/mlflow.db", str(folder / "mlartifacts"))
    shutil.copyfile(empty_database, folder / "mlflow.db")
    sent(store, sample_events())
    return contents(store)


class Breaking:
    """A client's connection to a real store that breaks at the n-th call, once, before or after the call was done."""

    def __init__(self, client: Any, at: int, after: bool) -> None:
        self._client, self._at, self._after = client, at, after
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name.startswith("_") or not callable(method):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            breaks = self.calls == self._at
            if breaks and not self._after:
                raise ConnectionResetError("broken before")
            answer = method(*args, **kwargs)
            if breaks:
                raise ConnectionResetError("broken after")
            return answer

        return call


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, *(pytest.param(at, marks=pytest.mark.long) for at in (3, 4, 18)), 5, 11, 29])
def test_wherever_it_breaks_the_next_attempt_makes_it_whole(
    store: Store, at: int, after: bool, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken: list[Any] = []

    def prepare(*args: Any) -> OpenStore:
        opened = stores.prepare(*args)
        broken.append(Breaking(opened.client, at, after))
        return replace(opened, client=broken[-1])

    wanted = Wanted(STUDY)
    for event in sample_events():
        wanted.take(event, 1772360100000)
    wanted.finish()
    log = StudyLog(store, EXPERIMENT, wanted)
    with monkeypatch.context() as patch:
        patch.setattr(study_log, "prepare", prepare)
        with suppress(TrackingError):  # a batch of values is tried again at once
            log.send()
    assert broken[0].calls >= at
    log.send()
    log.send_files()
    assert contents(store) == whole
    assert len(runs(store)) == len(whole)
