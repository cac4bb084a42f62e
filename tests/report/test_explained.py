"""What a person reads: JSON, Markdown and console, with names from anybody in them."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from autotune.console.explain import print_explanation
from autotune.explain.alignment import aligned_sizes
from autotune.explain.explanation import Explanation, explain
from autotune.explain.forecast import Forecaster
from autotune.explain.situation import Situation
from autotune.hardware.catalogue import bundled
from autotune.report.explained import JSON, MARKDOWN, markdown, write
from tests.explain.inspected import config
from tests.explain.made import cifar_mlp, dense


def made(name: str = "cifar_mlp", target: str = "rtx2080") -> Explanation:
    facts = cifar_mlp()
    layers = (replace(facts.float32.layers[0], name=name), *facts.float32.layers[1:])
    facts = replace(facts, float32=replace(facts.float32, layers=layers), failures={"16 bit": "a\nreason"})
    return explain(Situation.of(config(), facts, Forecaster(facts, bundled(target))))


def test_json_has_every_layer_and_every_prediction(tmp_path: Path) -> None:
    explanation = made()
    write(explanation, tmp_path, {"command": "python -m autotune"})
    read = json.loads((tmp_path / JSON).read_text())
    assert read["format"] == 1
    assert [row["anatomy"]["name"] for row in read["rows"]] == [row.anatomy.name for row in explanation.rows]
    first = read["rows"][0]
    assert first["float32"]["forward_flops"] == 2 * 32 * 3072 * 3000
    assert {size["what"] for size in first["sizes"]} == {"batch", "inputs", "outputs"}
    settings = [one["forecast"]["setting"] for one in read["predicted"]]
    assert {one["policy"] for one in settings} == {"float32", "mixed_float16"}
    assert {one["batch_size"] for one in settings} >= {32, 512}
    assert {one["xla"] for one in settings} == {False, True}


def test_markdown_keeps_its_tables_whatever_a_layer_is_called(tmp_path: Path) -> None:
    write(made("evil | <b>\nname"), tmp_path, {})
    text = (tmp_path / MARKDOWN).read_text()
    assert "evil \\| &lt;b> name" in text
    widths = {line.replace("\\|", "").count("|") for line in text.splitlines() if "FLOP" in line and line[:1] == "|"}
    rows = [line for line in text.splitlines() if line.startswith(("| evil", "| dense_"))]
    assert len(rows) >= 3
    assert widths == {12}


def test_markdown_has_no_link_or_picture_of_anybodys_name() -> None:
    evil = "![pic](http://evil)*b*<img src=x>`code`"
    text = markdown(replace(made(evil), model=evil, target=evil), {"command": evil})
    assert text.count(r"![pic]\(http://evil)\*b\*&lt;img src=x>\`code\`") >= 4, "in title, layers and command"
    assert not any(bad in text for bad in ("](", "<img", "*b*"))


def test_the_console_says_the_answer_first_and_that_it_is_predicted() -> None:
    stream = io.StringIO()
    print_explanation(made(), Path("somewhere"), stream)
    lines = stream.getvalue().splitlines()
    assert "PREDICTED" in lines[0]
    assert lines[1].startswith("host-bound")
    assert any("train.batch_size=512" in line for line in lines)
    assert any("host-bound" in line and "WARNING" in line for line in lines)
    assert any("16 bit could not be had: a reason" in line for line in lines)


def test_what_cannot_be_predicted_is_still_explained() -> None:
    stream = io.StringIO()
    print_explanation(made(target="tpu_v4"), Path("somewhere"), stream)
    assert "nothing is predicted" in stream.getvalue()
    assert "dense_1" in stream.getvalue()


def test_alignment_of_batch_inputs_and_outputs() -> None:
    sizes = aligned_sizes(dense(30, 1001, 10), bundled("rtx2080"), ["float32", "float16"], 30)
    half = {one.what: (one.size, one.better) for one in sizes if one.dtype == "float16"}
    assert half == {"batch": (30, 32), "inputs": (1001, 1008), "outputs": (10, 16)}
    full = {one.what: one.better for one in sizes if one.dtype == "float32"}
    assert full == {"batch": 32, "inputs": 1004, "outputs": 12}
