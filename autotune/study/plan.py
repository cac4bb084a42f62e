"""How long one training is, so that the whole study fits its budget; worked out from the measured baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass

from autotune.config.objective import Objective
from autotune.config.schema import Config
from autotune.config.search import Verify
from autotune.config.train import TrainConfig
from autotune.decide import accuracy
from autotune.space.recipe import EVALUATIONS, Fidelity, evaluated_epochs
from autotune.trial import DatasetFacts, Probe

# Costs around the trainings, as seen on two CPU cores; they only divide the budget and judge nothing.
_SCREEN_TRIAL_S = 6.0
_CONFIRM_TIMING_S = 13.0
_EXPORT_S = 5.0
_INSPECTION_S = 7.0  # the model is taken apart before the export
_TRAINING_OVERHEAD_S = 1.0

# A shared machine is slower tomorrow than when it was probed; a plan without slack would skip its last stage then.
_SAFETY = 0.65

# Share of the budget that screening may take at most.
_SCREEN_SHARE = 0.25

# A verified candidate is faster than the baseline: on average about this share of its training time.
_CANDIDATE_SHARE = 0.6

# Trainings of candidates that turn out to be less accurate, before one passes. A second finalist is trained only if the
# first is not confirmed, so it is no part of the plan.
_REJECTED_RUNS = 3

# Evaluation is a forward pass, training three of its size.
_FORWARD_SHARE = 1 / 3

# Several short epochs rather than three long ones: measured on the CIFAR MLP at one cost, 8 epochs of 4,096 examples
# ended settled at the baseline's batch (last epochs .381 .387 .389) and 3 epochs of 8,192 did not (.297 .361 .382).
_EPOCHS = 6
_MOST_EPOCHS = 30
_FEWEST_STEPS = 60

# Paired spreads for which the plan tells the margin that can be resolved, before anything was trained.
ASSUMED_SPREADS = (0.002, 0.005, 0.01)


@dataclass(frozen=True, slots=True)
class Plan:
    """The fidelity, what it costs and why.

    Attributes:
        fits: whether the shares are within the budget.
        process_s: what a fresh process with its timing takes in the confirm stage [s].
    """

    fidelity: Fidelity
    baseline_train_s: float
    shares_s: dict[str, float]
    reasons: tuple[str, ...]
    fits: bool
    process_s: float

    @property
    def after_screening_s(self) -> float:
        """What is kept back of the budget for what follows screening [s]."""
        return sum(self.shares_s[name] for name in ("verify", "confirm", "export"))


def make_plan(config: Config, probe: Probe, data: DatasetFacts, remaining_s: float, start_s: float) -> Plan:
    """Plan the fidelity from the baseline's probe.

    Args:
        config: `train.examples` and `train.epochs` are kept where they are set.
        probe: of the baseline.
        data: sizes of the parts.
        remaining_s: what is left of the budget [s]; infinite without one.
        start_s: what starting a worker took [s].
    """
    per_example_s = probe.step_time_ms / 1e3 / probe.candidate.batch_size
    search, seeds = config.search, baseline_seeds(config)
    confirm_seeds = config.constraint.seeds + 1  # the first look often wants one more
    fixed = {
        "screen": _screen_s(config, remaining_s),
        "timing": search.timing.processes * (start_s + _CONFIRM_TIMING_S),
        "export": _INSPECTION_S + _EXPORT_S + 1.5 * start_s,
    }
    baseline_runs, verify_runs = seeds + confirm_seeds, _verify_runs(config)
    candidate_runs = _CANDIDATE_SHARE * (verify_runs + confirm_seeds)
    left_s = remaining_s - sum(fixed.values())
    affordable_s = _SAFETY * left_s / (baseline_runs + candidate_runs)
    fidelity, reasons = _fidelity(config, data, per_example_s, affordable_s)
    evaluations = evaluations_of(config, fidelity.epochs)
    train_s = training_s(fidelity, per_example_s, data.validation, evaluations)
    shares = {
        "baseline": seeds * train_s,
        "screen": fixed["screen"],
        "verify": _CANDIDATE_SHARE * verify_runs * train_s,
        "confirm": fixed["timing"] + (1 + _CANDIDATE_SHARE) * confirm_seeds * train_s,
        "export": fixed["export"],
    }
    fits = sum(shares.values()) <= remaining_s
    reasons += _left_untrained(config, shares["verify"], train_s) if math.isfinite(remaining_s) else []
    return Plan(fidelity, train_s, shares, tuple(reasons), fits, start_s + _CONFIRM_TIMING_S)


def baseline_seeds(config: Config) -> int:
    """How many seeds the baseline is trained on at first: every seed of the gate is paired with it."""
    return max(config.constraint.seeds, config.search.gate_seeds)


def _verify_runs(config: Config) -> int:
    """Trainings of candidates that the plan has room for in the verify stage; for a front, of every candidate."""
    if config.objective.name is Objective.pareto:
        return config.search.trials * baseline_seeds(config)
    return config.search.gate_seeds + _REJECTED_RUNS


def _left_untrained(config: Config, planned_s: float, train_s: float) -> list[str]:
    """That not all candidates may be trained, where all are asked for.

    Room for all of them would be room for none: trainings too short to tell, or a screening of one candidate.
    """
    search, objective = config.search, config.objective.name
    if objective is not Objective.time_to_accuracy and (
        search.verify is not Verify.all or objective is Objective.pareto
    ):
        return []
    due_s = _CANDIDATE_SHARE * search.trials * search.gate_seeds * train_s
    if due_s <= planned_s:
        return []
    text = f"{search.trials} candidates would take about {due_s:.0f} s to train, and {planned_s:.0f} s are planned"
    return [f"{text}: where the budget ends before all are done, the slowest are not trained"]


def evaluations_of(config: Config, epochs: int) -> int:
    """Evaluations in one training: one an epoch where the objective is read from the learning curve."""
    return epochs if config.objective.name is Objective.time_to_accuracy else EVALUATIONS


def training_s(fidelity: Fidelity, per_example_s: float, validation: int, evaluations: int = EVALUATIONS) -> float:
    """Predicted duration of one training with its evaluations [s]."""
    passes = fidelity.epochs * fidelity.examples + _evaluation_passes(fidelity.epochs, validation, evaluations)
    return _TRAINING_OVERHEAD_S + passes * per_example_s


def _evaluation_passes(epochs: int, validation: int, evaluations: int) -> float:
    """What the evaluations of one training cost, in example passes of training."""
    return len(evaluated_epochs(epochs, evaluations)) * _FORWARD_SHARE * validation


def _screen_s(config: Config, remaining_s: float) -> float:
    wanted = config.search.trials * _SCREEN_TRIAL_S
    return wanted if math.isinf(remaining_s) else min(wanted, _SCREEN_SHARE * remaining_s)


def _fidelity(
    config: Config, data: DatasetFacts, per_example_s: float, affordable_s: float
) -> tuple[Fidelity, list[str]]:
    train = config.train
    if train.examples is not None and train.epochs is not None:
        return Fidelity(train.examples, train.epochs), ["train.examples and train.epochs are set"]
    if math.isinf(affordable_s):
        examples = train.examples or _whole_batches(data.train, config)
        reason = f"no budget: all {data.train:,} training examples, in whole batches of the largest size"
        return Fidelity(examples, train.epochs or _EPOCHS), [
            "no budget, train.examples is set" if train.examples else reason
        ]
    # Example passes that one training affords.
    passes = max(0.0, affordable_s - _TRAINING_OVERHEAD_S) / per_example_s
    epochs = train.epochs or _EPOCHS
    passes -= _evaluation_passes(epochs, data.validation, evaluations_of(config, epochs))
    if train.examples is not None:
        fidelity, enough = _epochs_for(train, min(train.examples, data.train), passes)
    else:
        fidelity, enough = _examples_for(train, data.train, passes)
    reasons = [f"the budget affords trainings of about {max(0.0, affordable_s):.0f} s at the baseline's speed"]
    if not enough:
        reasons.append("that is too short to train anything, so the shortest sensible training is taken")
    examples = train.examples or _whole_batches(fidelity.examples, config)
    return Fidelity(examples, fidelity.epochs), reasons


def _epochs_for(train: TrainConfig, examples: int, passes: float) -> tuple[Fidelity, bool]:
    """As many epochs of these examples as are affordable, and whether that is enough to train anything."""
    fewest = min(_MOST_EPOCHS, math.ceil(_FEWEST_STEPS * train.batch_size / examples))
    epochs = min(_MOST_EPOCHS, int(passes / examples))
    return Fidelity(examples, max(fewest, epochs)), epochs >= fewest


def _examples_for(train: TrainConfig, most: int, passes: float) -> tuple[Fidelity, bool]:
    """As many examples as are affordable, more epochs once there are no more, and whether that is enough."""
    epochs = train.epochs or _EPOCHS
    fewest = min(most, math.ceil(_FEWEST_STEPS / epochs) * train.batch_size)
    examples = int(passes / epochs)
    if examples < fewest:
        wanted = min(_MOST_EPOCHS, math.ceil(_FEWEST_STEPS * train.batch_size / fewest))
        return Fidelity(fewest, train.epochs or max(_EPOCHS, wanted)), False
    if examples > most and train.epochs is None:
        epochs = min(_MOST_EPOCHS, int(passes / most))
    return Fidelity(min(examples, most), epochs), True


def _whole_batches(examples: int, config: Config) -> int:
    """Down to a multiple of the largest batch of which there are enough, so that no candidate drops examples."""
    own = config.train.batch_size
    sizes = sorted(config.search.batch_sizes or [own * config.search.max_batch_factor, own], reverse=True)
    for batch in [*sizes, own]:
        if examples >= 4 * batch:
            return examples // batch * batch
    return examples


def resolvable_margins(config: Config, spreads: dict[str, float]) -> dict[str, float]:
    """Smallest margin that the first look can show, by paired spread.

    Args:
        config: number of seeds and of finalists, among whom the level is shared.
        spreads: a name for the reader to the paired standard deviation, in the metric's unit.
    """
    constraint, search = config.constraint, config.search
    first = accuracy.looks(None, constraint.margin, fewest=constraint.seeds, verdicts=search.finalists)[0]
    return {
        name: accuracy.resolvable_margin(sd, first.seeds, level=first.level, pilot=search.gate_seeds)
        for name, sd in spreads.items()
    }
