"""The command line in this process, with a pipeline that only takes note."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from autotune.cli.command import main
from autotune.config.schema import Config
from autotune.errors import DataError


class Pipeline(ModuleType):
    """Stands in for `autotune.pipeline`: keeps what it is given and answers as it is told."""

    def __init__(self) -> None:
        super().__init__("autotune.pipeline")
        self.configs: list[Config] = []
        self.answer: Callable[[Config], int] = lambda config: 0

    def run(self, config: Config) -> int:
        self.configs.append(config)
        return self.answer(config)


@pytest.fixture
def pipeline(monkeypatch) -> Pipeline:
    pipeline = Pipeline()
    monkeypatch.setitem(sys.modules, "autotune.pipeline", pipeline)
    return pipeline


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A person's working directory, with a folder of their own groups in several states of repair."""
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "mine" / "model"
    model.mkdir(parents=True)
    for name, text in {
        "good": "name: good\n_target_: my.build\n",
        "key": "name: key\n_target_: my.build\nwidht: [1]\n",
        "syntax": "name: syntax\n_target_: [my.build\nwidths: [1]\n",
        "type": "name: type\n_target_: my.build\nwidths: many\n",
        "unfinished": "name: unfinished\n",
        "refers": "defaults: [override /data@_global_.data: cifar11]\nname: refers\n_target_: my.build\n",
        "list": "- name\n",
    }.items():
        (model / f"{name}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "mine" / "values.yaml").write_text("defaults: [base, _self_]\n", encoding="utf-8")
    (tmp_path / "mine" / "loose.yaml").write_text("task: tune\n", encoding="utf-8")
    (tmp_path / "hidden" / "model").mkdir(parents=True)
    (tmp_path / "hidden" / "model" / "cifar_mlp.yaml").write_text("name: x\n", encoding="utf-8")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    return tmp_path


MINE = ("--config-dir", "mine")
MISTAKES = [
    # misspelt names
    (("search.batchsize=64",), "did you mean 'search.batch_sizes'"),
    (("batch_size=64",), "did you mean 'train.batch_size'"),
    (("train.lr=0.1",), "did you mean 'train.learning_rate'"),
    (("model=cifar_mpl",), "Did you mean 'cifar_mlp'? Choices: cifar_cnn, cifar_mlp, digits_mlp"),
    (("modle=cifar_mlp",), "did you mean 'model'"),
    (("hw=rtx206",), "Did you mean 'rtx2060'"),
    (("hydra.ouput_subdir=x",), "did you mean 'hydra.output_subdir'"),
    (("+search.foo=1",), "no key 'search.foo'"),
    (("+foo=1",), "no key 'foo'"),
    (("++search.timing.foo=1",), "no key 'search.timing.foo'"),
    (("+search.trials=3",), "'search.trials' exists already"),
    (("data.args.side=8",), "add it with +data.args.side="),
    (("--hlep",), "Did you mean '--help'"),
    # wrong values
    (("search.trials=many",), "search.trials must be a whole number, but got 'many'"),
    (("search.trials=",), "search.trials must be a whole number, but got ''"),
    (("search.trials=0",), "search.trials must be at least 1, but got 0"),
    (("search.trials=null",), "search.trials must not be null; leave it out for its default"),
    (("search.policies=[null]",), "search.policies must hold text, but got null"),
    (("model.width_bounds=[null]",), "model.width_bounds must hold lists, but got null"),
    (("search.timing=3",), "search.timing must hold a dictionary, but got 3"),
    (("constraint.args=[1]",), "constraint.args must be a dictionary such as {a: 1}, but got a list"),
    (("~search.trials",), "search.trials cannot be removed; leave it out for its default"),
    (("hydra=null",), "hydra must be the name of a choice, but got null"),
    (("=b",), "'=b' has no key in front of the ="),
    (("train.learning_rate=fast",), "train.learning_rate must be a number"),
    (("search.align_widths=maybe",), "search.align_widths must be true or false"),
    (
        ("train.schedule=cosin",),
        "one of cosine, constant, step, but got 'cosin'. Did you mean 'cosine'",
    ),
    (("task=tun",), "Did you mean 'tune'"),
    (("train.optimizer=adamm",), "Did you mean 'adam'"),
    (("search.policies=[mixed_float61]",), "Did you mean 'mixed_float16'"),
    (("search.budget=soon",), "search.budget must be a duration"),
    (("search.budget=5",), "search.budget must be at least 30 s"),
    (("model.widths=3000",), "model.widths must be a list"),
    (("model.widths=[0,10]",), "model.widths must be whole numbers of at least 1"),
    (("model.widths=[64,64]",), "set model.width_bounds too"),
    (("model.args=3",), "model.args"),
    # what no study could be run with
    (("model.widths=[[64]]",), "an entry of model.widths must be a whole number, but got [64]"),
    (("hw.device_names=[{a:1}]",), "an entry of hw.device_names must be text, but got {'a': 1}"),
    (("hw.device_names=${search.trials}",), "hw.device_names must be a list, but got 10"),
    (("model.args=${model.widths}",), "model.args must be a dictionary, but got ["),
    (("search.timing=${model.args}",), "search.timing must be what its own keys are, but got {}"),
    (("+hw.peak_tflops.float32=[1]",), "hw.peak_tflops.float32 must be a number, but got '[1]'"),
    (("model.name=${oc.deprecated:search.trials}",), "'model.name' is deprecated"),
    (("search.seed=-1",), "search.seed must not be negative"),
    (("search.budget=9999h",), "search.budget must be at most 31,622,400 s, a year"),
    (("train.epochs=1000000000000",), "train.epochs must be at most 100,000"),
    (("train.learning_rate=1e30",), "train.learning_rate must be at most 1,000"),
    (("objective.threshold=inf",), "objective.threshold must be a finite number"),
    (("constraint=error", "constraint.margin=2"), "constraint.margin for error is a fraction below 1"),
    (("constraint.metric=' '",), "constraint.metric must not be empty"),
    (("train.examples=10",), "train.batch_size must not exceed train.examples (10)"),
    (("constraint.margin=1",), "write 0.01 for one percentage point"),
    (("data=npz",), "data.args.path has no value"),
    (("output.root=file",), "output.root must be a folder"),
    (("output.name=a/b",), "output.name must be the name of one folder"),
    (("output.root=.", "output.name=mine"), "output.name must be new"),
    # what a group takes
    (("model=",), "model must be the name of a choice, but got nothing"),
    (("model=null",), "model must be the name of a choice, but got null"),
    (("model=[cifar_mlp,cifar_cnn]",), "run several with -m model=cifar_mlp,cifar_cnn"),
    (("model=cifar_mlp,cifar_cnn",), "add -m"),
    (("model=${data.name}",), "model must be the name of a choice, but got the reference ${data.name}"),
    (("~model",), "model.name has no value"),
    # what cannot be read
    (("model.widths=[1,2",), "unbalanced [ or ]"),
    (("model.name='abc",), "unbalanced '"),
    (("model.name=a b=c",), "quote a value with special characters"),
    (("model", "=", "cifar_mlp"), "without spaces around the ="),
    (("help",), "write --help"),
    (("search.trials=3", "search.trials=5"), "given twice"),
    (("--config-dir",), "expected one argument"),
    (("--cfg", "jbo"), "invalid choice: 'jbo'"),
    (("--cfg", "job", "--package", "nope"), "package 'nope' not found"),
    # references
    (("output.root=${search.batch}",), "refers to 'search.batch', which does not exist"),
    (("output.root=${oc.env:NO_SUCH_VARIABLE}",), "NO_SUCH_VARIABLE"),
    (("hydra.run.dir=out/${search.batch}",), "hydra.run.dir refers to 'search.batch'"),
    # folders and files
    (("--config-dir", "nowhere"), "--config-dir must be a folder, but got 'nowhere'"),
    (("--config-dir", "long" * 999), "File name too long"),
    (("--config-dir", "file"), "--config-dir must be a folder, but got 'file'"),
    (("--config-name", "nowhere"), "there is no nowhere.yaml"),
    ((*MINE, "--config-name", "valeus"), "Did you mean 'values'"),
    ((*MINE, "--config-name", "values", "train=adam"), "has no group 'train'"),
    ((*MINE, "--config-name", "values", "train=adam"), "or begin its defaults list with '- config'"),
    ((*MINE, "--config-name", "loose"), "must start from base"),
    ((*MINE, "--config-name", "loose", "search.trials=5"), "no key 'search' here, since the primary configuration"),
    ((*MINE, "--config-name", "loose", "output=x"), "must start from base; begin its defaults list with '- base'"),
    ((*MINE, "model=key"), "mine/model/key.yaml: there is no key 'model.widht'"),
    ((*MINE, "model=syntax"), "mine/model/syntax.yaml, line 3: not valid YAML"),
    ((*MINE, "model=type"), "mine/model/type.yaml: model.widths must be a list"),
    ((*MINE, "model=unfinished"), "model._target_ has no value"),
    ((*MINE, "model=refers"), "there is no data 'cifar11', which a defaults list asks for"),
    ((*MINE, "model=list"), "mine/model/list.yaml"),
    ((*MINE, "model=goood"), "Did you mean 'good'"),
    (("--config-dir", "hidden"), "would be hidden by the built-in model/cifar_mlp.yaml"),
    (("hydra.searchpath=[file:///nowhere]",), "is not available"),
    # several jobs
    (("-m", "model=cifar_mlp,cifar_mpl"), "Did you mean 'cifar_mlp'"),
    (("-m", "search.trials=1,x"), "search.trials must be a whole number"),
    (("-m", "--cfg", "job"), "exclude each other"),
    (("-m", "search.trials=range(1,1000000)"), "at most 1,000 jobs, but got 999,999"),
    (("-m", "search.trials=glob(*)"), "these values make no job"),
    (("-m", "hydra/launcher=joblib", "search.trials=1,2"), "one after another"),
]


@pytest.mark.parametrize(("argv", "said"), MISTAKES, ids=[" ".join(argv)[:80] for argv, _ in MISTAKES])
def test_a_mistake_is_one_line_and_status_2(argv, said, folder, pipeline, capfd):
    before = sorted(folder.rglob("*"))
    assert main(argv) == 2
    out, err = capfd.readouterr()
    assert err.startswith("autotune: error: ")
    assert err.count("\n") == 1
    assert said in err
    assert out == ""
    assert pipeline.configs == []
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("value", ["[" * 3000 + "]" * 3000, "9" * 5000, "a" * 100_000])
def test_a_monstrous_value_is_one_short_line(value, folder, pipeline, capfd):
    assert main([f"search.trials={value}"]) == 2
    err = capfd.readouterr().err
    assert err.startswith("autotune: error: ")
    assert err.count("\n") == 1
    assert len(err) <= 1100


def test_a_reference_to_itself_in_a_file_is_a_mistake(folder, pipeline, capfd):
    text = "name: loop\n_target_: my.build\nargs: {a: '${model.args.b}', b: '${model.args.a}'}\n"
    (folder / "mine" / "model" / "loop.yaml").write_text(text, encoding="utf-8")
    assert main([*MINE, "model=loop"]) == 2
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("key", ["search.trials", "model.args.x", "hw.sm_count", "search.batch_sizes"])
def test_a_number_that_cannot_even_be_printed_is_a_mistake(key, folder, pipeline, capfd):
    group, _, name = key.partition(".")
    value = "0x" + "f" * 5000
    entry = {"args.x": f"args: {{x: {value}}}", "batch_sizes": f"batch_sizes: [{value}]"}.get(name, f"{name}: {value}")
    text = f"defaults: [config, _self_]\n{group}: {{{entry}}}\n"
    (folder / "mine" / "hex.yaml").write_text(text, encoding="utf-8")
    assert main([*MINE, "-cn", "hex"]) == 2
    assert f"{key} must be a number below 2**63, but got one of 20000 bits" in capfd.readouterr().err


def test_a_file_without_self_in_its_defaults_has_the_last_word_and_no_warning(folder, pipeline, capfd):
    (folder / "mine" / "plain.yaml").write_text("defaults: [config]\nsearch: {trials: 3}\n", encoding="utf-8")
    assert main([*MINE, "-cn", "plain"]) == 0
    assert pipeline.configs[0].search.trials == 3
    assert capfd.readouterr().err == ""


def test_an_assertion_within_hydra_is_a_mistake(folder, pipeline, capfd):
    (folder / "mine" / "odd.yaml").write_text("defaults: [config, model: '${python_version:x}']\n", encoding="utf-8")
    assert main([*MINE, "-cn", "odd"]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_entries_of_an_open_dictionary_are_written_as_in_a_file(folder, pipeline):
    typed = [
        "train.optimizer_args={momentum: 0.9}",
        "model.args={}",
        "data.args={side:8}",
        "data.args={deep:{er: [1]}}",
    ]
    assert main(typed[:3]) == 0
    assert pipeline.configs[-1].train.optimizer_args == {"momentum": 0.9}
    assert pipeline.configs[-1].data.args == {"side": 8}
    assert main(["-m", typed[3], "train.optimizer_args={momentum:0.9},{nesterov:true}"]) == 0
    assert [config.train.optimizer_args for config in pipeline.configs[-2:]] == [{"momentum": 0.9}, {"nesterov": True}]
    assert pipeline.configs[-1].data.args == {"deep": {"er": [1]}}


@pytest.mark.parametrize("name", ["it's", "back\\slash", "a=b,c[d"])
def test_the_folder_for_temporary_files_may_be_called_anything(name, folder, pipeline, monkeypatch):
    (folder / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / name))
    assert main(["task=plan"]) == 0
    assert main(["-m", "task=plan,tune"]) == 0


def test_a_folder_that_hydra_would_take_for_a_reference_is_refused(folder, pipeline, capfd, monkeypatch):
    (folder / "a${b").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "a${b"))
    assert main(["task=plan"]) == 2
    assert "TMPDIR must have no '${' in its name" in capfd.readouterr().err
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(folder / "a${b")
    assert main(["task=plan"]) == 2
    assert "the working folder must have no '${' in its name" in capfd.readouterr().err


