"""From text to terms: the one recipe that documents and queries share.

Names are kept as written and split again at case changes and punctuation, so that `getWeather_v2` is found by
"weather" and by "getweather". Terms are Snowball stems of English; a run of a script without spaces is one term.
Characters that nobody sees (zero-width, direction marks, soft hyphens) are dropped first, and letters that only look
wide or decorated become plain ones (NFKC), so that a word cannot be written in a way that hides it from search.
"""

import re
import threading
import unicodedata

import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs

from registry.core.stopwords import REQUEST_WORDS

RECIPE = "2"
"""Part of the ranker's version: a change in here means that every document has to be read again."""

TOKEN_CHARS = 64
"""A longer token is cut: it is no word, and an engine's term must stay short."""

QUERY_CHARS = 400
QUERY_TERMS = 64
"""What of a query is read at all; the doors say so to the client, the ranker only protects itself."""

_SEAMS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./&:|]+")
_TOKEN = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_SENTENCE_ENDS = re.compile(r"(?<=[.?!])\s+")
_SENTENCE_WORDS = 3


class _PerThread(threading.local):
    """A PyStemmer object keeps a cache without a lock: each thread has its own."""

    def __init__(self) -> None:
        self.stemmer = Stemmer.Stemmer("english")


_LOCAL = _PerThread()


def visible(text: str) -> str:
    """The text without format characters (Unicode category Cf), in compatibility form NFKC."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")


def split_name(name: str) -> str:
    """`getWeather_v2` -> `get Weather v2`."""
    return " ".join(_SEAMS.sub(" ", name).split())


def name_text(name: str) -> str:
    """The name as written, followed by its parts where it has any."""
    parts = split_name(name)
    return name if parts == name else f"{name} {parts}"


def _tokens(text: str) -> list[str]:
    found: list[str] = _TOKEN.findall(visible(text).lower().replace("\u2019", "'"))
    return found


def _word(token: str) -> str:
    """`bob's` -> `bob`, `don't` -> `dont`."""
    return token.removesuffix("'s").replace("'", "")[:TOKEN_CHARS]


def stems(text: str) -> list[str]:
    """The terms of a text, in order, repeats kept."""
    found: list[str] = _LOCAL.stemmer.stemWords([_word(token) for token in _tokens(text)])
    return found


def query_terms(text: str) -> dict[str, str]:
    """Distinct stem -> the query's first word for it, in the order of asking, at most QUERY_TERMS.

    Words of asking ("I need to", "can you help me") say nothing about the service and are left out, unless nothing
    else is there.
    """
    said = _tokens(text[:QUERY_CHARS])
    telling = [_word(token) for token in said if token not in REQUEST_WORDS] or [_word(token) for token in said]
    terms: dict[str, str] = {}
    for word, stem in zip(telling, _LOCAL.stemmer.stemWords(telling), strict=True):
        if len(terms) == QUERY_TERMS:
            break
        terms.setdefault(stem, word)
    return terms


def sentences(text: str) -> list[str]:
    """The parts of a request that may each name a need of their own; the whole text where it has one part only.

    Parts of one or two words ("Thanks!") are no needs. Blank text has none.
    """
    said = " ".join(text[:QUERY_CHARS].split())
    parts = [part for part in _SENTENCE_ENDS.split(said) if len(part.split()) >= _SENTENCE_WORDS]
    return parts or ([said] if said else [])
