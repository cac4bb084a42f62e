"""Values that a store refuses, sent to a real one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.schema import Config
from autotune.record.events import StudyStarted, WorkerReady
from autotune.tracking import sink as sinks
from autotune.tracking import store as stores
from autotune.tracking.sink import MlflowSink
from autotune.tracking.store import OpenStore
from autotune.tracking.uri import Store
from autotune.tracking.values import METRIC, PARAMETER, TAG, Refused, Value, Writer
from tests.sample_study import sample_events
from tests.tracking.logged import STUDY, contents, tell

pytestmark = pytest.mark.slow

LONG = "x" * 250


@pytest.fixture
def opened(store: Store) -> OpenStore:
    return stores.prepare(store, "mine")


def write(opened: OpenStore, values: list[Value], refused: Refused) -> tuple[str, list[Value]]:
    run_id = opened.client.create_run(opened.experiment_id).info.run_id
    writer = Writer(opened.client, run_id, "a run", refused)
    return run_id, [value for batch in writer.write(values, 1772360100000) for value in batch]


@pytest.mark.parametrize(
    "bad",
    [
        Value(METRIC, "step time (ms) @1", 1.0),
        Value(METRIC, "m" * 251, 1.0),
        Value(PARAMETER, "a,b;c", "x"),
        Value(PARAMETER, "lone", "\udce9"),
        Value(TAG, "t" * 251, "x"),
        Value(TAG, "../up", "x"),
        Value(TAG, "", "x"),
    ],
)
def test_one_bad_value_is_left_out_once_and_all_others_are_written(
    opened: OpenStore, bad: Value, caplog: pytest.LogCaptureFixture
) -> None:
    good = [Value(kind, f"{kind}{n}", float(n)) for kind in (METRIC, PARAMETER, TAG) for n in range(150)]
    refused = Refused()
    run_id, written = write(opened, [*good[:200], bad, *good[200:]], refused)
    assert sorted(written, key=repr) == sorted(good, key=repr)
    held = opened.client.get_run(run_id).data
    assert (len(held.metrics), len(held.params)) == (150, 150)
    assert len([key for key in held.tags if key.startswith("tag")]) == 150
    [reason] = refused.reasons
    assert bad.kind in reason
    assert "\n" not in reason
    assert (run_id, bad) in refused
    writer = Writer(opened.client, run_id, "a run", refused)
    assert list(writer.write([bad], 1772360100000)) == [], "it is not tried again"
    assert len([entry for entry in caplog.records if "left out" in entry.message]) == 1


def test_a_parameter_that_has_another_value_is_refused_and_nothing_else(opened: OpenStore) -> None:
    refused = Refused()
    run_id, _ = write(opened, [Value(PARAMETER, "a", "1")], refused)
    writer = Writer(opened.client, run_id, "a run", refused)
    list(writer.write([Value(PARAMETER, "a", "2"), Value(PARAMETER, "b", "2")], 1772360100000))
    assert opened.client.get_run(run_id).data.params == {"a": "1", "b": "2"}
    assert "Changing param values is not allowed" in refused.reasons[0]


def test_a_run_that_is_gone_is_no_fault_of_a_value(opened: OpenStore) -> None:
    refused = Refused()
    run_id, _ = write(opened, [], refused)
    opened.client.delete_run(run_id)
    writer = Writer(opened.client, run_id, "a run", refused)
    with pytest.raises(Exception, match="active"):
        list(writer.write([Value(TAG, "a", "1")], 1772360100000))
    assert refused.reasons == []


def test_a_study_with_names_that_no_store_takes_is_logged_without_them(
    config: Config, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks, "FIRST_PAUSE_S", 30.0)  # nothing has to wait for a second attempt
    events = []
    for event in sample_events():
        if isinstance(event, StudyStarted):
            event.config["constraint"]["metric"] = LONG
        if isinstance(event, WorkerReady):
            event = replace(event, facts=replace(event.facts, versions={"tensorflow": "2.21.0", LONG: "1.0"}))
        events.append(event)
    sink = MlflowSink(config, STUDY, store=store)
    tell(sink, events)
    sink.close()
    held = contents(store)
    assert held["study"]["status"] == "FINISHED"
    assert held["study"]["tags"]["version.tensorflow"] == "2.21.0"
    assert held["4"]["metrics"]["speedup"] == 5.94
    assert held["4"]["points"]["by_seed/accuracy_delta"]
    assert any("version.xxx" in reason for reason in sink.left_out)
    assert any("by_epoch/val_xxx" in reason for reason in sink.left_out)