def test_a_run_writes_nothing_by_itself(folder, pipeline, capfd):
    before = sorted(folder.rglob("*"))
    assert main(["-m", "search.trials=1,2"]) == 0
    assert main([]) == 0
    assert [config.search.trials for config in pipeline.configs] == [1, 2, 10]
    assert sorted(folder.rglob("*")) == before
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "argv",
    [
        ["hydra/launcher=basic", "-m", "search.trials=1,2"],
        ["search.trials=1,2", "--multirun"],
        ["hydra.mode=MULTIRUN", "search.trials=1,2"],
    ],
)
def test_flags_anywhere_start_a_multirun(argv, folder, pipeline):
    assert main(argv) == 0
    assert [config.search.trials for config in pipeline.configs] == [1, 2]


@pytest.mark.parametrize("status", [0, 1, 2, 3])
def test_the_pipelines_status_is_the_exit_status(status, folder, pipeline):
    pipeline.answer = lambda config: status
    assert main([]) == status


def test_a_multirun_goes_on_and_returns_the_worst(folder, pipeline, capfd):
    pipeline.answer = lambda config: {1: 0, 2: 3, 4: 0}[config.search.trials]
    assert main(["-m", "search.trials=1,2,4"]) == 3
    assert len(pipeline.configs) == 3
    assert "job 1: none beat the float32 baseline (3): search.trials=2" in capfd.readouterr().out


