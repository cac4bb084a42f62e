from __future__ import annotations

import pytest

from autotune.config import texts
from autotune.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("\x1b[31mred", "U+001B"),
        ("nul\0", "U+0000"),
        ("bell\a", "U+0007"),
        ("\x9b31m", "U+009B"),
        ("\x7f", "U+007F"),
        ("user\u202etxt.exe", "U+202E"),
        ("\u2066", "U+2066"),
        ("\ud800", "U+D800"),
    ],
)
def test_what_a_terminal_or_a_file_system_trips_over_is_refused_in_keys_and_values(text, number):
    for config in ({"model": {"name": text}}, {"data": {"args": {"x": [1, {"y": text}]}}}, {"data": {text: 1}}):
        with pytest.raises(ConfigError, match="must not hold control characters") as caught:
            texts.check(config)
        assert number in str(caught.value)
        assert str(caught.value).isprintable()


def test_the_beginning_of_an_address_is_quoted_without_its_password():
    with pytest.raises(ConfigError) as caught:
        texts.check({"tracking": {"uri": f"https://me:S3cret{'x' * 40}@host\a"}})
    assert "'https://***@host?'" in str(caught.value)


@pytest.mark.parametrize("text", ["größe", "模型", "a\tb\nc", "👩‍🔬", "a\u00a0b", "שלום", ""])
def test_other_text_is_free(text):
    texts.check({"model": {"name": text, "args": {text: [text]}}})
