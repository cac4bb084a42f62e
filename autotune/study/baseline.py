"""Stage 0: the user's own float32 training, which everything is compared with."""

from __future__ import annotations

import math

from autotune.config.constraint import SHARE_METRICS
from autotune.config.objective import Objective
from autotune.decide import accuracy
from autotune.errors import HardwareError, UserError
from autotune.record.events import BASELINE_TRIAL, CHANCE, FidelityPlanned, Probed, TrialJudged, TrialStarted
from autotune.space.build import baseline_candidate
from autotune.space.recipe import Fidelity, recipe_for
from autotune.study.context import StudyContext, model_name
from autotune.study.plan import ASSUMED_SPREADS, baseline_seeds, make_plan, resolvable_margins
from autotune.trial import Probe, Stage, TrainingRun, TrialState

# Three standard errors of a guesser's accuracy, or of its error, on the validation part.
_CHANCE_ERRORS = 3


class BaselineUnusableError(UserError):
    """float32 itself cannot be measured or trained, so there is nothing to compare with."""


def probe_baseline(context: StudyContext, accelerator: str) -> None:
    """Time the baseline and plan the fidelity from it.

    Raises:
        BaselineUnusableError: it cannot be run.
        HardwareError: the device does not report what the objective needs.
    """
    from autotune.decide import health

    data = context.data
    assert data is not None
    candidate = baseline_candidate(context.config, accelerator)
    context.record.append(TrialStarted(BASELINE_TRIAL, Stage.BASELINE, candidate))
    began = context.clock()
    first_recipe = recipe_for(context.config.train, candidate, Fidelity(data.train, 1))
    with context.faults(BASELINE_TRIAL, candidate, Stage.BASELINE) as fault:
        probe = context.executor.probe(candidate, first_recipe, None, Stage.BASELINE)
    if fault:
        raise BaselineUnusableError(f"the float32 baseline cannot be used: {fault[0]}")
    context.record.append(Probed(BASELINE_TRIAL, Stage.BASELINE, probe, None, None, context.clock() - began))
    if (failure := health.probe_failure(probe)) is not None:
        raise BaselineUnusableError(f"the float32 baseline cannot be used: {failure}")
    _check_reported(context, probe)
    context.baseline_probe = probe
    _plan(context)


def _check_reported(context: StudyContext, probe: Probe) -> None:
    objective, device = context.config.objective.name, context.device.name
    if objective is Objective.energy and all(found.energy_j is None for found in probe.conditions):
        raise HardwareError(
            f"objective=energy needs a device whose energy NVML counts, but {device} does not tell"
            " (Volta and newer do); try objective=throughput"
        )
    if objective is Objective.memory and probe.peak_memory_mb is None:
        raise HardwareError(
            f"objective=memory needs a device whose peak memory is reported, but {device} does not tell; try"
            " objective=throughput"
        )


def _plan(context: StudyContext) -> None:
    probe, data, config = context.baseline_probe, context.data, context.config
    assert probe is not None
    assert data is not None
    plan = context.plan = make_plan(config, probe, data, context.budget.remaining_s, context.worker_start_s)
    unit = (100, " pp") if config.constraint.metric in SHARE_METRICS else (1, "")
    assumed = {f"{spread * unit[0]:g}{unit[1]}": spread for spread in ASSUMED_SPREADS}
    context.record.append(
        FidelityPlanned(
            recipe=context.recipe(probe.candidate),
            baseline_train_s=plan.baseline_train_s,
            shares_s=plan.shares_s,
            reasons=plan.reasons,
            resolvable_margin=resolvable_margins(config, assumed),
        )
    )
    if not plan.fits:
        context.note(
            "budget",
            f"search.budget={config.search.budget} is short for this model on this device: the plan takes about"
            f" {sum(plan.shares_s.values()):.0f} s, so the study may end before a finalist is confirmed",
            "warning",
        )


