"""The table of faults: what is promised for each, and which tests hold it to that. `README.md` shows it."""

from __future__ import annotations

from tests.faults.promises import Row
from tests.faults.rows_of_surroundings import SURROUNDINGS
from tests.faults.rows_of_workers import WORKERS

ROWS: tuple[Row, ...] = (*WORKERS, *SURROUNDINGS)
