from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autotune.config.data import DataConfig
from autotune.data import Dataset, LoadedData, prepare
from autotune.data.dataset import ALIGNMENT
from autotune.errors import DataError


def config(**changes: Any) -> DataConfig:
    return DataConfig(**{"name": "mine", "_target_": "mine.load", "validation_examples": 20} | changes)


def images(count: int, first: int = 0) -> np.ndarray:
    """uint8 (count, 2, 2, 1); the first two values of each tell which one it is."""
    x = np.zeros((count, 4), np.uint8)
    x[:, 0], x[:, 1] = np.divmod(np.arange(first, first + count), 256)
    return x.reshape(count, 2, 2, 1)


def labels(count: int) -> np.ndarray:
    return np.arange(count) % 5


def pairs(train: int = 200, test: int = 50) -> Any:
    return (images(train), labels(train)), (images(test, first=1000), labels(test))


def numbers(x: np.ndarray) -> list[int]:
    flat = np.rint(x.reshape(len(x), -1) * 255).astype(int)
    return (flat[:, 0] * 256 + flat[:, 1]).tolist()


def test_three_disjoint_parts_that_keep_x_with_y() -> None:
    dataset = prepare(pairs(), config())
    assert [len(part) for part in (dataset.train, dataset.validation, dataset.test)] == [
        180,
        20,
        50,
    ]
    train, validation = numbers(dataset.train.x), numbers(dataset.validation.x)
    assert sorted(train + validation) == list(range(200))
    assert numbers(dataset.test.x) == list(range(1000, 1050))
    for part in (dataset.train, dataset.validation, dataset.test):
        assert part.y.tolist() == [number % 5 for number in numbers(part.x)]
        assert part.x.dtype == np.float32
        assert part.y.dtype == np.int32
        assert part.x.flags.c_contiguous
    assert np.bincount(dataset.validation.y).tolist() == [4] * 5
    assert (dataset.num_classes, dataset.input_shape) == (5, (2, 2, 1))
    assert (dataset.notes, dataset.stand_in) == ((), None)


def test_the_most_frequent_label_is_counted_in_the_validation_part() -> None:
    (x, _), test = pairs()
    y = np.where(np.arange(200) < 150, 1, 4)
    assert prepare(((x, y), test), config()).majority == 0.75
    assert prepare([(x, y / 3) for x, y in pairs()], config()).majority is None


def test_bytes_are_scaled_exactly() -> None:
    x = np.arange(256, dtype=np.uint8).repeat(2).reshape(256, 2)
    test = np.full((5, 2), 255, np.uint8)
    dataset = prepare(((x, labels(256)), (test, labels(5))), config())
    expected = (np.arange(256) / 255).astype(np.float32)
    got = np.sort(np.concatenate([dataset.train.x[:, 0], dataset.validation.x[:, 0]]))
    np.testing.assert_array_equal(got, expected)
    assert dataset.test.x.min() == 1.0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4"])
def test_floats_are_as_given(dtype: Any) -> None:
    x = np.linspace(-3, 7, 400).reshape(100, 4).astype(dtype)
    dataset = prepare(((x, labels(100)), (x[:10] + 20, labels(10))), config())
    both = np.concatenate([dataset.train.x, dataset.validation.x])
    np.testing.assert_array_equal(np.sort(both[:, 0]), x[:, 0].astype(np.float32))
    assert both.dtype == np.float32
    assert both.dtype.isnative


def test_what_is_converted_begins_where_a_framework_can_take_it_as_it_is() -> None:
    dataset = prepare(pairs(), config())
    assert [part.x.ctypes.data % ALIGNMENT for part in (dataset.train, dataset.validation, dataset.test)] == [0, 0, 0]


def test_large_arrays_are_converted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = prepare(pairs(), config())
    monkeypatch.setattr("autotune.data.preparation._CHUNK_BYTES", 48)
    pieces = prepare(pairs(), config())
    np.testing.assert_array_equal(whole.train.x, pieces.train.x)
    np.testing.assert_array_equal(whole.validation.x, pieces.validation.x)


def test_a_float32_part_that_needs_no_change_is_not_copied() -> None:
    x = np.random.default_rng(0).random((30, 3), np.float32)
    parts = ((x, labels(30)), (x[:5] + 1, labels(5)), (x[:5] + 2, labels(5)))
    assert prepare(parts, config()).train.x is x


def test_the_sources_own_validation_part_is_used_whole() -> None:
    (train, test) = pairs()
    dataset = prepare((train, (images(30, first=500), labels(30)), test), config())
    assert numbers(dataset.validation.x) == list(range(500, 530))
    assert len(dataset.train) == 200
    assert "own validation part of 30" in dataset.notes[0]


def test_small_data_give_a_fifth_and_say_so() -> None:
    dataset = prepare(pairs(train=50), config())
    assert len(dataset.validation) == 10
    assert dataset.notes[0].startswith("the validation part is 10 examples, not the 20 asked for")


