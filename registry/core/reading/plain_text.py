"""Make untrusted texts safe to show: invisible characters removed, lengths bounded.

Format and tag characters, bidi controls and stacks of combining marks can hide instructions from people while models
still read them (docs/safety.md, "Threats and where they end"). Joiners, variation selectors and tags stay where writing
needs them: in words of Persian, Hindi or Sinhala (RFC 5892 appendix A.1 and A.2), and in emoji (UTS 51). The stored
bytes stay as they were received; the cleaned text goes into answers and into the index.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from idna import IDNAError
from idna.core import valid_contextj

MAX_COMBINING: Final = 3
ELLIPSIS: Final = "…"

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_STACKED = frozenset({"Mn", "Me"})
_PLAIN = frozenset({"Ll", "Lu", "Lm", "Mc", "Nd", "Po", "Pd", "So"})  # no exceptions in any of these
_VISIBLE_FORMATS = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Signs of Arabic, Syriac and Kaithi below or around digits: format characters with a glyph."""

_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
"""Letters and marks without a glyph (Unicode, Default_Ignorable_Code_Point)."""

_CONTEXTUAL = re.compile("[\u180b-\u180f\u200c\u200d\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]")
_CONTEXTUAL_RUN = re.compile(f"{_CONTEXTUAL.pattern}+")
"""Characters without a glyph that some texts need: `is_needed` tells where."""

_MAX_RUN: Final = 8  # the longest needed run is of the tags of a flag

FLAG: Final = re.compile(
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
"""The flags of England, Scotland and Wales: the sequences of tags that Unicode recommends (UTS 51)."""

_FLAG_CHARS: Final = 7
_PICTOGRAPH = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935"
    "\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff"
)
"""Ranges of characters that are emoji, or become emoji with a selector."""

_JOINED = re.compile(f"[{_PICTOGRAPH}](?:\ufe0f|[\U0001f3fb-\U0001f3ff])?\u200d(?=[{_PICTOGRAPH}])")
_SELECTED = re.compile(
    f"[{_PICTOGRAPH}][\ufe0e\ufe0f]|[0-9#*]\ufe0f(?=\u20e3)"
    "|[\u2200-\u22ff\u1000-\u109f\uaa60-\uaa7f\ua840-\ua877]\ufe00"  # mathematics, Myanmar, Phags-pa
    "|[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\ufe00-\ufe02\U000e0100-\U000e01ef]"  # Han
    "|[\u1820-\u18aa](?:[\u180b-\u180d\u180f]|\u180e(?=[\u1820-\u18aa]))"  # Mongolian
)
_VIRAMA: Final = 9  # its canonical combining class
_WORD_CHARS: Final = 12
"""Characters on each side of a joiner that are read: marks may stand between it and the letters that it joins."""

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
    return clean if len(clean) <= chars else _needed(clean[: chars - 1]).rstrip() + ELLIPSIS


def is_needed(text: str, at: int) -> bool:
    """Return whether an invisible character is needed to write its neighbours: a joiner between letters or emoji, the
    variation selector of a character that has variants, a tag of a flag. False for all other characters."""
    char = text[at]
    if char in "\u200c\u200d":
        if at > 0 and unicodedata.combining(text[at - 1]) == _VIRAMA:  # RFC 5892, the first test of both rules
            return True
        if char == "\u200d":
            found = _JOINED.match(text, at - 1) or _JOINED.match(text, at - 2) if at > 1 else _JOINED.match(text)
            return found is not None and found.end() == at + 1
        start, end = at - 1, at + 1
        while start > 0 and at - start < _WORD_CHARS and unicodedata.category(text[start]) in _STACKED:
            start -= 1
        while end < len(text) - 1 and end - at < _WORD_CHARS and unicodedata.category(text[end]) in _STACKED:
            end += 1
        return start >= 0 and _is_joined(text[start : end + 1], at - start)
    if "\U000e0020" <= char <= "\U000e007f":
        return any(FLAG.match(text, start) for start in range(max(0, at - _FLAG_CHARS + 1), at))
    return at > 0 and _SELECTED.match(text, at - 1) is not None


@lru_cache(maxsize=2_048)  # a language has some hundreds of such pairs
def _is_joined(letters: str, at: int) -> bool:
    try:
        return valid_contextj(letters, at)
    except (ValueError, IDNAError):  # a neighbour that Unicode does not assign
        return False


def _visible(text: str) -> str:
    visible: list[str] = []
    stacked = 0
    needs_context = False
    for char in text:
        is_ascii_text = char.isascii() and (char.isprintable() or char in "\n\t")
        if is_ascii_text or (category := unicodedata.category(char)) in _PLAIN:
            stacked = 0
        elif _CONTEXTUAL.match(char):
            needs_context = True
        elif (category in _HIDDEN and char not in _VISIBLE_FORMATS) or char in _FILLERS:
            continue
        else:
            stacked = stacked + 1 if category in _STACKED else 0
            if stacked > MAX_COMBINING:
                continue
        visible.append(char)
    return _needed("".join(visible)) if needs_context else "".join(visible)


def _needed(text: str) -> str:
    """Return the text without joiners, selectors and tags that nothing needs. What stands before each is clean."""
    if _CONTEXTUAL.search(text) is None:
        return text
    clean = ""
    done = 0
    for run in _CONTEXTUAL_RUN.finditer(text):
        clean += text[done : run.start()]
        done = run.end()
        for at in range(run.start(), min(done, run.start() + _MAX_RUN)):
            before = clean[-_WORD_CHARS:]
            if is_needed(before + text[at : at + _WORD_CHARS], len(before)):
                clean += text[at]
    return clean + text[done:]


def line(text: str, chars: int) -> str:
    """Return `plain` text on one line, every run of white space as one blank. For names and notes."""
    if len(text) <= chars and text.isascii() and text.isprintable() and "  " not in text:
        return text.strip(" ")  # fast path for nearly every text
    return " ".join(plain(" ".join(text[: chars * _WINDOW].split()), chars).split())


def line_of_bytes(text: str, max_bytes: int) -> str:
    """Return `line` in at most this many bytes of UTF-8. A cut one ends in an ellipsis, if that has room."""
    said = line(text, max_bytes)
    encoded = said.encode()
    if len(encoded) <= max_bytes:
        return said
    room = max_bytes - len(ELLIPSIS.encode())
    return encoded[:room].decode(errors="ignore").rstrip() + ELLIPSIS if room > 0 else ""


def unbroken(line: bytes) -> bytes:
    """Return JSON that has no line breaks as one line for all readers, including readers that split at U+2028."""
    return _JSON_BREAKS.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), line)  # guard: unbroken-json


def split_name(name: str) -> str:
    """Return a name as separate words: `getWeather_v2` -> `get Weather v2`."""
    return " ".join(_WORD_BOUNDARIES.sub(" ", name).split())
