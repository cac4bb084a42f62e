"""What a person sees who opens the last study: the UI is started as `make ui` starts it, and looked at by a browser."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from autotune.config.schema import Config
from autotune.record.events import StudyStarted
from autotune.record.view import StudyView
from autotune.report.write import write_report
from autotune.study import storage
from autotune.sweep import Sweep
from autotune.tracking.sink import MlflowSink
from autotune.tracking.uri import Store
from tests.sample_study import MARGIN, sample_events
from tests.tracking.logged import STUDY, tell

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SWEEP = Sweep("2026-11-30 08:46:14 over model", "model=cifar_mlp")
READY_S = 150.0


class Browser:
    """A headless Chromium that reaches nothing but this machine; a page is what it has drawn after a while."""

    def __init__(self, profile: Path) -> None:
        chromium = shutil.which("chromium")
        assert chromium is not None
        quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
        background = ["--disable-background-networking", "--disable-component-update", "--window-size=1800,3000"]
        own = [f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        self._command = [chromium, *quiet, *background, *own]

    def page(self, address: str, *, within_s: int = 60) -> str:
        """The page as it is drawn, as HTML."""
        limits = [f"--virtual-time-budget={within_s * 1000}", f"--timeout={within_s * 1000}"]
        done = subprocess.run(
            [*self._command, *limits, "--dump-dom", address], capture_output=True, text=True, timeout=200, check=True
        )
        return done.stdout


class Served:
    """A server as `python -m module` starts it, in a process group of its own; keeps what it says."""

    def __init__(self, module: str, *arguments: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        command = [sys.executable, "-P", "-m", module, *arguments, "--port", str(self.port)]
        quiet = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True, env=quiet
        )

    def said(self, until: str) -> list[str]:
        """Its lines, up to one that begins so."""
        assert self._process.stdout is not None
        late = threading.Timer(READY_S, self.end)
        late.start()
        lines = []
        for line in self._process.stdout:
            lines.append(line.rstrip())
            if line.startswith(until):
                late.cancel()
                return lines
        raise AssertionError(f"it ended, or was ended after {READY_S} s, and had said {lines}")

    def end(self) -> None:
        """As Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(tmp_path_factory.mktemp("profile"))


@pytest.fixture(scope="module")
def addresses(
    tmp_path_factory: pytest.TempPathFactory, empty_database: Path, browser: Browser
) -> Iterator[dict[str, str]]:
    """The pages that `make ui` names, of a store with a study; the server is ended with the last test."""
    folder = tmp_path_factory.mktemp("outputs")
    store = Store(f"sqlite:///{folder}/mlflow.db", str(folder / "mlartifacts"))
    shutil.copyfile(empty_database, folder / "mlflow.db")
    _log(store, folder)
    server = Served("autotune.viewers.ui", "--store", str(folder / "mlflow.db"))
    try:
        lines = server.said(until="  charts")
        yield dict(line.split() for line in lines[-4:])
    finally:
        server.end()


def _log(store: Store, folder: Path) -> None:
    config = Config()
    config.model.name, config.output.root = "cifar_mlp", str(folder)
    started, *rest = sample_events(output_dir=str(folder / "study"))
    assert isinstance(started, StudyStarted)
    events = [replace(started, sweep=SWEEP), *rest]
    sink = MlflowSink(config, STUDY, store=store)
    tell(sink, events)
    written = write_report(StudyView.of(events), folder / "study" / "report")
    sink.log_artifacts({f"report/{name}": path for name, path in written.items()})
    sink.close()


def _text(page: str) -> str:
    """What is to be read on a page."""
    without = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", without).split())


def test_the_study_is_opened_with_its_answer_its_figures_and_its_picture(
    addresses: dict[str, str], browser: Browser
) -> None:
    page = browser.page(addresses["study"])
    text = _text(page)
    assert STUDY in text
    assert "Use trial 4: 5.94 times as fast as float32, and not less accurate" in text
    assert "Job model=cifar_mlp of the multirun 2026-11-30 08:46:14 over model" in text
    for figure in ("confirmed_speedup", "5.94", "confirmed_step_time_ms", "2.82", "accuracy_delta"):
        assert figure in text
    assert re.search(r'<img src="get-artifact\?path=report%2Ftradeoff\.png&amp;run_uuid=\w+"', page)
    assert "cifar10" in text, "what was trained on"


def test_the_trials_are_a_table_of_settings_and_figures_the_fastest_first(
    addresses: dict[str, str], browser: Browser
) -> None:
    text = _text(browser.page(addresses["trials"]))
    for column in (
        "screen_speedup",
        "accuracy_delta",
        "policy",
        "batch_size",
        "steps_per_execution",
        "state",
        "verdict",
    ):
        assert column in text, f"no column {column}"
    names = re.findall(r"\b0\d (?:baseline |winner |rejected |not confirmed )?(?:mixed_b?float16|float32) b\d+", text)
    assert [name[:2] for name in dict.fromkeys(names)][:3] == ["03", "04", "05"], names
    assert "04 winner mixed_bfloat16 b256" in names
    assert "00 baseline float32 b32" in names


def test_the_trials_are_charts_of_speed_against_accuracy(addresses: dict[str, str], browser: Browser) -> None:
    page = browser.page(addresses["charts"])
    text = _text(page)
    for title in ("Speed against accuracy", "screen_speedup vs. accuracy_delta", "Parallel Coordinates"):
        assert title in text
    assert 'class="main-svg"' in page, "plotly drew nothing"


def test_the_report_is_shown_as_an_artifact_beside_the_others(addresses: dict[str, str], browser: Browser) -> None:
    page = browser.page(addresses["report"])
    assert "<iframe" in page
    for name in ("report.html", "config.yaml", "summary.md", "tradeoff.png", "trials.csv"):
        assert name in _text(page)


def test_optunas_dashboard_shows_the_same_study(tmp_path: Path, browser: Browser) -> None:
    pytest.importorskip("optuna_dashboard", reason="optuna-dashboard is not installed")
    storage.write(StudyView.of(sample_events()), tmp_path, MARGIN)
    server = Served("autotune.viewers.dashboard", "--run", str(tmp_path))
    try:
        address = re.findall(r"http://\S+", server.said(until="open: ")[-1])[0]
        text = _text(browser.page(address))
    finally:
        server.end()
    assert STUDY in text
    assert "speedup over float32 (screening)" in text
