"""Translate a question into candidate queries: one by vector, several by words, all with the filter inside.

The engine has no "any of these words": a query demands all words and drops words from its end. But the statistics hold
how many services have each word. Rare words are queried one by one, rarest first, as long as all their services
together fit into the pool; that is exact. The remaining words are common: one query for the rarest words together, and
the vector query, find the relevant services among them (docs/search-lab.md has the figures).
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from registry.core.model.listing import Filters
from registry.core.ranking import CorpusStats, ParsedQuery, term_ids
from registry.core.ranking.copies import LEVELS
from registry.core.ranking.naming import sought
from registry.search.facets import FACETS, NAMES, NUMBERS, facet_filters, fields_of_name, ranges
from registry.search.meilisearch.layout import DocumentKind, copy_key, words_of

VECTOR_LIMIT: Final = 100
WORDS_LIMIT: Final = 30
RARE_LIMIT: Final = 120
"""Maximum hits of one question: by its vector, by all its words together, by rare words one at a time."""

COPIES_LIMIT: Final = 1_000
"""Copies that are read to find the original and to list the others."""

_NAMED_LIMIT: Final = 50

QUERY_WORDS: Final = 10
"""The engine ignores further words of a query."""

_SLACK: Final = 5
"""Extra hits of a rare word, for services that got the word after the statistics were read."""

_HAS_A_VECTOR: Final = 1e-6
"""Minimum score, (1 + cosine) / 2. Documents without a vector, such as the statistics, come last, with 0."""

_VALUE = re.compile(r"[a-z0-9][a-z0-9._:+-]{0,252}")
_NOTHING: Final = f'kind = "{DocumentKind.STATISTICS}" AND kind = "{DocumentKind.TOMBSTONE}"'
_CARRIED: Final = ["host", "score", "copy", "offered", "listed", "r"]
_PROBED: Final = ["h", "g", "model"]

Json = dict[str, Any]


def generation_query(index: str) -> Json:
    """Return the query for the generation: the small fields of the statistics document."""
    return {
        "indexUid": index,
        "filter": f'kind = "{DocumentKind.STATISTICS}"',
        "limit": 1,
        "attributesToRetrieve": _PROBED,
    }


def statistics_query(index: str) -> Json:
    return generation_query(index) | {"attributesToRetrieve": [*_PROBED, "r"]}


def best_scores_query(index: str, filters: Filters, limit: int) -> Json:
    """Return the query of a blank text: the services with the best score."""
    condition = _all_of([f'kind = "{DocumentKind.SERVICE}"', *_clauses(filters)])
    return {
        "indexUid": index, "filter": condition, "sort": ["score:desc"], "limit": limit,
        "attributesToRetrieve": _CARRIED,
    }  # fmt: skip


def count_query(index: str) -> Json:
    return {"indexUid": index, "filter": f'kind = "{DocumentKind.SERVICE}"', "limit": 0}


def vector_queries(index: str, question: ParsedQuery, filters: Filters) -> list[Json]:
    """Return the query by vector, or none: the engine would rank every service as nearest to a zero vector."""
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


def word_queries(index: str, question: ParsedQuery, filters: Filters, stats: CorpusStats) -> list[Json]:
    """Return the queries by words, or none when no service holds any of them: an empty query would match everything."""
    terms = term_ids(list(question.terms))
    df = stats.document_frequency(terms)
    order = np.argsort(df, kind="stable")
    known = order[df[order] > 0]
    rarest_first = words_of(terms[known])
    rare_count = min(QUERY_WORDS, int(np.searchsorted(np.cumsum(df[known]), RARE_LIMIT, side="right")))
    queries = [
        _words(index, [word], int(services) + _SLACK, filters)
        for word, services in zip(rarest_first[:rare_count], df[known][:rare_count], strict=True)
    ]
    if rare_count < len(rarest_first):
        queries.append(_words(index, rarest_first[:QUERY_WORDS], WORDS_LIMIT, filters))
    return queries


def named_queries(index: str, question: ParsedQuery, filters: Filters, stats: CorpusStats) -> list[Json]:
    """Return the query for the services that the question names, or none."""
    named: dict[str, list[str]] = {}
    for name in sought(question.names, question.terms, stats):
        for field in fields_of_name(name):
            named.setdefault(field, []).append(name)
    if not named:
        return []
    any_of = " OR ".join(is_one_of(field, names) for field, names in named.items())
    condition = _all_of([f"({any_of})", *_clauses(filters)])
    return [{"indexUid": index, "filter": condition, "limit": _NAMED_LIMIT, "attributesToRetrieve": _CARRIED}]


def copies_query(index: str, offers: Iterable[int], filters: Filters) -> Json:
    """Return the query for all services with one of the fingerprints, those first that have offered it longest."""
    keys = [copy_key(offer, level) for offer in offers for level in range(len(LEVELS))]
    condition = _all_of([is_one_of("copy", keys), *_clauses(filters)])
    return {
        "indexUid": index, "filter": condition, "sort": ["offered:asc"], "limit": COPIES_LIMIT,
        "attributesToRetrieve": _CARRIED,
    }  # fmt: skip


def without_copies(query: Json) -> Json:
    """Return the query with one hit for equally proven copies, so that they take no place of others. Which one does not
    matter: `copies_query` finds the oldest."""
    return query | {"distinct": "copy"}


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
    """Return the filter parameter, or nothing when there are no filters."""
    clauses = _clauses(filters)
    return {"filter": _all_of(clauses)} if clauses else {}


def _clauses(filters: Filters) -> list[str]:
    """Return filter expressions, built only from known attribute names, plain words and numbers."""
    clauses = [is_one_of(name, values) for name, values in facet_filters(filters).items()]
    return clauses + [between(name, *bounds) for name, bounds in ranges(filters).items()]


def is_one_of(name: str, values: Iterable[str]) -> str:
    """Return an IN expression; drop values that no document can have, and match nothing when none is left."""
    if name != "copy" and name not in FACETS and name not in NAMES:
        raise ValueError("not an attribute that can be filtered by")
    plain = sorted({f'"{value}"' for value in values if _VALUE.fullmatch(value)})
    return f"{name} IN [{', '.join(plain)}]" if plain else _NOTHING


def between(name: str, minimum: int, maximum: int) -> str:
    if name not in NUMBERS:
        raise ValueError("not an attribute that can be compared")
    return f"{name} {int(minimum)} TO {int(maximum)}"


def _all_of(clauses: Sequence[str]) -> str:
    return " AND ".join(clauses)
