"""`objective=pareto`: the whole front of throughput against the metric. It takes the place of screening.

Candidates are screened as for one winner. Then every one is trained that may still be on the front, the fastest first,
on all seeds that float32 was trained on, to their end. It is not where

- it is clearly slower than float32, at whose throughput the front begins;
- another one trains identically: that one's accuracy is its own (`autotune.study.vouching`);
- it has fallen so far behind a clearly faster one that only luck could bring it up (`decide.dominance.out_of_reach`).

How accurate a candidate is that was not trained, nobody knows: no other one is left out. In a space that is no larger
than `search.trials` all are screened first. Beyond, they go through both in generations, and Optuna's study learns two
values of each, speedup and paired difference, from which NSGA-II breeds the next. One that has no accuracy is told as
one that misses a constraint. The record decides what is on the front, as it decides the winner, which is the fastest
of those that pass the gate and are then confirmed.
"""

from __future__ import annotations

from autotune.decide import dominance
from autotune.decide.dominance import Measured
from autotune.record.events import TrialJudged
from autotune.record.view import TrialView
from autotune.space.space import Space
from autotune.study import costs, gate, vouching
from autotune.study.context import StudyContext
from autotune.study.plan import baseline_seeds
from autotune.study.ranking import gain_of
from autotune.study.samplers import population
from autotune.study.screen import Screening
from autotune.trial import Stage, TrainingRun, TrialState


def search_front(context: StudyContext, space: Space) -> None:
    """Measure and train candidates until the trials, the space or the budget are used up."""
    screening, search = Screening(context, space, front=True), context.config.search
    proposer = screening.proposer
    generation = population(search) if proposer.learns else search.trials
    while not screening.is_over:
        trials = [context.view.trials[number] for number in screening.measure(generation)]
        began_s = context.busy_s
        _train(context, trials)
        for trial in trials:
            delta = None if trial.state in (TrialState.FAILED, TrialState.SKIPPED) else _delta(trial)
            if delta is None:
                proposer.learn_unknown(trial.candidate)
            else:
                proposer.learn(trial.candidate, gain_of(trial), delta)
        screening.aside(context.busy_s - began_s)
    screening.close()


def _delta(trial: TrialView) -> float | None:
    """The mean paired difference, its own or that of its twin; of one that was stopped, over its seeds so far."""
    return trial.accuracy.delta.estimate if trial.accuracy is not None else trial.delta(Stage.VERIFY)


def _train(context: StudyContext, trials: list[TrialView]) -> None:
    """Those of a generation that may be on the front, the fastest first."""
    hopeful = [trial for trial in trials if _may_be_faster(context, trial)]
    if hopeful:
        context.stage(Stage.VERIFY, len(hopeful) * baseline_seeds(context.config))
    for trial in sorted(hopeful, key=lambda one: -gain_of(one)):
        if (twin := vouching.trained_twin(context, trial)) is not None:
            vouching.vouch(context, trial, twin)
        elif refusal := _refusal(context, trial):
            reason = f"not trained: {refusal}; it may be on the front"
            context.record.append(TrialJudged(trial.number, TrialState.SKIPPED, reason))
        else:
            _train_one(context, trial)


def _may_be_faster(context: StudyContext, trial: TrialView) -> bool:
    """Whether it may be faster than float32; one that is not is judged here."""
    assert trial.gain is not None
    if trial.gain.high > 1:
        return True
    reason = f"x{trial.gain.estimate:.2f} the baseline's throughput, at which the front begins"
    context.record.append(TrialJudged(trial.number, TrialState.SLOWER, reason))
    return False


def _refusal(context: StudyContext, trial: TrialView) -> str:
    """Why the budget has no room for its trainings, and for the confirmation that follows."""
    speedup = gain_of(trial)
    trainings_s = baseline_seeds(context.config) * costs.candidate_s(context, speedup)
    return context.budget.refusal(trainings_s + costs.confirmed_s(context, speedup, trial))


def _train_one(context: StudyContext, trial: TrialView) -> None:
    seeds = [context.config.train.seed + offset for offset in range(baseline_seeds(context.config))]
    runs: dict[int, TrainingRun] = {}
    deltas: dict[int, float] = {}
    for seed in seeds:
        run = context.train(trial.number, trial.candidate, seed, Stage.VERIFY)
        if run is None:
            return
        assert run.metric is not None
        runs[seed] = run
        deltas[seed] = context.oriented(run.metric, context.baseline_metrics[seed])
        if (faster := _out_of_reach_of(context, trial, deltas)) is not None:
            mean = context.told(sum(deltas.values()) / len(deltas))
            context.record.append(
                TrialJudged(
                    trial.number,
                    TrialState.DOMINATED,
                    f"stopped after {len(deltas)} of {len(seeds)} seeds at {mean}: trial {faster.number} is faster, and"
                    " it would have to beat that one by more than the margin on each seed that is left",
                )
            )
            return
    gate.judged(context, trial, runs, list(deltas.values()), [context.margin_on(seed) for seed in seeds])


def _out_of_reach_of(context: StudyContext, trial: TrialView, deltas: dict[int, float]) -> TrialView | None:
    """A trial that beats it as far as it was trained, or None."""
    assert trial.speedup is not None
    own = Measured(trial.speedup, deltas)
    for other in context.view.trials.values():
        if other.is_baseline or other.accuracy is None or other.speedup is None:
            continue
        known = Measured(other.speedup, dict(zip(other.accuracy.seeds, other.accuracy.deltas, strict=True)))
        if dominance.out_of_reach(own, known, context.margin):
            return other
    return None
