"""Which study a run goes on with, and what keeps it from doing so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autotune.config.compose import to_yaml_dict
from autotune.config.schema import Config
from autotune.errors import ConfigError, UserError
from autotune.record import events as ev
from autotune.record.lines import FILE_NAME
from autotune.record.lock import FILE_NAME as SESSION
from autotune.record.record import Record
from autotune.tasks.changes import of_settings
from autotune.tasks.resume import REPORT, Earlier, begun_in_vain, check_machine, find_earlier
from autotune.trial import Candidate, DatasetFacts, Policy, Recipe, Stage, WorkerFacts, Xla

DEVICE = {"name": "a CPU", "fingerprint": {"cpu_model": "a CPU", "usable_cores": 2}, "nvml": {"driver_version": None}}
DATA = DatasetFacts("digits", 100, 10, 10, (8,), 10, "here", "d1")
FACTS = WorkerFacts("CPU", (), 2, 2, True, None, {"tensorflow": "2.21.0"}, {"TF_X": "1"}, 4.0, 1)
READY = ev.WorkerReady(1, FACTS, DATA, 5.0)


def made(root: Path, **search: Any) -> Config:
    config = Config()
    config.model.name, config.hw.name = "net", "auto"
    config.output.root = str(root)
    config.study.resume = "true"
    for key, value in search.items():
        setattr(config.search, key, value)
    return config


def beginning(config: Config, began_s: float = 1000.0, **other: Any) -> ev.StudyStarted:
    fields: dict[str, Any] = {
        "format": ev.FORMAT,
        "study": f"2026-01-01/{began_s}",
        "started_unix_s": began_s,
        "config": to_yaml_dict(config),
        "target": {},
        "device": DEVICE,
        "on_target": True,
        "target_note": "",
        "output_dir": "",
        "command": "autotune",
        "versions": {"optuna": "5.0.0"},
        "code": {"autotune": "c1", "mine.net": "m1"},
    }
    return ev.StudyStarted(**(fields | other))


def begun(config: Config, name: str, began_s: float = 1000.0, *events: ev.Event) -> Path:
    """A run's folder in which a study has begun."""
    folder = Path(config.output.root) / "2026-01-01" / name
    folder.mkdir(parents=True)
    record = Record(folder / FILE_NAME, (), lambda: 42.0)
    for event in (beginning(config, began_s), READY, *events):
        record.append(event)
    record.close()
    if EXPORTED in events:
        (folder / REPORT).parent.mkdir()
        (folder / REPORT).write_text("done")
    return folder


EXPORTED = ev.Exported(0, "", {}, None, None, None, {}, "candidate", "")
DECIDED = ev.StudyDecided(0, "none", "interrupt", 40.0)


def test_the_newest_unfinished_study_of_the_model_goes_on(tmp_path):
    config = made(tmp_path)
    begun(config, "old", 1000.0)
    new = begun(config, "new", 2000.0, DECIDED)
    begun(config, "finished", 3000.0, EXPORTED)
    other = made(tmp_path)
    other.model.name = "another"
    begun(other, "other", 4000.0)
    (tmp_path / "2026-01-01" / "junk").mkdir()
    (tmp_path / "2026-01-01" / "junk" / FILE_NAME).write_bytes(b"\0junk\n")
    earlier = find_earlier(config, beginning(config))
    assert earlier is not None
    assert earlier.folder == new
    assert earlier.elapsed_s == 42


def test_one_of_the_very_configuration_is_preferred_to_a_newer_one(tmp_path):
    config = made(tmp_path)
    same = begun(config, "same", 1000.0)
    begun(made(tmp_path, seed=5), "newer", 2000.0)
    earlier = find_earlier(config, beginning(config))
    assert earlier is not None
    assert earlier.folder == same


def test_no_study_to_go_on_with_is_a_mistake_unless_auto_was_asked(tmp_path):
    config = made(tmp_path)
    with pytest.raises(ConfigError, match="needs an unfinished study of net for auto"):
        find_earlier(config, beginning(config))
    config.study.resume = "auto"
    assert find_earlier(config, beginning(config)) is None
    begun(made(tmp_path, seed=5), "otherwise")
    assert find_earlier(config, beginning(config)) is None
    config.study.resume = "false"
    begun(config, "same")
    assert find_earlier(config, beginning(config)) is None


