"""Detect the language of a short text: by its script, and for Latin script by the parts of its words.

Questions have two to six words, often without any function word. General libraries are wrong for one in ten of these
and take three to a hundred megabytes; a table of hashed parts of words, fitted on the translations of interfaces
(benchmarks/languages), is wrong for one in twenty and takes 280 kB. A text counts as English unless the table clearly
says otherwise.
"""

import pkgutil
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

from registry.core.wording.text import visible

ENGLISH: Final = "en"

LATIN: Final = (
    "en", "de", "fr", "es", "pt", "it", "nl", "pl", "sv", "da", "no", "fi", "cs", "tr", "ro", "hu", "id",
)  # fmt: skip
"""The languages of the table's columns."""

TABLE: Final = "languages.bin"
BUCKETS: Final = 1 << 14
SCALE: Final = 0.1
"""The table: a row of weights for each hash of a part of a word, in steps of SCALE."""

_SHORTEST, _LONGEST = 2, 4  # bytes of a part of a word; the whole word is one more part
_WORDS: Final = 16
_WORD_BYTES: Final = 40
"""Words of a text, and bytes of a word, that are read."""

_CLEARLY: Final = 2.0
_CLEARLY_ONE_WORD: Final = 8.0
"""Least distance to English, in natural logarithms of odds. A single word without accents is often a name."""

_SCRIPTS: Final = re.compile(
    "(?P<ja>[\u3041-\u30ff\u31f0-\u31ff])|(?P<ko>[\u1100-\u11ff\uac00-\ud7af])|(?P<zh>[\u3400-\u9fff\uf900-\ufaff])"
    "|(?P<ar>[\u0621-\u06ff])|(?P<he>[\u05d0-\u05ea])|(?P<ru>[\u0400-\u04ff])|(?P<el>[\u0370-\u03ff\u1f00-\u1fff])"
    "|(?P<th>[\u0e01-\u0e4e])|(?P<hi>[\u0900-\u097f])"
)
"""A letter of another script -> the language that most texts in it have."""

_LETTERS_PER_SIGN: Final = {"ja": 3, "ko": 3, "zh": 3}  # Latin letters that say as much as one sign
_ADDRESS: Final = re.compile(r"[!-~]*[A-Za-z0-9]\.[A-Za-z0-9][!-~]*")  # a host, a file, an abbreviation: of no language
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_LATIN_LETTER: Final = re.compile("[a-z\u00aa-\u02af\u1e00-\u1eff]")  # the table says nothing about other scripts


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the text's language, `en` if it is English or unknown. Reads its first 16 words."""
    return _language_of(text[:400])


@lru_cache(maxsize=1_000)
def _language_of(text: str) -> str:
    plain = visible(text).lower()
    words = _LETTERS.findall(_ADDRESS.sub(" ", plain))
    if not plain.isascii() and (script := _language_of_script(words)):
        return script
    words = [word for word in words if _LATIN_LETTER.match(word) and (len(word) > 1 or not word.isascii())][:_WORDS]
    if not words:
        return ENGLISH
    weights = _weights(words)
    best = max(range(len(LATIN)), key=weights.__getitem__)
    margin = _CLEARLY if len(words) > 1 or not plain.isascii() else _CLEARLY_ONE_WORD
    return LATIN[best] if weights[best] - weights[0] >= margin else ENGLISH


def _language_of_script(words: Sequence[str]) -> str | None:
    """Return the language of the script that says most, None for Latin and for scripts without an own language here.
    Japanese is written in Chinese signs too, but never without any kana for long."""
    found = Counter(match.lastgroup or "" for match in _SCRIPTS.finditer(" ".join(words)))
    if not found:
        return None
    if found["ja"]:
        found["ja"] += found.pop("zh", 0)
    script, signs = max(found.items(), key=lambda pair: pair[1])
    others = sum(len(word) for word in words if not _SCRIPTS.search(word))  # not of "PDF" among signs without spaces
    return script if signs * _LETTERS_PER_SIGN.get(script, 1) >= others else None


def buckets(words: Sequence[str]) -> list[int]:
    """Return the table's rows for words in lower case."""
    rows: list[int] = []
    for word in words[:_WORDS]:
        raw = f"_{word}_".encode("utf-8", "surrogatepass")[:_WORD_BYTES]
        rows.append(zlib.crc32(raw) % BUCKETS)
        for length in range(_SHORTEST, _LONGEST + 1):
            rows += [zlib.crc32(raw[start : start + length]) % BUCKETS for start in range(len(raw) - length + 1)]
    return rows


def _weights(words: Sequence[str]) -> list[float]:
    totals, counts = zip(*map(_weights_of_word, words), strict=True)
    weights: list[float] = (sum(totals) * (SCALE * sum(counts) ** -0.5)).tolist()
    return weights


@lru_cache(maxsize=20_000)
def _weights_of_word(word: str) -> tuple[Any, int]:
    """Return the sum of the table's rows for one word, and their number."""
    rows = buckets([word])
    return _table()[rows].sum(axis=0, dtype="i4"), len(rows)


@cache
def _table() -> Any:
    import numpy as np  # the crawler reads words, never languages, and must not load it

    raw = pkgutil.get_data(__package__, TABLE) or b""
    return np.frombuffer(raw, np.int8).reshape(BUCKETS, len(LATIN))
