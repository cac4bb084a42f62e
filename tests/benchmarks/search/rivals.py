"""What people use instead, on the same landscape, at the same training lengths, with the same confirmation.

Each rival measures trial after trial in one worker: it times the setting as a study's screening does and trains it on
the gate's seeds, whatever came out. Its incumbent is the fastest of those that went through the product's own gate.

- **tpe**: Optuna's TPESampler, multivariate, with its own default of random startup trials, told the speedup and, as a
  constraint, by how much the gate was missed: what a Hydra sweep gives, and the constraint besides. What it proposes a
  second time it measures a second time, as a sweep does.
- **random**: the whole space in a random order, nothing twice.
- **grid**: the whole space in its order: policy, batch, XLA, steps, widths.
- **greedy**: one dimension at a time from the user's own settings: policy, then batch, XLA, steps, widths; of each the
  best that went through the gate is kept.

None of them knows when to stop. So an oracle stops each at the first trial from which on its incumbent is within 3 % of
the best of the landscape *and stays so*: no person could stop it earlier, and most would stop it later. That favours
the rivals. One that does not come there within its trials is stopped at their end: its cost is the least it can be.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution

from autotune.decide import accuracy, gain
from autotune.errors import TrialFault
from autotune.record import events as ev
from autotune.space.space import Space
from autotune.study.baseline import train_baseline
from autotune.study.confirm import confirm
from autotune.study.context import StudyContext
from autotune.study.study import plan_study
from autotune.trial import Candidate, Interval, Probe, Stage, TrainingRun, TrialState
from tests.benchmarks.search.studies import Outcome, Point, World, served

FAIL = optuna.trial.TrialState.FAIL


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting, fully trained and timed.

    Attributes:
        speedup: over the baseline; None for a failure.
        missed: by how much the gate was missed, above 0 if it was [the metric's unit].
        ended_s: when it ended, since the rival began [s].
        timed_s: of all that, what timings have taken so far [s].
    """

    candidate: Candidate
    probe: Probe | None
    speedup: Interval | None
    runs: tuple[TrainingRun, ...]
    missed: float
    ended_s: float
    timed_s: float

    @property
    def passed(self) -> bool:
        """Whether it went through the gate."""
        return self.speedup is not None and self.missed < 0


Proposing = Callable[["Rival"], Iterator[Candidate]]


class Rival:
    """One rival's search, up to its last trial.

    Args:
        context: of a study that has not measured anything.
        accelerator: where models are placed.
        seed: of what the rival draws.
        proposing: proposes candidates, reading `trials` as it goes.
        most: trials at most.

    Attributes:
        began_s: when the baseline had been timed and trained [s].
        trials: in the order in which they were measured.
    """

    def __init__(self, context: StudyContext, accelerator: str, seed: int, proposing: Proposing, most: int) -> None:
        self.context, self.seed = context, seed
        self.space: Space = plan_study(context, accelerator)
        train_baseline(context)
        self.began_s = context.clock()
        self.trials: list[Trial] = []
        for candidate in proposing(self):
            if len(self.trials) >= most:
                break
            self.trials.append(self._measured(candidate))

    def incumbent(self, number: int) -> Trial | None:
        """The fastest of the first trials, up to this number, that went through the gate."""
        passed = [trial for trial in self.trials[: number + 1] if trial.passed]
        return max(passed, key=_estimate, default=None)

    def confirmed(self, number: int) -> Candidate:
        """The incumbent of the first trials, confirmed; else the next best, as often as a study would try."""
        ranked = sorted((t for t in self.trials[: number + 1] if t.passed), key=_estimate, reverse=True)
        once = list({trial.candidate: trial for trial in reversed(ranked)}.values())[::-1]
        verdicts, most = 0, self.context.config.search.finalists
        for position, trial in enumerate(once, 1):
            if verdicts >= most or _estimate(trial) <= self.context.config.objective.threshold:
                break
            self._record(position, trial)
            found = confirm(self.context, self.context.view.trials[position])
            if found.confirmation.succeeded:
                return trial.candidate
            verdicts += found.confirmation.accuracy is not None
        return self.context.baseline

    def _record(self, number: int, trial: Trial) -> None:
        """Tell the record of a finalist what a study's would say of it."""
        assert trial.probe is not None
        record, config = self.context.record, self.context.config
        record.append(ev.Probed(number, Stage.SCREEN, trial.probe, trial.speedup, None, 0.0))
        for run in trial.runs:
            assert run.metric is not None
            delta = self.context.oriented(run.metric, self.context.baseline_metrics[run.seed])
            record.append(ev.Trained(number, Stage.VERIFY, run, delta, 0.0))
        record.append(ev.TrialJudged(number, TrialState.PASSED, f"trained on {config.search.gate_seeds} seeds"))

    def _measured(self, candidate: Candidate) -> Trial:
        context, executor = self.context, self.context.executor
        seeds = [context.config.train.seed + offset for offset in range(context.config.search.gate_seeds)]
        reference = (context.baseline, context.recipe(context.baseline))
        probe, speedup, runs, missed = None, None, [], float("inf")
        before_s = context.clock()
        timed_s = self.trials[-1].timed_s if self.trials else 0.0
        try:
            probe = executor.probe(candidate, context.recipe(candidate), reference, Stage.SCREEN)
            timed_s += context.clock() - before_s
            speedup = gain.speedup(probe, context.baseline.batch_size)
            runs = [executor.train(candidate, seed, context.recipe(candidate)) for seed in seeds]
            deltas = [
                context.oriented(run.metric, context.baseline_metrics[run.seed])
                for run in runs
                if run.metric is not None
            ]
            if len(deltas) == len(seeds):
                margins = [context.margin_on(seed) for seed in seeds]
                missed = -accuracy.GATE * sum(margins) / len(margins) - sum(deltas) / len(deltas)
        except TrialFault:
            speedup = None
        return Trial(candidate, probe, speedup, tuple(runs), missed, context.clock(), timed_s)


