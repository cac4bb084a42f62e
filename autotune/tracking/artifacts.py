"""Files of the parent run. A tag holds a digest of each, so that only what is new or different is sent."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from autotune.record.lines import FILE_NAME
from autotune.record.view import StudyView

if TYPE_CHECKING:
    from mlflow import MlflowClient

MANIFEST = "autotune.artifacts"
"""The tag: a JSON object of names to digests."""

_DIGEST_DIGITS = 12  # fifty names of forty letters fit into a tag's 8000 characters
_CHUNK = 1 << 20


def study_files(folder: Path, view: StudyView) -> dict[str, Path]:
    """What a study keeps in MLflow of the files that its folder has, by their names there.

    Args:
        folder: where the study's folder is now; it may have been moved.
        view: the state of the study.
    """
    found = {FILE_NAME: folder / FILE_NAME}
    found |= {f"report/{path.name}": path for path in sorted((folder / "report").glob("*"))}
    if view.exported and view.started:
        for name, text in view.exported.files.items():
            path, origin = Path(text), Path(view.started.output_dir)
            found[f"export/{name}"] = folder / path.relative_to(origin) if path.is_relative_to(origin) else path
    return {name: path for name, path in found.items() if path.exists()}


def manifest(tags: Mapping[str, str]) -> dict[str, str]:
    """The digests that a run's tags hold; none where they cannot be read."""
    try:
        held = json.loads(tags.get(MANIFEST, "{}"))
    except ValueError:  # cut, or edited by a person
        return {}
    return held if isinstance(held, dict) else {}


def manifest_text(digests: Mapping[str, str]) -> str:
    """The tag's value."""
    return json.dumps(digests, separators=(",", ":"))


def digest(content: Path | str) -> str:
    """Of a file, of all that is in a folder, or of a text.

    Raises:
        OSError: it cannot be read.
    """
    seen = hashlib.sha256()
    if isinstance(content, str):
        seen.update(content.encode(errors="backslashreplace"))
    else:
        for path in _files(content):
            seen.update(f"\0{path.relative_to(content)}\0".encode(errors="backslashreplace"))
            with path.open("rb") as file:
                while chunk := file.read(_CHUNK):
                    seen.update(chunk)
    return seen.hexdigest()[:_DIGEST_DIGITS]


def attach(client: MlflowClient, run_id: str, name: str, content: Path | str) -> None:
    """Keep a file, a folder or a text as the artifact `name`, which may have folders in it."""
    target = PurePosixPath(name)
    if isinstance(content, str):
        client.log_text(run_id, content, name)
        return
    if content.is_dir():
        client.log_artifacts(run_id, str(content), name)
        return
    folder = None if target.parent == PurePosixPath(".") else str(target.parent)
    if content.name == target.name:
        client.log_artifact(run_id, str(content), folder)
        return
    with tempfile.TemporaryDirectory() as renamed:  # MLflow keeps a file's own name
        copy = Path(renamed, target.name)
        shutil.copyfile(content, copy)
        client.log_artifact(run_id, str(copy), folder)


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(found for found in path.rglob("*") if found.is_file())
    else:
        yield path
