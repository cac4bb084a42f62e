from __future__ import annotations

import re

import pytest

from autotune.explain.why import why
from autotune.record.view import StudyView
from autotune.report.page.markup import esc
from autotune.report.page.trials import Cell, cells, trials_section
from tests.sample_study import sample_events


@pytest.fixture(scope="module")
def view() -> StudyView:
    return StudyView.of(sample_events())


@pytest.fixture(scope="module")
def section(view: StudyView) -> str:
    return trials_section(view)


def of(view: StudyView, trial: int) -> dict[str, Cell]:
    return {cell.column: cell for cell in cells(view, view.trials[trial])}


def groups(section: str) -> dict[int, str]:
    found = re.findall(r'<tbody id="trial-(\d+)"(.*?)</tbody>', section, flags=re.DOTALL)
    return {int(number): text for number, text in found}


def test_every_trial_is_there_losers_and_failures_included(view: StudyView, section: str):
    assert list(groups(section)) == sorted(view.trials)
    assert "XLA could not compile the train function" in groups(section)[6]
    assert "INTERNAL: no algorithm worked" in groups(section)[6], "the whole failure"


def test_each_has_its_verdict(section: str):
    found = {number: re.findall(r'class="verdict">(.*?)</span>', text) for number, text in groups(section).items()}
    assert found[4] == ["FASTER, accuracy PASS"]
    assert found[5] == ["FASTER, accuracy INCONCLUSIVE"]
    assert found[3] == ["FASTER, rejected at the gate"]
    assert found[2] == ["FASTER, not trained"]
    assert found[1] == ["SLOWER"]
    assert found[6] == ["compile"]
    assert found[0] == []


def test_each_says_why(view: StudyView, section: str):
    for number, text in groups(section).items():
        told = why(view, view.trials[number])
        assert told
        assert esc(told) in text


def test_what_is_not_known_has_no_place_in_the_order(view: StudyView):
    failed = of(view, 6)
    assert (failed["speedup"].order, failed["ms/step"].order, failed["accuracy"].order) == (None, None, None)
    assert of(view, 4)["speedup"].order == 5.94
    assert of(view, 4)["speedup"].text == "5.94x [5.80, 6.09]"
    assert 'data-label="speedup" data-sort=""' in trials_section(view)


def test_a_person_wants_the_largest_speedup_first_and_the_smallest_step(view: StudyView):
    row = of(view, 4)
    assert row["speedup"].descends
    assert row["examples/s"].descends
    assert not row["ms/step"].descends


def test_heads_are_buttons_that_say_how_the_table_is_sorted(section: str):
    heads = re.findall(r"<th scope=\"col\"[^>]*>.*?</th>", section)
    assert len(heads) >= 12
    for head in heads:
        assert 'aria-sort="none"' in head
        assert re.search(r'<button type="button" data-first="(a|de)scending">', head)


def test_only_what_is_in_the_plot_leads_there(section: str):
    leads = {number for number, text in groups(section).items() if "to-plot" in text}
    assert leads == {0, 1, 2, 3, 4, 5, 7, 8}, "trial 6 has no speed"


def test_an_absent_target_and_another_objective_have_columns():
    assert of(StudyView.of(sample_events(on_target=False)), 4)["predicted on target"].order == pytest.approx(
        6.11, abs=0.01
    )
    energy = of(StudyView.of(sample_events(objective="energy")), 4)
    assert energy["energy, gain"].text.startswith("4.04x")
    assert "predicted on target" not in energy
