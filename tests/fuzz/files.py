"""Folders of a person's own configuration files, of every kind of wrong."""

from __future__ import annotations

import yaml
from hypothesis import strategies as st

from autotune.config.keys import GROUPS, schema_keys
from tests.fuzz.broken import BYTES, TEXTS
from tests.fuzz.samples import LETTERS, NUMBERS, PATHS, REFERENCES

Case = tuple[list[str], dict[str, bytes]]
"""A command line and the files beside it."""

_MODEL = "name: mine\n_target_: autotune.models.cifar.mlp\nwidths: [64, 64]\n"
_PRIMARY = "defaults:\n  - config\n  - _self_\nsearch:\n  trials: 3\n"


def _leaves() -> st.SearchStrategy[object]:
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(-3, 5000),
        st.floats(),
        st.text(max_size=12),
        st.sampled_from([*REFERENCES, *NUMBERS, *PATHS, *LETTERS[:14]]),
    )


def _trees() -> st.SearchStrategy[object]:
    return st.recursive(
        _leaves(),
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)),
        max_leaves=8,
    )


def _at(key: str, value: object) -> dict[str, object]:
    for name in reversed(key.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def _written(value: object) -> str:
    return yaml.safe_dump(value, allow_unicode=True, default_flow_style=None)


def _valued(key: str, value: object) -> Case:
    """A primary file that gives one key a value."""
    text = "defaults: [config, _self_]\n" + _written(_at(key, value))
    return ["-cd", "mine", "-cn", "primary"], {"mine/primary.yaml": text.encode("utf-8", "surrogatepass")}


def _choice(dotted: str, value: object) -> Case:
    """A choice of a group that gives one of its keys a value."""
    group, _, key = dotted.partition(".")
    text = _written(_at(key, value))
    return ["-cd", "mine", f"{group}=mine"], {f"mine/{group}/mine.yaml": text.encode("utf-8", "surrogatepass")}


def _damaged(text: str, position: int, cut: int, put: bytes) -> bytes:
    whole = text.encode()
    position %= len(whole) + 1
    return whole[:position] + put + whole[position + cut :]


def _placed(content: bytes) -> st.SearchStrategy[Case]:
    """The file as a primary one, as a choice, or as one that a defaults list asks for."""
    asks = b"defaults: [config, mine, _self_]\n"
    return st.one_of(
        st.just((["-cd", "mine", "-cn", "primary"], {"mine/primary.yaml": content})),
        st.just((["-cd", "mine", "-cn", "primary"], {"mine/primary.yaml": asks, "mine/mine.yaml": content})),
        st.sampled_from(GROUPS).map(
            lambda group: (["-cd", "mine", f"{group}=mine"], {f"mine/{group}/mine.yaml": content})
        ),
    )


def cases() -> st.SearchStrategy[Case]:
    """A command line that reads a file, and the file."""
    group_keys = st.sampled_from([key for key in schema_keys() if key.partition(".")[0] in GROUPS and "." in key])
    damaged = st.builds(
        _damaged, st.sampled_from([_MODEL, _PRIMARY]), st.integers(0, 200), st.integers(0, 5), st.binary(max_size=5)
    )
    content = st.one_of(
        st.sampled_from([text.encode() for text in TEXTS]),
        st.sampled_from(BYTES),
        damaged,
        st.binary(max_size=30),
        _trees().map(lambda tree: _written(tree).encode("utf-8", "surrogatepass")),
    )
    return st.one_of(
        st.builds(_valued, st.sampled_from(schema_keys()), _trees()),
        st.builds(_choice, group_keys, _trees()),
        content.flatmap(_placed),
    )
