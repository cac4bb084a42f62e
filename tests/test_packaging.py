"""What a stranger's machine gets: the lock, the Makefile, light imports, a complete wheel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()


# `make test` hands its own flags down to every process below it; these are for a make started here.
ENVIRONMENT = {name: value for name, value in os.environ.items() if "MAKE" not in name}


def shell(
    *command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**ENVIRONMENT, **(env or {})},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def locked() -> list[Requirement]:
    """Every pin of the lock, without its hashes."""
    pins = (line.removesuffix("\\") for line in LOCK.splitlines() if re.match(r"[a-z0-9]", line))
    return [Requirement(pin.strip()) for pin in pins]


# The lock


def test_lock_names_no_host_and_no_path() -> None:
    for forbidden in ("://", "index-url", "find-links", "trusted-host", "@ ", " /", "./"):
        assert forbidden not in LOCK, f"requirements.lock holds {forbidden!r}"


def test_lock_pins_and_hashes_every_package() -> None:
    blocks = re.split(r"\n(?=[a-z0-9])", LOCK)[1:]
    assert len(blocks) == len(locked()) > 50
    for block in blocks:
        assert "--hash=sha256:" in block, block.splitlines()[0]
    for pin in locked():
        assert [s.operator for s in pin.specifier] == ["=="], str(pin)


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_lock_satisfies_the_ranges_of_pyproject(python: str) -> None:
    project = PYPROJECT["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
    }
    pins: dict[str, list[str]] = {}
    for pin in locked():
        if pin.marker is None or pin.marker.evaluate(environment):
            version = next(iter(pin.specifier)).version
            pins.setdefault(canonicalize_name(pin.name), []).append(version)
    for requirement in map(Requirement, wanted):
        versions = pins.get(canonicalize_name(requirement.name), [])
        assert len(versions) == 1, f"{requirement.name} on Python {python}: {versions}"
        assert requirement.specifier.contains(versions[0]), f"{requirement}: locked {versions[0]}"


# pyproject.toml


def test_every_package_is_listed() -> None:
    """The list is explicit (see pyproject.toml), so a new folder must be added to it."""
    folders = {path.parent for path in (ROOT / "autotune").rglob("*.py")}
    found = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == found | {
        "autotune.conf",
        "autotune.models",
    }


def test_every_configuration_file_is_package_data() -> None:
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["autotune.conf"]
    shipped = {path for pattern in patterns for path in (ROOT / "conf").glob(pattern)}
    present = {path for path in (ROOT / "conf").rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"}}
    assert present == shipped
    assert ROOT / "conf" / "config.yaml" in shipped


def test_the_pages_style_and_script_are_package_data() -> None:
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"]["autotune.report.page"]
    folder = ROOT / "autotune" / "report" / "page"
    shipped = {path for pattern in patterns for path in folder.glob(pattern)}
    assert {path.name for path in shipped} == {"report.css", "report.js"}
    assert {path.suffix for path in folder.iterdir() if path.is_file()} == {".py", ".css", ".js"}


def test_importing_the_package_loads_no_framework() -> None:
    code = "import autotune, sys, json; print(json.dumps(sorted(sys.modules)))"
    answer = shell(sys.executable, "-c", code)
    assert answer.returncode == 0, answer.stderr
    loaded = set(json.loads(answer.stdout))
    assert "autotune" in loaded
    assert not loaded & {"tensorflow", "keras", "jax", "mlflow", "numpy", "optuna"}


# The Makefile


def test_help_lists_every_target() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    answer = shell("make")
    assert answer.returncode == 0, answer.stderr
    listed = re.findall(r"^ +make ([a-z-]+) ", answer.stdout, flags=re.MULTILINE)
    assert sorted(listed) == sorted(phony.split())


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A set-up folder with a space in its name, whose Python exits with $STATUS."""
    folder = tmp_path / "my project"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, folder)
    python = folder / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\necho "python $*"\nexit "${STATUS:-0}"\n')
    python.chmod(0o755)
    (folder / ".venv" / ".installed").touch()
    return folder


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (1, 2), (2, 2), (3, 0)])
def test_make_run_takes_status_3_for_a_result(installed: Path, status: int, expected: int) -> None:
    answer = shell("make", "run", "ARGS=hw=auto", cwd=installed, env={"STATUS": str(status)})
    assert answer.returncode == expected  # make turns every failure into 2
    assert answer.stdout.splitlines()[0] == "python -m autotune hw=auto"  # nothing was installed
    assert ("a result" in answer.stdout) == (status == 3)


def test_a_changed_lock_is_installed_again(installed: Path) -> None:
    later = (installed / ".venv" / ".installed").stat().st_mtime + 10
    os.utime(installed / "requirements.lock", (later, later))
    answer = shell("make", "setup", f"PYTHON={installed / '.venv' / 'bin' / 'python'}", cwd=installed)
    assert answer.returncode == 0, answer.stderr
    assert "install --quiet --no-compile --requirement requirements.lock" in answer.stdout
    assert "--editable ." in answer.stdout


