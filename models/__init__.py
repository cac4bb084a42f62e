"""Model builders, installed as `autotune.models`; `conf/model/*.yaml` names one by its `_target_`.

The contract of a builder, here and in a person's own file:

    def builder(
        *, widths: Sequence[int], input_shape: tuple[int, ...], num_classes: int, **args
    ) -> keras.Model

- It returns a new, uncompiled Keras model from float32 `(batch, *input_shape)` to
  `(batch, num_classes)`: probabilities for a classification, since `train.loss` names a
  loss with its defaults (a head of logits would train, badly).
- `widths` are the sizes that the autotuner may move, in the order in which the model uses them.
  Those that a person starts from, and the inclusive `[min, max]` of each, are `widths` and
  `width_bounds` in the model's YAML.
- It says nothing about precision: no policy, no cast, no dtype, with one exception. The layer that
  makes the output has `dtype="float32"`, so that softmax and loss are float32 under every policy.
- It draws no seed of its own: the caller has called `keras.utils.set_random_seed`.
- `args` are further keyword arguments from the YAML, passed on as they are.

These files are imported by the worker's child only, so they import Keras at the top.
"""