def test_regression() -> None:
    x, targets = np.random.default_rng(0).random((100, 3)), np.linspace(0, 1, 100)
    dataset = prepare(((x, targets), (x[:10] + 1, targets[:10, None])), config())
    assert dataset.num_classes is None
    assert dataset.train.y.dtype == np.float32
    assert dataset.test.y.shape == (10,)
    assert len(dataset.validation) == 20


def test_floats_that_may_be_labels_are_said_to_be_taken_as_a_regression() -> None:
    def notes(y: np.ndarray) -> tuple[str, ...]:
        return prepare(((images(200), y), (images(50, first=1000), y[:50])), config()).notes

    assert notes(labels(200) * 1.0) == (
        "y_train holds floats and is taken as a regression; for classes use astype('int64')",
    )
    for regression in (labels(200) + 0.5, labels(200) + 1.0, np.arange(200) * 1.0, labels(200) * 2.0):
        assert notes(regression) == ()


def test_labels_in_a_column_as_keras_gives_them() -> None:
    (x_train, y_train), (x_test, y_test) = pairs()
    dataset = prepare(((x_train, y_train[:, None]), (x_test, y_test[:, None])), config())
    assert dataset.train.y.shape == (180,)


def test_what_the_source_says_is_passed_on() -> None:
    train, test = pairs()
    loaded = LoadedData(train, test, stand_in="not it", origin="a shelf", num_classes=7)
    dataset = prepare(loaded, config())
    assert (dataset.stand_in, dataset.origin, dataset.num_classes) == ("not it", "a shelf", 7)


def test_test_examples_seen_in_training_are_counted() -> None:
    (train, _) = pairs()
    leaky = (np.concatenate([images(3, first=7), images(9, first=900)]), labels(12))
    notes = prepare((train, leaky), config()).notes
    assert notes == ("3 of 12 test examples also occur in the training data",)


def test_an_own_validation_part_that_overlaps_with_another_is_told() -> None:
    """What was trained on says nothing of a candidate, and what is tested on should not have chosen it."""
    train, test = pairs()
    own = (np.concatenate([images(4, first=7), images(2, first=1000), images(9, first=900)]), labels(15))
    assert prepare((train, own, test), config()).notes[1:] == (
        "4 of 15 validation examples also occur in the training data",
        "2 of 15 validation examples also occur in the test part",
    )


def fingerprint(loaded: Any, **changes: Any) -> str:
    dataset: Dataset = prepare(loaded, config(**changes))
    assert len(dataset.fingerprint) == 64
    return dataset.fingerprint


def test_the_fingerprint_is_of_contents_and_split() -> None:
    same = fingerprint(pairs())
    assert fingerprint(pairs()) == same
    changed = pairs()
    changed[0][0][199, 1, 1, 0] = 9
    relabelled = pairs()
    relabelled[1][1][0] = 4
    reshaped = tuple((x.reshape(len(x), 4), y) for x, y in pairs())
    retyped = tuple((x.astype(np.float32) / 255, y) for x, y in pairs())
    others = [fingerprint(other) for other in (changed, relabelled, reshaped, retyped)]
    others += [fingerprint(pairs(), split_seed=1), fingerprint(pairs(), validation_examples=19)]
    assert len({same, *others}) == 7
    assert fingerprint(pairs(), name="other") == same


def test_a_stand_in_tells_the_reason_and_not_only_that_it_is_one() -> None:
    train, test = pairs()
    with pytest.raises(DataError, match="stand_in must be the reason why it is one, as text, or None, but got True"):
        prepare(LoadedData(train, test, stand_in=True), config())  # type: ignore[arg-type]


def test_without_an_origin_the_source_is_named() -> None:
    assert prepare(pairs(), config()).origin == "mine.load"


@pytest.mark.parametrize("examples", [0, 1])
def test_a_validation_part_that_can_tell_nothing_is_refused(examples: int) -> None:
    """No class gives its last example, and of hardly more examples than classes nothing is left to hold out."""
    train, test = (images(10 + examples), np.arange(10 + examples) % 10), (images(10, first=500), np.arange(10))
    with pytest.raises(DataError, match=f"validation part needs at least 2 examples, but got {examples}"):
        prepare((train, test), config())
    with pytest.raises(DataError, match="validation part needs at least 2 examples, but got 1"):
        prepare((pairs()[0], (images(1, first=700), labels(1)), pairs()[1]), config())


def test_too_large_for_the_memory_allowed() -> None:
    with pytest.raises(DataError, match=r"dataset mine needs 0\.00 GB, but data\.max_memory_gb"):
        prepare(pairs(), config(max_memory_gb=1e-9))


GOOD = (images(50), labels(50))
FLOATS = (np.ones((50, 2)), labels(50))


