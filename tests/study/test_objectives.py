"""What the search makes as good as possible, where that is not throughput; and margins that follow float32's metric."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.config.constraint import Direction
from autotune.config.objective import Objective
from autotune.errors import HardwareError
from autotune.record import events as ev
from autotune.study.baseline import BaselineUnusableError
from autotune.trial import (
    BlockConditions,
    Candidate,
    EpochPoint,
    FailureKind,
    Probe,
    Stage,
    TimingVerdict,
    TrainingRun,
    TrialState,
    Xla,
)
from tests.study.fake_executor import BF16, DATA, F32, WIDTHS, FakeStudy, Request, World, config_of

FASTEST, FRUGAL = Candidate(BF16, 128, Xla.ON, WIDTHS, 8), Candidate(BF16, 64, Xla.OFF, WIDTHS, 1)


def joules(candidate: Candidate) -> float:
    """Per example; the fastest burns the most."""
    return {FASTEST: 2.0, FRUGAL: 0.25}.get(candidate, 1.0)


def with_energy(request: Request, result: object) -> object:
    if not isinstance(result, Probe):
        return result

    def conditions(candidate: Candidate, steps: int, blocks: int) -> tuple[BlockConditions, ...]:
        used = joules(candidate) * candidate.batch_size * steps
        return tuple(BlockConditions(energy_j=used * (1 + 0.001 * n)) for n in range(blocks))

    own = conditions(result.candidate, result.steps_per_block, len(result.block_step_ms))
    baseline = Candidate(F32, 32, Xla.AUTO, WIDTHS)
    other = conditions(baseline, 10, len(result.baseline_step_ms))
    return replace(
        result, conditions=own, baseline_conditions=other, baseline_steps_per_block=10, baseline_batch_size=32
    )


def study_of(tmp_path, objective: Objective, world: World, **search: object) -> FakeStudy:
    config = config_of(finalists=1, **search)
    config.objective.name = objective
    return FakeStudy(tmp_path, config, world)


def test_energy_prefers_the_frugal_one_and_quotes_joules(tmp_path):
    view = study_of(tmp_path, Objective.energy, World(altered=with_energy)).run().view
    confirmed = view.winner.confirmation
    assert view.winner.candidate == FRUGAL
    assert confirmed.objective == "energy"
    assert confirmed.gain.estimate == pytest.approx(4.0, rel=0.01)
    assert (confirmed.verdict, confirmed.timing) == (TimingVerdict.FASTER, TimingVerdict.FASTER)
    assert confirmed.speedup.estimate == pytest.approx(1.5 * 2**0.6, rel=0.02), "the speedup is told beside it"
    assert view.winner.gain.estimate == pytest.approx(4.0, rel=0.01)
    wasteful = next(t for t in view.trials.values() if t.candidate == FASTEST)
    assert wasteful.state is TrialState.SLOWER
    assert wasteful.reason == "x0.50 the baseline's energy: nothing to verify"


def test_energy_that_the_device_does_not_count_is_refused_at_the_first_probe(tmp_path):
    study = study_of(tmp_path, Objective.energy, World())
    with pytest.raises(HardwareError, match=r"objective=energy needs a device whose energy NVML counts, but "):
        study.run()
    assert study.of_kind(ev.Trained) == []


def test_energy_that_one_probe_lacks_fails_that_trial_alone(tmp_path):
    def altered(request: Request, result: object) -> object:
        result = with_energy(request, result)
        if isinstance(result, Probe) and request.candidate == FRUGAL:
            return replace(result, conditions=())
        return result

    view = study_of(tmp_path, Objective.energy, World(altered=altered)).run().view
    [failed] = [t for t in view.trials.values() if t.failure is not None]
    assert (failed.candidate, failed.failure.kind) == (FRUGAL, FailureKind.UNSUPPORTED)
    assert failed.state is TrialState.FAILED


def test_memory_is_compared_within_each_process(tmp_path):
    def altered(request: Request, result: object) -> object:
        if not isinstance(result, Probe):
            return result
        used = 100.0 if request.candidate == FRUGAL else 400.0
        return replace(result, peak_memory_mb=used, baseline_peak_memory_mb=300.0)

    view = study_of(tmp_path, Objective.memory, World(altered=altered)).run().view
    assert view.winner.candidate == FRUGAL
    gain = view.winner.confirmation.gain
    assert (gain.estimate, gain.low, gain.high, gain.n) == (
        pytest.approx(3.0),
        pytest.approx(3.0),
        pytest.approx(3.0),
        3,
    )


def learns(reaches: dict[Candidate, int]) -> World:
    """Three epochs of equal length; a candidate's metric is the final one from a given epoch on, 0.1 before it."""

    def altered(request: Request, result: object) -> object:
        if not isinstance(result, TrainingRun):
            return result
        epoch_s, first = result.train_s / 3, reaches.get(request.candidate, 1)
        curve = tuple(
            EpochPoint(n, 1.0, result.metric if n >= first else 0.1, n * epoch_s * (1 + 1e-4 * request.seed))
            for n in (1, 2, 3)
        )
        return replace(result, curve=curve)

    return World(altered=altered)


