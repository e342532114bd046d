"""Whether a host name can be taken for another one: mixed scripts in a label, or a label of look-alike letters only.

A heuristic after UTS 39 (restriction level "highly restrictive", whole-script confusables), reduced to what the
Unicode names of characters tell. It only sets a flag: flagged names are accepted and shown as A-labels.
"""

import unicodedata
from collections.abc import Sequence
from typing import Final

# UTS 39 section 5.2: scripts that are written together in one word.
_TOGETHER: Final = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)

# Letters of other scripts (and odd Latin ones) that most fonts draw like an ASCII letter or digit.
_TWINS: Final = frozenset(
    "асеорхуіјѕһԁԛԝүпгкмтвнзьҫӏ"  # Cyrillic
    "αορνυικτχγηεϲϳ"  # Greek
    "օսոզցհյղգաքԼտ"  # Armenian
    "ıɑɡɩɪʏʟ"  # Latin letters that are not ASCII
)


def looks_alike(labels: Sequence[str]) -> bool:
    """Takes the U-labels of a host, top level last."""
    top = _scripts(labels[-1])
    return any(_mixed(label) or _twin(label, top) for label in labels)


def _mixed(label: str) -> bool:
    scripts = _scripts(label)
    return len(scripts) > 1 and not any(scripts <= allowed for allowed in _TOGETHER)


def _twin(label: str, top: frozenset[str]) -> bool:
    """Only look-alike letters, not all ASCII; below a top level of its own script such a name is at home."""
    letters = [char for char in label if char.isalpha()]
    foreign = [char for char in letters if not char.isascii()]
    if not foreign or any(char not in _TWINS for char in foreign):
        return False
    scripts = _scripts(label)
    return scripts == {"LATIN"} or not scripts <= top


def _scripts(label: str) -> frozenset[str]:
    """The first word of each letter's Unicode name: LATIN, CYRILLIC, CJK, ..."""
    names = (unicodedata.name(char, "UNKNOWN") for char in label if char.isalpha())
    return frozenset(name.split(" ", 1)[0] for name in names)
