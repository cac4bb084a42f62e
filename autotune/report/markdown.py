"""Markdown as GitHub reads it: text from elsewhere made harmless, and the report's tables."""

from __future__ import annotations

from autotune.printable import printable
from autotune.record.view import StudyView
from autotune.report import tables
from autotune.report.tables import Table

Lines = list[str]

_ESCAPED = "|*`"


def text(raw: str) -> str:
    """Text from elsewhere, harmless within Markdown: no new line, no cell border, no HTML, no picture.

    Nor a link under another name: an address stays as it is, of which GitHub makes a link that shows where it leads.
    `[name][reference]` is none, since a reference is defined at the beginning of a line, where no such text stands.
    """
    safe = printable(raw).strip().replace("\\", "\\\\").replace("<", "&lt;")
    for character in _ESCAPED:
        safe = safe.replace(character, f"\\{character}")
    return safe.replace("](", "]\\(")


def trials(view: StudyView) -> Lines:
    """One row a trial, failures included."""
    return rendered(tables.trials(view))


def rendered(table: Table | None) -> Lines:
    """The table's lines; none for none."""
    if table is None:
        return []
    rows = [[text(cell) for cell in row] for row in (table.header, *table.rows)]
    return [f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * len(table.header), *rows[1:])]