def test_a_named_folder(tmp_path):
    config = made(tmp_path)
    config.study.folder = str(begun(config, "finished", 1000.0, EXPORTED))
    with pytest.raises(ConfigError, match="is finished"):
        find_earlier(config, beginning(config))
    config.study.resume = "auto"  # a scheduler's, which may come again after the end
    found = find_earlier(config, beginning(config))
    assert found is not None
    assert found.finished
    config.study.resume = "true"
    config.study.folder = str(tmp_path)
    with pytest.raises(UserError, match="cannot read the record"):
        find_earlier(config, beginning(config))
    config.study.folder = str(begun(config, "open"))
    found = find_earlier(config, beginning(config))
    assert found is not None
    assert found.folder == Path(config.study.folder)


def test_a_named_run_goes_on_in_its_own_folder(tmp_path):
    config = made(tmp_path)
    begun(config, "another")
    config.output.name = "mine"
    with pytest.raises(UserError, match="cannot read the record"):
        find_earlier(config, beginning(config))
    config.study.resume = "auto"
    assert find_earlier(config, beginning(config)) is None
    (tmp_path / "mine").mkdir()
    begun(config, "open").joinpath(FILE_NAME).rename(tmp_path / "mine" / FILE_NAME)
    earlier = find_earlier(config, beginning(config))
    assert earlier is not None
    assert earlier.folder == tmp_path / "mine"


def test_a_study_that_lacks_only_its_report_is_found(tmp_path):
    config = made(tmp_path)
    folder = begun(config, "exported", 1000.0, EXPORTED)
    (folder / REPORT).unlink()
    earlier = find_earlier(config, beginning(config))
    assert earlier is not None
    assert earlier.exported


@pytest.mark.parametrize("content", [None, b"", b'{"event":"StudySta'])
def test_a_run_that_was_killed_before_its_study_began_begins_again(tmp_path, content):
    config = made(tmp_path)
    config.output.name, config.study.resume = "mine", "auto"
    assert begun_in_vain(config) is None
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "worker.log").write_text("hello")
    if content is not None:
        (tmp_path / "mine" / FILE_NAME).write_bytes(content)
    assert find_earlier(config, beginning(config)) is None
    assert begun_in_vain(config) == tmp_path / "mine"
    (tmp_path / "mine" / "thesis.txt").write_text("a person's own")
    assert begun_in_vain(config) is None
    with pytest.raises(UserError):
        find_earlier(config, beginning(config))


def changed(config: Config, key: str, value: Any) -> Config:
    group, _, name = key.partition(".")
    return replace(config, **{group: replace(getattr(config, group), **{name: value})})


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("train.learning_rate", 0.5, "train.learning_rate was 0.01 and is 0.5"),
        ("search.finalists", 1, "search.finalists was 2 and is 1"),
        ("model.widths", [9], "model.widths was [] and is [9]"),
        ("constraint.margin", 0.5, "constraint.margin was 0.01 and is 0.5"),
    ],
)
def test_a_setting_that_measures_otherwise_is_refused_with_the_difference(tmp_path, key, value, told):
    config = made(tmp_path)
    begun(config, "open")
    other = changed(config, key, value)
    other.study.accept_changes = True
    with pytest.raises(ConfigError) as caught:
        find_earlier(other, beginning(other))
    assert told in str(caught.value)
    assert "would not compare" in str(caught.value)


def test_a_key_that_an_earlier_version_did_not_know_is_a_change_only_where_it_is_used(tmp_path):
    config = made(tmp_path)
    began = beginning(config)
    earlier = replace(began, config={**began.config, "search": dict(began.config["search"])})
    del earlier.config["search"]["accumulation"]
    assert of_settings(earlier, began) == []
    used = beginning(changed(config, "search.accumulation", [1, 2]))
    assert [str(change) for change in of_settings(earlier, used)] == ["search.accumulation was [1] and is [1, 2]"]


def test_code_and_packages_that_changed(tmp_path):
    config = made(tmp_path)
    begun(config, "open")
    with pytest.raises(ConfigError, match=r"code of mine\.net was m1 and is m2"):
        find_earlier(config, beginning(config, code={"autotune": "c1", "mine.net": "m2"}))
    ours = beginning(config, code={"autotune": "c2", "mine.net": "m1"}, versions={"optuna": "5.1.0"})
    with pytest.raises(ConfigError, match=r"package optuna was 5\.0\.0 and is 5\.1\.0; code of autotune was c1"):
        find_earlier(config, ours)
    config.study.accept_changes = True
    earlier = find_earlier(config, ours)
    assert earlier is not None
    assert len(earlier.changes) == 2


