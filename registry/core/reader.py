"""Bytes -> text or JSON value, or the reason why not. Only `Unreadable` leaves this module.

Settings and caps: jiter refuses NaN and duplicate keys, but reads 1e999 as infinity, keeps NUL and nests 200 deep; the
walk over the value refuses what jsonb or a later reader could not hold (a row that is accepted and cannot be read back
stops every rebuild of the index).
"""

import re
from itertools import count
from math import isfinite
from typing import NoReturn, TypeAlias

import jiter

from registry.core.documents import Json
from registry.core.findings import EVIDENCE_CHARS, Reason
from registry.core.manifest import at
from registry.core.plain_text import line as line_of

BOM = b"\xef\xbb\xbf"
MAX_BYTES = 4 * 1024 * 1024  # the largest cap of any kind of document
MAX_DEPTH = 32
MAX_KEYS = 2_000
MAX_ITEMS = 5_000
MAX_CHARS = 100_000
MAX_INTEGER = 2**53  # beyond it readers disagree about the value (RFC 8259 section 6)

_PLACE = re.compile(r" at line (\d+) column (\d+)$")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n.*?\n---[ \t]*\r?\n\s*[{\[]", re.DOTALL)
_HTML = re.compile(r"(?:<!--.*?-->|<\?xml[^>]*>|\s)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL)


class Unreadable(ValueError):
    """Why a body was not read: `reason`, the offending piece as `evidence`, and the place where it is known.

    Of what is no JSON: `line` from 1 and `column` in bytes, as the parser counts; of what is no UTF-8: `offset`, in
    bytes. Of JSON that is over a cap: `pointer`, to the value.
    """

    def __init__(self, reason: Reason, evidence: str = "", line: int | None = None, column: int | None = None) -> None:
        super().__init__(f"{reason.value}: {evidence}" if evidence else reason.value)
        self.reason = reason
        self.evidence = line_of(evidence, EVIDENCE_CHARS)
        self.line = line
        self.column = column
        self.offset: int | None = None
        self.pointer = ""


def read_text(raw: bytes) -> str:
    """The body as text without a byte order mark. Raises Unreadable: not UTF-8, empty, over MAX_BYTES."""
    if len(raw) > MAX_BYTES:
        raise Unreadable(Reason.TOO_LARGE, f"{len(raw)} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        offset = len(raw) - len(error.object) + error.start  # the codec counts without the mark
        refusal = Unreadable(Reason.NOT_UTF8, f"byte 0x{raw[offset]:02x} at offset {offset}")
        refusal.offset = offset
        raise refusal from None
    if not text.strip():
        raise Unreadable(Reason.EMPTY)
    return text


def read_json(raw: bytes) -> Json:
    """The body as one JSON value within the caps above. Raises Unreadable."""
    text = read_text(raw)
    try:
        value: Json = jiter.from_json(raw.removeprefix(BOM), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        _explain(str(error), text)
    check_caps(value)
    return value


def is_html(text: str) -> bool:
    """Whether a body is a web page: what a single-page application answers for every path (soft 404)."""
    return _HTML.match(text[:4096]) is not None


def looks_like_json(text: str) -> bool:
    """Whether somebody meant this body to be JSON, though it does not parse."""
    start = text.lstrip()
    if start.startswith(("//", "/*")):
        return "{" in start
    return start[:1] in ("{", "[") or _FRONT_MATTER.match(start) is not None


def _explain(message: str, text: str) -> NoReturn:
    place = _PLACE.search(message)
    line, column = (int(place[1]), int(place[2])) if place else (None, None)
    raise Unreadable(_reason(message, text, line, column), message, line, column)


def _reason(message: str, text: str, line: int | None, column: int | None) -> Reason:
    if _FRONT_MATTER.match(text.lstrip()):
        return Reason.FRONT_MATTER
    for needle, reason in (
        ("trailing comma", Reason.TRAILING_COMMA),
        ("duplicate key", Reason.DUPLICATE_KEY),
        ("recursion limit", Reason.TOO_DEEP),
        ("number out of range", Reason.NUMBER),
    ):
        if needle in message:
            return reason
    if line is not None and column is not None and _comment_at(text, line, column):
        return Reason.COMMENT
    return Reason.TRUNCATED if message.startswith("EOF") else Reason.NOT_JSON


def _comment_at(text: str, line: int, column: int) -> bool:
    lines = text.split("\n", line)
    if len(lines) < line:
        return False
    # the parser counts bytes and stops at or just behind the slash
    near = lines[line - 1].encode()[max(0, column - 2) : column + 2]
    return b"//" in near or b"/*" in near


def check_caps(root: Json) -> None:
    """Refuse, by Unreadable, what is over a cap or what jsonb could not hold.

    Level by level, not recursive: the depth is somebody else's choice.
    """
    level: list[Json] = [root]
    for depth in count():
        value: Json = next((one for one in level if isinstance(one, dict | list)), None) if depth == MAX_DEPTH else None
        below: list[Json] = []
        try:
            if value is not None:
                raise Unreadable(Reason.TOO_DEEP, f"more than {MAX_DEPTH} levels")
            for value in level:
                if isinstance(value, str):  # most values are, and fine: a call for each is what reading would cost
                    if len(value) > MAX_CHARS or "\0" in value:
                        _refuse_text(value)
                elif isinstance(value, dict):
                    _check_keys(value)
                    below.extend(value.values())
                elif isinstance(value, list):
                    _check_length(value)
                    below.extend(value)
                elif value is not None:
                    _check_number(value)
        except Unreadable as refusal:
            refusal.pointer = _pointer_to(value, root)
            raise
        if not below:
            return
        level = below


def _pointer_to(wanted: Json, root: Json) -> str:
    """A JSON Pointer to a value inside `root`, found by identity: what is equal by interning is as bad."""
    paths: list[tuple[Json, _Path]] = [(root, None)]
    while paths:
        value, path = paths.pop()
        if value is wanted:
            return _written(path)
        if isinstance(value, dict | list):
            children = value.items() if isinstance(value, dict) else enumerate(value)
            paths.extend((child, (path, str(key))) for key, child in children)
    return ""


def _written(path: "_Path") -> str:
    """Only the one that is wanted: a text for each value of a large document would be larger than it."""
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return at("", *reversed(keys))


_Path: TypeAlias = "tuple[_Path, str] | None"


def _check_keys(value: dict[str, Json]) -> None:
    if len(value) > MAX_KEYS:
        raise Unreadable(Reason.TOO_MANY, f"{len(value)} keys in one object")
    for key in value:
        if len(key) > MAX_CHARS or "\0" in key:
            _refuse_text(key)


def _check_length(value: list[Json]) -> None:
    if len(value) > MAX_ITEMS:
        raise Unreadable(Reason.TOO_MANY, f"{len(value)} items in one array")


def _check_number(value: int | float) -> None:
    if isinstance(value, float):
        if not isfinite(value):
            raise Unreadable(Reason.NUMBER, "not finite")
    elif not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise Unreadable(Reason.NUMBER, "integer beyond 2^53")


def _refuse_text(text: str) -> NoReturn:
    if len(text) > MAX_CHARS:
        raise Unreadable(Reason.TEXT_TOO_LONG, f"{len(text)} characters in one string")
    raise Unreadable(Reason.NUL)
