"""Whatever is typed: a study that makes sense would start, or there is status 2 and one line. Nothing else happens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import files, words
from tests.fuzz.verdict import faults

pytestmark = pytest.mark.slow


def typed() -> st.SearchStrategy[list[str]]:
    one = words.overrides().map(lambda override: [override])
    return st.builds(
        lambda flags, overrides: flags + overrides, words.flags(), one | st.lists(words.overrides(), max_size=3)
    )


@given(typed())
def test_anything_typed(terminal, argv):
    assert faults(terminal.type(argv)) == []


@given(st.lists(words.numeric_overrides() | words.list_overrides(), min_size=1, max_size=2))
def test_any_number(terminal, argv):
    assert faults(terminal.type(argv)) == []


@given(files.cases())
def test_any_file(terminal, case):
    argv, beside = case
    assert faults(terminal.type(argv, beside)) == []
