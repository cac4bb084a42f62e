"""When a screening may give a candidate up: it has to beat the baseline, and what is as accurate and faster already.

A larger batch, and fewer bits, are no more accurate than a smaller one and more bits. So a candidate that is slower
than another of the same policy or float32, at no larger batch, could win only if that one failed; then an estimate from
a few pairs still says how fast it is, and finalists that cannot be told apart are timed against one another anyway.
"""

from __future__ import annotations

from autotune.config.objective import Objective
from autotune.config.search import Verify
from autotune.study.context import StudyContext
from autotune.study.ranking import no_less_accurate
from autotune.trial import Candidate, TrialState


def hopeless_below(context: StudyContext, candidate: Candidate) -> float | None:
    """The speedup that a candidate has to reach to be worth more pairs; None where each is to be timed as well as any.

    Another objective than throughput is not read from step times, and `search.verify=all` asks for the whole picture.
    What may be on a front has to beat the baseline alone: how accurate it is, nobody knows yet.
    """
    config = context.config
    if not config.objective.name.is_of_throughput or config.search.verify is Verify.all:
        return None
    bound = 1.0
    if config.objective.name is Objective.pareto:
        return bound
    for trial in context.view.trials.values():
        if trial.is_baseline or trial.state is not TrialState.SCREENED or trial.speedup is None:
            continue
        if no_less_accurate(trial.candidate, candidate):
            bound = max(bound, trial.speedup.low)
    return bound
