"""An executor that serves a landscape to the unchanged study: recorded noise, and a clock that only requests move on.

**Timing.** A process of the study is one recorded process (in an order that is drawn for each study), and a timing in
it draws pairs of blocks of that process, in runs of neighbours, so that a disturbance that lasted lasts here too. The
product's own stopping rule says how many. Two candidates against each other were not recorded: their pairs are put
together from the two against the baseline, and are noisier than real ones. All step times are at the machine's quiet
speed; only ratios are noisy.

**Training.** The study's seeds are given recorded seeds, one to one, in an order that is drawn for each study and in
which they are asked for: the same for the baseline and for all candidates, so that pairs stay pairs. A study that asks
for more seeds than were recorded gets earlier ones again (`seeds_again` counts them): its last looks are then too sure.
A candidate that was not trained on a seed (see `Head.thinned`) gets the baseline's metric less a loss of its own that
was recorded on another seed.

**Costs** are those of `prices.py`. A worker that is replaced since it has grown is not among them.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from autotune.config.schema import Config
from autotune.decide import timing as rule
from autotune.errors import TrialFault
from autotune.space.recipe import Fidelity, evaluated_epochs
from autotune.trial import Candidate, EarlyStop, EpochPoint, Probe, Recipe, Stage, TrainingRun
from tests.benchmarks.search.landscape import Landscape, Timing, Training
from tests.benchmarks.search.prices import Prices

RUN = 5
"""Pairs that are drawn as neighbours."""


class Clock:
    """Seconds that go on when somebody says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class NotRecordedError(LookupError):
    """A study asked for something that the landscape does not hold."""


