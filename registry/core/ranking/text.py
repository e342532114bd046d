"""Turn text into terms, by the same recipe for documents and queries.

Names are kept as written and split again at case changes and punctuation, so that `getWeather_v2` is found by "weather"
and by "getweather". Terms are Snowball stems of English; a run of a script without spaces is one term. Invisible
characters (zero-width, direction marks, soft hyphens) are dropped first, and letters that only look wide or decorated
become plain ones (NFKC), so that no spelling hides a word from search.
"""

import re
import threading
import unicodedata

import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs

from registry.core.ranking.stopwords import REQUEST_WORDS
from registry.core.reading.plain_text import split_name

RECIPE = "2"
"""Part of the ranker's version: after a change here every document must be read again."""

TOKEN_CHARS = 64
"""Longer tokens are cut: they are not words, and an engine's terms must stay short."""

QUERY_CHARS = 400
QUERY_TERMS = 64
"""Limits on what is read of a query. Interfaces cut queries and echo the cut text; here they protect the ranker."""

_TOKEN = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_SENTENCE_ENDS = re.compile(r"(?<=[.?!])\s+")
_SENTENCE_WORDS = 3


class _PerThread(threading.local):
    """A PyStemmer object has a cache without a lock, so each thread has its own."""

    def __init__(self) -> None:
        self.stemmer = Stemmer.Stemmer("english")


_LOCAL = _PerThread()


def visible(text: str) -> str:
    """Return the text without format characters (Unicode category Cf), in compatibility form NFKC."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")


def name_text(name: str) -> str:
    """Return the name as written, followed by its parts if it has any."""
    parts = split_name(name)
    return name if parts == name else f"{name} {parts}"


def _tokens(text: str) -> list[str]:
    tokens: list[str] = _TOKEN.findall(visible(text).lower().replace("\u2019", "'"))
    return tokens


def _word(token: str) -> str:
    """`bob's` -> `bob`, `don't` -> `dont`."""
    return token.removesuffix("'s").replace("'", "")[:TOKEN_CHARS]


def stems(text: str) -> list[str]:
    """Return the terms of a text, in order, with repeats."""
    stemmed: list[str] = _LOCAL.stemmer.stemWords([_word(token) for token in _tokens(text)])
    return stemmed


def query_terms(text: str) -> dict[str, str]:
    """Return distinct stem -> the query's first word for it, in the query's order, at most QUERY_TERMS.

    Request words ("I need to", "can you help me") say nothing about the service; they are left out if others remain.
    """
    tokens = _tokens(text[:QUERY_CHARS])
    words = [_word(token) for token in tokens if token not in REQUEST_WORDS] or [_word(token) for token in tokens]
    terms: dict[str, str] = {}
    for word, stem in zip(words, _LOCAL.stemmer.stemWords(words), strict=True):
        if len(terms) == QUERY_TERMS:
            break
        terms.setdefault(stem, word)
    return terms


def sentences(text: str) -> list[str]:
    """Return the parts of a request that may each name a need of their own; the whole text if it has only one part.

    Parts of one or two words ("Thanks!") are not needs. Blank text has none.
    """
    normalised = " ".join(text[:QUERY_CHARS].split())
    parts = [part for part in _SENTENCE_ENDS.split(normalised) if len(part.split()) >= _SENTENCE_WORDS]
    return parts or ([normalised] if normalised else [])
