"""Correct misspelt words of a question with words that services use, and suggest other words.

A word that the embedder knows is spelt right, even if no service uses it: "movie" does not become "move". Suggestions
are made if no hit is a confident answer: known words of the query, and known words spelt nearly like the unknown ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from registry.core.ranking.parsed_query import Embedder, ParsedQuery
from registry.core.ranking.record import CorpusStats, term_ids
from registry.core.wording.language import ENGLISH, language_of
from registry.core.wording.text import replace_words, stems

_WORDS: Final = 6  # words of one question that are corrected


def neighbours(word: str, stats: CorpusStats, at_most: int) -> tuple[str, ...]:
    """Return known words spelt nearly like an unknown one, each of another stem, the likeliest first. Fewer edits are
    likelier, then words with the same beginning, then words that more services use."""
    near = stats.vocabulary.near(word)
    roots = stems(" ".join(neighbour.word for neighbour in near))
    frequencies = stats.document_frequency(term_ids(roots)).tolist()
    order = sorted(
        (neighbour.edits, neighbour.word[0] != word[0], -frequency, neighbour.word, root)
        for neighbour, root, frequency in zip(near, roots, frequencies, strict=True)
        if frequency
    )
    best: dict[str, str] = {}
    for *_, spelling, root in order:
        best.setdefault(root, spelling)
    return tuple(best.values())[:at_most]


def corrections(question: ParsedQuery, stats: CorpusStats, embedder: Embedder | None) -> dict[str, str]:
    """Return the known word for each word of the question that looks misspelt. Misspelt English may look like another
    language; it is corrected only if it looks English then."""
    found: dict[str, str] = {}
    for word in unknown_words(question, stats)[:_WORDS]:
        if embedder is not None and embedder.knows(word):
            continue
        if best := neighbours(word, stats, 1):
            found[word] = best[0]
    if found and question.language != ENGLISH and language_of(corrected(question, found)) != ENGLISH:
        return {}
    return found


def unknown_words(question: ParsedQuery, stats: CorpusStats) -> list[str]:
    frequencies = stats.document_frequency(term_ids(list(question.terms))).tolist()
    return [word for word, count in zip(question.terms.values(), frequencies, strict=True) if not count]


def corrected(question: ParsedQuery, replaced: Mapping[str, str]) -> str:
    """Return the question's text with the words replaced."""
    return replace_words(question.text, replaced)


NEIGHBOURS: Final = 3
_SUGGESTED_WORDS: Final = 5


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
    return Suggestions(known, dict(list(spelling.items())[:_SUGGESTED_WORDS]), without_filters)