def holding(value: float, dtype: Any = np.float64) -> np.ndarray:
    x = np.random.default_rng(0).random((50, 2)).astype(dtype)
    x[31, 1] = value
    return x


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, "must return .* but got NoneType"),
        (images(5), "must return .* but got ndarray"),
        ((GOOD,), "no test part"),
        ((GOOD, None), r"the test part must be a pair \(x, y\), but got NoneType"),
        ((GOOD, GOOD, GOOD, GOOD), "but got 4 items"),
        ((GOOD, (images(5), labels(5), labels(5))), "must be a pair"),
        ((GOOD, images(50)), "must be a pair"),
        (((images(50).tolist(), labels(50)), GOOD), "x_train must be a numpy array, but got list"),
        (((images(50).astype(int), labels(50)), GOOD), "uint8 .* or floating, but got int64"),
        (((images(50).astype(object), labels(50)), GOOD), "but got object"),
        (((images(50) > 0, labels(50)), GOOD), "but got bool"),
        (((np.ones(50), labels(50)), GOOD), r"at least one feature, but got \(50,\)"),
        (((np.ones((50, 0)), labels(50)), GOOD), r"but got \(50, 0\)"),
        (((images(50), labels(49)), GOOD), "one length, but got 50 and 49"),
        (((images(9), labels(9)), GOOD), "at least 10 examples, but got 9"),
        ((GOOD, (images(0), labels(0))), "the test part must hold examples"),
        ((GOOD, (np.zeros((5, 3), np.uint8), labels(5))), r"one shape, but got \(3,\) in x_test"),
        ((GOOD, (images(5) / 255, labels(5))), "in all parts or in none, but got float64"),
        ((GOOD, GOOD), "must not be the training part"),
        ((GOOD, (images(5, 99), labels(5)), (images(5, 99), labels(5))), "validation part must not be the test part"),
        (((images(50), np.eye(5)[labels(50)]), GOOD), "argmax"),
        (((images(50), np.ones((50, 3)) / 2), GOOD), r"but got \(50, 3\); give one target an example"),
        (((images(50), labels(50).astype(str)), GOOD), "y_train must be integers"),
        (((images(50), labels(50).astype(object)), GOOD), "but got object"),
        (((images(50), labels(50) - 1), (images(5, 99), labels(5))), "got -1 to 3 in y_train"),
        ((GOOD, (images(9, 99), np.arange(9))), "labels must be 0 to 4 .* got 0 to 8 in y_test"),
        (((images(50), labels(50) * 100), (images(5, 99), labels(5))), "hardly class labels"),
        (((images(50), labels(50) * 0), (images(5, 99), labels(5))), "at least two classes"),
        ((GOOD, (images(5, 99), labels(5) / 1.0)), "y_test must hold class labels as integers"),
        (((holding(np.nan), labels(50)), FLOATS), "x_train must be finite"),
        ((FLOATS, (holding(-np.inf), labels(50))), "x_test must be finite"),
        (((holding(1e39), labels(50)), FLOATS), "x_train must be finite"),
        (((images(50), np.full(50, np.nan)), GOOD), "y_train must be finite"),
        (((images(50), np.full(50, 1e39)), (images(5, 99), labels(5) / 1.0)), "y_train must be finite"),
    ],
)
def test_what_a_source_can_get_wrong_is_one_line(returned: Any, complaint: str) -> None:
    with pytest.raises(DataError, match=complaint) as caught:
        prepare(returned, config())
    assert "\n" not in str(caught.value)


def test_nan_in_a_float32_part_that_is_not_copied() -> None:
    clean = np.random.default_rng(0).random((50, 2), np.float32)
    parts = (clean, labels(50)), (clean[:9] + 1, labels(9)), (holding(np.nan, "f4"), labels(50))
    with pytest.raises(DataError, match="x_test must be finite"):
        prepare(parts, config())


def test_float_labels_where_classes_are_declared() -> None:
    x, y = np.random.default_rng(0).random((50, 2)), labels(50) * 1.0
    with pytest.raises(DataError, match=r"y_train must hold class labels .* float64"):
        prepare(((x, y), (x + 1, y)), config(num_classes=5))


def test_fewer_classes_declared_than_found() -> None:
    with pytest.raises(DataError, match=r"labels must be 0 to 2 \(3 classes\)"):
        prepare(pairs(), config(num_classes=3))


def test_the_configuration_against_the_source() -> None:
    train, test = pairs()
    with pytest.raises(DataError, match=r"data\.num_classes is 9, but the source has 5"):
        prepare(LoadedData(train, test, num_classes=5), config(num_classes=9))


def test_the_machine_must_hold_only_what_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autotune.data.memory.available_bytes", lambda root: 0)
    x = np.random.default_rng(0).random((60, 2), np.float32)
    ready = (x[:20], labels(20)), (x[20:40], labels(20)), (x[40:], labels(20))
    assert len(prepare(ready, config()).train) == 20
    with pytest.raises(DataError, match=r"dataset mine needs .* but 0\.00 GB are available"):
        prepare(ready[::2], config())
    with pytest.raises(DataError, match="are available"):
        prepare(pairs(), config())
