"""Finalists on new seeds and in fresh processes, with the truth known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autotune.decide.accuracy import looks
from autotune.record import events as ev
from autotune.trial import AccuracyVerdict, Candidate, FailureKind, Probe, Stage, TimingVerdict, TrialState, Xla
from tests.study.fake_executor import BF16, WIDTHS, FakeStudy, Request, World, config_of, fault, usual_speed

FRONT, SECOND = Candidate(BF16, 128, Xla.ON, WIDTHS, 8), Candidate(BF16, 128, Xla.ON, WIDTHS, 1)


def confirming(request: Request, candidate: Candidate = FRONT) -> bool:
    return request.stage is Stage.CONFIRM and request.candidate == candidate


def test_new_seeds_and_one_fresh_process_for_each_timing(tmp_path):
    study = FakeStudy(tmp_path, config_of(finalists=1)).run()
    winner = study.view.winner.number
    pairs = study.trained(Stage.CONFIRM)
    assert pairs == [(0, 1000), (winner, 1000), (0, 1001), (winner, 1001), (0, 1002), (winner, 1002)]
    timed = [probed.probe.worker for probed in study.of_kind(ev.Probed, Stage.CONFIRM)]
    assert timed == [2, 3, 4]
    [confirmation] = study.view.confirmations
    assert confirmation.accuracy.seeds == (1000, 1001, 1002)
    assert len(confirmation.per_process) == confirmation.speedup.n == 3
    earlier = {run.seed for trial in study.view.trials.values() for run in trial.runs.get(Stage.VERIFY, ())}
    assert earlier.isdisjoint(confirmation.accuracy.seeds)


def test_the_first_new_seeds_models_are_kept_and_no_others(tmp_path):
    study = FakeStudy(tmp_path, config_of(finalists=1)).run()
    winner = study.view.winner.number
    kept = [
        event.run.model_path.removeprefix(f"{tmp_path}/")
        for event in study.of_kind(ev.Trained)
        if event.run.model_path is not None
    ]
    assert kept == ["models/trial0-seed0.keras", "models/trial0-seed1000.keras", f"models/trial{winner}-seed1000.keras"]


def test_more_seeds_than_processes_go_to_the_last_process(tmp_path):
    config = config_of(finalists=1)
    config.search.timing.processes, config.constraint.seeds = 1, 4
    study = FakeStudy(tmp_path, config).run()
    runs = study.of_kind(ev.Trained, Stage.CONFIRM)
    assert {event.run.worker for event in runs} == {2}
    assert study.view.winner.confirmation.accuracy.seeds == (1000, 1001, 1002, 1003)


def test_a_front_runner_that_fails_gives_way_at_the_shared_error_level(tmp_path):
    world = World(fault=lambda r: fault(FailureKind.CRASH) if confirming(r) and r.operation == "probe" else None)
    study = FakeStudy(tmp_path, config_of(finalists=2), world).run()
    first, second = study.view.confirmations
    assert (first.candidate, first.failure.kind, first.succeeded) == (FRONT, FailureKind.CRASH, False)
    assert (second.candidate, second.succeeded) == (SECOND, True)
    assert second.accuracy.level == looks(None, 0.01)[0].level / 2
    assert study.view.decided.winner == second.trial


def test_one_finalist_has_the_whole_error_level(tmp_path):
    study = FakeStudy(tmp_path, config_of(finalists=1)).run()
    assert study.view.confirmations[0].accuracy.level == looks(None, 0.01)[0].level


def test_a_front_runner_that_was_lucky_in_the_gate_is_found_out(tmp_path):
    """On the gate's two seeds it looks as good as float32; on new ones it loses five points."""

    def noise(candidate: Candidate, seed: int) -> float:
        lucky = candidate in (FRONT, SECOND) and seed >= 1000  # the two train identically
        return -0.05 - 1e-4 * (seed % 3) if lucky else 1e-4 * (seed % 2)

    world = World(noise=noise)
    study = FakeStudy(tmp_path, config_of(finalists=2), world).run()
    first, second = study.view.confirmations
    assert study.view.trials[first.trial].state is TrialState.PASSED
    assert first.accuracy.verdict is AccuracyVerdict.FAIL
    assert first.timing is TimingVerdict.FASTER
    smaller = Candidate(BF16, 64, Xla.ON, WIDTHS, 8)
    assert (second.candidate, study.view.decided.winner) == (smaller, second.trial), "a like one would lose too"


