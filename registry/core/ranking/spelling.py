"""Correct misspelt words of a question with words that services use, and suggest other words.

A word that the embedder knows is spelt right, even if no service uses it: "movie" does not become "move". Suggestions
are made if no hit is a confident answer: known words of the query, and known words spelt nearly like the unknown ones.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from registry.core.ranking.actions import TEXT_VERBS
from registry.core.ranking.parsed_query import Embedder, ParsedQuery
from registry.core.ranking.record import CorpusStats, term_ids
from registry.core.ranking.vocabulary import REPLACED_FROM, is_kept, unlikeliness
from registry.core.wording.language import ENGLISH, language_of
from registry.core.wording.text import REQUEST_WORDS, replace_words, stem_words, stems, words

_WORDS: Final = 6  # words of one question that are corrected
_BETWEEN: Final = r"[\W_]+"
_PART_CHARS: Final = 4  # least letters of a part: "broker age" is not what "brokerage" means
_JOINED_WITHIN: Final = 12  # words of a question whose neighbours are tried as one word


def neighbours(word: str, stats: CorpusStats, at_most: int) -> tuple[str, ...]:
    """Return known words spelt nearly like an unknown one, each of another stem, the likeliest first. Fewer edits are
    likelier, then slips of a finger, then words that more services use."""
    near = stats.vocabulary.near(word)
    roots = stems(" ".join(neighbour.word for neighbour in near))
    frequencies = stats.document_frequency(term_ids(roots)).tolist()
    order = sorted(
        (neighbour.edits, unlikeliness(word, neighbour.word), -frequency, neighbour.word, root)
        for neighbour, root, frequency in zip(near, roots, frequencies, strict=True)
        if frequency
    )
    best: dict[str, str] = {}
    for *_, spelling, root in order:
        best.setdefault(root, spelling)
    return tuple(best.values())[:at_most]


def corrections(question: ParsedQuery, stats: CorpusStats, embedder: Embedder | None) -> dict[str, str]:
    """Return what services write for each word of the question that looks misspelt, and for words that are written
    together or apart: "sendemail", "e mail". Without an embedder, which knows the words that are spelt right, a short
    word is corrected only where two letters are swapped, and no word is taken apart. Misspelt English may look like
    another language; it is corrected only if it looks English then."""
    found = _joined(question, stats)
    spelt_right = {question.terms[stem] for stem in question.proper}.union(
        TEXT_VERBS, *(pair.split() for pair in found)
    )
    misspelt = [word for word in unknown_words(question, stats) if word not in spelt_right]
    for word in misspelt[:_WORDS]:
        if embedder is not None and embedder.knows(word):
            continue
        best = neighbours(word, stats, 1)
        if best and (embedder is not None or len(word) >= REPLACED_FROM or sorted(best[0]) == sorted(word)):
            found[word] = best[0]
        elif embedder is not None and not best and (parts := _parts(word, stats)):
            found[word] = parts
    if found and question.language != ENGLISH and language_of(corrected(question, found)) != ENGLISH:
        return {}
    return found


def _joined(question: ParsedQuery, stats: CorpusStats) -> dict[str, str]:
    """Return two neighbouring words -> the one word that at least as many services use as the rarer of the two."""
    written = words(question.text)
    if not 1 < len(written) <= _JOINED_WITHIN:
        return {}
    pairs = [pair for pair in pairwise(written) if REQUEST_WORDS.isdisjoint(pair)]
    used_by = zip(pairs, _used_by(["".join(pair) for pair in pairs], stats), strict=True)
    return {
        " ".join(pair): "".join(pair) for pair, both in used_by if both and both >= min(_used_by(list(pair), stats))
    }


def _parts(word: str, stats: CorpusStats) -> str | None:
    """Return an unknown word as two known ones, the division with the most frequent rarer part."""
    places = range(_PART_CHARS, len(word) - _PART_CHARS + 1) if is_kept(word) else range(0)
    divided = [(word[:place], word[place:]) for place in places]
    used_by = _used_by([part for parts in divided for part in parts], stats)
    rarer = map(min, used_by[::2], used_by[1::2])
    best, parts = max(zip(rarer, divided, strict=True), default=(0.0, ("", "")))
    return " ".join(parts) if best else None


def _used_by(written: list[str], stats: CorpusStats) -> list[float]:
    """Return the number of services that use each word."""
    frequencies: list[float] = stats.document_frequency(term_ids(stem_words(written))).tolist()
    return frequencies


def unknown_words(question: ParsedQuery, stats: CorpusStats) -> list[str]:
    """Return the words that no service holds. A word of another language counts as held if its English term is."""
    frequencies = stats.document_frequency(term_ids(list(question.terms))).tolist()
    counted = list(zip(question.terms.values(), frequencies, strict=True))
    known = {word.lower() for word, count in counted if count}
    return [word for word, count in counted if not count and word.lower() not in known]


def corrected(question: ParsedQuery, replaced: Mapping[str, str]) -> str:
    """Return the question's text with the words replaced."""
    text = question.text
    for pair in (key for key in replaced if " " in key):
        text = re.sub(rf"\b{pair.replace(' ', _BETWEEN)}\b", replaced[pair], text, flags=re.IGNORECASE)
    return replace_words(text, replaced)


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