def test_time_to_accuracy_prefers_what_learns_sooner_over_what_steps_faster(tmp_path):
    late = {FASTEST: 3, Candidate(F32, 32, Xla.AUTO, WIDTHS): 2}
    study = study_of(tmp_path, Objective.time_to_accuracy, learns(late)).run()
    view = study.view
    fastest = next(t for t in view.trials.values() if t.candidate == FASTEST)
    assert fastest.speedup.estimate > view.winner.speedup.estimate
    assert fastest.gain.estimate < view.winner.gain.estimate
    confirmed = view.winner.confirmation
    assert (confirmed.objective, confirmed.verdict) == ("time_to_accuracy", TimingVerdict.FASTER)
    reached = confirmed.time_to_accuracy
    assert confirmed.gain == reached.ratio
    assert len(reached.candidate_s) == len(reached.baseline_s) == 3
    assert all(
        run.recipe.evaluations == run.recipe.epochs for t in view.trials.values() for g in t.runs.values() for run in g
    )


def test_one_that_never_reaches_float32s_accuracy_does_not_pass(tmp_path):
    world = learns({})
    inner = world.altered

    def altered(request: Request, result: object) -> object:
        result = inner(request, result)
        unseen = isinstance(result, TrainingRun) and request.candidate == FASTEST and request.seed == 1
        return replace(result, curve=()) if unseen else result

    world.altered = altered
    view = study_of(tmp_path, Objective.time_to_accuracy, world).run().view
    fastest = next(t for t in view.trials.values() if t.candidate == FASTEST)
    assert fastest.state is TrialState.REJECTED
    assert fastest.reason.endswith("it did not reach float32's accuracy, less the margin, on every seed")
    assert view.winner.candidate != FASTEST


def test_throughput_tells_the_time_to_accuracy_too(tmp_path):
    confirmed = study_of(tmp_path, Objective.throughput, learns({})).run().view.winner.confirmation
    assert (confirmed.objective, confirmed.gain) == ("throughput", confirmed.speedup)
    assert confirmed.time_to_accuracy.ratio.estimate == pytest.approx(confirmed.speedup.estimate, rel=0.05)
    assert confirmed.epoch_s < confirmed.baseline_epoch_s


@pytest.mark.parametrize(("loses", "wins"), [(0.02, True), (0.06, False)])
def test_a_relative_margin_is_a_share_of_float32s_own_metric(tmp_path, loses: float, wins: bool):
    """5 % of about 0.8 is 0.04: twenty points of a thousand are within, sixty are not."""
    config = config_of(finalists=1)
    config.constraint.relative, config.constraint.margin = True, 0.05
    view = FakeStudy(tmp_path, config, World(loss=lambda c: loses)).run().view
    assert (view.decided.winner != ev.BASELINE_TRIAL) is wins
    if wins:
        verdict = view.winner.confirmation.accuracy
        assert verdict.relative_margin == 0.05
        assert verdict.margin == pytest.approx(0.04, rel=0.02)
        assert view.winner.accuracy.margin == pytest.approx(0.04, rel=0.02)


def test_a_relative_margin_works_downwards_too(tmp_path):
    config = config_of(finalists=1)
    config.constraint.direction, config.constraint.metric = Direction.lower, "loss"
    config.constraint.relative, config.constraint.margin = True, 0.05
    view = FakeStudy(tmp_path, config, World(loss=lambda c: 0.02)).run().view
    assert view.winner.confirmation.accuracy.delta.estimate == pytest.approx(-0.02, abs=0.002)
    assert view.winner.confirmation.succeeded


