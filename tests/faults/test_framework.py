"""What the framework itself does to a study: true crashes, true lacks of memory, true divergence, in real studies."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from autotune.record import events as ev
from autotune.record.lines import FILE_NAME, read
from autotune.record.view import StudyView
from autotune.trial import Failure, FailureKind, Stage, TrialState
from tests.end_to_end.person import TRUST, Person
from tests.faults.troubled import NET

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(600)]

STUDY = (
    *TRUST,
    *("--config-dir", "my_conf", "model=my_net", "data=clusters", "train=adam", "tracking=off", "output.name=mine"),
    *("train.batch_size=16", "train.learning_rate=0.005", "train.examples=384", "train.epochs=2"),
    *("search.budget=null", "search.trials=20", "search.finalists=2", "search.steps_per_execution=[1]"),
    "search.trial_timeout_s=25",
    *("search.timing.processes=1", "search.timing.min_pairs=6", "search.timing.max_pairs=6"),
    *("search.timing.block_s=0.02", "search.timing.max_s=1", "search.timing.screen_max_s=0.3"),
    "search.timing.pipeline=false",
)


@dataclass(frozen=True)
class Finished:
    """A study that has come to its end."""

    folder: Path
    status: int

    @property
    def events(self) -> list[ev.Event]:
        return list(read(self.folder / FILE_NAME))

    @property
    def view(self) -> StudyView:
        return StudyView.of(self.events)

    def failures(self, stage: Stage) -> dict[tuple[str, str, int], Failure]:
        """By policy, XLA and batch."""
        found = [e for e in self.events if isinstance(e, ev.TrialFailed) and e.stage is stage]
        return {(e.candidate.policy.name, e.candidate.xla.value, e.candidate.batch_size): e.failure for e in found}


def finished(folder: Path, *arguments: str) -> Finished:
    person = Person(folder)
    (folder / "models" / "net.py").write_text(textwrap.dedent(NET), encoding="utf-8")
    with person.start("-m", "autotune", *STUDY, *arguments) as process:
        out, err = process.communicate(timeout=500)
    assert process.returncode in (0, 3), f"{out}\n{err}"
    assert err == ""
    assert person.running() == []
    found = Finished(folder / "outputs" / "mine", process.returncode)
    assert found.view.decided is not None
    assert (found.folder / "report" / "summary.md").is_file()
    return found


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Each batch meets another fault in float32."""
    options = ("search.policies=[float32]", "search.xla=[false]", "search.batch_sizes=[16,20,24,28,32,40,64]")
    return finished(tmp_path_factory.mktemp("shapes"), *options)


@pytest.mark.parametrize(
    ("batch", "kind", "said"),
    [
        (20, FailureKind.CRASH, "the worker died of SIGSEGV during probe"),
        (24, FailureKind.OOM, "ResourceExhaustedError"),
        (28, FailureKind.NAN, "the loss was not finite"),
        (32, FailureKind.INVALID, ""),
        (40, FailureKind.TIMEOUT, "probe ran past its time limit of 25 s"),
    ],
)
def test_a_fault_of_the_framework_is_typed_and_costs_its_candidate(
    shapes: Finished, batch: int, kind: FailureKind, said: str
) -> None:
    failure = shapes.failures(Stage.SCREEN)["float32", "off", batch]
    assert failure.kind is kind, failure
    assert said in failure.message


def test_the_candidate_without_a_fault_has_its_result(shapes: Finished) -> None:
    assert set(shapes.failures(Stage.SCREEN)) == {("float32", "off", batch) for batch in (20, 24, 28, 32, 40)}
    [other] = [t for t in shapes.view.trials.values() if not t.is_baseline and t.state is not TrialState.FAILED]
    assert other.candidate.batch_size == 64
    assert other.deltas
    assert shapes.view.exported is not None


@pytest.fixture(scope="module")
def precisions(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Where oneDNN is held to AVX2, TensorFlow 2.21 aborts in a bfloat16 product."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
        patch.setenv("TF_ENABLE_ONEDNN_OPTS", "1")
        options = ("search.policies=[float32,mixed_bfloat16,mixed_float16]", "search.batch_sizes=[48]")
        return finished(tmp_path_factory.mktemp("precisions"), *options, "search.verify=all")


def test_an_abort_of_the_framework_is_a_crash_and_no_other_policys(precisions: Finished) -> None:
    found = {key: failure for key, failure in precisions.failures(Stage.SCREEN).items() if key[0] == "mixed_bfloat16"}
    if not found:
        pytest.skip("this TensorFlow does not abort here")
    assert {failure.kind for failure in found.values()} == {FailureKind.CRASH}
    assert all("died of SIGABRT" in failure.message for failure in found.values())
    measured = [e.probe.candidate.policy.name for e in precisions.events if isinstance(e, ev.Probed)]
    assert "mixed_float16" in measured


def test_what_xla_cannot_compile_fails_with_it_alone(precisions: Finished) -> None:
    found = precisions.failures(Stage.SCREEN)
    assert found["float32", "on", 48].kind is FailureKind.COMPILE
    assert ("float32", "off", 48) not in found


def test_a_loss_scale_that_collapses_is_a_failure_although_the_metric_looks_fine(precisions: Finished) -> None:
    found = precisions.failures(Stage.VERIFY)
    assert found["mixed_float16", "off", 48].kind is FailureKind.NAN
    assert "loss-scale collapse" in found["mixed_float16", "off", 48].message