def test_a_multirun_goes_on_after_a_mistake_in_one_job(folder, pipeline, capfd):
    assert main(["-m", "train.batch_size=32,0,64"]) == 2
    assert [config.train.batch_size for config in pipeline.configs] == [32, 64]
    assert capfd.readouterr().err == "autotune: error: train.batch_size must be a number above zero, but got 0\n"


def test_a_users_error_in_the_pipeline_is_one_line(folder, pipeline, capfd):
    def answer(config: Config) -> int:
        raise DataError("data.dir holds no images,\n but got nothing")

    pipeline.answer = answer
    assert main([]) == 2
    assert capfd.readouterr().err == "autotune: error: data.dir holds no images, but got nothing\n"


@pytest.mark.parametrize(
    "fault", [RuntimeError("broken"), ValueError("broken"), OSError("broken"), SystemExit("broken")]
)
def test_a_fault_is_one_line_that_names_the_traceback(fault, folder, pipeline, capfd, tmp_path, monkeypatch):
    def answer(config: Config) -> int:
        raise fault

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pipeline.answer = answer
    assert main([]) == 1
    err = capfd.readouterr().err
    assert err.startswith(f"autotune: fault: {type(fault).__name__}: broken (traceback: ")
    assert err.count("\n") == 1
    trace = Path(err.rpartition("traceback: ")[2].strip().rstrip(")"))
    assert "in answer" in trace.read_text(encoding="utf-8")


