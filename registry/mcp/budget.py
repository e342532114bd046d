"""Keeps results within a number of bytes: what does not fit is left out whole, never cut in the middle of a value.

A cut text would still be a text, but a cut schema or call would be a wrong one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from registry.core.reading.plain_text import ELLIPSIS, line

TEXT_SHARE: Final = 4
"""One part in four of a result's bytes is for its text, the rest for its structured content."""


def size(value: Any) -> int:
    """Return the bytes of a value as JSON, with the comma after it."""
    return len(orjson.dumps(value)) + 1


def split(max_bytes: int) -> tuple[int, int]:
    """Return the bytes for structured content and for text."""
    return max_bytes - max_bytes // TEXT_SHARE, max_bytes // TEXT_SHARE


def short(text: Any, most_bytes: int) -> str:
    """Return a text on one line, of at most this many bytes; a cut one ends in an ellipsis."""
    said = line(str(text or ""), most_bytes)
    encoded = said.encode()
    if len(encoded) <= most_bytes:
        return said
    return encoded[: most_bytes - len(ELLIPSIS.encode())].decode(errors="ignore").rstrip() + ELLIPSIS


def members_within(members: Iterable[tuple[str, Any]], budget: int) -> tuple[dict[str, Any], list[str], int]:
    """Return the members that fit, in their order, the names of those that do not, and the bytes that are left."""
    fitting: dict[str, Any] = {}
    omitted: list[str] = []
    for name, value in members:
        cost = size(value) + len(name) + 4
        if cost <= budget:
            fitting[name] = value
            budget -= cost
        else:
            omitted.append(name)
    return fitting, omitted, budget


def first_within(values: Sequence[Any], budget: int) -> list[Any]:
    """Return as many of the first values as fit."""
    fitting = []
    for value in values:
        budget -= size(value)
        if budget < 0:
            break
        fitting.append(value)
    return fitting


def lines_within(lines: Iterable[str], budget: int) -> str:
    """Return the lines that fit as one text; the last one says when some were left out."""
    kept: list[str] = []
    for said in lines:
        said = " ".join(said.splitlines())  # guard: mcp-lines
        budget -= len(said.encode()) + 1
        if budget < 20:
            kept.append("(more was left out)")
            break
        kept.append(said)
    return "\n".join(kept)
