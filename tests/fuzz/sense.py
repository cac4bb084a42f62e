"""Whether a configuration that loads makes sense, by other means than the schema's own: it is planned with."""

from __future__ import annotations

import itertools
import json
import math
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from autotune import codec
from autotune.config.compose import to_yaml_dict
from autotune.config.schema import Config
from autotune.hardware.target import resolve_target
from autotune.space.build import baseline_candidate, build_space
from autotune.space.recipe import recipe_for
from autotune.study.plan import make_plan, resolvable_margins
from autotune.study.propose import Proposer
from autotune.trial import Probe
from tests.space.test_space import CPU, RTX2060
from tests.study.fake_executor import DATA, effect_of

_LARGEST = 2**31
_ARGUMENTS = re.compile(r"[._]args\b")  # of a person's own functions


def nonsense(config: Config) -> list[str]:
    """Why no study should be started with it; empty if it can be planned with."""
    plain = to_yaml_dict(config)
    return [*_values(plain, ""), *_recorded(plain), *_plan(config)]


def _recorded(plain: dict[str, Any]) -> Iterator[str]:
    """A worker and a record are handed lines of JSON, in UTF-8."""
    try:
        if json.loads(codec.dumps(plain).encode()) != plain:
            yield "a record holds it otherwise"
    except (TypeError, ValueError) as error:
        yield f"no record can hold it: {error!s:.200}"


def _values(node: Any, key: str) -> Iterator[str]:
    match node:
        case dict():
            for name, entry in node.items():
                yield from _values(name, f"{key} (key)")
                yield from _values(entry, f"{key}.{name}"[:200])
        case list():
            for entry in node:
                yield from _values(entry, key)
        case bool() | None:
            pass
        case int() if not -_LARGEST <= node < _LARGEST and not _ARGUMENTS.search(key):
            yield f"{key} is {node:.3g}"
        case float() if not math.isfinite(node):
            yield f"{key} is {node}"
        case str() if any(unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t\r" for letter in node):
            yield f"{key} is {node!r:.200}"


def _plan(config: Config) -> Iterator[str]:
    for device, accelerator in ((CPU, "CPU"), (RTX2060, "GPU")):
        try:
            yield from _plan_on(config, device, accelerator)
        except Exception as error:  # noqa: BLE001 (whatever it is, the schema should have said so)
            yield f"it cannot be planned with: {type(error).__name__}: {error!s:.300}"


def _plan_on(config: Config, device: Any, accelerator: str) -> Iterator[str]:
    if max(config.train.batch_size, config.train.examples or 0) > DATA.train:
        return  # refused once the data are known (see `check_against_data`)
    baseline = baseline_candidate(config, accelerator)
    probe = Probe(baseline, effect_of(baseline), (2.0,) * 10, (), 10, (), 0.1, 0.5, None, 1.0, True)
    budget_s = config.search.budget_s
    plan = make_plan(config, probe, DATA, math.inf if budget_s is None else budget_s, 8.0)
    if not all(math.isfinite(share_s) and share_s > 0 for share_s in plan.shares_s.values()):
        yield f"shares of the budget: {plan.shares_s}"
    if not all(math.isfinite(m) and m > 0 for m in resolvable_margins(config, {"": 0.01}).values()):
        yield "no margin can be resolved"
    target = resolve_target(config.hw, device).profile
    space = build_space(config, device, target, probe, plan.fidelity)
    proposer = Proposer(space, config.search)
    if next(space.candidates(), None) is not None and proposer.ask() is None:
        yield "nothing is proposed"
    for candidate in itertools.islice(space.candidates(), 200):
        recipe = recipe_for(config.train, candidate, plan.fidelity)
        rates = (recipe.learning_rate, recipe.base_learning_rate)
        if not all(math.isfinite(rate) and rate > 0 for rate in rates):
            yield f"a learning rate of {recipe.learning_rate}"
