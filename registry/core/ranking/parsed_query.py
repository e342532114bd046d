"""Parse a query into its text, words and, with an embedder, vectors; find its words in texts for highlighting.

Highlights are positions, never markup, so that no foreign text is ever trusted.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.actions import PERSON_VERBS, TEXT_VERBS, head_verb
from registry.core.ranking.naming import names_in
from registry.core.ranking.vectors import units
from registry.core.wording.language import ENGLISH, language_of
from registry.core.wording.particulars import NO_PARTICULARS, TOWN, Particulars, find_particulars, with_kinds
from registry.core.wording.text import (
    QUERY_CHARS,
    bare,
    directions,
    has_unspaced,
    name_text,
    plain_marks,
    query_terms,
    sentences,
    stems,
    visible,
)

_MAX_READ_CHARS: Final = 10 * QUERY_CHARS  # invisible characters do not count towards QUERY_CHARS; this bounds them too


class Embedder(Protocol):
    """Turns texts into vectors. `id` names the model and its recipe, in at most 16 ASCII characters: vectors of two
    models are never compared by accident."""

    @property
    def id(self) -> str: ...

    @property
    def dims(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, dims): rows of length 1; a zero row for a text without any known token."""

    def knows(self, word: str) -> bool:
        """Return whether a word in lower case is in the model's vocabulary, so that it is not misspelt."""

    def english(self, text: str) -> Mapping[str, str]:
        """Return English words that the words of a text in another language stand for -> the word of the text."""


@dataclass(frozen=True, slots=True, eq=False)
class ParsedQuery:
    """`terms`: stem -> the user's word. `whole` (dims,): the text's vector, `needs` (k, dims): its sentences' vectors.

    Without an embedder, or if it knows no token of the text, it has no vectors, and `model` is empty. `ways` are
    pairs of stems, what becomes what (text.directions). `sentences`: the stems of each sentence, if there are several.
    `is_name`: the embedder has a vector, but knows none of the words as a whole, as with most names of services.
    `objects`: an answer must hold one of these stems, see `objects_of`; empty: no such condition. `names`: possible
    names of hosts (naming.py). `language`: ISO 639-1 code; its words are stemmed by it. `particulars`: stems that say
    where, when and how much (wording/particulars.py) and do not count in the cover. `proper`: stems that are
    particulars unless services use them. Both are empty if no other stem would remain.
    """

    text: str
    terms: Mapping[str, str]
    whole: NDArray[np.float32] | None = None
    needs: NDArray[np.float32] | None = None
    model: str = ""
    ways: Sequence[tuple[str, str]] = ()
    sentences: Sequence[frozenset[str]] = ()
    is_name: bool = False
    objects: frozenset[str] = frozenset()
    names: Sequence[str] = ()
    language: str = ENGLISH
    particulars: frozenset[str] = frozenset()
    proper: frozenset[str] = frozenset()


def parse_query(text: str, embedder: Embedder | None = None) -> ParsedQuery:
    """Parse a text of any bytes and length; only its first QUERY_CHARS visible characters are read. Punctuation around
    words says nothing about the wish, so the vectors are of the words alone. Numbers and dates are left out. For a
    place or language, the vector is the mean of the text as it is and without the name: "the time in Oslo" is not about
    Oslo, but about a city."""
    visible_text = plain_marks(visible(text[:_MAX_READ_CHARS])[:QUERY_CHARS])
    language = language_of(visible_text)
    parts = sentences(visible_text, language)
    terms, ways = query_terms(visible_text, language), directions(visible_text, language)
    is_read = language == ENGLISH and len(parts) == 1
    found = find_particulars(visible_text) if is_read else NO_PARTICULARS
    particulars, proper = _stems_of(found, terms)
    ways = [way for way in ways if particulars.isdisjoint(way)]
    english = embedder.english(visible_text) if embedder and language != ENGLISH else {}
    unknown_words = [word for word in terms.values() if not embedder.knows(word)] if embedder else []
    if english:
        terms = _with_english(terms, english, unknown_words)
    plain = ParsedQuery(
        visible_text,
        terms,
        ways=ways,
        objects=frozenset() if english else objects_of(visible_text, terms, ways, particulars),
        sentences=[frozenset(query_terms(part, language)) for part in parts] if len(parts) > 1 else (),
        names=names_in(visible_text, unknown_words),
        language=language,
        particulars=particulars,
        proper=proper,
    )
    if embedder is None or not parts:
        return plain
    is_single = len(parts) == 1 and parts[0] == " ".join(visible_text.split())
    texts = parts if is_single else [visible_text, *parts]
    kinds = found.kinds if particulars else {}
    saying_nothing = {word: kind for word, kind in kinds.items() if not kind}
    rows = embedder.encode([bare(with_kinds(text, saying_nothing)) for text in texts])
    if len(saying_nothing) < len(kinds):
        if len(terms) - len(particulars) > _FEW_TERMS:
            kinds = {word: "" if kind == TOWN else kind for word, kind in kinds.items()}
        rows = units(rows + embedder.encode([bare(with_kinds(text, kinds)) for text in texts]))
    if not rows[0].any():
        return plain
    needs, is_name = rows if is_single else rows[1:], len(unknown_words) == len(terms) and not english
    return replace(plain, whole=rows[0], needs=needs, model=embedder.id, is_name=is_name)


