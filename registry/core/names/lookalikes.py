"""Detect host names that can be mistaken for others: mixed scripts in a label, or a label of look-alike letters only.

A heuristic after UTS 39 (restriction level "highly restrictive", whole-script confusables), with Unicode's table of
confusable characters and the scripts that character names show. It only sets a flag: flagged names are accepted, shown
as A-labels, and never `verified`.
"""

import unicodedata
from collections.abc import Sequence
from typing import Final

from registry.core.names.confusables import skeleton

# UTS 39 section 5.2: scripts that may occur together in one word.
_TOGETHER: Final = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)

# Letters that many fonts draw like an ASCII letter, beside those of Unicode's table.
_LOOKALIKES: Final = frozenset("пкмтвнзьҫκτηεχյղԼտ")  # Cyrillic, Greek, Armenian

_SCRIPTS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts that can be mistaken for Latin as a whole. Single letters of others look like one too (Hebrew samekh like o),
their words do not."""


def looks_alike(labels: Sequence[str]) -> bool:
    """True when a host can be mistaken for another. `labels` are its U-labels, top level last."""
    top_level_scripts = _scripts(labels[-1])
    return any(_mixes_scripts(label) or _is_lookalike(label, top_level_scripts) for label in labels)


def _mixes_scripts(label: str) -> bool:
    scripts = _scripts(label)
    return len(scripts) > 1 and not any(scripts <= allowed for allowed in _TOGETHER)


def _is_lookalike(label: str, top_level_scripts: frozenset[str]) -> bool:
    """True when all non-ASCII letters are look-alikes. A non-Latin label in the script of its top level is exempt."""
    letters = [char for char in label if char.isalpha()]
    non_ascii = [char for char in letters if not char.isascii()]
    if not non_ascii or not all(char in _LOOKALIKES or skeleton(char).isascii() for char in non_ascii):
        return False
    scripts = _scripts(label)
    return scripts == {"LATIN"} or (bool(scripts & _SCRIPTS) and not scripts <= top_level_scripts)


def _scripts(label: str) -> frozenset[str]:
    """Return the first word of each letter's Unicode name: LATIN, CYRILLIC, CJK, ..."""
    names = (unicodedata.name(char, "UNKNOWN") for char in label if char.isalpha())
    return frozenset(name.split(" ", 1)[0] for name in names)