@pytest.mark.parametrize("version", ["3.10.14", "3.14.0", None])
def test_a_wrong_python_is_one_line(installed: Path, version: str | None) -> None:
    (installed / ".venv" / ".installed").unlink()
    python = installed / "python-of-theirs"
    if version:
        python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit 1\necho "Python {version}"\n')
        python.chmod(0o755)
    answer = shell("make", "setup", f"PYTHON={python}", cwd=installed)
    assert answer.returncode == 2
    said, *rest = answer.stderr.splitlines()
    assert "Python 3.11 to 3.13 is needed" in said
    assert version is None or version in said
    assert all(line.startswith("make: *** ") for line in rest)


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["ui"], "-P -m autotune.viewers.ui --port 5000"),
        (["ui", "STORE=my runs.db", "PORT=5001"], "-P -m autotune.viewers.ui --store my runs.db --port 5001"),
        (["dashboard"], "-P -m autotune.viewers.dashboard --root outputs --port 8080"),
        (["dashboard", "RUN=a run"], "-P -m autotune.viewers.dashboard --root outputs --port 8080 --run a run"),
    ],
)
def test_make_starts_what_shows_studies(installed: Path, words: list[str], started: str) -> None:
    answer = shell("make", *words, cwd=installed)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[-1].endswith(started)


# The wheel


@pytest.fixture(scope="module")
def fresh_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment: the built wheel in it, and this one's dependencies."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("autotune", "conf", "models"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    wheels = tmp_path_factory.mktemp("wheels")
    # Without isolation the build asks no registry; the dev extra holds its setuptools.
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index"]
    built = shell(*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", wheels, source)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = wheels.glob("*.whl")

    environment = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    placed = shell(*pip, "--python", python, "install", *offline, wheel)
    assert placed.returncode == 0, placed.stdout + placed.stderr
    # Dependencies only: in a folder that a .pth file adds, .pth files are left unread, and with
    # them this environment's editable install.
    here = next(path for path in sys.path if (Path(path) / "hydra").is_dir())
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{here}\n")
    return python


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A person's own folder, which has a `models` and a `conf` package of its own."""
    for name in ("models", "conf"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("MINE = True\n")
    return tmp_path


@pytest.mark.slow
def test_the_wheel_carries_configuration_and_models(fresh_python: Path, elsewhere: Path) -> None:
    code = """
import importlib.util, json
from importlib import resources
import autotune, conf, models
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra

files = resources.files("autotune.conf")
with initialize_config_module("autotune.conf", version_base="1.3"):
    groups = GlobalHydra.instance().config_loader().list_groups("")
page = resources.files("autotune.report.page")
builders = [importlib.util.find_spec(f"autotune.models.{name}") for name in ("cifar", "digits")]
print(json.dumps({
    "package": autotune.__file__,
    "mine": [conf.MINE, models.MINE],
    "builders": [spec.origin for spec in builders],
    "yaml": sorted(str(path.relative_to(files)) for path in files.rglob("*.yaml")),
    "groups": sorted(groups),
    "page": sorted(path.name for path in page.iterdir() if not path.name.endswith(".py") and path.is_file()),
}))
"""
    answer = shell(fresh_python, "-c", code, cwd=elsewhere)
    assert answer.returncode == 0, answer.stderr
    seen = json.loads(answer.stdout)
    site = fresh_python.parents[1]
    assert Path(seen["package"]).is_relative_to(site)
    assert all(Path(origin).is_relative_to(site) for origin in seen["builders"])
    assert seen["mine"] == [True, True]
    conf = ROOT / "conf"
    assert seen["yaml"] == sorted(str(path.relative_to(conf)) for path in conf.rglob("*.yaml"))
    folders = {path.parent.relative_to(conf).parts[0] for path in conf.glob("*/**/*.yaml")}
    assert folders <= set(seen["groups"])
    assert seen["page"] == ["report.css", "report.js"]


@pytest.mark.slow
@pytest.mark.parametrize("launch", [["-m", "autotune"], ["script"]], ids=["module", "script"])
def test_the_wheel_runs_from_any_folder(fresh_python: Path, elsewhere: Path, launch: list[str]) -> None:
    command = [fresh_python.with_name("autotune")] if launch == ["script"] else [fresh_python, *launch]
    answer = shell(*command, "--cfg", "job", cwd=elsewhere)
    assert answer.returncode == 0, answer.stderr
    assert "cifar_mlp" in answer.stdout
    assert sorted(path.name for path in elsewhere.iterdir()) == ["conf", "models"]
