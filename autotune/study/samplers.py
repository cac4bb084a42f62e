"""Which of Optuna's samplers proposes candidates, for a space of which size."""

from __future__ import annotations

import optuna
from optuna.samplers import BaseSampler

from autotune.config.search import Sampler, SearchConfig

# Trials that a sampler which learns takes at random first; the first guesses and failures count among them.
_STARTUP_TRIALS = 4

# NSGA-II learns once a whole population was measured; Optuna's own 50 is more than most studies have trials.
_SMALLEST_POPULATION = 4
_MOST_GENERATIONS = 6


def sampler_for(search: SearchConfig, size: int, *, front: bool = False) -> Sampler:
    """Who proposes: `auto` measures a space no larger than the trials in its own order, and asks TPE beyond.

    Args:
        search: the configuration.
        size: candidates in the space.
        front: whether a whole front is looked for: then it is NSGA-II that is asked.
    """
    if search.sampler is not Sampler.auto:
        return search.sampler
    beyond = Sampler.nsga2 if front else Sampler.tpe
    return Sampler.grid if size <= search.trials else beyond


def population(search: SearchConfig) -> int:
    """Candidates that are measured before a sampler is asked what they have taught it."""
    return max(_SMALLEST_POPULATION, search.trials // _MOST_GENERATIONS)


def optuna_sampler(sampler: Sampler, search: SearchConfig) -> BaseSampler:
    """The sampler as Optuna's object. `grid` needs none: it is never asked."""
    match sampler:
        case Sampler.gp:
            return optuna.samplers.GPSampler(
                seed=search.seed, n_startup_trials=_STARTUP_TRIALS, warn_independent_sampling=False
            )
        case Sampler.nsga2:
            return optuna.samplers.NSGAIISampler(seed=search.seed, population_size=population(search))
        case Sampler.tpe:
            return optuna.samplers.TPESampler(seed=search.seed, n_startup_trials=_STARTUP_TRIALS, multivariate=True)
        case _:
            return optuna.samplers.RandomSampler(seed=search.seed)