def tpe(rival: Rival) -> Iterator[Candidate]:
    """Optuna's own sampler, as a sweep uses it."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=rival.seed, multivariate=True)
    study, space = optuna.create_study(direction="maximize", sampler=sampler), rival.space
    choices = _choices(space)
    kinds: dict[str, BaseDistribution] = {
        name: CategoricalDistribution(range(len(values))) for name, values in choices.items()
    }
    while True:
        trial = study.ask(kinds)
        chosen = {name: values[trial.params[name]] for name, values in choices.items()}
        candidate = replace(space.baseline, **chosen)
        if candidate == space.baseline:
            candidate = rival.context.baseline  # a sweep would not know it for the baseline, and would measure it
        elif not space.holds(candidate):
            study.tell(trial, state=FAIL)  # no such combination: it costs nothing
            continue
        yield candidate
        found = rival.trials[-1]
        if found.speedup is None:
            study.tell(trial, state=FAIL)
            continue
        trial.set_constraint("accuracy", found.missed)
        study.tell(trial, found.speedup.estimate)


def at_random(rival: Rival) -> Iterator[Candidate]:
    """Everything, in a random order."""
    candidates = list(rival.space.candidates())
    random.Random(f"random {rival.seed}").shuffle(candidates)
    yield from candidates


def grid(rival: Rival) -> Iterator[Candidate]:
    """Everything, in its order."""
    yield from rival.space.candidates()


def greedy(rival: Rival) -> Iterator[Candidate]:
    """One dimension at a time, in the order in which people try them."""
    space = rival.space
    own = space.baseline
    for name, values in _choices(space).items():
        for value in values:
            candidate = replace(own, **{name: value})  # type: ignore[arg-type]
            if candidate != space.baseline and space.holds(candidate) and _is_new(rival, candidate):
                yield candidate
        found = rival.incumbent(len(rival.trials))
        if found is not None and _estimate(found) > 1:
            own = found.candidate


def _choices(space: Space) -> dict[str, tuple[object, ...]]:
    """Each dimension's values, in the order in which people try them."""
    return {
        "policy": space.policies,
        "batch_size": space.batch_sizes,
        "xla": space.xla,
        "steps_per_execution": space.steps_per_execution,
        "widths": space.widths,
    }


def _is_new(rival: Rival, candidate: Candidate) -> bool:
    return all(trial.candidate != candidate for trial in rival.trials)


def _estimate(trial: Trial) -> float:
    return trial.speedup.estimate if trial.speedup else 0.0


RIVALS: dict[str, Proposing] = {"tpe": tpe, "random": at_random, "grid": grid, "greedy": greedy}


def search(world: World, seed: int, proposing: Proposing, most: int) -> Rival:
    """A rival on a landscape."""
    return Rival(world.begin(seed), world.landscape.head.accelerator, seed, proposing, most)


def course(rival: Rival, world: World) -> tuple[Point, ...]:
    """The rival after each of its trials."""
    points, trainings = [], len(rival.context.first_metrics)
    for number, trial in enumerate(rival.trials):
        found = rival.incumbent(number)
        trainings += len(trial.runs)
        near = world.is_near(found.candidate if found else world.landscape.baseline)
        points.append(Point(trial.ended_s, trainings, near))
    return tuple(points)


def stopped(rival: Rival, world: World) -> int:
    """Index of the trial at which the oracle stops, or of the last one."""
    points = course(rival, world)
    last_far = max((number for number, point in enumerate(points) if not point.near), default=-1)
    return min(last_far + 1, len(points) - 1)


def finish(rival: Rival, world: World) -> tuple[Outcome, float]:
    """Stopped by the oracle, then confirmed as a study is; and what its own timings took of the cost [s]."""
    points, number = course(rival, world), stopped(rival, world)
    executor, before_s = served(rival.context), rival.context.clock()
    searched = executor.trainings
    winner = rival.confirmed(number)
    rival.context.record.close()
    confirming_s, confirming = rival.context.clock() - before_s, executor.trainings - searched
    end = points[number]
    cost_s, trainings = end.at_s + confirming_s, end.trainings + confirming
    outcome = Outcome(winner, cost_s, trainings, executor.seeds_again, confirming_s, confirming, points)
    return outcome, rival.trials[number].timed_s


def floor(world: World, seed: int) -> Outcome:
    """Baseline and confirmation alone, for somebody who knew the best beforehand."""

    def known(_: Rival) -> Iterator[Candidate]:
        yield world.landscape.best

    rival = search(world, seed, known, 1)
    outcome, _ = finish(rival, world)
    trial = rival.trials[0]
    return replace(
        outcome,
        cost_s=outcome.cost_s - (trial.ended_s - rival.began_s),
        trainings=outcome.trainings - len(trial.runs),
    )
