"""Make untrusted texts safe to show: invisible characters removed, lengths bounded.

Format and tag characters, bidi controls and stacks of combining marks can hide instructions from people while models
still read them (docs/safety.md, "Threats and where they end"). The stored bytes stay as they were received; the cleaned
text goes into answers and into the index.
"""

import re
import unicodedata
from typing import Final

MAX_COMBINING: Final = 3
ELLIPSIS: Final = "…"

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_STACKED = frozenset({"Mn", "Me"})
# Fast path for most texts, no look-up needed: Latin, Greek, Cyrillic, common signs, Han, Kana, Hangul, pictographs.
_EASY = re.compile(
    "[ -~\\n\\t\u00a0-\u00ac\u00ae-\u02ff\u0391-\u03a1\u03a3-\u03e1\u0400-\u0482\u048a-\u052f"
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u23ff\u2500-\u27bf\u3001-\u3029\u3041-\u3096\u30a1-\u30ff"
    "\u4e00-\u9ffc\uac00-\ud7a3\U0001f300-\U0001f64f]*"
)
_WORD_BOUNDARIES = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./&:|]+")
_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")  # what str.splitlines and editors split at, too
_JSON_BREAKS: Final = re.compile("\x85|\u2028|\u2029".encode())
_WINDOW = 4  # reads at most this many times the wanted length: hidden characters must not cause unbounded work


def plain(text: str, chars: int) -> str:
    """Return `text` without invisible characters and stacked combining marks, at most `chars` characters long. Tabs and
    line feeds stay; other line and paragraph separators become line feeds. Idempotent; a cut text ends in an
    ellipsis."""
    head = text[: chars * _WINDOW]
    clean = (head if _EASY.fullmatch(head) else _visible(_BREAKS.sub("\n", head))).strip()  # guard: line-breaks
    return clean if len(clean) <= chars else clean[: chars - 1].rstrip() + ELLIPSIS


def _visible(text: str) -> str:
    visible: list[str] = []
    stacked = 0
    for char in text:
        if char.isascii() and (char.isprintable() or char in "\n\t"):
            stacked = 0
        else:
            category = unicodedata.category(char)
            if category in _HIDDEN:
                continue
            stacked = stacked + 1 if category in _STACKED else 0
            if stacked > MAX_COMBINING:
                continue
        visible.append(char)
    return "".join(visible)


def line(text: str, chars: int) -> str:
    """Return `plain` text on one line, every run of white space as one blank. For names and notes."""
    if len(text) <= chars and text.isascii() and text.isprintable() and "  " not in text:
        return text.strip(" ")  # fast path for nearly every text
    return " ".join(plain(" ".join(text[: chars * _WINDOW].split()), chars).split())


def unbroken(line: bytes) -> bytes:
    """Return JSON that has no line breaks as one line for all readers, including readers that split at U+2028."""
    return _JSON_BREAKS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), line)  # guard: unbroken-json


def split_name(name: str) -> str:
    """Return a name as separate words: `getWeather_v2` -> `get Weather v2`."""
    return " ".join(_WORD_BOUNDARIES.sub(" ", name).split())
