"""A person's own folder: their own model, data, metric and configuration, under names that this project uses too."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

FILES = {
    # A `models` package and a `conf` folder of one's own shadow nothing of ours, and are not shadowed.
    "models/__init__.py": "",
    "models/net.py": """
        import keras

        def build(*, widths, input_shape, num_classes, dropout):
            inputs = keras.Input(input_shape)
            x = inputs
            for width in widths:
                x = keras.layers.Dense(width, activation="relu")(x)
            x = keras.layers.Dropout(dropout)(x)
            return keras.Model(inputs, keras.layers.Dense(num_classes, activation="softmax")(x))
        """,
    "conf/__init__.py": "raise ImportError('somebody else')",
    "clusters.py": """
        import numpy as np

        def load(*, seed, spread):
            rng = np.random.default_rng(7)
            centres = rng.normal(size=(4, 32))

            def part(n):
                y = rng.integers(0, 4, n)
                return (centres[y] + spread * rng.normal(size=(n, 32))).astype("float32"), y

            return part(800), part(300)
        """,
    "scores.py": """
        import numpy as np

        def error_rate(y_true, y_pred):
            return float(np.mean(np.argmax(y_pred, axis=1) != y_true))
        """,
    "my_conf/model/my_net.yaml": """
        name: my_net
        _target_: models.net.build
        widths: [64, 48]
        args: {dropout: 0.1}
        """,
    "my_conf/model/misnamed.yaml": """
        name: misnamed
        _target_: models.net.bild
        widths: [64]
        """,
    "my_conf/data/clusters.yaml": """
        name: clusters
        _target_: clusters.load
        args: {spread: 0.3}
        validation_examples: 200
        """,
    "my_conf/constraint/errors.yaml": """
        metric: error rate
        _target_: scores.error_rate
        direction: lower
        margin: 0.02
        """,
}

TRUST = ("--trust", "models", "--trust", "clusters", "--trust", "scores")

STUDY = (
    *TRUST,
    *("--config-dir", "my_conf", "model=my_net", "data=clusters", "constraint=errors", "train=adam"),
    *("train.batch_size=16", "train.learning_rate=0.005", "train.examples=512", "train.epochs=6"),
    *("search.trials=3", "search.budget=10m", "search.finalists=1", "search.policies=[float32,mixed_bfloat16]"),
    *("search.batch_sizes=[16,64,128]", "search.xla=[false]", "search.steps_per_execution=[1]"),
    *("search.timing.processes=1", "search.timing.min_pairs=6", "search.timing.max_pairs=8"),
    *("search.timing.block_s=0.05", "search.timing.max_s=2", "search.timing.screen_max_s=1"),
)
"""A small study of the person's own: three candidates, of which a batch of 128 is several times as fast."""


def study_with(*arguments: str) -> list[str]:
    """The small study, with other settings where the arguments say so."""
    replaced = {argument.partition("=")[0] for argument in arguments}
    return [*(one for one in STUDY if one.partition("=")[0] not in replaced), *arguments]


@dataclass
class Person:
    """Somebody who works in a folder of their own.

    Attributes:
        folder: their working directory.
        marker: in the environment of everything that they start, so that what is left running can be found.
    """

    folder: Path
    marker: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        for name, text in FILES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")

    def start(self, *arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """`python ...` in the folder."""
        inherited = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment = inherited | {"AUTOTUNE_TEST_MARKER": self.marker, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=cwd or self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def python(self, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """`python ...` in the folder, to its end."""
        with self.start(*arguments, cwd=cwd) as process:
            out, err = process.communicate(timeout=240)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def autotune(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`python -m autotune ...` in the folder, to its end."""
        return self.python("-m", "autotune", *arguments)

    def written(self) -> set[str]:
        """Names in the folder that the person did not put there."""
        own = {name.partition("/")[0] for name in FILES}
        return {path.name for path in self.folder.iterdir()} - own

    def changed(self) -> set[str]:
        """The person's own files that are not what they were, or are more than they were."""
        kept = {name for name, text in FILES.items() if self._text(name) == textwrap.dedent(text).lstrip()}
        own = {name.partition("/")[0] for name in FILES}
        here = {str(path.relative_to(self.folder)) for top in own for path in (self.folder / top).rglob("*")}
        files = {name for name in here if (self.folder / name).is_file()} | {n for n in FILES if "/" not in n}
        return files ^ kept

    def running(self) -> list[str]:
        """What of all that was started still runs."""
        left = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("AUTOTUNE_TEST_MARKER") == self.marker:
                    left.append(" ".join(process.cmdline()))
            except psutil.Error:
                continue
        return left

    def _text(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


def run_folders(person: Person) -> list[Path]:
    """Folders of the runs that have a record."""
    return sorted(path.parent for path in person.folder.glob("outputs/*/*/record.jsonl"))


def runs_of(client: Any, experiment: str) -> tuple[Any, list[Any]]:
    """The parent run and the nested ones, by trial."""
    found = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    [parent] = [run for run in found if "mlflow.parentRunId" not in run.data.tags]
    nested = [run for run in found if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    return parent, sorted(nested, key=lambda run: int(run.data.tags["trial"]))
