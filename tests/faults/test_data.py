"""Data that are damaged, that change or that disappear while a study runs."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from autotune.record import events as ev
from autotune.trial import FailureKind
from tests.end_to_end.person import Person
from tests.faults.planned import Planned
from tests.faults.rehearsed import Rehearsed, hang, told

pytestmark = pytest.mark.slow

SOURCE = """
    from pathlib import Path

    import numpy as np

    def load(*, seed, spread):
        loads = Path("loads")
        number = len(loads.read_text()) if loads.exists() else 0
        loads.write_text("x" * (number + 1))
        if number == {bad}:
            {what}
        rng = np.random.default_rng({seed})
        centres = rng.normal(size=(4, 32))

        def part(n):
            y = rng.integers(0, 4, n)
            return (centres[y] + spread * rng.normal(size=(n, 32))).astype("float32"), y

        return part(800), part(300)
    """


def moody(person: Person, bad: int, what: str) -> None:
    """The person's data source does something else when a worker loads it for the time that is counted."""
    text = textwrap.dedent(SOURCE).format(bad=bad, what=what, seed=f"8 if number == {bad} else 7")
    (person.folder / "clusters.py").write_text(text.lstrip(), encoding="utf-8")


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("pass", "changed while the study ran"),
        pytest.param(
            "raise FileNotFoundError('no such share')", "the data could not be loaded again: ", marks=pytest.mark.long
        ),
    ],
)
def test_data_that_one_worker_cannot_have_cost_what_it_was_to_measure(
    person: Person, undisturbed: Rehearsed, what: str, said: str
) -> None:
    """The first worker is killed, the second finds other data, the third finds the first one's."""
    moody(person, 1, what)
    study = Rehearsed(person)
    study.plan([Planned("probe.screen", "sigkill", batch=32, times=1)])
    assert study.run().returncode == 0
    [failed] = [event for event in study.events if isinstance(event, ev.TrialFailed)]
    assert (failed.candidate.batch_size, failed.failure.kind) == (32, FailureKind.INVALID)
    assert said in failed.failure.message
    assert study.winner == undisturbed.winner
    assert len(told(study.events)) > len(told(undisturbed.events)) / 2


@pytest.mark.long
def test_a_study_is_not_resumed_on_other_data(person: Person) -> None:
    moody(person, 1, "pass")
    study = Rehearsed(person)
    process = hang(study, "train.baseline")
    process.kill()
    process.communicate()
    study.assert_nothing_runs()
    study.plan([])
    done = study.run("study.resume=true", "study.accept_changes=true")
    assert done.returncode == 2
    assert "the data was" in done.stderr
    assert study.run("study.resume=true", "study.accept_changes=true").returncode == 0, "the data are back"


@pytest.mark.parametrize("kept", [0.5, *(pytest.param(kept, marks=pytest.mark.long) for kept in (0.0, 0.999))])
def test_a_damaged_file_is_one_line_and_leaves_nothing(person: Person, kept: float) -> None:
    path = person.folder / "arrays.npz"
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 32)).astype("float32")
    np.savez(path, x_train=x, y_train=np.arange(600) % 4, x_test=x + 1, y_test=np.arange(600) % 4)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole))])
    study = Rehearsed(person)
    done = study.run("data=npz", "data.args.path=arrays.npz")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "arrays.npz" in done.stderr
    assert not study.folder.exists()
