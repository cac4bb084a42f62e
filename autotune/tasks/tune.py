"""`task=tune`: a study, its export and its report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from autotune.config.schema import Config
from autotune.console import console_sink
from autotune.errors import TrackingError, TrialFault
from autotune.export.export import Register, export_winner
from autotune.interruption import finishing, held
from autotune.masking import masked
from autotune.record.clock import StudyClock
from autotune.record.events import BASELINE_TRIAL, Note, StageStarted
from autotune.record.lock import SessionLock, alone
from autotune.record.record import Record, Sink
from autotune.record.tape import Resumed
from autotune.record.view import StudyView
from autotune.report.write import write_report
from autotune.study import storage
from autotune.study.budget import Budget
from autotune.study.context import StudyContext
from autotune.study.replay import ReplayingExecutor
from autotune.study.study import run_study
from autotune.tasks.inspection import inspect_model
from autotune.tasks.resume import Earlier, begun_in_vain, check_machine, find_earlier
from autotune.tasks.session import (
    Session,
    accepted_device,
    beginning,
    claimed,
    command,
    open_record,
    started,
    study_name,
)
from autotune.tasks.warm_start import earlier_study
from autotune.tracking import names
from autotune.tracking.evidence import version_tags
from autotune.tracking.last_study import without_login
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import VARIABLE, Store, store_in_force
from autotune.tracking.warmup import imported_in_background
from autotune.trial import Stage
from autotune.worker.bare import BareWorker
from autotune.worker.protocol import RegisterArgs

FASTER, NONE_FASTER, INTERRUPTED = 0, 3, 130


def tune(config: Config) -> int:
    """Run the study and return its exit status.

    Raises:
        UserError: a person's mistake, or a baseline that cannot be used.
    """
    if config.tracking.enabled:
        store_in_force(config.tracking, Path(config.output.root))  # a wrong address, told before anything is loaded
    device = accepted_device(config)
    resumes = config.study.resume != "false"
    earlier = find_earlier(config, beginning(config, device)) if resumes else None
    if earlier is not None and earlier.finished:
        sys.stdout.write(f"the study in {earlier.folder} is finished: nothing is left to do\n")
        return _status(earlier.view)
    if earlier is not None and earlier.exported:
        return _report_alone(config, earlier)
    clock = StudyClock(earlier.elapsed_s if earlier else 0.0)
    standing_folder = earlier.folder if earlier else begun_in_vain(config)
    with claimed(config, standing_folder) as folder, SessionLock(folder.path, clock):
        resumed = earlier.resumed(command()) if earlier else None
        with (
            imported_in_background() if config.tracking.enabled else nullcontext() as importing,
            started(config, folder, device, resumed.tape.workers if resumed else 0) as session,
        ):
            if earlier is not None:
                check_machine(earlier, beginning(config, session.device), session.ready)
                session.config = earlier.planned(config)
            if importing is not None:
                importing.join()
            with _mlflow(config, earlier.started.study if earlier else study_name(folder.path)) as mlflow:
                record = open_record(session, _sinks(config, mlflow), clock, resumed)
                try:
                    return _tune(session, record, mlflow, resumed)
                finally:
                    with finishing():
                        record.close()


def _report_alone(config: Config, earlier: Earlier) -> int:
    """What a study still lacks whose session was killed between its export and its report; MLflow's is `task=sync`."""
    sys.stdout.write(f"the study in {earlier.folder} was decided and exported: its report is written now\n")
    view = earlier.view
    with alone(earlier.folder):
        write_report(view, earlier.folder / "report")
        storage.write(view, earlier.folder, config.constraint.margin)
    return _status(view)


@contextmanager
def _mlflow(config: Config, study: str) -> Iterator[MlflowSink | None]:
    """The MLflow sink with its store open: making a new database would disturb the first timed steps.

    An interruption before there is a record to close it must not leave the run running for ever.
    """
    if not config.tracking.enabled:
        yield None
        return
    sink = MlflowSink(config, study)
    try:
        with held():
            sink.start()
        sink.run_id()
        yield sink
    except BaseException:
        with suppress(TrackingError):
            sink.close()
        raise


def _sinks(config: Config, mlflow: MlflowSink | None) -> list[Sink]:
    hint = _ui_command(mlflow.store) if mlflow else "off (tracking=mlflow turns it on)"
    console = console_sink(live=config.console.live, tracking_hint=hint)
    return [console] if mlflow is None else [console, mlflow]


