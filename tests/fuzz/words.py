"""What may be typed: values of every wrong kind, keys, overrides and flags."""

from __future__ import annotations

from hypothesis import strategies as st
from omegaconf import OmegaConf

from autotune.config.keys import GROUPS, hydra_keys, open_keys, schema_keys
from autotune.config.schema import Config
from tests.fuzz.samples import GRAMMAR, LETTERS, NUMBERS, PATHS, REFERENCES

Words = st.SearchStrategy[str]

# An argument cannot hold a NUL; of the surrogates it can hold those that stand for single bytes.
_CHARACTERS = st.one_of(
    st.characters(min_codepoint=1, max_codepoint=0x7E),
    st.characters(min_codepoint=1, exclude_categories=["Cs"]),
    st.characters(min_codepoint=0xDC80, max_codepoint=0xDCFF),
)


def typed_text(max_size: int = 20) -> Words:
    """Anything that an argument can be."""
    return st.text(_CHARACTERS, max_size=max_size)


def _numbers() -> Words:
    return st.one_of(
        st.sampled_from(NUMBERS),
        st.integers().map(str),
        st.integers(-3, 3000).map(str),
        st.floats().map(repr),
        st.floats(0, 10).map(repr),
    )


def _quoted() -> Words:
    return st.one_of(st.sampled_from(LETTERS), st.sampled_from(PATHS), typed_text()).map(
        lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


def _durations() -> Words:
    number = st.one_of(st.integers(0, 10**6).map(str), st.sampled_from(NUMBERS))
    return st.builds(lambda n, unit: n + unit, number, st.sampled_from(["s", "m", "h", "d", "h30m", "ms", " s", "S"]))


def values() -> Words:
    """What may stand to the right of the `=`."""
    plain = st.one_of(
        _numbers(),
        st.sampled_from(GRAMMAR),
        st.sampled_from(REFERENCES),
        st.sampled_from(LETTERS),
        st.sampled_from(PATHS),
        _quoted(),
        _durations(),
        typed_text(),
    )
    several = st.lists(plain, max_size=4)
    return st.one_of(
        plain,
        plain,
        several.map(lambda entries: "[" + ",".join(entries) + "]"),
        several.map(",".join),
        st.builds(
            lambda key, entry: "{" + key + ":" + entry + "}", st.sampled_from(["a", "name", "_target_", "''"]), plain
        ),
    )


def _mangled(key: str, position: int, letter: str) -> str:
    position %= len(key) + 1
    return key[:position] + letter + key[position + 1 :]


def keys() -> Words:
    """Keys of the configuration and of Hydra, groups, near misses of both, and junk."""
    known = st.sampled_from(schema_keys())
    return st.one_of(
        known,
        known,
        st.sampled_from(GROUPS),
        st.sampled_from([key for key in hydra_keys() if not key.startswith(_WRITES)]),
        st.builds(_mangled, known, st.integers(0, 40), st.sampled_from(["", "x", ".", "_", "@", "/", "[", "é", "-"])),
        st.builds(
            lambda key, package: f"{key}@{package}",
            st.sampled_from(GROUPS),
            st.sampled_from(["x", "_global_", "hw", ""]),
        ),
        st.builds(lambda key, entry: f"{key}.{entry}", known, st.sampled_from(["x", "0", "_target_", "", "a.b"])),
        st.sampled_from(
            ["", "hydra", "hydra/launcher", "hydra/sweeper", "hydra/job_logging", "base", "config", "a/b/c"]
        ),
        typed_text(8),
    )


# Whoever types one of these asks Hydra to write, or to go, somewhere.
_WRITES = (
    "hydra.run",
    "hydra.sweep",
    "hydra.output_subdir",
    "hydra.job_logging",
    "hydra.hydra_logging",
    "hydra.job.chdir",
)


def overrides() -> Words:
    """One override, in Hydra's grammar or nearly."""
    prefix = st.sampled_from(["", "", "", "", "+", "++", "~", "+++", "~+", " "])
    known = st.sampled_from(schema_keys())
    return st.one_of(
        st.builds(lambda p, key, value: f"{p}{key}={value}", prefix, keys(), values()),
        st.builds(lambda key, value: f"{key}={value}", known, values()),
        st.builds(lambda key, value: f"+{key}.x={value}", st.sampled_from(sorted(open_keys())), values()),
        st.builds(lambda group, value: f"{group}={value}", st.sampled_from(GROUPS), values()),
        st.builds(lambda p, key: p + key, prefix, keys()),
        typed_text(),
    )


def numeric_overrides() -> Words:
    """A number for a key that takes one: what the grammar passes, and only its range may refuse."""
    return st.builds(lambda key, number: f"{key}={number}", st.sampled_from(numeric_keys()), _numbers())


def list_overrides() -> Words:
    """A list of numbers for a key that takes one."""
    entries = st.lists(_numbers(), max_size=4).map(lambda numbers: "[" + ",".join(numbers) + "]")
    keys = [
        "search.batch_sizes",
        "search.steps_per_execution",
        "model.widths",
        "train.step_boundaries",
        "candidate.widths",
    ]
    return st.builds(lambda key, value: f"{key}={value}", st.sampled_from(keys), entries)


def numeric_keys() -> list[str]:
    """Keys of the schema that hold one number."""
    root = OmegaConf.structured(Config)
    found = []
    for key in schema_keys():
        node = OmegaConf.select(root, key.rpartition(".")[0]) if "." in key else root
        kind = node._get_node(key.rpartition(".")[2])
        if type(kind).__name__ in ("IntegerNode", "FloatNode"):
            found.append(key)
    return found


def flags() -> st.SearchStrategy[list[str]]:
    """Flags with their values, known and unknown."""
    name = st.one_of(
        st.sampled_from(PATHS), st.sampled_from(["base", "config", "model/cifar_mlp", "hw"]), typed_text(8)
    )
    return st.one_of(
        st.just([]),
        st.just([]),
        st.sampled_from([["-m"], ["--multirun"], ["-r"], ["--cfg", "job"], ["--cfg", "all", "--resolve"], ["--help"]]),
        st.sampled_from(
            [
                ["--info"],
                ["--info", "config"],
                ["--info", "defaults-tree"],
                ["-sc"],
                ["--hydra-help"],
                ["-m", "-c", "job"],
            ]
        ),
        st.builds(
            lambda flag, value: [flag, value], st.sampled_from(["-cd", "-cn", "-p", "-c", "-i", "-cp", "--trust"]), name
        ),
        st.builds(lambda value: ["--cfg", "job", "--package", value], st.one_of(name, st.sampled_from(schema_keys()))),
        typed_text(8).map(lambda text: ["-" + text]),
    )
