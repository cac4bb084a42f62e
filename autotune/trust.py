"""Which callables a configuration may have run by naming them with `_target_`.

A configuration is data that may come from anywhere, while `_target_` names code. So what it names must be one of the
few below, or be trusted by the person on the command line (`--trust my_package`). Trust is no key of the configuration:
no file, record or export can hold it. The worker is handed it when it is started, and asks again before it imports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from autotune.config.checks import did_you_mean
from autotune.errors import ConfigError

OURS = "autotune"
FLAG = "--trust"

MODEL = "model._target_"
DATA = "data._target_"
METRIC = "constraint._target_"
CALLBACK = "train.callbacks._target_"

BUILT_IN: Mapping[str, frozenset[str]] = {
    # No function of keras.applications is here: none takes the arguments of a builder, and `weights` opens any file.
    MODEL: frozenset({"autotune.models.cifar.mlp", "autotune.models.cifar.cnn", "autotune.models.digits.mlp"}),
    DATA: frozenset(f"autotune.data.{name}.load" for name in ("cifar10", "digits", "fashion_mnist", "npz", "stand_in")),
    METRIC: frozenset(
        f"autotune.worker.metrics.{name}" for name in ("accuracy", "error_rate", "cross_entropy", "mean_absolute_error")
    ),
    # Those that act on the training alone. The others of Keras write to or remove a path of their choice
    # (ModelCheckpoint, CSVLogger, TensorBoard, BackupAndRestore), send to an address (RemoteMonitor), or take code.
    CALLBACK: frozenset(
        f"keras.callbacks.{name}" for name in ("EarlyStopping", "ReduceLROnPlateau", "SwapEMAWeights", "TerminateOnNaN")
    ),
}
"""What needs no trust, by the key that names it."""

Named = tuple[str, str]
"""A configuration key and the dotted name that it holds."""

_granted: list[str] = []


@contextmanager
def trusting(names: Iterable[str]) -> Iterator[None]:
    """Trust packages, modules or single callables, in this whole process, for a while.

    Args:
        names: dotted; each stands for itself and for all below it.
    """
    before = list(_granted)
    _granted.extend(names)
    try:
        yield
    finally:
        _granted[:] = before


def checked(name: str) -> str:
    """What `--trust` was given, if it is a name that it can take.

    Raises:
        ConfigError: it is no dotted name, or one of this package, the rest of which is not made to be named.
    """
    if not _are_identifiers(name):
        raise ConfigError(
            f"{FLAG} takes one dotted name, as an import has it, but got {name!r}; such as {FLAG} my_package, and once"
            " more for another"
        )
    if _below(name, OURS):
        raise ConfigError(f"{FLAG} is for other packages than {OURS} itself, but got {name!r}; remove it")
    return name


def granted() -> tuple[str, ...]:
    """What is trusted in this process, for handing it to another."""
    return tuple(_granted)


def named_in(config: Mapping[str, Any]) -> list[Named]:
    """Every `_target_` of a plain configuration, at whatever depth, also where nothing of ours reads it."""
    return list(_named(config, ""))


def require_trusted(targets: Iterable[Named]) -> None:
    """Refuse names that a configuration may not have run. Imports nothing.

    Raises:
        ConfigError: naming every one of them, its key, and the flags to add.
    """
    foreign: list[Named] = []
    for key, target in targets:
        if not is_dotted_name(target):
            raise ConfigError(f"{key} must be a dotted name such as my_module.load, but got {target!r}.")
        if target in BUILT_IN.get(key, ()):
            continue
        if _below(target, OURS):
            raise _none_of_ours(key, target)
        if not any(_below(target, name) for name in _granted):
            foreign.append((key, target))
    if foreign:
        raise ConfigError(
            f"{_listed(key for key, _ in foreign)} must name something built in or trusted, but got"
            f" {_listed(target for _, target in foreign)}; to have that code run, add {flags_for(foreign)} to the"
            " command line"
        )


def require_defined_within(found: Any, target: str, key: str) -> None:
    """Refuse what a trusted module only passes on, such as its own import of `os.system`.

    A name that is trusted itself, rather than the package that it is in, may be defined anywhere.

    Raises:
        ConfigError: it is defined in a package that is not trusted.
    """
    if target in _granted or target in BUILT_IN.get(key, ()):
        return
    while isinstance(found, partial):
        found = found.func
    home = str(getattr(found, "__module__", None) or type(found).__module__)
    if any(_below(home, name.partition(".")[0]) for name in _granted if _below(target, name)):
        return
    raise ConfigError(
        f"{key} names {target}, which is defined in {home}, and that is not trusted; if you trust it, add"
        f" {FLAG} {target} to the command line"
    )


def flags_for(targets: Iterable[Named]) -> str:
    """The flags that the targets need on a command line; empty where all are built in."""
    names = [target for key, target in targets if target not in BUILT_IN.get(key, ())]
    return " ".join(f"{FLAG} {name}" for name in dict.fromkeys(names) if is_dotted_name(name))


def is_dotted_name(text: Any) -> bool:
    """Whether it is `module.function`: identifiers, at least two, none of Python's own with two underscores."""
    return isinstance(text, str) and "." in text and _are_identifiers(text)


def _are_identifiers(text: str) -> bool:
    return all(part.isidentifier() and not part.startswith("__") for part in text.split("."))


def _named(node: Any, key: str) -> Iterator[Named]:
    if isinstance(node, Mapping):
        for name, value in node.items():
            below = f"{key}.{name}" if key else str(name)
            if name == "_target_":
                yield below, value
            else:
                yield from _named(value, below)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from _named(value, key)


def _below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _none_of_ours(key: str, target: str) -> ConfigError:
    choices = sorted(BUILT_IN.get(key, ()))
    near = did_you_mean(target, choices)
    hint = f"choose one of {', '.join(choices)}" if choices else "nothing of it may be named there"
    return ConfigError(f"{key} must name one of {OURS}'s own for it, but got {target};{near or ' ' + hint}")


def _listed(words: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(words))