def _ui_command(store: Store) -> str:
    """What opens MLflow on the store, as a shell takes it, or a server's address; without credentials."""
    if store.sqlite_file is not None:
        return f"python -m autotune.viewers.ui --store {shlex.quote(str(store.sqlite_file))}"
    if store.artifacts is None:  # a server, which has a UI already
        return masked(without_login(store.uri))
    if str(store) == store.uri:
        return f"{VARIABLE}={shlex.quote(store.uri)} python -m autotune.viewers.ui"
    return f"python -m autotune.viewers.ui (with {VARIABLE} set to the store's address, which holds a secret)"


def _tune(session: Session, record: Record, mlflow: MlflowSink | None, resumed: Resumed | None) -> int:
    assert record.view.worker is not None
    context = StudyContext(
        config=session.config,
        device=session.device,
        target=session.target.profile,
        executor=ReplayingExecutor(session.executor, resumed.tape) if resumed else session.executor,
        record=record,
        budget=Budget(session.config.search.budget_s, lambda: record.elapsed_s),
        data=session.ready.data,
        worker_start_s=record.view.worker.start_s,
    )
    if session.config.search.warm_start and not (resumed and resumed.tape.began_without_earlier):
        assert record.view.started is not None
        record.append(earlier_study(session.config, record.view.started, record.path))
    interrupted = False
    try:
        run_study(context, session.ready.facts.accelerator)
        record.append(StageStarted(Stage.EXPORT, 1))
        inspect_model(session, record, resumed)
        export_winner(session.config, record, session.executor, _registrar(session, record, mlflow))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        with finishing():
            _write_views(session, record, mlflow)
            if mlflow is not None and mlflow.left_out:
                record.append(Note("tracking", f"MLflow refused: {'; '.join(mlflow.left_out)}", "warning"))
    return INTERRUPTED if interrupted else _status(record.view)


def _status(view: StudyView) -> int:
    return FASTER if view.decided is not None and view.decided.winner != BASELINE_TRIAL else NONE_FASTER


def _write_views(session: Session, record: Record, mlflow: MlflowSink | None) -> None:
    """What is made from the record alone: the report and Optuna's storage, in the run's folder and in MLflow.

    The study's answer stands without them: one that fails is noted, and the others are written.
    """
    folder = session.folder.path
    kept = {record.path.name: record.path}
    with _noted(record, "the report"):
        kept |= {f"report/{name}": path for name, path in write_report(record.view, folder / "report").items()}
    with _noted(record, "Optuna's storage"):
        storage.write(record.view, folder, session.config.constraint.margin)
    if mlflow is not None:
        with _noted(record, "what MLflow keeps"):
            exported = record.view.exported.files if record.view.exported else {}
            mlflow.log_artifacts(kept | {f"export/{name}": Path(path) for name, path in exported.items()})


@contextmanager
def _noted(record: Record, view: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # noqa: BLE001 (whatever it is, the study's answer stands)
        text = masked(f"{view} could not be written: {type(error).__name__}: {error}")
        record.append(Note("views", text, "warning"))


def _registrar(session: Session, record: Record, mlflow: MlflowSink | None) -> Register:
    """Registers the exported model with MLflow, in a worker, which has Keras; a failure is noted and no more."""

    def missed(why: str) -> None:
        record.append(Note("registry", f"the model was not registered: {masked(why)}", "warning"))

    def register(worker: BareWorker, view: StudyView, model_path: Path, reference: Path, alias: str) -> str | None:
        if mlflow is None or not session.config.tracking.log_model:
            return None
        run_id = mlflow.run_id()
        if run_id is None:
            missed("MLflow is away; task=sync sends the model's files later, but makes no version of them")
            return None
        args = RegisterArgs(
            model_path=str(model_path),
            tracking_uri=mlflow.store.uri,
            run_id=run_id,
            registered_model=names.registered_model(session.config),
            alias=alias,
            tags=version_tags(view),
            pip_requirements=[f"{name}=={session.ready.facts.versions[name]}" for name in ("tensorflow", "keras")],
            reference_path=str(reference),
            builder=session.config.model._target_,
        )
        try:
            entry = worker.register(args)
        except TrialFault as fault:
            missed(fault.message)
            return None
        return f"{entry['name']} version {entry['version']} (alias {entry['alias']})"

    return register