def test_the_stage_of_a_request_tells_how_exactly_it_is_timed(tmp_path):
    study = study_of(tmp_path, Objective.throughput, World()).run()
    stages = {request.stage for request in study.executor.requests if request.operation == "probe"}
    assert stages >= {Stage.BASELINE, Stage.SCREEN, Stage.CONFIRM}


def test_what_steps_slower_may_still_learn_sooner(tmp_path):
    """No step is faster than the baseline's, but one candidate is there in a third of its time."""
    world = learns({Candidate(F32, 32, Xla.AUTO, WIDTHS): 3, FRUGAL: 1})
    world.speed = lambda c: 1.0 if c.xla is Xla.AUTO else 0.95
    view = study_of(tmp_path, Objective.time_to_accuracy, world, max_batch_factor=2).run().view
    assert view.winner.confirmation.speedup.estimate < 1
    assert view.winner.confirmation.gain.estimate == pytest.approx(3 * 0.95, rel=0.05)


def test_what_takes_longer_to_the_same_accuracy_is_slower_and_not_confirmed(tmp_path):
    world = learns({Candidate(F32, 32, Xla.AUTO, WIDTHS): 2})
    world.speed = lambda c: 1.0 if c.xla is Xla.AUTO else 0.4
    view = study_of(tmp_path, Objective.time_to_accuracy, world, max_batch_factor=2).run().view
    assert view.decided.winner == ev.BASELINE_TRIAL
    assert view.confirmations == []
    assert {trial.state for trial in view.trials.values() if not trial.is_baseline} == {TrialState.SLOWER}


def test_a_pair_whose_worker_was_lost_on_the_way_is_made_whole(tmp_path):
    """A crash between its two trainings: the baseline is trained once more beside the candidate."""
    world, lost = learns({}), []
    inner = world.altered

    def altered(request: Request, result: object) -> object:
        result = inner(request, result)
        if isinstance(result, TrainingRun) and request.of_baseline and request.stage is Stage.CONFIRM and not lost:
            lost.append(request)
            return replace(result, worker=result.worker + 100)
        return result

    world.altered = altered
    study = study_of(tmp_path, Objective.time_to_accuracy, world).run()
    assert lost
    assert study.view.winner.confirmation.time_to_accuracy.ratio.n == 3


def test_trainings_that_are_compared_in_time_are_neighbours_in_time(tmp_path):
    """The machine is twice as fast from the second finalist on; the baseline is trained again beside it."""
    world = learns({FASTEST: 1})
    world.noise = lambda c, seed: -0.05 if c == FASTEST and seed >= 1000 else 0.0
    config = config_of(finalists=2)
    config.objective.name = Objective.time_to_accuracy
    study = FakeStudy(tmp_path, config, world)
    study.run()
    first, second = study.view.confirmations
    assert not first.succeeded
    trained = study.of_kind(ev.Trained, Stage.CONFIRM)
    of_baseline = [e.run for e in trained if e.trial == ev.BASELINE_TRIAL]
    of_second = [e.run for e in trained if e.trial == second.trial]
    assert [run.worker for run in of_second] == [run.worker for run in of_baseline[-len(of_second) :]]
    assert len({run.worker for run in of_second}) == 3, "in three processes, lest all be of one moment"


def test_times_of_trainings_minutes_apart_are_not_told_as_a_pair(tmp_path):
    """For throughput the baseline's accuracy is used again, but not its wall clock."""
    world = learns({})
    world.noise = lambda c, seed: -0.05 if c == FASTEST and seed >= 1000 else 1e-4 * (seed % 3)
    study = FakeStudy(tmp_path, config_of(finalists=2), world).run()
    first, second = study.view.confirmations
    assert first.epoch_s is not None
    assert second.succeeded
    assert (second.epoch_s, second.baseline_epoch_s, second.time_to_accuracy) == (None, None, None)