def test_more_of_the_same_goes_on_when_it_is_accepted_with_trainings_as_long_as_they_were(tmp_path):
    config = made(tmp_path)
    recipe = Recipe(2048, 3, 32, "sgd", 0.01, 0.01, "linear", "cosine", 0, 192)
    begun(config, "open", 1000.0, ev.FidelityPlanned(recipe, 5.0, {}, (), {}))
    more = made(tmp_path, trials=40)
    with pytest.raises(ConfigError, match=r"search\.trials was 10 and is 40; what it measured stays valid"):
        find_earlier(more, beginning(more))
    more.study.accept_changes = True
    earlier = find_earlier(more, beginning(more))
    assert earlier is not None
    planned = earlier.planned(more)
    assert (planned.train.examples, planned.train.epochs, planned.search.trials) == (2048, 3, 40)
    assert earlier.resumed("autotune").changed == ("search.trials was 10 and is 40",)


def test_how_a_run_is_shown_and_logged_may_change_freely(tmp_path):
    config = made(tmp_path)
    begun(config, "open")
    other = changed(changed(config, "console.live", False), "tracking.enabled", False)
    earlier = find_earlier(other, beginning(other))
    assert earlier is not None
    assert earlier.changes == ()
    assert earlier.planned(other) is other


@pytest.mark.parametrize(
    ("now", "ready", "told"),
    [
        (
            {"device": DEVICE | {"fingerprint": {"cpu_model": "another"}}},
            {},
            "device: cpu_model was a CPU and is another",
        ),
        ({"device": DEVICE | {"nvml": {"driver_version": "570"}}}, {}, "the driver was null and is 570"),
        ({}, {"data": replace(DATA, fingerprint="d2")}, r"the data was digits \(d1\) and is digits \(d2\)"),
        ({}, {"facts": replace(FACTS, versions={"tensorflow": "2.22"})}, r"package tensorflow was 2.21.0 and is 2.22"),
        ({}, {"facts": replace(FACTS, environment={})}, "environment: TF_X was 1 and is absent"),
        ({}, {"facts": replace(FACTS, intra_op_threads=1)}, "TensorFlow's intra_op_threads was 2 and is 1"),
    ],
)
def test_another_machine_is_refused_with_the_difference(tmp_path, now, ready, told):
    config = made(tmp_path)
    begun(config, "open")
    earlier = find_earlier(config, beginning(config))
    assert earlier is not None
    check_machine(earlier, beginning(config), replace(READY, start_s=9.0, worker=3))
    with pytest.raises(ConfigError, match=told):
        check_machine(earlier, beginning(config, **now), replace(READY, **ready))


def test_a_study_that_was_killed_after_its_first_line_goes_on_with_whatever_worker_comes(tmp_path):
    config = made(tmp_path)
    path = begun(config, "open") / FILE_NAME
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    earlier = find_earlier(config, beginning(config))
    assert earlier is not None
    check_machine(earlier, beginning(config), READY)
    with pytest.raises(ConfigError, match="driver"):
        check_machine(earlier, beginning(config, device=DEVICE | {"nvml": {"driver_version": "570"}}), READY)


def test_only_a_session_that_was_killed_has_died_of_what_it_measured(tmp_path):
    config = made(tmp_path)
    at = ev.TrialStarted(1, Stage.SCREEN, Candidate(Policy("float32"), 32, Xla.OFF, ()))
    folder = begun(config, "open", 1000.0, at)
    ended = find_earlier(config, beginning(config))
    assert ended is not None
    assert ended.resumed("autotune").tape.death is None
    (folder / SESSION).write_text('{"pid": 1, "elapsed_s": 50.0}')
    killed = find_earlier(config, beginning(config))
    assert killed is not None
    assert killed.resumed("autotune").tape.death.at == ev.InFlight(1, Stage.SCREEN, None)
    assert killed.elapsed_s == 50


def test_a_record_that_went_on_meanwhile_is_not_written_to(tmp_path):
    config = made(tmp_path)
    folder = begun(config, "open")
    earlier = find_earlier(config, beginning(config))
    assert isinstance(earlier, Earlier)
    with (folder / FILE_NAME).open("a") as file:
        line = json.loads((folder / FILE_NAME).read_text().splitlines()[1])
        file.write(json.dumps(line) + "\n")
    with pytest.raises(ConfigError, match="has gone on meanwhile"):
        earlier.resumed("autotune")