def train_baseline(context: StudyContext) -> None:
    """Train the baseline on the verify stage's seeds, and say what its spread means for the margin.

    Raises:
        BaselineUnusableError: a training failed or was not finite.
    """
    config = context.config
    seeds = baseline_seeds(config)
    context.stage(Stage.BASELINE, seeds)
    for offset in range(seeds):
        seed = config.train.seed + offset
        keep = model_name(BASELINE_TRIAL, seed) if offset == 0 else None
        if context.train(BASELINE_TRIAL, context.baseline, seed, Stage.BASELINE, keep) is None:
            assert context.view.baseline is not None
            raise BaselineUnusableError(
                f"the float32 baseline cannot be used (seed {seed}): {context.view.baseline.failure}; no relative"
                " constraint is possible, mend the float32 training first"
            )
    metrics = list(context.baseline_metrics.values())
    if not context.margin > 0:
        raise BaselineUnusableError(
            f"float32's {config.constraint.metric} is 0, of which no share is a margin: set constraint.relative=false"
            " and constraint.margin in its own unit"
        )
    _note_chance(context, metrics)
    spread = accuracy.spread(metrics) or 0.0
    mean, margin = sum(metrics) / len(metrics), context.margin
    # Two unpaired runs differ by sqrt(2) times the spread of one; paired runs of a like candidate differ by less.
    unpaired = 2**0.5 * spread
    looks = accuracy.looks(spread, margin, fewest=config.constraint.seeds, verdicts=config.search.finalists)
    first, last = (
        accuracy.resolvable_margin(unpaired, look.seeds, level=look.level, pilot=config.search.gate_seeds)
        for look in (looks[0], looks[-1])
    )
    most = looks[-1].seeds
    resolved = (
        f"{context.size(first)} at the first look, {context.size(last)} at the last ({most} seeds), or less since runs"
        " are paired"
    )
    context.note(
        "noise",
        f"baseline {config.constraint.metric} {mean:.4f} over {len(metrics)} seeds, standard deviation"
        f" {context.size(spread)}; the margin that can be resolved: {resolved if spread else 'any, the runs agree'}",
    )
    if last > margin:
        context.note(
            "noise",
            f"constraint.margin={config.constraint.margin:g} ({context.size(margin)}) may be below what {most} seeds"
            " resolve at this recipe: verdicts may stay INCONCLUSIVE (more seeds, a longer training or a larger margin"
            " help)",
            "warning",
        )
    context.record.append(TrialJudged(BASELINE_TRIAL, TrialState.PASSED, "the baseline"))


def _note_chance(context: StudyContext, metrics: list[float]) -> None:
    """Say so when float32 itself has learned nothing: then everything is as accurate as it is."""
    data = context.data
    assert data is not None
    if (chance := context.untrained_metric) is None:
        _note_unchanged(context)
        return
    mean = sum(metrics) / len(metrics)
    gained, possible = (mean - chance, 1 - chance) if context.higher else (chance - mean, chance)
    # Where one class has nearly all examples, three errors would be all that there is to learn.
    if gained < min(_CHANCE_ERRORS * (chance * (1 - chance) / data.validation) ** 0.5, possible / 2):
        how = "guessing" if chance == context.guessing_metric else "always answering the most frequent class"
        context.note(
            CHANCE,
            f"float32 itself is at {mean * 100:.1f} % where {how} gives {chance * 100:.1f} %: at this recipe nothing"
            " is learned, and any candidate would be as accurate (train longer: search.budget, train.epochs)",
            "warning",
        )


def _note_unchanged(context: StudyContext) -> None:
    """Say so when the metric is one value at every evaluation of every seed: it then tells no model from another.

    Unless it tells the targets from those of other examples, as where each is right from the first evaluation on.
    """
    runs = context.baseline_runs(context.first_metrics).values()
    seen = {run.metric for run in runs} | {
        point.metric for run in runs for point in run.curve if point.metric is not None
    }
    if len(seen) > 1 or any(_tells_targets_apart(run) for run in runs):
        return
    context.note(
        CHANCE,
        f"float32's {context.config.constraint.metric} is {seen.pop():.4g} at every evaluation of {len(runs)} seeds:"
        " either nothing is learned or the metric does not show it, and any candidate would be as accurate (look at the"
        " model's output, the targets and constraint._target_)",
        "warning",
    )


def _tells_targets_apart(run: TrainingRun) -> bool:
    """Whether its outputs are better or worse with other examples' targets, by more than the order of a sum does."""
    if run.metric is None or run.permuted is None:
        return False
    return not math.isclose(run.metric, run.permuted, rel_tol=1e-4, abs_tol=1e-9)
