"""A question as candidate queries: the vectors' leg, the words' legs, and the filter that is inside all of them.

The engine has no "any of these words": a query demands all of them and gives up words from its end. But the tally
tells how many services hold each word. Words that few services hold are asked for one by one, rarest first, as long as
all their services together fit into the pool; that is exact. What is left are words that many services hold: there
the ones together with the rarest, and the vectors, find the services that matter (docs/search.md has the figures).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from registry.core.listing import Filters
from registry.core.ranking import CorpusStats, Question, term_ids
from registry.search.facets import FACETS, NUMBERS, ranges, wanted
from registry.search.meilisearch.layout import Kind, words_of

VECTOR_LIMIT: Final = 100
WORDS_LIMIT: Final = 30
RARE_LIMIT: Final = 120
"""Services of one question: by its vector, by words that many services hold, by words that few hold."""

QUERY_WORDS: Final = 10
"""The engine reads no more words of a query."""

_SLACK: Final = 5
"""Services that got a word since the tally was read."""

_HAS_A_VECTOR: Final = 1e-6
"""The score is (1 + cosine) / 2. Documents without a vector, the tally among them, come behind all others with 0."""

_VALUE = re.compile(r"[a-z0-9][a-z0-9._:+-]{0,252}")
_NOTHING: Final = f'kind = "{Kind.TALLY}" AND kind = "{Kind.GONE}"'
_CARRIED: Final = ["host", "score", "r"]
_PROBED: Final = ["h", "g", "model"]

Json = dict[str, Any]


def probe(index: str) -> Json:
    """Which generation answers: the small half of the tally."""
    return {"indexUid": index, "filter": f'kind = "{Kind.TALLY}"', "limit": 1, "attributesToRetrieve": _PROBED}


def whole_tally(index: str) -> Json:
    return probe(index) | {"attributesToRetrieve": [*_PROBED, "r"]}


def best_grades(index: str, filters: Filters, limit: int) -> Json:
    """Without words: those with the best grade."""
    wanted = _all_of([f'kind = "{Kind.SERVICE}"', *_clauses(filters)])
    return {
        "indexUid": index, "filter": wanted, "sort": ["score:desc"], "limit": limit, "attributesToRetrieve": _CARRIED,
    }  # fmt: skip


def everything(index: str) -> Json:
    return {"indexUid": index, "filter": f'kind = "{Kind.SERVICE}"', "limit": 0}


def vector_leg(index: str, question: Question, filters: Filters) -> list[Json]:
    """Nothing without a vector: a zero one would be as near to everything as can be."""
    if question.whole is None or not question.whole.any():
        return []
    return [
        {
            "indexUid": index,
            "vector": [round(number, 5) for number in question.whole.tolist()],
            "hybrid": {"embedder": question.model, "semanticRatio": 1.0},
            "limit": VECTOR_LIMIT,
            "rankingScoreThreshold": _HAS_A_VECTOR,
            "attributesToRetrieve": _CARRIED,
            **_filter(filters),
        }
    ]


def word_legs(index: str, question: Question, filters: Filters, stats: CorpusStats) -> list[Json]:
    """Nothing where no service holds any of the words: an empty query would find everything."""
    terms = term_ids(list(question.terms))
    df = stats.document_frequency(terms)
    order = np.argsort(df, kind="stable")
    known = order[df[order] > 0]
    rarest_first = words_of(terms[known])
    rare = min(QUERY_WORDS, int(np.searchsorted(np.cumsum(df[known]), RARE_LIMIT, side="right")))
    legs = [
        _words(index, [word], int(held) + _SLACK, filters)
        for word, held in zip(rarest_first[:rare], df[known][:rare], strict=True)
    ]
    if rare < len(rarest_first):
        legs.append(_words(index, rarest_first[:QUERY_WORDS], WORDS_LIMIT, filters))
    return legs


def _words(index: str, words: Sequence[str], limit: int, filters: Filters) -> Json:
    return {
        "indexUid": index,
        "q": " ".join(words),
        "matchingStrategy": "last",
        "limit": limit,
        "attributesToRetrieve": _CARRIED,
        **_filter(filters),
    }


def _filter(filters: Filters) -> Json:
    """An empty filter would be none at all; here none is meant."""
    clauses = _clauses(filters)
    return {"filter": _all_of(clauses)} if clauses else {}


def _clauses(filters: Filters) -> list[str]:
    """Names of our own and values that are plain words or numbers; nothing else ever reaches the filter language."""
    clauses = [is_one_of(name, values) for name, values in wanted(filters).items()]
    return clauses + [between(name, *bounds) for name, bounds in ranges(filters).items()]


def is_one_of(name: str, values: Iterable[str]) -> str:
    """A value that no document can have is left out; where none is left, nothing fits."""
    if name not in FACETS:
        raise ValueError("not an attribute that can be filtered by")
    plain = sorted({f'"{value}"' for value in values if _VALUE.fullmatch(value)})
    return f"{name} IN [{', '.join(plain)}]" if plain else _NOTHING


def between(name: str, least: int, most: int) -> str:
    if name not in NUMBERS:
        raise ValueError("not an attribute that can be compared")
    return f"{name} {int(least)} TO {int(most)}"


def _all_of(clauses: Sequence[str]) -> str:
    return " AND ".join(clauses)
