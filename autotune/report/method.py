"""How it was measured: what stands behind the figures, in a few lines. The section of that name in the summary."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable

from autotune.record.view import StudyView
from autotune.report import blocks, figures, phrases, quoted
from autotune.report.blocks import Blocks
from autotune.trial import BlockConditions

AIM = 0.01
"""Most that the clock and the wait for the device may take of a block."""

_REASONS = 3
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


def how_measured(view: StudyView) -> list[str]:
    """One line each; nothing before anything was timed."""
    lines = []
    for trial in blocks.confirmed_trials(view):
        timed, name = blocks.confirmation(trial), f"trial {trial.number}"
        lines += [f"{name}, timed again: {blocks_line(timed)}", f"{name}, disturbed: {disturbed_line(timed)}"]
        lines += [f"{name}, {kind} over its blocks: {text}" for kind, text in _machine(timed.conditions)]
    lines += _screening(view)
    return lines + _pipeline(view)


def blocks_line(timed: Blocks) -> str:
    """How many pairs, how they were paired, how long a block is and how much of it the clock takes."""
    processes = len(timed.probes)
    where = "one process" if processes == 1 else f"{processes} fresh processes"
    text = f"{timed.pairs} pairs of blocks in {where}, {_paired(timed)}; blocks of"
    text += f" {phrases.between(timed.lengths_ms, 'ms')}"
    share, sync_ms = timed.sync_share, timed.sync_ms
    if share is None or sync_ms is None:
        return f"{text}; what reading the clock takes of them is not known"
    text += f", of which reading the clock and waiting for the device take {sync_ms:.2g} ms"
    comment = f"{phrases.share(share)} at most" if share < AIM else f"{phrases.share(share)}, above the aim of 1 %"
    return f"{text} ({comment})"


def _paired(timed: Blocks) -> str:
    if timed.rounds_apart:
        return f"baseline and candidate timed apart, in {timed.rounds_apart} rounds of alternating workers"
    return "baseline and candidate alive in one worker and alternating"


def disturbed_line(timed: Blocks) -> str:
    """`3 of 12 pairs (other processes used 31 % of the CPU); they count as all others do, none was dropped`."""
    unread = "" if timed.conditions else ", as far as the times tell: nothing could be read of the machine"
    if not timed.suspicious:
        return f"none of {timed.pairs} pairs{unread}; none was dropped"
    reasons = _summed_up(found.reason for found in timed.suspicious)
    told = "; ".join(reasons[:_REASONS])
    if (more := len(reasons) - _REASONS) > 0:
        told += f"; and {more} more"
    counted = "they count as all others do, none was dropped"
    return f"{len(timed.suspicious)} of {timed.pairs} pairs ({told}){unread}; {counted}"


def _summed_up(reasons: Iterable[str]) -> list[str]:
    """Reasons that differ in a number alone, as one with its range and how many pairs it is of; the commonest first."""
    numbers: dict[tuple[str, str | None], list[float]] = {}
    for reason in reasons:
        for part in phrases.one_line(reason).split("; "):
            found = _NUMBER.search(part)
            around = (part, None) if found is None else (part[: found.start()], part[found.end() :])
            numbers.setdefault(around, []).append(float(found.group()) if found else 0.0)
    commonest = sorted(numbers.items(), key=lambda item: -len(item[1]))
    return [f"{_joined(*around, values)} in {len(values)}" for around, values in commonest]


def _joined(before: str, after: str | None, values: list[float]) -> str:
    return before if after is None else f"{before}{_span(values)}{after}"


def _span(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _machine(conditions: tuple[BlockConditions, ...]) -> list[tuple[str, str]]:
    """What of the GPU and of the host could be read."""
    found = [("GPU", _gpu(conditions)), ("CPU", _cpu(conditions))]
    return [(kind, text) for kind, text in found if text]


def _gpu(conditions: tuple[BlockConditions, ...]) -> str:
    ranges = (
        ([block.gpu_clock_mhz for block in conditions], "MHz"),
        ([block.gpu_temperature_c for block in conditions], "C"),
        ([block.gpu_power_w for block in conditions], "W"),
    )
    parts = []
    for values, unit in ranges:
        if known := [value for value in values if value is not None]:
            parts.append(phrases.between(known, unit))
    told = [block.throttled for block in conditions if block.throttled is not None]
    if told:
        reasons = Counter(reason for block in told for reason in block)
        parts += [f"held back by {phrases.one_line(name)} in {n} of {len(told)}" for name, n in reasons.most_common()]
    return ", ".join(parts)


def _cpu(conditions: tuple[BlockConditions, ...]) -> str:
    foreign = [block.foreign_cpu for block in conditions if block.foreign_cpu is not None]
    steal = [block.steal for block in conditions if block.steal is not None]
    parts = []
    if foreign:
        middle, most = map(phrases.share, (statistics.median(foreign), max(foreign)))
        parts.append(f"other processes used {middle} of it in the median block, {most} at most")
    if steal:
        parts.append(f"the hypervisor took {phrases.share(max(steal))} at most" if max(steal) else "none was stolen")
    return ", ".join(parts)


def _screening(view: StudyView) -> list[str]:
    timed = {
        n: blocks.screening(t) for n, t in sorted(view.trials.items()) if t.probe is not None and not t.is_baseline
    }
    if not timed:
        return []
    pairs = sum(one.pairs for one in timed.values())
    total = sum(len(one.suspicious) for one in timed.values())
    hit = [f"{number}" for number, one in timed.items() if one.suspicious]
    where = f"{total} of them disturbed (trial {', '.join(hit)})" if hit else "none of them disturbed"
    text = f"screening: {pairs} pairs over {len(timed)} trials, {where}"
    apart = [f"{number}" for number, one in timed.items() if one.rounds_apart]
    if apart:
        text += f"; trial {', '.join(apart)} timed apart from the baseline, in alternating workers"
    return [text]


def _pipeline(view: StudyView) -> list[str]:
    lines = []
    for _, trial in sorted(view.trials.items()):
        if not (trial.is_baseline or figures.is_winner(view, trial)):
            continue
        if (share := blocks.pipeline_share(trial)) is not None:
            step = "a float32 step" if trial.is_baseline else f"a step of trial {trial.number}"
            lines.append(quoted.pipeline(share, step))
    return lines
