"""Correct the spelling of a question's words that no service holds, from the words that services hold.

A word that the embedder knows is spelt right, whether a service holds it or not: "movie" does not become "move".
"""

from collections.abc import Mapping
from typing import Final

from registry.core.ranking.corpus import CorpusStats
from registry.core.ranking.parsed_query import Embedder, ParsedQuery
from registry.core.ranking.record import term_ids
from registry.core.wording.text import replace_words, stems

_WORDS: Final = 6
"""Words of one question that are corrected."""


def neighbours(word: str, stats: CorpusStats, at_most: int) -> tuple[str, ...]:
    """Return known words spelt nearly like an unknown one, each of another stem, the likeliest first.

    Fewer edits are likelier, then words that begin alike, then those that more services hold.
    """
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
    """Return word of the question -> known word, for those that look misspelt."""
    found: dict[str, str] = {}
    for word in unknown_words(question, stats)[:_WORDS]:
        if embedder is not None and embedder.knows(word):
            continue
        if best := neighbours(word, stats, 1):
            found[word] = best[0]
    return found


def unknown_words(question: ParsedQuery, stats: CorpusStats) -> list[str]:
    frequencies = stats.document_frequency(term_ids(list(question.terms))).tolist()
    return [word for word, count in zip(question.terms.values(), frequencies, strict=True) if not count]


def corrected(question: ParsedQuery, replaced: Mapping[str, str]) -> str:
    """Return the question's text with the words replaced."""
    return replace_words(question.text, replaced)
