"""Map characters to the ASCII letter or digit they look like (UTS 39), and detect host names that mislead the eye.

The table has facts of Unicode 17.0.0 (2025-09), read on 2026-11-24 as ICU 78.3 implements them: characters that look
like a single ASCII letter or digit. NFKC resolves compatibility forms (full width, mathematical). Small capitals and
letters with a stroke or a hook are not in confusables.txt; their Unicode names identify the letter. Host names are
judged after UTS 39 ("highly restrictive", whole-script confusables), with scripts taken from character names. The
result is only a flag: flagged names are accepted, shown as A-labels, and never `verified`.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

_CODE_POINTS: Final = {
    "2": "1a7 3e8 14bf a644 a6ef a75a",
    "3": "1b7 21c 417 4e0 969 ae9 2c9c 2cc4 2ccc a76a a7ab 118ca 16f3b 1d206",
    "4": "13ce 118af",
    "5": "1bc 118bb",
    "6": "3ec 431 13ee 2cd2 2cd3 2cdc 118d5",
    "7": "104d2 118c6 1d212",
    "8": "222 223 9ea a6a b03 1031a 1e8cb",
    "9": "9ed a67 b68 d6d 2cca 2ccb a76e 118ac 118cc 118d6",
    "A": "391 410 13aa 15c5 a4ee 102a0 16f40",
    "B": "392 412 13f4 15f7 2c82 a4d0 a7b4 10282 102a1 10301",
    "C": "3f9 421 13df 2ca4 a4da 102a2 10302 10415 1051c 118e9 118f2 1f74c",
    "D": "13a0 15de 15ea a4d3",
    "E": "395 415 13ac 22ff 2d39 a4f0 10286 118a6 118ae",
    "F": "3dc 15b4 a4dd a798 10287 102a5 10525 118a2 118c2 1d213",
    "G": "50c 13c0 13f3 a4d6",
    "H": "397 41d 13bb 157c 2c8e a4e7 102cf",
    "J": "37f 408 13ab 148d a4d9 a7b2",
    "K": "39a 41a 13e6 16d5 2c94 a4d7 10518",
    "L": "13de 14aa 2cd0 a4e1 1041b 10526 118a3 118b2 16f16 1d22a",
    "M": "39c 3fa 41c 13b7 15f0 16d6 2c98 a4df 102b0 10311",
    "N": "39d 2c9a a4e0 10513",
    "O": "39f 41e 555 7c0 b20 ce6 12d0 2c9e 2d54 3007 a4f3 10292 102ab 10404 104c2 10516 118b5 118e0",
    "P": "3a1 420 13e2 146d 2ca2 2cce a4d1 10295",
    "Q": "2d55",
    "R": "1a6 13a1 13d2 1587 a4e3 104b4 16f35 1d216",
    "S": "405 54f 13d5 13da a4e2 10296 10420 16f3a",
    "T": "3a4 422 13a2 22a4 27d9 2ca6 a4d4 10297 102b1 10315 118bc 16f0a 1f768",
    "U": "54d 1200 144c 222a 22c3 a4f4 104ce 118b8 16f42",
    "V": "474 667 6f7 13d9 142f 2d38 a4e6 a6df 1051d 118a0 16f08 1d20d",
    "W": "51c 13b3 13d4 a4ea 118e6 118ef",
    "X": "3a7 425 166d 16b7 2573 2cac 2d5d a4eb a7b3 10290 102b4 10317 10322 10527 118ec",
    "Y": "3a5 423 4ae 13a9 13bd 2ca8 a4ec 102b2 118a4 16f43",
    "Z": "396 13c3 a4dc 102f5 118a9 118e5",
    "a": "251 3b1 430 237a",
    "b": "184 42c 13cf 1472 15af",
    "c": "3f2 441 1004 105a 1d04 2ca5 abaf 1043d",
    "d": "501 13e7 146f a4d2",
    "e": "435 4bd 212e ab32",
    "f": "192 584 1e9d a799 ab35",
    "g": "18d 261 581 1d83",
    "h": "4bb 570 13c2",
    "i": "131 269 26a 2db 37a 3b9 456 582 13a5 2373 2c93 a647 ab75 118c3",
    "j": "3f3 458",
    "l": "196 1c0 399 406 4c0 4cf 5d5 5df 627 661 6f1 7ca 16c1 2223 23fd 2c92 2d4f a4f2 ffe8 1028a 10309 10320 "
    "16f28 1e8c7",
    "n": "578 57c",
    "o": "3bf 3c3 3ed 43e 585 5e1 647 665 6be 6c1 6d5 6f5 966 9e6 a66 ae6 b66 be6 c02 c66 c82 d02 d20 d66 d82 e50 "
    "ed0 101d 1040 10ff 17e0 1d0f 1d11 2c9f ab3d 1042c 104ea 114d0 118c8 118d7",
    "p": "fe 1bf 3c1 3f8 440 2374 2ca3 2ccf",
    "q": "51b 563 566",
    "r": "433 1d26 2c85 ab47 ab48 ab81",
    "s": "1bd 455 d1f a731 abaa 10448 118c1",
    "u": "28b 3c5 57d 1d1c a79f ab4e ab52 104f6 118d8",
    "v": "3bd 475 5d8 1d20 2228 22c1 aba9 11706 118c0",
    "w": "26f 448 461 51d 561 1d21 2cbd ab83 1170a 1170e 1170f",
    "x": "d7 445 1541 157d 292b 292c 2a2f",
    "y": "263 28f 3b3 443 4af 10e7 1d8c 1eff 2ca9 ab5a 118dc",
    "z": "1d22 ab93 118c4",
}
"""ASCII character -> the code points that look like it, in hexadecimal."""

PROTOTYPES: Final = {
    chr(int(code, 16)): prototype for prototype, codes in _CODE_POINTS.items() for code in codes.split()
}

_LATIN: Final = re.compile(r"LATIN (?:CAPITAL|SMALL) LETTER ([A-Z])(?: WITH .*)?")
_SMALL_CAPITAL: Final = re.compile(r"LATIN LETTER SMALL CAPITAL ([A-Z])")


def skeleton(text: str) -> str:
    """Return the text with every character that looks like an ASCII letter or digit replaced by it. Compatibility forms
    are resolved, invisible characters dropped. Letters with marks (`ü`) are not changed."""
    visible = (char for char in text if unicodedata.category(char) not in ("Cf", "Mn") or unicodedata.combining(char))
    compatible = unicodedata.normalize("NFKC", "".join(PROTOTYPES.get(char, char) for char in visible))
    return "".join(map(_prototype, compatible))


def without_marks(text: str) -> str:
    """Return the text in compatibility form with each Latin letter reduced to its ASCII letter: `ü` to `u`."""
    return "".join(map(_base_letter, unicodedata.normalize("NFKC", text)))


@lru_cache(maxsize=1_024)
def _prototype(char: str) -> str:
    """Return the ASCII character that `char`, in either case, looks like, else `char`."""
    if char.isascii():
        return char
    small_capital = _SMALL_CAPITAL.fullmatch(unicodedata.name(char, ""))
    return small_capital[1].lower() if small_capital else PROTOTYPES.get(char) or PROTOTYPES.get(char.lower(), char)


@lru_cache(maxsize=1_024)
def _base_letter(char: str) -> str:
    if char.isascii():
        return char
    if unicodedata.combining(char):
        return ""
    latin = _LATIN.fullmatch(unicodedata.name(char, ""))
    if latin is None:
        return char
    return latin[1] if char.isupper() else latin[1].lower()


# UTS 39 section 5.2: scripts that may occur together in one word.
_TOGETHER: Final = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)

# Letters that many fonts draw like an ASCII letter, beside those of Unicode's table.
_LOOKALIKES: Final = frozenset("пкмтвнзьҫκτηεχյղԼտ")  # Cyrillic, Greek, Armenian

_SCRIPTS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts whose whole words can look Latin. Other scripts have single letters that look Latin (Hebrew samekh like o),
but no words."""


def looks_alike(labels: Sequence[str]) -> bool:
    """Return whether a host can be mistaken for another. `labels` are its U-labels, top level last."""
    top_level_scripts = _scripts(labels[-1])
    for label in labels:
        scripts = _scripts(label)
        if len(scripts) > 1 and not any(scripts <= allowed for allowed in _TOGETHER):
            return True
        non_ascii = [char for char in label if char.isalpha() and not char.isascii()]
        if not non_ascii or not all(char in _LOOKALIKES or skeleton(char).isascii() for char in non_ascii):
            continue
        if scripts == {"LATIN"} or (scripts & _SCRIPTS and not scripts <= top_level_scripts):
            return True  # a label in the script of its top level is exempt
    return False


def _scripts(label: str) -> frozenset[str]:
    """Return the first word of each letter's Unicode name: LATIN, CYRILLIC, CJK, ..."""
    names = (unicodedata.name(char, "UNKNOWN") for char in label if char.isalpha())
    return frozenset(name.split(" ", 1)[0] for name in names)