def _with_english(own: Mapping[str, str], english: Mapping[str, str], unknown: Collection[str]) -> dict[str, str]:
    """Return the terms of a question in another language and those of its English words -> the user's word. Its own
    words find services in its language; words that are English too ("die") would find others."""
    kept = {stem: word for stem, word in own.items() if word in unknown}
    return kept | {stem: english[word] for stem, word in query_terms(" ".join(english)).items() if word in english}


def _stems_of(found: Particulars, terms: Mapping[str, str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the particulars, and of the proper names: both empty if no other word would remain."""
    particulars = frozenset(stem for stem, word in terms.items() if word in found.kinds)
    proper = frozenset(stem for stem, word in terms.items() if word in found.proper)
    if len(particulars) == len(terms):
        return frozenset(), frozenset()
    return particulars, proper if len(particulars | proper) < len(terms) else frozenset()


_FEW_TERMS: Final = 2
"""Terms up to which "city" for a town helps: "the time in Oslo". Of more terms, it would become the subject."""


def objects_of(
    text: str, terms: Mapping[str, str], ways: Sequence[tuple[str, str]], particulars: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Return the stems of the question's object: all stems but its verb and its particulars, and for "X to Y" alone,
    the X. A service that does the same to other things matches only the verb; it answers only if it is also near in
    meaning. Of a verb whose object is any text ("translate a letter"), the verb itself. A verb for a
    person ("email our guest") sets no condition."""
    if len(terms) == 2 and len(ways) == 1 and set(ways[0]) == set(terms):
        return frozenset({ways[0][0]})
    verb = head_verb(text)
    if verb not in terms.values() or verb in PERSON_VERBS:
        return frozenset()
    if verb in TEXT_VERBS:
        return frozenset(stem for stem, word in terms.items() if word == verb)
    objects = frozenset(stem for stem, word in terms.items() if word != verb)
    return objects - particulars or objects


MAX_HIGHLIGHTS: Final = 50

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W\d_]+)?")


def highlights(text: str, query_stems: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return up to MAX_HIGHLIGHTS disjoint spans (start, end) of `text`. `query_stems`: as in `ParsedQuery.terms`.
    Positions refer to the shown text; the whole of `getWeather` is marked if `weather` is in the query, but only the
    matching signs of a script without spaces."""
    language = language_of(text)
    is_in_query: dict[str, bool] = {}
    spans: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        word = match.group()
        if has_unspaced(word):
            _add_signs(spans, word, match.start(), query_stems)
        else:
            if word not in is_in_query:
                found = {*stems(name_text(word)), *stems(word, language)}
                is_in_query[word] = any(stem in query_stems for stem in found)
            if is_in_query[word]:
                spans.append(match.span())
        if len(spans) >= MAX_HIGHLIGHTS:
            break
    return tuple(spans[:MAX_HIGHLIGHTS])


def _add_signs(spans: list[tuple[int, int]], run: str, offset: int, query_stems: Collection[str]) -> None:
    """Add the spans of the pairs of signs in the query, overlapping ones joined, and of single signs."""
    end = 0
    for start in range(len(run)):
        for width in (2, 1):
            if start + width <= len(run) and run[start : start + width].lower() in query_stems:
                if start < end and spans:
                    spans[-1] = (spans[-1][0], offset + start + width)
                else:
                    spans.append((offset + start, offset + start + width))
                end = start + width
                break
