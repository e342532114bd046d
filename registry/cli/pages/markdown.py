"""The little Markdown that the generated pages need."""

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`[^`]*`)")


def page(title: str, *parts: str) -> str:
    """A whole page; parts are paragraphs, sections or tables."""
    note = "<!-- Made from the code by `make docs`; changes belong there. -->"
    return "\n\n".join([note, f"# {title}", *parts]) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells may hold Markdown, but neither HTML nor lines."""
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def codes(values: Iterable[str]) -> str:
    """The values as code, side by side."""
    return " ".join(f"`{value}`" for value in values)


def _cell(text: str) -> str:
    """Within code a bar must be escaped in a table too, but a less-than sign must not."""
    parts = _CODE.split(text.replace("|", r"\|").replace("\n", " "))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)