def test_baselines_seeds_are_trained_once_for_both_finalists(tmp_path):
    world = World(fault=lambda r: fault(FailureKind.NAN) if confirming(r) and r.seed == 1002 else None)
    study = FakeStudy(tmp_path, config_of(finalists=2), world).run()
    baseline = [seed for trial, seed in study.trained(Stage.CONFIRM) if trial == ev.BASELINE_TRIAL]
    assert baseline == [1000, 1001, 1002]
    assert study.view.confirmations[0].failure.kind is FailureKind.NAN
    assert study.view.confirmations[1].succeeded


def test_a_speed_that_does_not_hold_in_fresh_processes_does_not_win(tmp_path):
    """What made it faster in the first process (a warm cache, a quiet moment) is gone in the next ones."""

    def altered(request, result):
        if confirming(request) and isinstance(result, Probe):
            factor = usual_speed(FRONT)
            return replace(result, block_step_ms=tuple(step * factor for step in result.block_step_ms))
        return result

    study = FakeStudy(tmp_path, config_of(finalists=1), World(altered=altered)).run()
    [confirmation] = study.view.confirmations
    assert confirmation.timing is TimingVerdict.SAME
    assert study.view.decided.winner == ev.BASELINE_TRIAL
    assert study.view.decided.reason.endswith("was SAME in time, and its accuracy was not judged")


def wavering(deltas: dict[int, float]) -> World:
    """Paired differences that are given by confirmation seed, and none elsewhere."""
    return World(noise=lambda c, seed: deltas.get(seed, 0.0) if c.xla is not Xla.AUTO else 0.0)


def test_an_inconclusive_first_look_is_looked_at_again(tmp_path):
    world = wavering({1000: 0.0065, 1001: -0.0065, 1002: 0.0, 1003: 0.0002})
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    [confirmation] = study.view.confirmations
    assert confirmation.accuracy.verdict is AccuracyVerdict.PASS
    assert confirmation.accuracy.seeds == (1000, 1001, 1002, 1003), "three left it open, four settle it"
    assert study.view.decided.winner == confirmation.trial


def test_the_last_look_is_the_last_and_says_how_many_seeds_would_do(tmp_path):
    world = wavering({1000: -0.009, 1001: 0.006, 1002: -0.009, 1003: 0.006, 1004: -0.009})
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    [confirmation] = study.view.confirmations
    assert confirmation.accuracy.verdict is AccuracyVerdict.INCONCLUSIVE
    assert len(confirmation.accuracy.seeds) == 5
    assert confirmation.accuracy.seeds_needed > 5
    assert study.view.decided.winner == ev.BASELINE_TRIAL
    needed = f"INCONCLUSIVE in accuracy (about {confirmation.accuracy.seeds_needed} seeds in all would decide it)"
    assert study.view.decided.reason.endswith(needed)


def test_no_further_look_where_it_could_only_say_no(tmp_path):
    world = wavering({1000: -0.030, 1001: -0.012, 1002: 0.0})
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    [confirmation] = study.view.confirmations
    assert confirmation.accuracy.verdict is AccuracyVerdict.INCONCLUSIVE
    assert len(confirmation.accuracy.seeds) == 3


def test_a_noisy_baseline_has_its_looks_further_apart(tmp_path):
    """The spread of the baseline over its seeds is 0.7 of the margin: looks at 3, 5 and 7 seeds."""
    own = {0: 0.007, 1: -0.007, 2: 0.0}
    wide = {1000: 0.006, 1001: -0.006, 1002: 0.004, 1003: -0.004, 1004: 0.0, 1005: 0.0, 1006: 0.0}
    world = World(noise=lambda c, seed: own.get(seed, 0.0) + (wide.get(seed, 0.0) if c.xla is not Xla.AUTO else 0.0))
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    [confirmation] = study.view.confirmations
    assert len(confirmation.accuracy.seeds) in (5, 7)


@pytest.mark.parametrize("seeds", [3, 5, 6])
def test_a_look_is_never_at_fewer_seeds_than_were_asked_for(tmp_path, seeds):
    config = config_of(finalists=1)
    config.constraint.seeds = seeds
    study = FakeStudy(tmp_path, config).run()
    assert len(study.view.winner.confirmation.accuracy.seeds) == seeds


