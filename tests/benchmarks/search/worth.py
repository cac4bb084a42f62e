"""Which groups of candidates that train alike are worth a further seed: what is clearly worse needs no exact figure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from statistics import fmean

from autotune.trial import Candidate
from tests.benchmarks.search.landscape import Landscape

HOPELESS = 3.0
"""A group that loses this many margins on average over the seeds so far is trained no further."""

_FEWEST_SEEDS = 2

SLOW = 0.9
"""Nor is one that is at most so fast as the baseline in all that belongs to it: no study would choose it."""


def trained(found: Landscape, candidates: Collection[Candidate], baseline: Candidate, seeds: int) -> list[Candidate]:
    """One of each group, the baseline first.

    Args:
        found: what was measured so far.
        candidates: of the space.
        baseline: the user's own settings; trained on every seed.
        seeds: on which all that is still in was trained before.
    """
    groups: dict[Candidate, list[Candidate]] = {baseline: []}
    for one in candidates:
        groups.setdefault(found.trained(one), []).append(one)
    if not seeds:
        return list(groups)
    fresh = replace(found)  # a new object, which remembers nothing of what it was asked before
    return [
        group
        for group, members in groups.items()
        if group == baseline or not (_hopeless(found, group, baseline, seeds) or _slow(fresh, members))
    ]


def _hopeless(found: Landscape, group: Candidate, baseline: Candidate, seeds: int) -> bool:
    own, runs = found.trainings[baseline], found.trainings[group]
    if seeds < _FEWEST_SEEDS:
        return False
    pairs = [(own[seed].metric, runs[seed].metric) for seed in range(seeds) if seed in runs and seed in own]
    known = [base - metric for base, metric in pairs if base is not None and metric is not None]
    return len(known) < len(pairs) or (bool(known) and fmean(known) > HOPELESS * found.head.margin)


def _slow(found: Landscape, members: Collection[Candidate]) -> bool:
    return all(found.speedup(one) <= SLOW for one in members)
