"""Which parts of a text are the question's words: positions, never markup, so that nothing foreign is ever trusted."""

import re
from collections.abc import Collection
from typing import Final

from registry.core.text import name_text, stems

MOST: Final = 50

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")


def highlights(text: str, asked: Collection[str]) -> tuple[tuple[int, int], ...]:
    """(start, end) in characters of `text`, rising and apart, at most MOST; `asked` are stems as in `Question.terms`.

    Positions are those of the text as it is shown; `getWeather` is marked as a whole where `weather` was asked for.
    """
    known: dict[str, bool] = {}
    found: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if word not in known:
            known[word] = any(stem in asked for stem in stems(name_text(word)))
        if known[word]:
            found.append(match.span())
            if len(found) == MOST:
                break
    return tuple(found)
