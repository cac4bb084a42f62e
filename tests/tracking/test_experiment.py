"""What an experiment is given, with a client that keeps tags and can fail."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from autotune.tracking.experiment import NOTE, description, furnish, point_at_study
from autotune.tracking.saved_views import LAST, STUDIES, TAG, TRIALS, made_ms

OLDER = "One run a study, one nested run a trial. Sort by `speedup`; read `state` and `verdict`."


class Client:
    """Holds one experiment's tags; `most` is the longest that it takes."""

    def __init__(self, most: int = 20_000, **tags: str) -> None:
        self.tags, self.most, self.writes = tags, most, 0

    def get_experiment(self, experiment_id: str) -> Any:
        return SimpleNamespace(tags=dict(self.tags))

    def set_experiment_tag(self, experiment_id: str, key: str, value: str) -> None:
        self.writes += 1
        if len(value) > self.most:
            raise RuntimeError("too long")
        self.tags[key] = value


def test_an_experiment_has_a_description_and_three_views_and_gets_them_once() -> None:
    client: Any = Client()
    furnish(client, "7")
    assert set(client.tags) == {NOTE, TAG + LAST, TAG + TRIALS, TAG + STUDIES}
    written = client.writes
    furnish(client, "7")
    assert client.writes == written


def test_the_description_points_at_all_views() -> None:
    for key in (LAST, TRIALS, STUDIES):
        assert f"(#/experiments/7/runs?viewStateShareKey={key}&compareRunsMode=CHART&" in description("7")


@pytest.mark.parametrize(("before", "stays"), [(OLDER, False), ("Ask Ada before you delete this.", True)])
def test_a_persons_own_description_stays_and_an_older_one_of_ours_does_not(before: str, stays: bool) -> None:
    client: Any = Client(**{NOTE: before})
    furnish(client, "7")
    assert (client.tags[NOTE] == before) is stays


def test_a_server_that_takes_shorter_tags_is_no_fault() -> None:
    client: Any = Client(most=100)
    furnish(client, "7")
    point_at_study(client, "7", "a study", 5)
    assert client.tags == {}


def test_a_server_that_tells_nothing_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = Client()
    monkeypatch.setattr(client, "get_experiment", lambda _: 1 / 0)
    furnish(client, "7")
    point_at_study(client, "7", "a study", 5)
    assert client.tags == {}


def test_the_last_studys_view_shows_the_one_that_began_last_in_whatever_order_they_are_sent() -> None:
    client: Any = Client()
    furnish(client, "7")
    for study, began_ms in (("first", 5_000), ("third", 9_000), ("second", 7_000)):
        point_at_study(client, "7", study, began_ms)
    assert made_ms(client.tags[TAG + LAST]) == 9_000
    assert "third" in client.tags[TAG + LAST]
    furnish(client, "7")
    assert "third" in client.tags[TAG + LAST]
