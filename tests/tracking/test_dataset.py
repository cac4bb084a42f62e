from __future__ import annotations

import json
from dataclasses import replace

from autotune.record.events import WorkerReady
from autotune.record.view import StudyView
from autotune.tracking.dataset import UsedData
from tests.sample_study import sample_events


def test_the_data_is_told_with_its_digest_and_its_parts() -> None:
    used = UsedData.of(StudyView.of(sample_events()))
    assert used == UsedData("cifar10", "5f1c", "/data", (("train", 45000), ("validation", 5000), ("test", 10000)))
    sent = used.as_input().dataset
    assert (sent.name, sent.digest, json.loads(sent.profile)["train"]) == ("cifar10", "5f1c", 45000)


def test_a_stand_in_says_so_by_its_name() -> None:
    used = UsedData.of(StudyView.of(sample_events(stand_in=True)))
    assert used is not None
    assert used.name == "digits stand-in (STAND-IN)"


def test_no_worker_is_no_data() -> None:
    assert UsedData.of(StudyView.of(sample_events()[:1])) is None


def test_a_secret_in_where_it_came_from_is_hidden_and_a_long_name_fits() -> None:
    ready = next(event for event in sample_events() if isinstance(event, WorkerReady))
    data = replace(ready.data, name="d" * 900, origin="https://me:secret@host/" + "x" * 90_000, fingerprint="f" * 64)
    used = UsedData.of(StudyView.of([replace(ready, data=data)]))
    assert used is not None
    sent = used.as_input().dataset
    assert "secret" not in sent.source
    assert (len(sent.name), len(sent.digest)) == (500, 36)
    assert len(sent.source) < 65_535
