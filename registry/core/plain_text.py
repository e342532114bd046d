"""Texts of strangers, made fit to show: invisible characters out, lengths bounded, words left as they are.

Format and tag characters, bidi controls and stacks of combining marks hide instructions from people and show them to
models (safety.md section 7). Raw bytes stay stored; this is what goes to answers and to the index.
"""

import re
import unicodedata
from typing import Final

MAX_COMBINING: Final = 3
ELLIPSIS: Final = "…"

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_STACKED = frozenset({"Mn", "Me"})
# Most texts hold nothing to look up: Latin, Greek, Cyrillic, common signs, Han, Kana, Hangul, pictographs.
_EASY = re.compile(
    "[ -~\\n\\t\u00a0-\u00ac\u00ae-\u02ff\u0391-\u03a1\u03a3-\u03e1\u0400-\u0482\u048a-\u052f"
    "\u2010-\u2027\u2030-\u205e\u20a0-\u20bf\u2190-\u23ff\u2500-\u27bf\u3001-\u3029\u3041-\u3096\u30a1-\u30ff"
    "\u4e00-\u9ffc\uac00-\ud7a3\U0001f300-\U0001f64f]*"
)
_WINDOW = 4  # read at most this many times the wanted length: hidden characters must not buy work


def plain(text: str, chars: int) -> str:
    """`text` without invisible characters and without stacked combining marks, at most `chars` characters long.

    Line breaks and tabs stay. Idempotent; a cut text ends in an ellipsis.
    """
    head = text[: chars * _WINDOW]
    clean = (head if _EASY.fullmatch(head) else _visible(head)).strip()
    return clean if len(clean) <= chars else clean[: chars - 1].rstrip() + ELLIPSIS


def _visible(text: str) -> str:
    shown: list[str] = []
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
        shown.append(char)
    return "".join(shown)


def line(text: str, chars: int) -> str:
    """`plain`, on one line: every run of white space is one blank. For names and notes."""
    if len(text) <= chars and text.isascii() and text.isprintable() and "  " not in text:
        return text.strip(" ")  # nearly every text: nothing to mend
    return " ".join(plain(" ".join(text[: chars * _WINDOW].split()), chars).split())
