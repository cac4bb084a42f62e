"""A study on a screen: a live table on a terminal, plain lines elsewhere, and the answer at the end.

sink       which of the two a stream gets          terminal   what a stream can show
live       the table, redrawn                      plain      one line an event worth reading
progress   what is running, how far, time left     lines      the text of each line
trials     the table of trials                     panel      the answer
plan       what `task=plan` shows
"""

from __future__ import annotations

from autotune.console.plan import plan_text, print_plan
from autotune.console.sink import console_sink

__all__ = ["console_sink", "plan_text", "print_plan"]