class ServedExecutor:
    """See `autotune.worker.contract.Executor`.

    Args:
        landscape: what is served.
        prices: of the same landscape.
        config: of the study: its timing rule, and its first seed.
        clock: moved on by each request, the start of the first worker among them.
        seed: of all that is drawn.

    Attributes:
        trainings: how many were served.
        seeds_again: trainings that were served with a seed that had served another of the study's seeds.
        spent_s: what requests of each kind have taken [s].
    """

    def __init__(self, landscape: Landscape, prices: Prices, config: Config, clock: Clock, seed: int) -> None:
        self._landscape, self._prices, self._config = landscape, prices, config
        self._clock, self._seed = clock, seed
        order = random.Random(f"order {seed}")
        turns = sorted({one.turn for one in landscape.timings[landscape.baseline]})
        self._turns = order.sample(turns, len(turns))
        self._seeds = order.sample(landscape.seeds, len(landscape.seeds))
        self._asked: dict[int, int] = {}
        self._count: Counter[tuple[int, Candidate, Stage]] = Counter()
        self._reference: Candidate | None = None
        self.worker = 0
        self.trainings = self.seeds_again = 0
        self.spent_s: dict[str, float] = defaultdict(float)
        self._alive = False
        self._start()

    def probe(
        self,
        candidate: Candidate,
        recipe: Recipe,
        reference: tuple[Candidate, Recipe] | None,
        stage: Stage,
        hopeless_below: float | None = None,
    ) -> Probe:
        """A timing of recorded blocks."""
        self._start()
        found, beside = self._recorded(candidate), reference[0] if reference else None
        if beside is not None and beside != self._reference:
            self._pay("making", self._prices.making_s(beside))
            self._reference = beside
        self._pay("making", self._prices.making_s(candidate))
        if found.failure is not None:
            raise TrialFault(found.failure.kind, found.failure.message)
        own, other, given_up = self._blocks(candidate, beside, stage, hopeless_below)
        block_s = self._config.search.timing.block_s
        return Probe(
            candidate=candidate,
            effect=self._landscape.effect(candidate),
            block_step_ms=tuple(own),
            baseline_step_ms=tuple(other),
            steps_per_block=self._prices.block_steps(candidate, block_s),
            warmup_step_ms=found.warmup_ms,
            build_s=found.build_s,
            first_step_s=found.first_step_s,
            peak_memory_mb=found.peak_memory_mb,
            loss=1.0,
            loss_finite=True,
            worker=self.worker,
            baseline_batch_size=beside.batch_size if beside else 0,
            baseline_steps_per_block=self._prices.block_steps(beside, block_s) if beside else 0,
            hopeless_below=hopeless_below if given_up else None,
        )

    def train(
        self,
        candidate: Candidate,
        seed: int,
        recipe: Recipe,
        keep_path: Path | None = None,
        stops: tuple[EarlyStop, ...] = (),
    ) -> TrainingRun:
        """A recorded training, on the recorded seed that stands for this one; no file is written.

        One that is stopped early costs what it has trained and evaluated until then.
        """
        self._start()
        head = self._landscape.head
        if (recipe.examples, recipe.epochs) != (head.examples, head.epochs):
            there = Fidelity(head.examples, head.epochs)
            raise NotRecordedError(f"a training at {recipe} was asked for, but those that are there are at {there}")
        whole_s, train_s, evaluation_s = self._prices.training_s(candidate, recipe)
        run = self._training(candidate, self._standing_for(seed))
        curve = () if run.failure is not None else tuple(_curve(run, recipe, train_s))
        stopped = next((stop for point in curve for stop in stops if stop.ends(point.epoch, point.metric)), None)
        if stopped is not None:
            left = sum(point.metric is not None for point in curve[stopped.epoch :])
            curve = curve[: stopped.epoch]
            whole_s -= train_s - curve[-1].elapsed_s + left * evaluation_s
            train_s = curve[-1].elapsed_s
        self._pay("training", whole_s)
        self.trainings += 1
        if run.failure is not None:
            raise TrialFault(run.failure.kind, run.failure.message)
        steps = recipe.total_steps if stopped is None else stopped.epoch * recipe.total_steps // recipe.epochs
        return TrainingRun(
            candidate=candidate,
            seed=seed,
            recipe=recipe,
            metric=run.metric if stopped is None else None,
            curve=curve,
            iterations=steps - run.skipped_steps,
            skipped_steps=run.skipped_steps,
            loss_scale=run.loss_scale,
            loss_finite=None not in run.losses,
            train_s=train_s,
            weights_digest=run.weights_digest,
            effect=self._landscape.effect(candidate),
            model_path=None if keep_path is None else str(keep_path),
            worker=self.worker,
            stopped=stopped,
        )

    def replace(self) -> None:
        """The next request begins another process."""
        self._alive, self._reference = False, None

    def _start(self) -> None:
        if not self._alive:
            self._alive = True
            self.worker += 1
            self._pay("starting", self._prices.worker_s)

    def _pay(self, what: str, cost_s: float) -> None:
        self._clock.now_s += cost_s
        self.spent_s[what] += cost_s

    def _recorded(self, candidate: Candidate) -> Timing:
        """The candidate's timing in the recorded process that stands for this one."""
        timings = self._landscape.timings.get(candidate)
        if not timings:
            raise NotRecordedError(f"{candidate} is not part of the landscape of {self._landscape.head.model}")
        turn = self._turns[self.worker % len(self._turns)]
        return next((one for one in timings if one.turn == turn), timings[0])

    def _blocks(
        self, candidate: Candidate, beside: Candidate | None, stage: Stage, hopeless_below: float | None
    ) -> tuple[list[float], list[float], bool]:
        """Step times of both, as many pairs as the product would take, and whether it was given up."""
        timing = self._config.search.timing
        half_width, most_s = timing.half_width, timing.max_s
        if stage in (Stage.BASELINE, Stage.SCREEN):
            half_width, most_s = timing.screen_half_width, timing.screen_max_s
        self._count[self.worker, candidate, stage] += 1
        name = f"{self._seed} {self.worker} {candidate} {stage} {self._count[self.worker, candidate, stage]}"
        block_s = self._prices.block_s(candidate, timing.block_s)
        pair_s = block_s + (self._prices.block_s(beside, timing.block_s) if beside else 0.0)
        own: list[float] = []
        other: list[float] = []
        ratios: list[float] = []
        given_up = False
        for own_ms, other_ms in self._pairs(candidate, beside, random.Random(name)):
            own.append(own_ms)
            if beside is None:
                enough = len(own) >= timing.min_pairs
            else:
                other.append(other_ms)
                ratios += rule.log_ratios([other_ms], [own_ms], beside.batch_size, candidate.batch_size)
                enough = rule.enough(
                    ratios, min_pairs=timing.min_pairs, max_pairs=timing.max_pairs, half_width=half_width
                )
                given_up = hopeless_below is not None and not enough and rule.hopeless(ratios, hopeless_below)
            late = len(own) * pair_s > most_s and len(own) >= rule.FEWEST_PAIRS
            if enough or given_up or late:
                break
        if beside is not None:  # the reference stood idle meanwhile, and runs a block that is not counted
            self._pay("timing", self._prices.block_s(beside, timing.block_s))
        self._pay("timing", len(own) * pair_s)
        return own, other, given_up

    def _pairs(
        self, candidate: Candidate, beside: Candidate | None, chance: random.Random
    ) -> Iterator[tuple[float, float]]:
        """Endless neighbouring step times [ms] at the quiet speed: of the candidate, and of what it is timed beside."""
        own = self._prices.step_ms(candidate)
        if beside is None:
            # The baseline alone: its blocks about their median.
            blocks = self._recorded(candidate).own_ms
            centre = sorted(blocks)[len(blocks) // 2]
            while True:
                for ms in _run(blocks, chance):
                    yield own * ms / centre, 0.0
        other = self._prices.step_ms(beside)
        mine, theirs = self._deviations(candidate), self._deviations(beside)
        while True:
            for deviation, against in zip(_run(mine, chance), _run(theirs, chance), strict=True):
                # The ratio alone is noisy: which of the two was disturbed makes no difference to it.
                yield own * deviation, other * against

    def _deviations(self, candidate: Candidate) -> list[float]:
        """What each recorded pair is off the landscape's own ratio by: a factor of step time beside the baseline's."""
        if candidate == self._landscape.baseline:
            return [1.0] * RUN
        speedup = self._landscape.speedup(candidate)
        scale = candidate.batch_size / self._landscape.baseline.batch_size
        return [speedup / (ratio * scale) for ratio in self._recorded(candidate).ratios]

    def _standing_for(self, seed: int) -> int:
        """The recorded seed that stands for one of the study's."""
        if seed not in self._asked:
            self._asked[seed] = len(self._asked)
        number = self._asked[seed]
        self.seeds_again += number >= len(self._seeds)
        return self._seeds[number % len(self._seeds)]

    def _training(self, candidate: Candidate, seed: int) -> Training:
        runs = self._landscape.trainings.get(self._landscape.trained(candidate))
        if not runs:
            raise NotRecordedError(f"{candidate} was not trained in the landscape of {self._landscape.head.model}")
        if seed in runs:
            return runs[seed]
        known = sorted(runs)
        instead = runs[known[seed % len(known)]]
        own = self._landscape.trainings[self._landscape.baseline]
        shifted = [
            None if None in (metric, there, here) else metric + there - here  # type: ignore[operator]
            for metric, there, here in zip(instead.metrics, own[seed].metrics, own[instead.seed].metrics, strict=True)
        ]
        return replace(instead, seed=seed, metrics=tuple(shifted))


def _run(values: tuple[float, ...] | list[float], chance: random.Random) -> list[float]:
    """Neighbours among the values, from a random one on; after the last comes the first."""
    first = chance.randrange(len(values))
    return [values[(first + step) % len(values)] for step in range(RUN)]


def _curve(run: Training, recipe: Recipe, train_s: float) -> Iterator[EpochPoint]:
    """Points of each epoch, with the metric where this study evaluates."""
    evaluated = evaluated_epochs(recipe.epochs, recipe.evaluations)
    for number, (loss, metric, elapsed_s) in enumerate(zip(run.losses, run.metrics, run.elapsed_s, strict=True), 1):
        told = metric if number in evaluated else None
        if number in evaluated and metric is None and number < recipe.epochs:
            raise NotRecordedError(f"an evaluation after epoch {number} was asked for, which was not recorded")
        yield EpochPoint(number, loss, told, elapsed_s * train_s / run.train_s, run.loss_scale)
