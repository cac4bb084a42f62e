from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autotune.tracking.store import prepare
from autotune.tracking.uri import Store

pytestmark = pytest.mark.slow

REQUIREMENTS = ["keras==3.15.1", "tensorflow==2.21.0"]

# In a process of its own, as in the worker: MLflow's tracking URI is global there.
REGISTER = """
import json, sys
from pathlib import Path
import keras, mlflow, numpy as np
from autotune.tracking.register import register_model

uri, run_id, file, requirements = sys.argv[1:4] + [json.loads(sys.argv[4])]
layers = [keras.layers.Dense(8, dtype="mixed_bfloat16"), keras.layers.Dense(3, dtype="float32")]
model = keras.Sequential([keras.Input((4,)), *layers])
model.compile("sgd", "mse")
model.save(file)
batch = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
answers = [
    register_model(
        model_path=file, tracking_uri=uri, run_id=run_id, artifact_name="model", registered_model="net", alias=alias,
        tags={"speedup": 5.94, "verdict": "PASS", "on_target": False, "target_speedup": None},
        pip_requirements=requirements, signature_example=batch,
    )
    for alias in ("production", "candidate")
]
predicted = mlflow.pyfunc.load_model("models:/net@candidate").predict(batch)
by_keras = keras.ops.convert_to_numpy(model(batch))
written = Path(mlflow.artifacts.download_artifacts("models:/net/2/requirements.txt")).read_text().split()
facts = {"answer": answers[1], "difference": float(np.abs(predicted - by_keras).max()), "requirements": written}
print("FACTS" + json.dumps(facts | {"dtype": str(predicted.dtype), "active": str(mlflow.active_run())}))
"""


def test_a_registered_model_predicts_what_keras_predicts(store: Store, tmp_path: Path) -> None:
    opened = prepare(store, "mine")
    run_id = opened.client.create_run(opened.experiment_id).info.run_id
    arguments = [store.uri, run_id, str(tmp_path / "model.keras"), json.dumps(REQUIREMENTS)]
    # From another working directory, where a relative address would go astray.
    done = subprocess.run(
        [sys.executable, "-c", REGISTER, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.rpartition("FACTS")[2])

    assert facts["answer"] == {"name": "net", "version": "2", "alias": "candidate", "model_uri": "models:/net/2"}
    assert facts["difference"] == 0
    assert facts["dtype"] == "float32"
    assert facts["active"] == "None"
    assert set(REQUIREMENTS) <= set(facts["requirements"])
    version = opened.client.get_model_version_by_alias("net", "candidate")
    assert version.tags == {"speedup": "5.94", "verdict": "PASS", "on_target": "false"}
    assert version.run_id == run_id
    run = opened.client.get_run(run_id)
    assert run.info.status == "RUNNING", "the study's run is not ended by the worker"
    assert run.data.tags["model_version"] == "2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.keras", "the outputs"], "no stray mlruns"
