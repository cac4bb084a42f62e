from __future__ import annotations

import pytest

from autotune.config.train import OPTIMIZERS, LearningRateScaling, Schedule, TrainConfig
from autotune.errors import ConfigError
from autotune.space.recipe import Fidelity, evaluated_epochs, recipe_for, scaled_learning_rate, scaling_rule
from autotune.trial import Candidate, Policy, Recipe, Xla

SHORT = Fidelity(8000, 3)
NONE, SQRT, LINEAR = LearningRateScaling.none, LearningRateScaling.sqrt, LearningRateScaling.linear


def recipe(train: TrainConfig, batch: int, fidelity: Fidelity = SHORT) -> Recipe:
    return recipe_for(train, Candidate(Policy("float32"), batch, Xla.AUTO, ()), fidelity)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_sgd_scales_linearly_and_whatever_normalises_its_step_by_the_root(optimizer: str) -> None:
    expected = LINEAR if optimizer == "sgd" else SQRT
    assert scaling_rule(TrainConfig(optimizer=optimizer)) is expected
    assert scaling_rule(TrainConfig(optimizer=optimizer.upper())) is expected


@pytest.mark.parametrize("rule", [NONE, SQRT, LINEAR])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_a_rule_that_the_user_names_is_obeyed(rule: LearningRateScaling, optimizer: str) -> None:
    assert scaling_rule(TrainConfig(optimizer=optimizer, scaling=rule)) is rule


@pytest.mark.parametrize(
    ("factor", "none", "sqrt", "linear"),
    [(1, 0.02, 0.02, 0.02), (4, 0.02, 0.04, 0.08), (16, 0.02, 0.08, 0.32), (0.25, 0.02, 0.01, 0.005)],
)
def test_scaled_learning_rate(factor: float, none: float, sqrt: float, linear: float) -> None:
    assert scaled_learning_rate(0.02, factor, NONE) == none
    assert scaled_learning_rate(0.02, factor, SQRT) == pytest.approx(sqrt)
    assert scaled_learning_rate(0.02, factor, LINEAR) == pytest.approx(linear)


def test_auto_is_no_rule_to_scale_by() -> None:
    with pytest.raises(ValueError, match="definite rule, but got auto"):
        scaled_learning_rate(0.01, 2, LearningRateScaling.auto)


def test_the_users_own_batch_is_trained_exactly_as_the_user_does() -> None:
    train = TrainConfig(optimizer="adam", learning_rate=0.003, batch_size=64, warmup_steps=17)
    own = recipe(train, 64)
    assert own == Recipe(8000, 3, 64, "adam", 0.003, 0.003, "sqrt", "cosine", 17, 375)
    assert recipe(TrainConfig(), 32).warmup_steps == 0, "no warm-up that the user did not ask for"


def test_only_whole_batches_are_steps() -> None:
    # 8000 / 512 is 15.6: 15 whole batches an epoch, three epochs.
    assert recipe(TrainConfig(), 512).total_steps == 45
    assert recipe(TrainConfig(), 512, Fidelity(8000, 1)).total_steps == 15
    assert recipe(TrainConfig(), 8000).total_steps == 3
    for examples in (100, 999, 1000, 1024):
        for batch in (1, 7, 32, 100):
            made = recipe(TrainConfig(), batch, Fidelity(examples, 2))
            assert made.total_steps == 2 * (examples // batch)
            assert made.total_steps * batch <= 2 * examples < made.total_steps * batch + 2 * batch


def test_a_batch_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="a batch of 64 does not fit into 63 examples"):
        recipe(TrainConfig(), 64, Fidelity(63, 3))


def test_a_raised_rate_is_warmed_up_over_a_tenth_of_the_steps() -> None:
    raised = recipe(TrainConfig(), 128)  # k = 4: 62 batches an epoch, 186 steps
    assert (raised.learning_rate, raised.total_steps, raised.warmup_steps) == (0.04, 186, 19)
    assert raised.base_learning_rate == 0.01
    assert (raised.scaling, raised.schedule) == ("linear", "cosine")


