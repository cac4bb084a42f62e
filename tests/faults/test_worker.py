"""A worker that goes wrong at every stage of a study, in every way: whole studies, real processes, made-up figures."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from autotune.record import events as ev
from autotune.trial import Failure, FailureKind, Stage, TrialState
from autotune.worker.log import MOST_BYTES
from tests.end_to_end.person import Person
from tests.faults.planned import Planned, met
from tests.faults.rehearsed import Rehearsed, told

pytestmark = pytest.mark.slow

LATER_PLACES = (
    "probe.baseline",
    "train.baseline",
    "probe.screen",
    "train.verify",
    "probe.confirm",
    "train.confirm",
    "inspect",
    "evaluate",
    "export",
)
"""Operations of the study's own worker that follow its start, with their stages."""

KINDS = {
    "sigsegv": (FailureKind.CRASH, "died of SIGSEGV"),
    "sigabrt": (FailureKind.CRASH, "died of SIGABRT"),
    "sigbus": (FailureKind.CRASH, "died of SIGBUS"),
    "sigfpe": (FailureKind.CRASH, "died of SIGFPE"),
    "sigkill": (FailureKind.CRASH, "died of SIGKILL"),
    "exits_with_0": (FailureKind.CRASH, "ended with status 0"),
    "exits_with_3": (FailureKind.CRASH, "ended with status 3"),
    "raises": (FailureKind.INVALID, "RuntimeError: a person's own code failed"),
    "raises_not_implemented": (FailureKind.UNSUPPORTED, "no such kernel"),
    "sleeps": (FailureKind.TIMEOUT, "2 s; search.trial_timeout_s raises it"),
    "stops": (FailureKind.TIMEOUT, "2 s; search.trial_timeout_s raises it"),
    "holds_the_interpreter": (FailureKind.TIMEOUT, "2 s; search.trial_timeout_s raises it"),
    "ignores_signals": (FailureKind.TIMEOUT, "2 s; search.trial_timeout_s raises it"),
    "babbles": (FailureKind.CRASH, "wrote what is no answer"),
    "writes_without_an_end": (FailureKind.CRASH, "a line without an end"),
    "closes_its_pipes": (FailureKind.CRASH, "closed its pipe"),
    "answers_another_shape": (FailureKind.CRASH, "is no "),
    "answers_nan": (FailureKind.INVALID, "cannot be sent"),
    "leaves_processes_and_dies": (FailureKind.CRASH, "died of SIGSEGV"),
    "raises_memory_error": (FailureKind.OOM, "Unable to allocate 2.00 EiB"),  # the last: what is larger is timed apart
}
"""Each kind of fault with the failure that it is told as."""

SOME = ("sigkill", "exits_with_0", "raises", "stops", "babbles", "leaves_processes_and_dies", "raises_memory_error")
"""For stages in which a fault is handled by the same code, whatever it is."""

FINE = 128
"""The largest batch, and the fastest: its candidate meets no fault."""


def batches_of(kinds: Iterable[str]) -> dict[str, int]:
    """Each kind of fault has a candidate of its own."""
    return dict(zip(kinds, range(20, FINE, 4), strict=False))


def space_of(batches: dict[str, int]) -> tuple[str, ...]:
    return (
        f"search.batch_sizes={[16, *batches.values(), FINE]}".replace(" ", ""),
        f"search.trials={len(batches) + 1}",
        f"search.finalists={len(batches) + 1}",
        "search.verify=all",
    )


@pytest.mark.parametrize(
    ("start", "kinds"),
    [
        ("start", ("sigkill", "sigsegv")),
        pytest.param("prepare", ("closes_its_pipes", "babbles", "sigabrt"), marks=pytest.mark.long),
    ],
)
def test_a_worker_that_dies_once_at_every_place_changes_nothing_that_is_found(
    person: Person, undisturbed: Rehearsed, start: str, kinds: tuple[str, ...]
) -> None:
    """Importing the framework and finding the builder are one request of the study's, which is made twice at most."""
    study = Rehearsed(person)
    places = ("open", start, *LATER_PLACES)
    faults = [Planned(place, kinds[n % len(kinds)], times=1) for n, place in enumerate(places)]
    study.plan(faults)
    assert study.run().returncode == 0
    assert met(person.folder) == faults
    assert told(study.events) == told(undisturbed.events)
    assert len(study.notes("retry")) == len(faults)


@pytest.mark.parametrize(
    ("place", "stage", "kinds"),
    [
        ("probe.screen", Stage.SCREEN, SOME),
        pytest.param("probe.screen", Stage.SCREEN, tuple(KINDS), marks=pytest.mark.long),
        pytest.param("train.verify", Stage.VERIFY, SOME, marks=pytest.mark.long),
    ],
)
def test_each_candidate_meets_another_fault_and_the_one_that_meets_none_wins(
    person: Person, place: str, stage: Stage, kinds: tuple[str, ...]
) -> None:
    batches = batches_of(kinds)
    study = Rehearsed(person, space_of(batches))
    study.plan(Planned(place, kind, batch) for kind, batch in batches.items())
    assert study.run().returncode == 0
    study.assert_reported()
    assert study.winner.batch_size == FINE
    failed = {e.candidate.batch_size: e.failure for e in study.events if isinstance(e, ev.TrialFailed)}
    assert_told(failed, batches)
    assert {trial.candidate.batch_size for trial in study.view.trials.values() if trial.state is TrialState.FAILED} == {
        *batches.values()
    }