def test_a_share_of_nothing_is_no_margin(tmp_path):
    config = config_of(finalists=1)
    config.constraint.relative, config.constraint.margin = True, 0.05

    def altered(request: Request, result: object) -> object:
        return replace(result, metric=0.0) if isinstance(result, TrainingRun) else result

    with pytest.raises(BaselineUnusableError, match=r"accuracy is 0, of which no share is a margin: set constraint"):
        FakeStudy(tmp_path, config, World(altered=altered)).run()


def test_a_baseline_that_guesses_is_said_to_have_learned_nothing(tmp_path):
    """Of ten classes: 0.10 is guessing, 0.8 is not."""
    assert FakeStudy(tmp_path / "learns", config_of(finalists=1)).run().notes("chance") == []
    [text] = FakeStudy(tmp_path / "guesses", config_of(finalists=1), World(metric=0.1)).run().notes("chance")
    assert "where guessing gives 10.0 %: at this recipe nothing is learned" in text


def test_a_baseline_whose_error_is_that_of_guessing_is_said_to_have_learned_nothing(tmp_path):
    config = config_of(finalists=1)
    config.constraint.metric, config.constraint.direction = "error", Direction.lower
    assert FakeStudy(tmp_path / "learns", config, World(metric=0.2)).run().notes("chance") == []
    [text] = FakeStudy(tmp_path / "guesses", config, World(metric=0.9)).run().notes("chance")
    assert "where guessing gives 90.0 %: at this recipe nothing is learned" in text


@pytest.mark.parametrize(
    ("direction", "metric", "majority", "said"),
    [
        (Direction.higher, 0.95, 0.95, "answering the most frequent class gives 95.0 %"),
        (Direction.lower, 0.05, 0.95, "answering the most frequent class gives 5.0 %"),
        (Direction.higher, 0.98, 0.95, None),
        (Direction.higher, 0.997, 0.99, None),  # most of the little that there is to learn
    ],
)
def test_the_most_frequent_class_is_what_learning_has_to_beat(tmp_path, direction, metric, majority, said):
    config = config_of(finalists=1)
    config.constraint.metric = "accuracy" if direction is Direction.higher else "error"
    config.constraint.direction = direction
    study = FakeStudy(tmp_path, config, World(metric=metric), replace(DATA, num_classes=2, majority=majority)).run()
    assert [said in text for text in study.notes("chance")] == ([] if said is None else [True])


def test_a_metric_that_is_one_value_whatever_was_trained_is_no_agreement_of_the_seeds(tmp_path):
    """A regression on a softmax over one unit, or a metric that looks at something else; nobody knows its chance."""

    def same(request: Request, result: object) -> object:
        return replace(result, metric=0.25) if isinstance(result, TrainingRun) else result

    config = config_of(finalists=1)
    config.constraint.metric, config.constraint.direction = "own", Direction.lower
    assert FakeStudy(tmp_path / "learns", config).run().notes("chance") == []
    assert FakeStudy(tmp_path / "over time", config, World(altered=same, lag=lambda _: 0.0)).run().notes("chance") == []
    [text] = FakeStudy(tmp_path / "constant", config, World(altered=same)).run().notes("chance")
    assert text.startswith("float32's own is 0.25 at every evaluation of 3 seeds: either nothing is learned or")


@pytest.mark.parametrize(
    ("permuted", "told"), [(None, True), (0.0, True), (1e-12, True), (0.6, False), (-0.6, False)], ids=str
)
def test_a_metric_that_tells_targets_apart_may_be_at_its_best_from_the_first_evaluation_on(tmp_path, permuted, told):
    """No error is left. Other examples' targets are the test: a constant is 0 for them too."""

    def perfect(request: Request, result: object) -> object:
        return replace(result, metric=0.0, permuted=permuted) if isinstance(result, TrainingRun) else result

    config = config_of(finalists=1)
    config.constraint.metric, config.constraint.direction = "own", Direction.lower
    study = FakeStudy(tmp_path, config, World(altered=perfect)).run()
    assert bool(study.notes("chance")) == told


def test_memory_that_the_device_does_not_report_is_refused_at_the_first_probe(tmp_path):
    def altered(request: Request, result: object) -> object:
        return replace(result, peak_memory_mb=None) if isinstance(result, Probe) else result

    with pytest.raises(HardwareError, match="objective=memory needs a device whose peak memory is reported"):
        study_of(tmp_path, Objective.memory, World(altered=altered)).run()
