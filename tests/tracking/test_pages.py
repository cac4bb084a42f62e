from __future__ import annotations

from urllib.parse import parse_qs

import pytest

from autotune.tracking import pages

FILES = ("report/report.html", "report/tradeoff.png", "config.yaml")


def test_a_study_is_described_with_its_pages_and_its_picture_in_front() -> None:
    text = pages.described("### Use trial 4\n\nModel net\n", "3", "ab12", "a study", FILES)
    headline, _, second, rest = text.split("\n", maxsplit=3)
    assert headline == "### Use trial 4"
    assert second.startswith("Open [the report](#/experiments/3/runs/ab12/artifacts/report/report.html?workflowType=")
    assert "![speed against accuracy](get-artifact?path=report%2Ftradeoff.png&run_uuid=ab12)" in rest
    assert rest.endswith("\n\nModel net\n")


def test_nothing_points_at_a_file_that_is_not_there() -> None:
    text = pages.described("note", "3", "ab12", "a study", ("config.yaml",))
    assert "artifact" not in text
    assert text.startswith("note\n\nOpen [its trials](#/experiments/3/runs?searchFilter=")


@pytest.mark.parametrize("study", ["2026-11-30/01-17-15_cifar_mlp", "a person's & co. = #1"])
def test_a_studys_trials_are_asked_for_by_its_name_whatever_is_in_it(study: str) -> None:
    asked = parse_qs(pages.trials_page("3", study).partition("?")[2])
    assert asked["searchFilter"] == [pages.of_study(study)]
    assert (asked["orderByKey"], asked["orderByAsc"]) == (["metrics.`screen_speedup`"], ["false"])
    assert study in pages.of_study(study)


def test_a_multirun_over_several_experiments_has_a_page() -> None:
    asked = parse_qs(pages.several_page(["1", "2"], pages.of_sweep("2026-11-30 01:17:15 over model")).partition("?")[2])
    assert asked["experiments"] == ['["1", "2"]']
    assert asked["searchFilter"] == ["tags.sweep = '2026-11-30 01:17:15 over model' and tags.role = 'study'"]