@pytest.mark.long
def test_each_finalist_meets_another_fault_and_float32_stays(person: Person) -> None:
    """A failure uses none of the error level, so every finalist has its turn."""
    batches = batches_of(SOME)
    study = Rehearsed(person, space_of(batches))
    places = ("probe.confirm", "train.confirm")
    faults = [Planned(places[n % 2], kind, batch) for n, (kind, batch) in enumerate(batches.items())]
    study.plan([*faults, Planned("probe.confirm", "raises", FINE)])
    assert study.run().returncode == 3
    study.assert_reported()
    found = {c.candidate.batch_size: c.failure for c in study.view.confirmations if c.failure is not None}
    assert found.pop(FINE).kind is FailureKind.INVALID
    assert_told(found, batches)
    assert study.view.exported is not None
    assert study.view.exported.trial == ev.BASELINE_TRIAL


def assert_told(failed: dict[int, Failure], batches: dict[str, int]) -> None:
    """Each kind is told as what it was."""
    assert set(failed) == set(batches.values())
    for kind, batch in batches.items():
        wanted, text = KINDS[kind]
        assert failed[batch].kind is wanted, (kind, failed[batch])
        assert text in failed[batch].message, (kind, failed[batch])


@pytest.mark.parametrize(
    ("place", "kind", "status", "said"),
    [
        ("open", "sigkill", 1, "the worker does not start: the worker died of SIGKILL during open"),
        pytest.param(
            *("start", "sigsegv", 1, "the worker does not start: the worker died of SIGSEGV during start"),
            marks=pytest.mark.long,
        ),
        pytest.param(
            *("prepare", "exits_with_3", 1, "the worker does not start: the worker ended with status 3 during prepare"),
            marks=pytest.mark.long,
        ),
        ("probe.baseline", "sigabrt", 2, "the float32 baseline cannot be used: crash: the worker died of SIGABRT"),
        pytest.param(
            *("probe.baseline", "sleeps", 2, "the float32 baseline cannot be used: timeout: probe ran past its time"),
            marks=pytest.mark.long,
        ),
        ("train.baseline", "raises_memory_error", 2, "the float32 baseline cannot be used (seed 0): oom: "),
        pytest.param(
            *("train.baseline", "stops", 2, "the float32 baseline cannot be used (seed 0): timeout: train "),
            marks=pytest.mark.long,
        ),
    ],
)
def test_without_a_baseline_there_is_no_study_and_one_line_says_why(
    person: Person, place: str, kind: str, status: int, said: str
) -> None:
    study = Rehearsed(person)
    study.plan([Planned(place, kind)])
    done = study.run()
    assert done.returncode == status
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert person.changed() == set()


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("evaluate", "sigsegv"),
        pytest.param("export", "sleeps", marks=pytest.mark.long),
        pytest.param("reload", "stops", marks=pytest.mark.long),
    ],
)
def test_a_fault_during_the_export_costs_the_export_and_not_the_answer(
    person: Person, undisturbed: Rehearsed, place: str, kind: str
) -> None:
    study = Rehearsed(person)
    study.plan([Planned(place, kind)])
    assert study.run().returncode == 0
    study.assert_reported()
    assert study.winner == undisturbed.winner
    [note] = study.notes("export")
    assert note.startswith("the export is not complete: ")
    assert study.view.exported is None


@pytest.mark.parametrize(
    "kind",
    [
        "sigkill",
        pytest.param("raises_memory_error", marks=pytest.mark.long),
        pytest.param("sleeps", marks=pytest.mark.long),
    ],
)
def test_a_model_that_cannot_be_taken_apart_costs_nothing_but_its_explanation(
    person: Person, undisturbed: Rehearsed, kind: str
) -> None:
    study = Rehearsed(person)
    study.plan([Planned("inspect", kind)])
    assert study.run().returncode == 0
    study.assert_reported()
    assert study.winner == undisturbed.winner
    assert study.view.exported is not None
    assert study.view.inspected is not None
    assert study.view.inspected.anatomy is None
    assert KINDS[kind][1] in str(study.view.inspected.failure)


@pytest.mark.long
def test_the_very_command_makes_up_for_an_export_that_failed(person: Person, undisturbed: Rehearsed) -> None:
    study = Rehearsed(person)
    study.plan([Planned("export", "sigkill")])
    assert study.run().returncode == 0
    measured = len(_measured(study))
    study.plan([])
    assert study.run("study.resume=true").returncode == 0
    assert len(_measured(study)) == measured
    assert told(study.events) == told(undisturbed.events)


def _measured(study: Rehearsed) -> list[ev.Event]:
    return [event for event in study.events if isinstance(event, (ev.Probed, ev.Trained))]


def test_a_metric_that_fails_on_one_candidate_costs_that_candidate(person: Person) -> None:
    """It did its work on the baseline, so it is no mistake in what was asked for."""
    study = Rehearsed(person)
    study.plan([Planned("train.verify", "raises_config_error", batch=64)])
    done = study.run()
    assert done.returncode == 0, done.stderr
    [failed] = [event for event in study.events if isinstance(event, ev.TrialFailed)]
    assert (failed.candidate.batch_size, failed.failure.kind) == (64, FailureKind.INVALID)
    assert study.winner.batch_size == 32


def test_what_a_worker_prints_forks_and_leaves_behind_harms_nothing(person: Person, undisturbed: Rehearsed) -> None:
    """A flood of output, copies of itself and processes that outlive it; at the end of the study none is there."""
    study = Rehearsed(person)
    study.plan(
        [
            Planned("train.baseline", "floods_its_log", times=1),
            Planned("probe.screen", "forks_and_both_return"),
            Planned("train.confirm", "leaves_processes", times=2),
        ]
    )
    assert study.run().returncode == 0
    assert told(study.events) == told(undisturbed.events)
    assert (study.folder / "worker.log").stat().st_size <= MOST_BYTES
