"""A 16-bit policy that leaves some layers in float32, as a `keras.dtype_policies.DTypePolicyMap`.

The map is set as the global policy with no entry, the builder is called, and only then are the layers entered by their
paths, which Keras gives them when they are built (`keras.Layer.path`). Two traps:

- Until a layer is built it computes in the map's default. A functional model casts the layer's input to 16 bit in that
  first call, and the cast stays in its graph: a float32 layer after another one would lose the digits, and the range,
  that it is in float32 for. So such a model is made once more (`keras.models.clone_model`), each layer with the policy
  that the map names for it. One that is a class of its own calls its layers anew each time, with the map in force.
- Keras adds loss scaling by the policy's name, which of a map is `map_mixed_float16`: see `ModelBuilder.compile`.
"""

from __future__ import annotations

import keras

from autotune.errors import TrialFault
from autotune.trial import FailureKind, Policy

FLOAT32 = "float32"

_LISTED = 8


def policy_of(policy: Policy) -> keras.dtype_policies.DTypePolicy:
    """Keras's policy: its own of that name, or a map that is yet to be filled."""
    own = keras.dtype_policies.get(policy.name)
    return keras.dtype_policies.DTypePolicyMap(own) if policy.float32_layers else own


def units(model: keras.Model) -> dict[str, keras.Layer]:
    """The layers of a built model and of models within it, by path; what a layer holds itself is part of it."""
    found: dict[str, keras.Layer] = {}
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            found |= {f"{layer.name}/{path}": own for path, own in units(layer).items()}
        elif not isinstance(layer, keras.layers.InputLayer):
            found[(layer.path or layer.name).removeprefix(f"{model.name}/")] = layer
    return found


def with_float32_layers(model: keras.Model, policy: Policy) -> keras.Model:
    """The same built model, with the same weights, whose `policy.float32_layers` compute in float32.

    Args:
        model: built under `policy_of(policy)`, which is still the global policy.
        policy: names the layers.

    Raises:
        TrialFault: it has no such layer, or one that cannot be changed from outside.
    """
    known, table = units(model), keras.config.dtype_policy()
    for path in policy.float32_layers:
        if path not in known:
            listed = ", ".join(list(known)[:_LISTED]) + (", ..." if len(known) > _LISTED else "")
            raise TrialFault(
                FailureKind.INVALID, f"the model has no layer {path!r} to keep in float32; its layers are {listed}"
            )
        for part in known[path]._flatten_layers():
            if part.path and part.path not in table:
                table[part.path] = FLOAT32
    made = _made_again(model) if isinstance(model, keras.Sequential) or type(model).__name__ == "Functional" else model
    _check(made, policy)
    return made


def computes_in(layer: keras.Layer, dtype: str) -> bool:
    """Whether a layer and all that it holds computes in this dtype."""
    return all(part.compute_dtype == dtype for part in layer._flatten_layers())


def _made_again(model: keras.Model) -> keras.Model:
    def clone(layer: keras.Layer) -> keras.Layer:
        config = layer.get_config()
        if isinstance(layer.dtype_policy, keras.dtype_policies.DTypePolicyMap):
            named = layer.dtype_policy[layer.path] if layer.path else layer.dtype_policy.default_policy
            config["dtype"] = named.name
        return layer.__class__.from_config(config)

    try:
        made = keras.models.clone_model(model, clone_function=clone, recursive=True)
    except (NotImplementedError, TypeError, ValueError) as error:  # a person's own layer without get_config
        reason = str(error).strip().split("\n")[0]
        raise TrialFault(FailureKind.INVALID, f"no layer can be kept in float32 ({reason})") from error
    made.set_weights(model.get_weights())
    return made


def _check(model: keras.Model, policy: Policy) -> None:
    known = units(model)
    for path in policy.float32_layers:
        if path not in known or not computes_in(known[path], FLOAT32):
            said = f"{path} cannot be kept in float32: it sets a dtype of its own"
            raise TrialFault(FailureKind.UNSUPPORTED, said)
