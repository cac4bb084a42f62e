"""How to reproduce a study: command, versions, device, data, seeds, configuration and record."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autotune.config.override_text import override
from autotune.masking import masked, masked_values
from autotune.printable import printable
from autotune.record.lines import FILE_NAME
from autotune.record.view import StudyView
from autotune.report import phrases
from autotune.report.measure import UNKNOWN
from autotune.trial import Stage

Rows = list[tuple[str, str]]


def rows(view: StudyView) -> Rows:
    """Label and text; what is not known is left out."""
    if view.started is None:
        return []
    started = view.started
    told: Rows = [("command", started.command)]
    told.append(("started", _date(started.started_unix_s)))
    told += _later_sessions(view)
    if view.decided is not None:
        told.append(("took", f"{phrases.clock(view.decided.duration_s)} of measuring (minutes:seconds)"))
    told += [("versions", text) for text in [_versions(view)] if text]
    told += [("device", text) for text in [_device(started.device)] if text]
    told += _data(view)
    told += [("seeds", text) for text in _seeds(view)]
    told += [("environment", text) for text in [_environment(view)] if text]
    if started.code:
        told.append(("code", "; ".join(f"{name} {digest}" for name, digest in started.code.items())))
    told.append(("record", str(Path(started.output_dir, FILE_NAME))))
    told.append(("this report again", again(started.output_dir)))
    # Commands and paths are to be pasted: a folder's name may have two spaces in a row.
    return [(label, printable(text)) for label, text in told]


def _date(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M} UTC"


def _later_sessions(view: StudyView) -> Rows:
    """What the first session's command does not reproduce."""
    told = []
    for number, resumed in enumerate(view.resumptions, start=2):
        text = f"started {_date(resumed.resumed_unix_s)} after {phrases.clock(resumed.elapsed_s)} (minutes:seconds)"
        if resumed.changed:
            text += f"; since the first session {'; '.join(resumed.changed)}"
        told.append((f"session {number}", f"{text}; command: {resumed.command}"))
    return told


def again(folder: str) -> str:
    """The command that makes the report from the record, as a shell and Hydra take it."""
    return shlex.join(["python", "-m", "autotune", "task=report", override("study.folder", folder)])


def configuration(view: StudyView) -> str:
    """The whole resolved configuration as YAML; empty before a study has started."""
    if view.started is None:
        return ""
    import yaml

    text: str = yaml.safe_dump(masked_values(view.started.config), sort_keys=False, allow_unicode=True, width=100)
    return "\n".join(map(_printable_line, text.splitlines()))


def _printable_line(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + phrases.one_line(line)


def _versions(view: StudyView) -> str:
    parent = view.started.versions if view.started is not None else {}
    worker = view.worker.facts.versions if view.worker is not None else {}
    return ", ".join(f"{name} {version}" for name, version in {**parent, **worker}.items())


def _device(device: Mapping[str, Any]) -> str:
    """What identifies the device, as far as it was read."""
    parts = [phrases.place(device)]
    fingerprint = device.get("fingerprint")
    if isinstance(fingerprint, Mapping):
        known = ((key, value) for key, value in fingerprint.items() if key not in ("kind", "name"))
        parts += [f"{key} {_plain(value)}" for key, value in known if value not in (None, "", [], {})]
    return "; ".join(parts)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(_plain, value))
    return str(value)


def _data(view: StudyView) -> Rows:
    if view.worker is None:
        return []
    data = view.worker.data
    shape = " x ".join(map(str, data.input_shape))
    parts = f"{data.train:,} training, {data.validation:,} validation and {data.test:,} test examples of {shape}"
    text = f"{data.name}: {parts}; from {masked(data.origin)}; fingerprint {data.fingerprint}"
    return [("data", text if data.stand_in is None else f"STAND-IN, {text}")]


def _seeds(view: StudyView) -> list[str]:
    by_stage: dict[Stage, set[int]] = {}
    for trial in view.trials.values():
        for stage, runs in trial.runs.items():
            by_stage.setdefault(stage, set()).update(run.seed for run in runs)
    order = [stage for stage in Stage if stage in by_stage]
    told = "; ".join(f"{stage.value} {_numbers(sorted(by_stage[stage]))}" for stage in order)
    return [told] if told else []


def _numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or UNKNOWN


def _environment(view: StudyView) -> str:
    return ", ".join(_variables(view))


def _variables(view: StudyView) -> Iterator[str]:
    if view.worker is None:
        return
    facts = view.worker.facts
    yield from (f"{name}={value}" for name, value in facts.environment.items())
    threads = {"intra-op": facts.intra_op_threads, "inter-op": facts.inter_op_threads}
    yield from (f"{kind} threads {number or 'as TensorFlow chooses'}" for kind, number in threads.items())
