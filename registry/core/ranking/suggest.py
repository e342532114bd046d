"""Suggest other words if nothing answers with confidence: words of the query that are known here, and known words spelt
nearly like the unknown ones.

The collection's words are known only by the hashes of their stems, so neighbours cannot be looked up. Instead every
spelling one edit away is tried, which is bounded by the word's length (Norvig, "How to Write a Spelling Corrector").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Final

from registry.core.ranking import CorpusStats, ParsedQuery, term_ids
from registry.core.ranking.text import stems

NEIGHBOURS: Final = 3
_WORDS: Final = 5
_SHORTEST: Final = 4
_LONGEST: Final = 20
_WORDS_PER_CHANCE: Final = 100_000
"""A made-up word can have the hash of a real one by chance, more often the more words there are. Such real words are
mostly rare, so one more service must hold the word for each so many words."""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """`known`: words of the query that some service holds. `spelling`: unknown word -> known words, those that most
    services hold first. `without_filters`: the same query without its filters has a confident answer."""

    known: tuple[str, ...] = ()
    spelling: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    without_filters: bool = False


def suggest(question: ParsedQuery, stats: CorpusStats, *, without_filters: bool = False) -> Suggestions:
    frequencies = stats.document_frequency(term_ids(list(question.terms))).tolist()
    word_frequencies = list(zip(question.terms.values(), frequencies, strict=True))
    unknown = [word for word, frequency in word_frequencies if not frequency and _is_correctable(word)]
    spelling = {word: neighbours for word in unknown[:_WORDS] if (neighbours := _neighbours(word, stats))}
    return Suggestions(tuple(word for word, frequency in word_frequencies if frequency), spelling, without_filters)


def _is_correctable(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()


def _neighbours(word: str, stats: CorpusStats) -> tuple[str, ...]:
    spellings = sorted(set(_one_edit_away(word)))
    roots = stems(" ".join(spellings))
    frequencies = stats.document_frequency(term_ids(roots)).tolist()
    min_frequency = 1 + len(stats.terms) // _WORDS_PER_CHANCE
    best: dict[str, tuple[float, str]] = {}
    for spelling, root, count in zip(spellings, roots, frequencies, strict=True):
        if count >= min_frequency and root not in best:
            best[root] = (count, spelling)
    return tuple(
        spelling for _, spelling in sorted(best.values(), key=lambda entry: (-entry[0], entry[1]))[:NEIGHBOURS]
    )


def _one_edit_away(word: str) -> Iterator[str]:
    """Yield every spelling of a lower-case ASCII word that is one deletion, replacement, swap or insertion away."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in ascii_lowercase)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in ascii_lowercase)
