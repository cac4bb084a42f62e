from __future__ import annotations

from pathlib import Path

from autotune.tasks.digests import OURS, code_digests


def config(target: str) -> dict[str, object]:
    return {"model": {"_target_": target}, "train": {"callbacks": [{"_target_": "keras.callbacks.EarlyStopping"}]}}


def test_the_package_and_each_file_that_the_configuration_names(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("raise SystemExit('imported')")
    (tmp_path / "mine" / "nets.py").write_text("def net(): ...")
    before = code_digests(config("mine.nets.net"), tmp_path)
    assert before.keys() == {OURS, "mine.nets.net", "keras.callbacks.EarlyStopping"}
    (tmp_path / "mine" / "nets.py").write_text("def net(): return 1")
    after = code_digests(config("mine.nets.net"), tmp_path)
    assert {name for name in after if after[name] != before[name]} == {"mine.nets.net"}


def test_what_cannot_be_found_is_left_out_and_ours_is_in_the_package(tmp_path: Path) -> None:
    for target in ("nowhere.to.be.found", "autotune.models.cifar.mlp", "sys.exit", "plain"):
        assert target not in code_digests(config(target), tmp_path)
