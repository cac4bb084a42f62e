"""HTML from text: whatever is no `Html` already is escaped, so that nobody's name becomes markup."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from autotune.printable import printable

Row = Sequence[str]


class Html(str):
    """Markup that is safe to put into the page as it is."""

    __slots__ = ()


def esc(text: object) -> Html:
    """Text on one line, without control characters, spaces as they are: a path may have two; markup as it is."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(printable(str(text))))


def block(text: str) -> Html:
    """Text whose lines and leading spaces stay, for `pre`; its lines are printable already."""
    return Html(html.escape(text))


def join(parts: Iterable[str], between: str = "\n") -> Html:
    """Escaped parts one after another."""
    return Html(between.join(esc(part) for part in parts if part))


def tag(name: str, content: object = "", /, **attributes: object) -> Html:
    """One element. An attribute that is None or False is left out; `_` in its name is `-`, at its end nothing."""
    return Html(f"<{name}{_attributes(attributes)}>{esc(content)}</{name}>")


def _attributes(attributes: dict[str, object]) -> str:
    text = ""
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        name = name.rstrip("_").replace("_", "-")
        text += f" {name}" if value is True else f' {name}="{esc(value)}"'
    return text


def section(ident: str, title: str, *parts: str) -> Html:
    """A part of the page with its heading; nothing where it has no content."""
    content = join(parts)
    if not content:
        return Html()
    heading = tag("h2", title, id=f"{ident}-title")
    return Html(f'<section id="{esc(ident)}" aria-labelledby="{esc(ident)}-title">\n{heading}\n{content}\n</section>')


def items(lines: Iterable[str], **attributes: object) -> Html:
    """A list; nothing without lines."""
    found = join(tag("li", line) for line in lines)
    return tag("ul", found, **attributes) if found else Html()


def described(rows: Iterable[tuple[str, str]]) -> Html:
    """Labels and texts, a list of terms; nothing without rows."""
    found = join(Html(f"<div>{tag('dt', label)}{tag('dd', text)}</div>") for label, text in rows)
    return tag("dl", found) if found else Html()


def paragraphs(lines: Iterable[str], **attributes: object) -> Html:
    """One `p` a line."""
    return join(tag("p", line, **attributes) for line in lines)


def table(caption: str, header: Row, rows: Iterable[Row]) -> Html:
    """A table in a box of its own, which scrolls where the screen is narrow; the first cell of a row is its head."""
    head = join((tag("th", cell, scope="col") for cell in header), "")
    body = join(Html(f"<tr>{tag('th', row[0], scope='row')}{_cells(row[1:])}</tr>") for row in rows)
    if not body:
        return Html()
    inner = f"<table>{tag('caption', caption)}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    # What scrolls must be reachable by keyboard.
    return Html(f'<div class="scroll" tabindex="0" role="region" aria-label="{esc(caption)}">{inner}</div>')


def _cells(cells: Row) -> Html:
    return join((tag("td", cell) for cell in cells), "")


def more(summary: str, content: str) -> Html:
    """Something that opens on demand; nothing without content."""
    return Html(f"<details>{tag('summary', summary)}{esc(content)}</details>") if content else Html()


def trial_link(trial: int, text: str | None = None) -> Html:
    """To the trial's row in the table of all trials."""
    return tag("a", str(trial) if text is None else text, href=f"#trial-{trial}", data_trial=trial)