def test_a_baseline_that_fails_on_a_new_seed_leaves_the_baseline(tmp_path):
    world = World(fault=lambda r: fault(FailureKind.CRASH) if r.of_baseline and r.seed == 1001 else None)
    study = FakeStudy(tmp_path, config_of(finalists=2), world).run()
    [confirmation] = study.view.confirmations
    assert (confirmation.failure.kind, confirmation.accuracy) == (FailureKind.CRASH, None)
    assert study.view.decided.winner == ev.BASELINE_TRIAL
    assert [seed for trial, seed in study.trained(Stage.CONFIRM) if trial == 0] == [1000, 1001, 1001]
    skipped = [t.reason for t in study.view.trials.values() if t.state is TrialState.SKIPPED]
    assert all(reason.endswith("float32 itself failed on seed 1001") for reason in skipped)


def test_a_baseline_that_crashes_once_is_trained_again_in_a_fresh_process(tmp_path):
    crashed: list[int] = []

    def once(request: Request) -> BaseException | None:
        if request.of_baseline and request.seed == 1001 and not crashed:
            crashed.append(1)
            return fault(FailureKind.CRASH)
        return None

    study = FakeStudy(tmp_path, config_of(finalists=1), World(fault=once)).run()
    assert study.view.winner.confirmation.succeeded
    first, second = (e for e in study.of_kind(ev.TrialStarted, Stage.CONFIRM) if (e.trial, e.seed) == (0, 1001))
    assert first == second


def test_several_processes_of_which_one_is_slower_are_told_together(tmp_path):
    """Not the worst of them alone: it was picked for being the worst."""
    seen: list[int] = []

    def altered(request, result):
        if confirming(request) and isinstance(result, Probe):
            seen.append(1)
            if len(seen) == 3:
                factor = usual_speed(FRONT) / 0.9
                return replace(result, block_step_ms=tuple(step * factor for step in result.block_step_ms))
        return result

    study = FakeStudy(tmp_path, config_of(finalists=1), World(altered=altered)).run()
    confirmation = study.view.confirmations[0]
    assert len(confirmation.per_process) == confirmation.speedup.n == 3
    assert confirmation.timing is TimingVerdict.UNCLEAR
    assert confirmation.accuracy is None, "no verdict was looked at, so none of the error level is used"


def confirmed_at(speedup: float):
    """The front-runner's step times in fresh processes, as if it had this speedup there."""

    def altered(request, result):
        if confirming(request) and isinstance(result, Probe):
            factor = usual_speed(FRONT) / speedup
            return replace(result, block_step_ms=tuple(step * factor for step in result.block_step_ms))
        return result

    return altered


def test_one_process_that_is_not_faster_ends_it_and_the_next_one_has_the_whole_level(tmp_path):
    study = FakeStudy(tmp_path, config_of(finalists=1), World(altered=confirmed_at(0.9))).run()
    first, second = study.view.confirmations
    assert (first.candidate, first.timing, first.accuracy) == (FRONT, TimingVerdict.SLOWER, None)
    assert second.accuracy.level == looks(None, 0.01)[0].level
    assert study.view.decided.winner == second.trial


def test_what_the_processes_do_not_show_to_be_faster_is_not_trained(tmp_path):
    """Whatever its accuracy, it cannot win; and the study does not go on to all that is faster by chance."""
    study = FakeStudy(tmp_path, config_of(finalists=1), World(altered=confirmed_at(1.01))).run()
    [confirmation] = study.view.confirmations
    assert (confirmation.candidate, confirmation.accuracy) == (FRONT, None)
    assert confirmation.timing is not TimingVerdict.FASTER
    assert len(confirmation.per_process) == 3
    assert study.trained(Stage.CONFIRM) == []
    second = FakeStudy(tmp_path / "2", config_of(finalists=2), World(altered=confirmed_at(1.01))).run()
    assert [found.succeeded for found in second.view.confirmations] == [False, True]


def test_a_fresh_process_that_does_not_grant_what_was_asked_is_no_confirmation(tmp_path):
    def altered(request, result):
        refused = confirming(request) and isinstance(result, Probe)
        return replace(result, effect=replace(result.effect, xla=False)) if refused else result

    study = FakeStudy(tmp_path, config_of(finalists=2), World(altered=altered)).run()
    first, second = study.view.confirmations
    assert (first.failure.kind, first.per_process) == (FailureKind.UNSUPPORTED, ())
    assert study.view.decided.winner == second.trial
