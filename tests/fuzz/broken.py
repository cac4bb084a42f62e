"""Configuration files of every kind of wrong."""

from __future__ import annotations

_LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_MODEL = "name: mine\n_target_: autotune.models.cifar.mlp\n"

_ONE_A_LINE = r"""
#
---\n
---\n---\n
null
~
3
x
true
[]
- a\n- b\n
{}
'
"
&a
*a
a: 1\na: 2\n
a: b: c\n
a:\n\tb: 1\n
\ta: 1\n
a: [1, 2\n
a: {b: 1\n
a: 'x\n
%YAML 9.9\n---\na: 1\n
a: !!python/object/apply:os.system ['true']\n
a: !mine 1\n
!!set {a, b}\n
a: !!binary aGk=\n
? [a, b]\n: c\n
# @package _global_\nmodel: {args: {a: !!binary aGk=}}\n
# @package _global_\nmodel: {args: {a: {1: 2, true: 3}}}\n
# @package _global_\nmodel: {args: {a: .inf}}\n
a: 2020-01-01\n
1: 2\n
null: 1\n
true: 1\n
1.5: 2\n
? {a: 1}\n: 2\n
a: &a [*a]\n
a: &a {b: *a}\n
<<: {search: {trials: x}}\n
b: &b {trials: -1}\nsearch: {<<: *b}\n
<<: 1\n
a: {<<: [1]}\n
seed: 0b1\n
seed: 017\n
seed: 1:30\n
seed: .inf\n
# @package _global_\nsearch: {trials: -3}\n
# @package nope.nope\na: 1\n
# @package\n
# @package a b\n
# @package ../..\n
# @package _group_\n
# @package search\ntrials: x\n
defaults: 3\n
defaults: {}\n
defaults: [3]\n
defaults: [null]\n
defaults: [[a]]\n
defaults: [{a: 1, b: 2}]\n
defaults: [nope]\n
defaults: [_self_, _self_]\n
defaults: [mine]\n
defaults: [primary]\n
defaults: [config, config]\n
defaults: [model: nope]\n
defaults: [override model: cifar_cnn]\n
defaults: [override /model: nope]\n
defaults: [optional /model: nope]\n
defaults: [/model: [cifar_mlp, cifar_cnn]]\n
defaults: [/model@: cifar_mlp]\n
defaults: [/model@x.y: cifar_mlp]\n
defaults: [../../x]\n
defaults: [/etc/passwd]\n
defaults: ['${oc.env:HOME}']\n
defaults: [model: '${nope}']\n
defaults: [model: '${model}']\n
defaults: [data: ???]\n
defaults: [config, _self_]\ndefaults: [base]\n
hydra: 3\n
hydra: {mode: MULTIRUN}\n
hydra: {run: {dir: x}}\n
hydra: {searchpath: [file:///nowhere]}\n
hydra: {callbacks: {x: {_target_: os.system}}}\n
hydra: {job: {chdir: true}}\n
hydra: {mode: MULTIRUN, sweeper: {params: {search.trials: 'range(1,100000000)'}}}\n
hydra: {verbose: true}\n
"""

TEXTS = [
    *(line.replace(r"\n", "\n").replace(r"\t", "\t") for line in _ONE_A_LINE.strip().split("\n")),
    # nothing, and too much of it
    *("", " ", "\n\n", "name: " + "x" * 2**20, "name: '" + "é" * 10**5 + "'", "# " + "x" * 2**20, "\n" * 10**5),
    *("a: b\n" * 3000, "".join(f"k{n}: {n}\n" for n in range(4000))),
    "args: {" + ", ".join(f"k{n}: {n}" for n in range(4000)) + "}\n",
    # more than is seen
    *(_LAUGHS, "args: " + "[" * 400 + "]" * 400, "args: " + "{a: " * 200 + "1" + "}" * 200, "[" * 10**5),
    "a:\n" + "".join(" " * n + "b:\n" for n in range(1, 300)),
    # long for a pattern, or for a number
    *("budget: '" + "1" * 150_000 + "'\n", "_target_: " + "a." * 50_000 + "\n", "defaults: [" + "x/" * 50_000 + "]\n"),
    *("trials: 0x" + "f" * 5000 + "\n", "trials: " + "9" * 5000 + "\n"),
]

BYTES = [
    *(
        b"\xff\xfe",
        b"\xef\xbb\xbf" + _MODEL.encode(),
        b"a: \x00\n",
        b"\x00" * 999,
        b"\x7fELF\x02",
        b"\x1f\x8b\x08\x00" * 99,
    ),
    *(_MODEL.encode("utf-16"), _MODEL.encode("utf-32"), "name: caf\xe9\n".encode("latin-1"), b"name: \xed\xa0\x80\n"),
    *("name: \u202egnp\n".encode(), "name: \x85x\n".encode(), "name: \u2028x\n".encode(), b"name: '\x1b[31m'\n"),
    *(
        rb'name: "\ud800"',
        rb'name: "\0"',
        rb'name: "a\nb"',
        rb'name: "\x1b]0;x\x07"',
        b"name: |\n  a\n",
        b"name: >\n  a\n",
    ),
]
