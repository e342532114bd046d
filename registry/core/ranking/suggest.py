"""Suggest other words if nothing answers with confidence: words of the query that are known here, and known words spelt
nearly like the unknown ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from registry.core.ranking.corpus import CorpusStats
from registry.core.ranking.parsed_query import ParsedQuery
from registry.core.ranking.spelling import neighbours, unknown_words

NEIGHBOURS: Final = 3
_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class Suggestions:
    """`known`: words of the query that some service holds. `spelling`: unknown word -> known words, the likeliest
    first. `without_filters`: the same query without its filters has a confident answer."""

    known: tuple[str, ...] = ()
    spelling: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    without_filters: bool = False


def suggest(question: ParsedQuery, stats: CorpusStats, *, without_filters: bool = False) -> Suggestions:
    unknown = unknown_words(question, stats)
    known = tuple(word for word in question.terms.values() if word not in unknown)
    near = {word: neighbours(word, stats, NEIGHBOURS) for word in unknown}
    spelling = {word: words for word, words in near.items() if words}
    return Suggestions(known, dict(list(spelling.items())[:_WORDS]), without_filters)
