"""Find the query's words in a text: positions, never markup, so that no foreign text is ever trusted."""

import re
from collections.abc import Collection
from typing import Final

from registry.core.wording.text import name_text, stems

MOST: Final = 50

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")


def highlights(text: str, query_stems: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return at most MOST disjoint spans (start, end) of `text`; `query_stems` holds stems as in `ParsedQuery.terms`.

    Positions are those of the text as it is shown; `getWeather` is marked as a whole if `weather` is in the query.
    """
    is_in_query: dict[str, bool] = {}
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if word not in is_in_query:
            is_in_query[word] = any(stem in query_stems for stem in stems(name_text(word)))
        if is_in_query[word]:
            spans.append(match.span())
            if len(spans) == MOST:
                break
    return tuple(spans)
