"""Command lines to copy, made of foreign texts: the same words in every shell.

Shells agree on little. In single quotes, fish reads `\\'` and `\\\\` as escapes, PowerShell ends the text at
typographic quotes too, and cmd.exe does not quote at all; older PowerShell passes a word with `"` on unquoted, so that
blanks end it. A word is therefore written only with characters that mean themselves in sh, bash, zsh, ksh, csh, fish
and PowerShell 7.3, and that no other shell takes for a command or a further word; JSON has escapes for the rest.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

MAX_LINE_CHARS: Final = 8_000  # a Windows command line has at most 8,191 characters
_BARE = re.compile(r"-{0,2}[A-Za-z][A-Za-z0-9._:/-]*")
_DOUBLE_QUOTED = re.compile(r"[ #%-\[\]^_a-~]*")  # without ! " $ \ `
_SINGLE_QUOTED = re.compile(r"[#$(-;=?-\[\]_`a-{}~]*")  # without blanks, ! " ' \ and cmd.exe's % & < > | ^
_JSON_ESCAPE = re.compile(r'\\(["\\bfnrt])')
_SHORT_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_JSON_UNSAFE = re.compile(r"[ !%'\x7f]")


class Unquotable(ValueError):
    """A line that no quoting makes the same in every shell; the message says why."""


class JsonText(str):
    """A JSON document whose strings hold no character that a shell could act on (see `json_text`)."""

    __slots__ = ()


def json_text(value: Any) -> JsonText:
    """Return a value as JSON for one word of a command, with a shell's special characters escaped in its strings. It
    has no blanks, so that shells that lose the quotes still pass one word."""
    text = json.dumps(value, separators=(",", ":"))
    text = _JSON_ESCAPE.sub(lambda found: _escaped(_SHORT_ESCAPES.get(found[1], found[1])), text)
    return JsonText(_JSON_UNSAFE.sub(lambda found: _escaped(found[0]), text))  # guard: shell-json


def command_line(words: Iterable[str]) -> str:
    """Return a line that every shell reads as these words. Raise Unquotable."""
    line = " ".join(map(_quoted, words))
    if len(line) > MAX_LINE_CHARS:
        raise Unquotable(f"the line would have more than {MAX_LINE_CHARS:,} characters")
    return line


def _quoted(word: str) -> str:
    if isinstance(word, JsonText):
        return f"'{word}'"
    if _BARE.fullmatch(word):
        return word
    if _DOUBLE_QUOTED.fullmatch(word):
        return f'"{word}"'
    if _SINGLE_QUOTED.fullmatch(word):
        return f"'{word}'"
    raise Unquotable("a value has characters that shells read differently")  # guard: shell-words


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}"
