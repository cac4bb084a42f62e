"""What every command line must keep to, whatever was typed."""

from __future__ import annotations

from autotune.cli.status import FASTER, USER_ERROR
from tests.fuzz.sense import nonsense
from tests.fuzz.terminal import Outcome

_LONGEST_LINE = 2000

# Processor time of one job. Composition takes a quarter of a second and a hundred kilobytes of override two, on a busy
# machine twice as much; what takes time with the square of its length, or for ever, is far above.
_SLOWEST_S = 6.0


def faults(outcome: Outcome) -> list[str]:
    """What is wrong with an outcome; empty if it keeps to the rules."""
    lines = outcome.err.splitlines()
    jobs = len(outcome.configs) + len(lines)
    found = []
    if outcome.status not in (FASTER, USER_ERROR):
        found.append(f"status {outcome.status}")
    if bool(lines) != (outcome.status == USER_ERROR):
        found.append(f"{len(lines)} lines with status {outcome.status}")
    if len(lines) > 1 and "\njob " not in outcome.out:
        found.append("more than one line for one job")
    found += [f"not a line of ours: {line!r:.300}" for line in lines if not line.startswith("autotune: error: ")]
    found += [f"a line of {len(line)} characters" for line in lines if len(line) > _LONGEST_LINE]
    found += [f"not fit for a terminal: {line!r:.300}" for line in lines if not line.isprintable()]
    found += [f"left behind: {path}" for path in outcome.left]
    if outcome.cpu_s > _SLOWEST_S * max(1, jobs):
        found.append(f"{outcome.cpu_s:.1f} s for {jobs} jobs")
    for config in outcome.configs:
        found += [f"started on nonsense: {reason}" for reason in nonsense(config)]
    return found