def test_a_rate_that_was_not_raised_is_not_warmed_up() -> None:
    assert recipe(TrainConfig(scaling=NONE), 128).warmup_steps == 0
    lowered = recipe(TrainConfig(), 16)
    assert (lowered.learning_rate, lowered.warmup_steps) == (0.005, 0)


@pytest.mark.parametrize(
    ("batch", "warmup"),
    [
        (32, 100),  # as asked
        (16, 200),  # half the batch: twice the steps for the same examples
        (64, 50),  # 25 x 3 / 10 = 37.5 would be less
        (512, 6),  # 100 / 16
        (1024, 3),  # 100 / 32 = 3.1, above a tenth of 21 steps
    ],
)
def test_the_users_warm_up_covers_the_same_examples(batch: int, warmup: int) -> None:
    assert recipe(TrainConfig(warmup_steps=100), batch).warmup_steps == warmup


def test_warm_up_leaves_at_least_one_step() -> None:
    assert recipe(TrainConfig(warmup_steps=10_000), 32).warmup_steps == 749
    one = recipe(TrainConfig(warmup_steps=5), 32, Fidelity(32, 1))
    assert (one.total_steps, one.warmup_steps) == (1, 0)


def test_warm_up_is_never_negative_nor_beyond_the_training() -> None:
    for asked in (0, 1, 3, 50, 700):
        for batch in (8, 32, 100, 512, 4000, 8000):
            made = recipe(TrainConfig(warmup_steps=asked), batch)
            assert 0 <= made.warmup_steps < made.total_steps


NOT_COSINE = [(Schedule.constant, []), (Schedule.step, [100])]


@pytest.mark.parametrize(("schedule", "boundaries"), NOT_COSINE)
def test_a_raised_rate_is_warmed_up_under_cosine_alone(schedule: Schedule, boundaries: list[int]) -> None:
    raised = recipe(TrainConfig(schedule=schedule, step_boundaries=boundaries), 128)
    assert (raised.learning_rate, raised.warmup_steps) == (0.04, 0)


@pytest.mark.parametrize(("schedule", "boundaries"), NOT_COSINE)
def test_a_warm_up_that_the_schedule_does_not_have_is_refused(schedule: Schedule, boundaries: list[int]) -> None:
    with pytest.raises(ConfigError, match=f"warmup_steps needs train.schedule=cosine, but got '{schedule.value}'"):
        TrainConfig(schedule=schedule, step_boundaries=boundaries, warmup_steps=100)


@pytest.mark.parametrize(
    ("epochs", "evaluations", "expected"),
    [
        (6, 2, {3, 6}),
        (5, 2, {3, 5}),
        (1, 2, {1}),
        (5, 5, {1, 2, 3, 4, 5}),
        (4, 9, {1, 2, 3, 4}),
        (10, 4, {3, 5, 8, 10}),
        (7, 1, {7}),
    ],
)
def test_evaluations_are_spread_evenly_and_the_last_is_at_the_end(
    epochs: int, evaluations: int, expected: set[int]
) -> None:
    assert evaluated_epochs(epochs, evaluations) == expected
    assert max(evaluated_epochs(epochs, evaluations)) == epochs


def test_a_recipe_says_how_often_it_is_evaluated() -> None:
    candidate = Candidate(Policy("float32"), 32, Xla.AUTO, ())
    assert recipe(TrainConfig(), 32).evaluations == 2
    assert recipe(TrainConfig(), 32, Fidelity(8000, 1)).evaluations == 1, "no more than epochs"
    every = recipe_for(TrainConfig(), candidate, Fidelity(8000, 9), evaluations=9)
    assert every.evaluations == 9
    assert evaluated_epochs(every.epochs, every.evaluations) == set(range(1, 10))
    with pytest.raises(ValueError, match="needs an evaluation at its end, but got 0"):
        recipe_for(TrainConfig(), candidate, SHORT, evaluations=0)


def test_a_verdict_names_the_fidelity_that_it_speaks_of() -> None:
    assert str(SHORT) == "8,000 examples x 3 epochs"
    assert str(recipe(TrainConfig(), 32)) == str(SHORT)
