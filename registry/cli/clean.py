"""Clean foreign text for output: texts of sites, documents and file names cannot control a terminal or break a line.

Standard library only, so that wrong usage is reported at once.
"""

import json
import re
import sys
import traceback
from datetime import datetime
from enum import Enum
from typing import Any, Final

_NOT_ASCII: Final = re.compile(r"[^ -~\n]")


def visible(text: str) -> str:
    """Return untrusted text for a terminal: every character that is not printable becomes an escape such as `\\x1b`.

    Not printable are controls (C0, DEL, C1), line and paragraph separators, all spaces but U+0020, format characters
    (marks of direction, zero width), surrogates, private use and unassigned (`str.isprintable`). Joiners that a word or
    an emoji needs stay.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or _is_joiner(text, at) else _escape(char) for at, char in enumerate(text)
    )


def _is_joiner(text: str, at: int) -> bool:
    if text[at] not in "\u200c\u200d":
        return False
    from registry.core.reading.plain_text import is_needed  # rare, and more than the standard library

    return is_needed(text, at)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def visible_lines(text: str) -> str:
    """Return text of several lines in which only line feeds control the terminal."""
    return "\n".join(map(visible, text.split("\n")))


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a value as JSON in printable ASCII; without `indent` on one line. Dates are in ISO 8601."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=True, indent=indent, separators=separators, default=_json_value)
    return _NOT_ASCII.sub(lambda match: f"\\u{ord(match[0]):04x}", text)  # DEL, which `ensure_ascii` leaves as it is


def print_json(value: object, *, indent: int | None = None) -> None:
    """Print a value on standard output as `json_text` writes it."""
    sys.stdout.write(json_text(value, indent=indent) + "\n")
    sys.stdout.flush()


def members(record: object, *names: str) -> dict[str, Any]:
    """Return these attributes of a record by name, for `print_json`."""
    return {name: getattr(record, name) for name in names}


def print_traceback(error: BaseException) -> None:
    """Print an unexpected error to standard error as Python does, but cleaned, because it may hold text of a site."""
    sys.stderr.write(visible_lines("".join(traceback.format_exception(error))))


def _json_value(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        raise TypeError("bytes have no JSON form")
    return value.value if isinstance(value, Enum) else str(value)
