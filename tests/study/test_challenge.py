"""Candidates that screening cannot tell apart meet in one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from autotune.config.search import Verify
from autotune.record import events as ev
from autotune.trial import Candidate, FailureKind, Probe, Stage, TimingVerdict, TrialState, Xla
from tests.study.fake_executor import BF16, WIDTHS, FakeStudy, Request, World, config_of, fault

PLAIN, TUNED = Candidate(BF16, 64, Xla.OFF, WIDTHS, 1), Candidate(BF16, 64, Xla.ON, WIDTHS, 8)
_PAIRS = 12


def world_of(speeds: dict[Candidate, float], screened: dict[Candidate, float], **more: object) -> World:
    """True speeds, and the point estimates that screening happens to see, with wide intervals; the rest is slow."""

    def speed(candidate: Candidate) -> float:
        return 1.0 if candidate.xla is Xla.AUTO else speeds.get(candidate, 0.5)

    def altered(request: Request, result: object) -> object:
        if not isinstance(result, Probe) or request.stage is not Stage.SCREEN or request.candidate not in screened:
            return result
        centre = 2.0 * request.candidate.batch_size / 32 / screened[request.candidate]
        wide = tuple(centre * (1.06 if n % 2 else 0.94) for n in range(_PAIRS))
        return replace(result, block_step_ms=wide, baseline_step_ms=(2.0,) * _PAIRS)

    return World(speed=speed, altered=altered, **more)


def compared(study: FakeStudy) -> list[tuple[Candidate, Candidate, TimingVerdict, Candidate]]:
    trials = study.view.trials
    return [
        (trials[found.trial].candidate, trials[found.other].candidate, found.verdict, trials[found.preferred].candidate)
        for found in study.view.comparisons
    ]


def test_the_one_that_is_really_faster_is_confirmed_whatever_screening_saw(tmp_path):
    world = world_of({PLAIN: 1.5, TUNED: 1.65}, {PLAIN: 1.60, TUNED: 1.55})
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    assert compared(study) == [(TUNED, PLAIN, TimingVerdict.FASTER, TUNED)]
    assert study.view.winner.candidate == TUNED
    assert [c.candidate for c in study.view.confirmations] == [TUNED]


def test_equals_give_the_simpler_one_whichever_screening_put_first(tmp_path):
    for name, screened in {"a": {PLAIN: 1.62, TUNED: 1.50}, "b": {PLAIN: 1.50, TUNED: 1.62}}.items():
        study = FakeStudy(tmp_path / name, config_of(finalists=1), world_of({PLAIN: 1.56, TUNED: 1.56}, screened)).run()
        [(_, _, verdict, chosen)] = compared(study)
        assert verdict in (TimingVerdict.SAME, TimingVerdict.UNCLEAR)
        assert chosen == study.view.winner.candidate == PLAIN


def test_a_preferred_one_that_is_less_accurate_gives_the_leader_back(tmp_path):
    loss: Callable[[Candidate], float] = lambda c: 0.05 if c == PLAIN else 0.0  # noqa: E731
    world = world_of({PLAIN: 1.56, TUNED: 1.56}, {PLAIN: 1.50, TUNED: 1.62}, loss=loss)
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    view = study.view
    assert [chosen for *_, chosen in compared(study)] == [PLAIN]
    assert view.winner.candidate == TUNED
    assert next(t for t in view.trials.values() if t.candidate == PLAIN).state is TrialState.REJECTED


def test_what_screening_told_apart_is_not_compared_again(tmp_path):
    world = world_of({PLAIN: 1.3, TUNED: 1.8}, {PLAIN: 1.3, TUNED: 1.8})
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    assert study.view.comparisons == []
    assert study.view.winner.candidate == TUNED


def test_a_comparison_that_fails_leaves_the_leader_and_is_no_failure_of_either(tmp_path):
    world = world_of({PLAIN: 1.5, TUNED: 1.65}, {PLAIN: 1.62, TUNED: 1.55})
    world.fault = lambda r: fault(FailureKind.CRASH) if r.operation == "probe" and r.stage is Stage.VERIFY else None
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    assert study.view.comparisons == []
    assert study.view.winner.candidate == PLAIN
    assert study.of_kind(ev.TrialFailed) == []
    [text] = study.notes("comparison")
    assert "could not be timed against trial" in text
    assert "crash: a made-up crash" in text


def test_two_that_do_not_fit_into_memory_together_do_not_meet(tmp_path):
    world = world_of({PLAIN: 1.5, TUNED: 1.65}, {PLAIN: 1.62, TUNED: 1.55})
    inner = world.altered

    def altered(request: Request, result: object) -> object:
        result = inner(request, result)
        apart = isinstance(result, Probe) and request.candidate == TUNED
        return replace(result, apart_pairs=(4, 4, 4)) if apart else result

    world.altered = altered
    study = FakeStudy(tmp_path, config_of(finalists=1), world).run()
    assert study.view.comparisons == []


def test_with_verify_all_those_that_passed_meet_too(tmp_path):
    world = world_of({PLAIN: 1.56, TUNED: 1.56}, {PLAIN: 1.50, TUNED: 1.62})
    study = FakeStudy(tmp_path, config_of(finalists=1, verify=Verify.all), world).run()
    assert [chosen for *_, chosen in compared(study)] == [PLAIN]
    assert study.view.winner.candidate == PLAIN