def test_a_traceback_may_be_asked_for(folder, pipeline, capfd, monkeypatch):
    monkeypatch.setenv("AUTOTUNE_TRACEBACK", "1")
    pipeline.answer = lambda config: 1 // 0
    assert main([]) == 1
    assert "Traceback (most recent call last)" in capfd.readouterr().err


@pytest.mark.parametrize("ends", ["raises", "returns"])
def test_an_interrupt_ends_a_multirun(ends, folder, pipeline, capfd):
    def answer(config: Config) -> int:
        if ends == "raises":
            raise KeyboardInterrupt
        return 130

    pipeline.answer = answer
    assert main(["-m", "search.trials=1,2"]) == 130
    assert len(pipeline.configs) == 1
    assert "Traceback" not in capfd.readouterr().err


def test_a_job_sees_the_callers_environment(folder, pipeline, monkeypatch):
    seen: list[str | None] = []

    def answer(config: Config) -> int:
        seen.append(os.environ.get("HYDRA_FULL_ERROR"))
        return 0

    pipeline.answer = answer
    monkeypatch.delenv("HYDRA_FULL_ERROR", raising=False)
    main(["-m", "search.trials=1,2"])
    assert "HYDRA_FULL_ERROR" not in os.environ
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")
    main([])
    assert os.environ["HYDRA_FULL_ERROR"] == "0"
    assert seen == [None, None, "0"]


def test_the_working_directory_and_the_arguments_stay(folder, pipeline):
    before = (Path.cwd(), list(sys.argv))
    main(["search.trials=3"])
    assert (Path.cwd(), sys.argv) == before


def test_help_tells_what_how_and_which(folder, pipeline, capfd):
    assert main(["--help", *MINE]) == 0
    text = capfd.readouterr().out
    for expected in (
        "float32",
        "model=      cifar_cnn, cifar_mlp, digits_mlp, good",
        "rtx2060",
        "Examples:",
        "Exit status:",
    ):
        assert expected in text
    assert text.count("python -m autotune") >= 4
    assert "Hydra (https" not in text
    assert max(map(len, text.splitlines())) <= 110
    assert pipeline.configs == []


def test_version(capfd):
    import autotune

    assert main(["--version"]) == 0
    assert capfd.readouterr().out == f"autotune {autotune.__version__}\n"


def test_cfg_prints_what_would_run(folder, pipeline, capfd):
    assert main(["--cfg", "job", "--package", "search", "search.trials=5"]) == 0
    assert "trials: 5" in capfd.readouterr().out
    assert pipeline.configs == []
