"""The lives of runs, without a store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import yaml

from autotune.record.events import Event, InFlight, StudyResumed, StudyStarted, TrialStarted
from autotune.tracking.wanted import FILES, PARENT, UnixTime, Wanted
from autotune.trial import Stage
from tests.sample_study import sample_events


def fold(events: Iterable[Event]) -> Wanted:
    wanted = Wanted("a study")
    for second, event in enumerate(events):
        wanted.take(event, second * 1000)
    return wanted


def statuses(wanted: Wanted) -> dict[int, str]:
    return {number: wanted.trial(number).status for number in wanted.trials()}


def test_one_run_goes_on_at_a_time_and_none_at_the_end() -> None:
    events = sample_events()
    for count in range(1, len(events)):
        running = [number for number, status in statuses(fold(events[:count])).items() if status == "RUNNING"]
        assert len(running) <= 1
    wanted = fold(events)
    assert wanted.parent().status == "RUNNING"
    wanted.finish()
    assert wanted.parent().status == "FINISHED"
    assert set(statuses(wanted).values()) == {"FINISHED", "FAILED"}


def test_a_run_ends_with_its_last_work() -> None:
    events = sample_events()
    first = next(i for i, e in enumerate(events) if isinstance(e, TrialStarted) and e.trial == 1)
    wanted = fold(events)
    run = wanted.trial(1)
    assert (run.start_ms, run.end_ms) == (first * 1000, (first + 1) * 1000)


def test_only_what_an_event_touches_has_changed() -> None:
    events = sample_events()
    wanted = fold(events[:4])
    assert wanted.changed == {PARENT, FILES}
    wanted.changed.clear()
    second = next(i for i, e in enumerate(events) if isinstance(e, TrialStarted) and e.trial == 2)
    for event in events[4:second]:
        wanted.take(event, 0)
    wanted.changed.clear()
    wanted.take(events[second], 0)
    assert wanted.changed == {1, 2}, "the one before it has ended"


def test_what_was_in_flight_when_a_session_was_killed_is_killed() -> None:
    events = sample_events()
    judged = fold(events[:45])
    in_flight = InFlight(4, Stage.VERIFY, 1)
    judged.take(StudyResumed(2000.0, 100.0, (), in_flight, (), "command"), 2_000_000)
    assert statuses(judged)[4] == "KILLED"
    assert "RUNNING" not in statuses(judged).values()


def test_a_study_is_told_from_its_namesakes_and_known_again() -> None:
    events = sample_events()
    started = events[0]
    assert isinstance(started, StudyStarted)
    key = fold(events[:1]).key
    assert key == fold(events).key
    assert key is not None
    assert key.isalnum()
    for other in (replace(started, output_dir="/x"), replace(started, started_unix_s=1.0), replace(started, study="y")):
        assert fold([other]).key != key
    assert Wanted("a study").key is None


def test_the_configuration_is_kept_without_secrets_wherever_they_are() -> None:
    started = sample_events()[0]
    assert isinstance(started, StudyStarted)
    started.config["tracking"]["uri"] = "http://me:a 'quoted' S3cret@host"
    started.config["data"]["mirrors"] = ["https://me:S3cret@mirror/" + "long/" * 40, {"x": "s3://h/?token=S3cret"}]
    text = fold([started]).files["config.yaml"]
    assert isinstance(text, str)
    assert "https://***@mirror/" in text
    assert yaml.safe_load(text)["data"]["mirrors"][1] == {"x": "s3://h/?token=***"}
    assert text.count("S3cret") == 0


def test_lines_have_the_time_of_the_session_that_wrote_them() -> None:
    times, started = UnixTime(), sample_events()[0]
    assert isinstance(started, StudyStarted)
    began_ms = int(started.started_unix_s * 1000)
    assert times.ms(started, 0.0) == began_ms
    note = sample_events()[2]
    assert times.ms(note, 7.5) == began_ms + 7500
    resumed = StudyResumed(started.started_unix_s + 5000, 10.0, (), None, (), "command")
    assert times.ms(resumed, 10.5) == began_ms + 5_000_500
    assert times.ms(note, 12.0) == began_ms + 5_002_000
