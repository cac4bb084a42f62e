"""A terminal for tests: a text stream that says it is one, in a chosen encoding."""

from __future__ import annotations

import io


class Terminal(io.TextIOWrapper):
    """What is written is kept; a character that the encoding lacks raises, as a real stream does."""

    def __init__(self, encoding: str = "utf-8", *, is_terminal: bool = True) -> None:
        self.kept = io.BytesIO()
        self._is_terminal = is_terminal
        super().__init__(self.kept, encoding=encoding, errors="strict", write_through=True)

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def text(self) -> str:
        return self.kept.getvalue().decode(self.encoding)
