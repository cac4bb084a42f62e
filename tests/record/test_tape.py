"""What a later session may know of how an earlier one began."""

from __future__ import annotations

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, Line, encode, read, read_lines
from autotune.record.record import Record
from autotune.record.tape import Resumed, Tape
from autotune.record.view import StudyView
from tests.study.fake_executor import FakeStudy, config_of


def tape_of(study: FakeStudy) -> Tape:
    return Tape(list(read_lines(study.folder / FILE_NAME)))


def test_a_study_that_measured_before_it_looked_for_an_earlier_one_is_not_ordered_by_it_later(tmp_path):
    config = config_of(trials=2)
    assert tape_of(FakeStudy(tmp_path / "without", config).run()).began_without_earlier
    looked = FakeStudy(tmp_path / "looked", config, earlier=ev.EarlierStudy(None, ())).run()
    assert not tape_of(looked).began_without_earlier


def test_one_that_has_measured_nothing_may_still_look():
    assert not Tape([]).began_without_earlier


def test_it_knows_whether_the_model_was_taken_apart_and_what_came_of_it():
    failed = ev.Inspected(None, "oom: no memory")
    assert Tape([]).inspected is None
    assert Tape([Line(1, 1.0, failed)]).inspected == failed


def test_an_anatomy_that_no_longer_counts_is_not_known():
    lines = [
        Line(1, 1.0, ev.Inspected(None, "oom: no memory")),
        Line(2, 2.0, ev.StudyResumed(0.0, 1.0, (1,), None, (), "python -m autotune study.resume=true")),
    ]
    assert Tape(lines).inspected is None


def test_a_later_session_knows_of_all_that_were_before_it(tmp_path):
    path = tmp_path / FILE_NAME
    resumed = [ev.StudyResumed(0.0, 1.0, (), None, (f"change {n}",), "python -m autotune") for n in (1, 2)]
    path.write_text("".join(encode(event, 1.0) + "\n" for event in resumed))
    record = Record(path, resumed=Resumed(Tape(list(read_lines(path))), 1.0, ("change 3",), "python -m autotune"))
    record.append(ev.Note("topic", "something new"))
    record.close()
    assert record.view.changed == ("change 1", "change 2", "change 3")
    assert record.view == StudyView.of(read(path))
