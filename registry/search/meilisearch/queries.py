"""Translates a question into candidate queries: one by vector, several by words, all with the filter inside.

The engine has no "any of these words": a query requires all words and drops words from its end. But the statistics know
how many services have each word. Rare words are queried one by one, rarest first, while all their services fit into the
pool; that is exact. For the remaining, common words, one query for the rarest of them together, and the vector query,
find the relevant services (benchmarks/search-lab.md has the figures).

Copies count in the statistics, but must take no place in the pool and make no rare word common. So the engine returns
one of equally proven copies only, and counts the rest of a word that seems common (docs/adr/0026).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Final

import numpy as np

from registry.core.model.listing import Filters
from registry.core.ranking import CorpusStats, ParsedQuery, term_ids
from registry.core.ranking.copies import LEVELS, SHOWN_COPIES
from registry.core.ranking.naming import MOST_NAMED, sought
from registry.core.search_filters import FACETS, NAMES, NUMBERS, facet_filters, fields_of_name, ranges
from registry.search.meilisearch.layout import DocumentKind, Json, copy_key, words_of

VECTOR_LIMIT: Final = 100
WORDS_LIMIT: Final = 30
RARE_LIMIT: Final = 120
"""Maximum hits of one question: by its vector, by all its words together, by rare words one at a time."""

MAX_COUNTED: Final = 24  # maximum words of one question that seem common and are counted without copies
MAX_HITS: Final = 1_000  # maximum hits that the engine returns for one query
_LISTED_COPIES: Final = SHOWN_COPIES + len(LEVELS) + MOST_NAMED
"""Copies in front, and named ones, are not listed among the copies."""

_NAMED_LIMIT: Final = 50

QUERY_WORDS: Final = 10  # the engine ignores further words of a query
_SLACK: Final = 5  # extra hits of a rare word, for services that got the word after the statistics were read
_HAS_A_VECTOR: Final = 1e-6
"""Minimum score, (1 + cosine) / 2. Documents without a vector, such as the statistics, come last, with 0."""

_VALUE = re.compile(r"[a-z0-9][a-z0-9._:+-]{0,252}")
_NOTHING: Final = f'kind = "{DocumentKind.STATISTICS}" AND kind = "{DocumentKind.TOMBSTONE}"'
_LISTED: Final = ["host", "score", "copy", "offered", "listed"]
_CARRIED: Final = [*_LISTED, "r"]
_PROBED: Final = ["h", "g", "model"]
_PRECEDENCE: Final = ["copy:asc", "offered:asc", "score:desc", "host:asc"]
"""The order of copies.Copies, within one fingerprint."""


def generation_query(index: str) -> Json:
    """Return the query for the generation: the small fields of the statistics document."""
    condition = f'kind = "{DocumentKind.STATISTICS}"'
    return {"indexUid": index, "filter": condition, "limit": 1, "attributesToRetrieve": _PROBED}


def statistics_query(index: str) -> Json:
    return generation_query(index) | {"attributesToRetrieve": [*_PROBED, "copied", "r"]}


def best_scores_query(index: str, filters: Filters, limit: int) -> Json:
    """Return the query of a blank text: the services with the best score."""
    condition = " AND ".join([f'kind = "{DocumentKind.SERVICE}"', *_clauses(filters)])
    return {
        "indexUid": index, "filter": condition, "sort": ["score:desc"], "limit": limit,
        "attributesToRetrieve": _CARRIED,
    }  # fmt: skip


def count_query(index: str) -> Json:
    return {"indexUid": index, "filter": f'kind = "{DocumentKind.SERVICE}"', "limit": 0}


def vector_queries(index: str, question: ParsedQuery, filters: Filters) -> list[Json]:
    """Return the query by vector; no query for a zero vector, to which the engine would rank every service as
    nearest."""
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
    """Return the queries by words; no query if no service contains any of them: an empty query would match
    everything."""
    services_by_word = _rarest_first(question, stats)
    queries = rare_queries(index, services_by_word, filters)
    if len(queries) < len(services_by_word):
        queries.append(_words(index, list(services_by_word)[:QUERY_WORDS], WORDS_LIMIT, filters))
    return queries


def rare_queries(index: str, services_by_word: Mapping[str, int], filters: Filters) -> list[Json]:
    """Return one query for each of the rarest words whose services fit into the pool together."""
    return [_words(index, [word], services_by_word[word] + _SLACK, filters) for word in _rare(services_by_word)]


def seemingly_common(question: ParsedQuery, stats: CorpusStats, redundant: int) -> list[str]:
    """Return the words that are not rare by the statistics, but may be rare without copies. `redundant`: number of
    services in the index that repeat another one."""
    services_by_word = _rarest_first(question, stats)
    rare = _rare(services_by_word)
    at_least = {word: max(0, services - redundant) for word, services in services_by_word.items()}
    others = {word: at_least[word] for word in rare}
    words = [word for word in at_least if word not in rare and word in _rare({word: at_least[word]} | others)]
    return words[:MAX_COUNTED]


def rarer_queries(
    index: str, question: ParsedQuery, filters: Filters, stats: CorpusStats,
    by_words: Mapping[str | None, int], distinct: Mapping[str, int],
) -> list[Json]:  # fmt: skip
    """Return the queries for words that are rare without copies, but not by the statistics. `by_words`: number of hits
    of the rare words; `distinct`: number of services without copies, for words that seem common."""
    rare = _rare(_rarest_first(question, stats))
    services_by_word = {word: by_words.get(word, 0) for word in rare}
    services_by_word |= {word: services for word, services in distinct.items() if services}
    return [query for query in rare_queries(index, services_by_word, filters) if query["q"] not in rare]


def _rare(services_by_word: Mapping[str, int]) -> list[str]:
    rarest_first = sorted(services_by_word.items(), key=itemgetter(1))[:QUERY_WORDS]
    sums = accumulate(services for _, services in rarest_first)
    return [word for (word, _), so_far in zip(rarest_first, sums, strict=True) if so_far <= RARE_LIMIT]


def counting_query(index: str, word: str, filters: Filters) -> Json:
    """Return the query for the number of services that contain the word, and for how many of these share a `copy`."""
    return _words(index, [word], 0, filters) | {"facets": ["copy"]}


def _rarest_first(question: ParsedQuery, stats: CorpusStats) -> dict[str, int]:
    """Return the words of the question that services contain, with the number of services."""
    terms = term_ids(list(question.terms))
    df = stats.document_frequency(terms)
    order = np.argsort(df, kind="stable")
    known = order[df[order] > 0]
    return dict(zip(words_of(terms[known]), df[known].astype(int).tolist(), strict=True))


def named_queries(index: str, question: ParsedQuery, filters: Filters, stats: CorpusStats) -> list[Json]:
    """Return the query for the services that the question names, or none."""
    named: dict[str, list[str]] = {}
    for name in sought(question.names, question.terms, stats):
        for field in fields_of_name(name):
            named.setdefault(field, []).append(name)
    if not named:
        return []
    any_of = " OR ".join(is_one_of(field, names) for field, names in named.items())
    condition = " AND ".join([f"({any_of})", *_clauses(filters)])
    return [{"indexUid": index, "filter": condition, "limit": _NAMED_LIMIT, "attributesToRetrieve": _CARRIED}]


def copies_query(index: str, offer: int, filters: Filters) -> Json:
    """Return the query for the services with the fingerprint, in the order of precedence, and for their number."""
    return _having(index, [offer], filters) | {"limit": _LISTED_COPIES, "attributesToRetrieve": _LISTED}


def oldest_queries(index: str, offers: Sequence[int], filters: Filters) -> list[Json]:
    """Return the queries for the first of all equally proven services with each of the fingerprints."""
    at_once = MAX_HITS // len(LEVELS)
    parts = [offers[start : start + at_once] for start in range(0, len(offers), at_once)]
    carried = {"limit": MAX_HITS, "attributesToRetrieve": _CARRIED}
    return without_copies(_having(index, part, filters) | carried for part in parts)


def without_copies(asked: Iterable[Json]) -> list[Json]:
    """Return the queries with one hit for equally proven copies, so that they take no place of others. Any of them will
    do: `oldest_queries` find the oldest. The engine compares all equal hits, even if few are requested. Sorting those
    by words leaves few equal ones."""
    by_age = {"sort": ["offered:asc"]}
    return [(by_age if "q" in query else {}) | query | {"distinct": "copy"} for query in asked]


def copy_keys(offers: Iterable[int]) -> list[str]:
    return [copy_key(offer, level) for offer in offers for level in range(len(LEVELS))]


def _having(index: str, offers: Iterable[int], filters: Filters) -> Json:
    condition = " AND ".join([is_one_of("copy", copy_keys(offers)), *_clauses(filters)])
    return {"indexUid": index, "filter": condition, "sort": _PRECEDENCE}


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
    """Return the filter parameter; empty without filters."""
    clauses = _clauses(filters)
    return {"filter": " AND ".join(clauses)} if clauses else {}


def _clauses(filters: Filters) -> list[str]:
    """Return filter expressions, built only from known attribute names, plain words and numbers."""
    clauses = [is_one_of(name, values) for name, values in facet_filters(filters).items()]
    return clauses + [between(name, *bounds) for name, bounds in ranges(filters).items()]


def is_one_of(name: str, values: Iterable[str]) -> str:
    """Return an IN expression; drop values that no document can have, and match nothing if no value is left."""
    if name != "copy" and name not in FACETS and name not in NAMES:
        raise ValueError("not an attribute that can be filtered by")
    plain = sorted({f'"{value}"' for value in values if _VALUE.fullmatch(value)})
    return f"{name} IN [{', '.join(plain)}]" if plain else _NOTHING


def between(name: str, minimum: int, maximum: int) -> str:
    if name not in NUMBERS:
        raise ValueError("not an attribute that can be compared")
    return f"{name} {int(minimum)} TO {int(maximum)}"
