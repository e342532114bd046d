"""Helpers that write the Markdown of the generated pages."""

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]*`)")


def page(title: str, *parts: str) -> str:
    """Return a whole page; the parts are paragraphs, sections or tables."""
    note = "<!-- Made from the code by `make docs`; changes belong there. -->"
    return "\n\n".join([note, f"# {title}", *parts]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; cells may contain Markdown; HTML is escaped and line breaks become spaces."""
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def codes(values: Iterable[str]) -> str:
    """Return the values as inline code, separated by spaces."""
    return " ".join(f"`{value}`" for value in values)


def _cell(text: str) -> str:
    """Escape a cell: `|` everywhere, because tables split on it even within code; `<` only outside code."""
    parts = _CODE.split(text.replace("|", r"\|").replace("\n", " "))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)
