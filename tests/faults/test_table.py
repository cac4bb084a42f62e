"""The table of faults in `README.md` is the one in `table.py`, and every row is held to its promise by a test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.faults.promises import Row
from tests.faults.table import ROWS

ROOT = Path(__file__).parents[2]
README = Path(__file__).with_name("README.md")

FEWEST = 40


def line_of(row: Row) -> str:
    """A row as the document shows it."""
    links = ", ".join(f"[{test.partition('::')[2]}](../../{test.partition('::')[0]})" for test in row.tests)
    return f"| {row.stage} | {row.fault} | {row.made} | {row.promise} | {links} |"


def test_the_document_shows_the_table() -> None:
    """`python -m tests.faults.test_table` writes it."""
    shown = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert shown[1:] == [line_of(row) for row in ROWS]


def test_there_are_enough_faults_and_none_twice() -> None:
    assert len(ROWS) >= FEWEST
    assert len({(row.stage, row.fault) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("named", sorted({test for row in ROWS for test in row.tests}))
def test_every_row_has_its_test(named: str) -> None:
    path, _, function = named.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_test_of_whole_studies_is_in_the_table() -> None:
    named = {test for row in ROWS for test in row.tests}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path == Path(__file__):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert f"tests/faults/{path.name}::{node.name}" in named, node.name


if __name__ == "__main__":
    before = README.read_text(encoding="utf-8").partition("| stage |")[0]
    head = ["| stage | fault | how it is made | what is promised | where it is tested |", "|---|---|---|---|---|"]
    README.write_text(before + "\n".join([*head, *map(line_of, ROWS)]) + "\n", encoding="utf-8")
