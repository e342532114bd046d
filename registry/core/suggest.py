"""What to ask instead, where nothing answers with confidence: words of the question that are known here, and words
spelt nearly as the unknown ones.

The collection's words are known by the numbers of their stems alone, so neighbours are not looked up but made: every
spelling one edit away is tried, which is bounded by the word's length (Norvig, "How to Write a Spelling Corrector").
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Final

from registry.core.ranking import CorpusStats, Question, term_ids
from registry.core.text import stems

NEIGHBOURS: Final = 3
_WORDS: Final = 5
_SHORTEST: Final = 4
_LONGEST: Final = 20
_WORDS_PER_CHANCE: Final = 100_000
"""A made-up word can have the number of a real one by chance, the more so the more words there are; the words it is
then taken for are rare ones."""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """`known`: words of the question that some service holds. `spelling`: unknown word -> words that are known, those
    that most services hold first. `without_filters`: the same question without its filters has a confident answer."""

    known: tuple[str, ...] = ()
    spelling: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    without_filters: bool = False


def suggest(question: Question, stats: CorpusStats, *, without_filters: bool = False) -> Suggestions:
    frequencies = stats.document_frequency(term_ids(list(question.terms))).tolist()
    held = list(zip(question.terms.values(), frequencies, strict=True))
    unknown = [word for word, services in held if not services and _can_be_mended(word)]
    spelling = {word: near for word in unknown[:_WORDS] if (near := _neighbours(word, stats))}
    return Suggestions(tuple(word for word, services in held if services), spelling, without_filters)


def _can_be_mended(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()


def _neighbours(word: str, stats: CorpusStats) -> tuple[str, ...]:
    tried = sorted(set(_one_edit_away(word)))
    roots = stems(" ".join(tried))
    services = stats.document_frequency(term_ids(roots)).tolist()
    least = 1 + len(stats.terms) // _WORDS_PER_CHANCE
    best: dict[str, tuple[float, str]] = {}
    for made, root, count in zip(tried, roots, services, strict=True):
        if count >= least and root not in best:
            best[root] = (count, made)
    return tuple(made for _, made in sorted(best.values(), key=lambda one: (-one[0], one[1]))[:NEIGHBOURS])


def _one_edit_away(word: str) -> Iterator[str]:
    """Lower-case words of ASCII letters, each one token."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in ascii_lowercase)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in ascii_lowercase)
