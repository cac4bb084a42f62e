"""The speed-against-accuracy page in a real browser: it draws itself from the file alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from autotune.record.view import StudyView
from autotune.report.write import write_report
from tests.sample_study import sample_events

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_plot_is_drawn_without_a_network(tmp_path: Path) -> None:
    page = write_report(StudyView.of(sample_events()), tmp_path)["tradeoff.html"]
    chromium = shutil.which("chromium")
    assert chromium is not None
    quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    background = ["--disable-background-networking", "--disable-component-update", "--virtual-time-budget=10000"]
    own = [f"--user-data-dir={tmp_path / 'profile'}", "--host-resolver-rules=MAP * ~NOTFOUND"]
    command = [chromium, *quiet, *background, *own, "--dump-dom", page.as_uri()]
    drawn = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert 'class="main-svg"' in drawn, "plotly drew nothing"
    assert "float32 baseline" in drawn
    assert "constraint: baseline less 1.00 pp" in drawn
