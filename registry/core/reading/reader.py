"""Read bytes as text or a JSON value, or state why not. `Unreadable` is the only exception that leaves this module.

jiter refuses NaN and duplicate keys, but reads 1e999 as infinity, keeps NUL and nests 200 deep. The walk over the value
therefore refuses what jsonb or a later reader could not hold: a row that can be written but not read back stops every
rebuild of the index. In the documents of sites, a part over a cap is cut and noted instead: real companies publish
numbers beyond 2^53, and texts and objects beyond any cap.
"""

import re
from dataclasses import replace
from decimal import Decimal
from itertools import count
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias

import jiter

from registry.core.model.documents import Json
from registry.core.model.findings import EVIDENCE_CHARS, Finding, Rule
from registry.core.reading import rules
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line as line_of

BOM = b"\xef\xbb\xbf"
MAX_BYTES = 4 * 1024 * 1024  # the largest cap of any kind of document
MAX_DEPTH = 48  # the deepest real description has 35 levels; records of services add less than ten
MAX_KEYS = 10_000
MAX_ITEMS = 10_000
MAX_CHARS = 100_000
MAX_INTEGER = 2**53  # beyond it readers disagree about the value (RFC 8259 section 6)

_PLACE = re.compile(r" at line (\d+) column (\d+)$")
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n.*?\n---[ \t]*\r?\n\s*[{\[]", re.DOTALL)
_Path: TypeAlias = "tuple[_Path, str] | None"
_HTML = re.compile(  # atomic: several ways to read a row of comments would take time exponential in its length
    r"(?>\s+|<!--(?>-?>|.*?--!?>)|<\?xml[^>]*>)*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)


class Unreadable(ValueError):
    """Why a body was not read: the `rule` it breaks, the offending piece as `evidence`, and the position if known.
    Invalid JSON: `line` from 1 and `column` in bytes, as the parser counts (invalid YAML: in characters). Not UTF-8:
    `offset` in bytes. JSON over a cap: `pointer` to the value."""

    def __init__(self, rule: Rule, evidence: str = "", line: int | None = None, column: int | None = None) -> None:
        super().__init__(f"{rule.code}: {evidence}" if evidence else rule.code)
        self.rule = rule
        self.evidence = line_of(evidence, EVIDENCE_CHARS)
        self.line = line
        self.column = column
        self.offset: int | None = None
        self.pointer = ""


def read_text(raw: bytes) -> str:
    """Return the body as text without a byte order mark. Raise Unreadable: not UTF-8, empty, over MAX_BYTES."""
    if len(raw) > MAX_BYTES:  # guard: json-bytes
        raise Unreadable(rules.TOO_LARGE, f"{len(raw)} bytes")
    try:
        text = raw.decode("utf-8-sig")  # guard: json-utf-8
    except UnicodeDecodeError as error:
        offset = len(raw) - len(error.object) + error.start  # the codec does not count the mark
        refusal = Unreadable(rules.NOT_UTF8, f"byte 0x{raw[offset]:02x} at offset {offset}")
        refusal.offset = offset
        raise refusal from None
    if not text.strip():
        raise Unreadable(rules.EMPTY)
    return text


def read_json(raw: bytes, cuts: list[Finding] | None = None) -> Json:
    """Return the body as one JSON value within the caps above. Raise Unreadable. `cuts`: receives a finding for each
    part that is over a cap (see `enforce_caps`); without it such a part refuses the body."""
    text = read_text(raw)
    try:
        value = parse_strict(raw)
    except ValueError as error:
        match = _PLACE.search(str(error))
        line, column = (int(match[1]), int(match[2])) if match else (None, None)
        raise Unreadable(_rule(str(error), text, line, column), str(error), line, column) from None
    enforce_caps(value, cuts)
    return value


def parse_strict(raw: bytes) -> Json:
    """Return the one JSON value of some bytes; repeated keys, NaN and infinities are errors. Raise ValueError."""
    # guard: json-strict
    value: Json = jiter.from_json(raw.removeprefix(BOM), allow_inf_nan=False, catch_duplicate_keys=True)
    return value


def is_html(text: str) -> bool:
    """Return whether a body is a web page, as single-page applications serve for every path (soft 404)."""
    return _HTML.match(text[:4096]) is not None


def looks_like_json(text: str) -> bool:
    """Return whether a body that does not parse was evidently meant to be JSON."""
    start = text.lstrip()
    if start.startswith(("//", "/*")):
        return "{" in start
    return start[:1] in ("{", "[") or _FRONT_MATTER.match(start) is not None


def _rule(message: str, text: str, line: int | None, column: int | None) -> Rule:
    if _FRONT_MATTER.match(text.lstrip()):
        return rules.FRONT_MATTER
    for needle, rule in (
        ("trailing comma", rules.TRAILING_COMMA),
        ("duplicate key", rules.DUPLICATE_KEY),
        ("recursion limit", rules.TOO_DEEP),
        ("number out of range", rules.NUMBER),
    ):
        if needle in message:
            return rule
    if line is not None and column is not None and len(lines := text.split("\n", line)) >= line:
        # the parser counts bytes and stops at or just behind the slash
        excerpt = lines[line - 1].encode()[max(0, column - 2) : column + 2]
        if b"//" in excerpt or b"/*" in excerpt:
            return rules.COMMENT
    return rules.TRUNCATED if message.startswith("EOF") else rules.NOT_JSON


def check_caps(root: Json) -> None:
    """Raise Unreadable for a value over a cap, or a value that jsonb could not hold. Level by level, not recursive,
    because the site chooses the depth."""
    level: list[Json] = [root]
    for depth in count():
        # guard: json-depth
        value: Json = (
            next((item for item in level if isinstance(item, dict | list)), None) if depth == MAX_DEPTH else None
        )
        next_level: list[Json] = []
        try:
            if value is not None:
                raise Unreadable(rules.TOO_DEEP, f"more than {MAX_DEPTH} levels")
            for value in level:
                if isinstance(value, str):  # all inlined: a call for each value would cost as much as reading
                    if len(value) > MAX_CHARS or "\0" in value:  # guard: json-text
                        _refuse_text(value)
                elif isinstance(value, dict):
                    if len(value) > MAX_KEYS:  # guard: json-keys
                        raise Unreadable(rules.TOO_MANY, f"{len(value)} keys in one object")
                    for key in value:
                        if len(key) > MAX_CHARS or "\0" in key:  # guard: json-key
                            _refuse_text(key)
                    next_level.extend(value.values())
                elif isinstance(value, list):
                    if len(value) > MAX_ITEMS:  # guard: json-items
                        raise Unreadable(rules.TOO_MANY, f"{len(value)} items in one array")
                    next_level.extend(value)
                elif isinstance(value, float):
                    if not isfinite(value):  # guard: json-infinite
                        raise Unreadable(rules.NUMBER, "not finite")
                elif value is not None and not -MAX_INTEGER <= value <= MAX_INTEGER:  # guard: json-integer
                    raise Unreadable(rules.NUMBER, "integer beyond 2^53")
        except Unreadable as refusal:
            refusal.pointer = _pointer_to(value, root)
            raise
        if not next_level:
            return
        level = next_level


def enforce_caps(root: Json, cuts: list[Finding] | None) -> None:
    """Cut the parts of a value that are over a cap, in place, and add findings to `cuts`, few for each rule. An integer
    beyond MAX_INTEGER becomes its text; an infinite number, a key that is too long and values nested too deep are left
    out (null in arrays); a text, an object or an array keeps its beginning. Raise Unreadable for a NUL, for a scalar
    root over a cap, and for any part over a cap if `cuts` is None."""
    try:
        check_caps(root)
    except Unreadable as refusal:
        if cuts is None or refusal.rule is rules.NUL or not isinstance(root, dict | list):
            raise
        cuts += _cut(root)
        check_caps(root)  # guard: cut-caps


_KEPT_CUTS: Final = 5  # findings of one rule; the last one counts the others


def _cut(root: "dict[str, Json] | list[Json]") -> list[Finding]:
    """Bring the parts of `root` below the caps; return what was done, with the places."""
    found: dict[Rule, list[tuple[_Path, str]]] = {rules.NUMBER: [], rules.CUT: []}
    counts = dict.fromkeys(found, 0)

    def note(rule: Rule, path: _Path, evidence: str) -> None:
        counts[rule] += 1
        if counts[rule] <= _KEPT_CUTS:
            found[rule].append((path, evidence))

    level: list[tuple[dict[str, Json] | list[Json], _Path]] = [(root, None)]
    for depth in range(1, MAX_DEPTH + 1):
        next_level: list[tuple[dict[str, Json] | list[Json], _Path]] = []
        for holder, path in level:
            cap = MAX_KEYS if isinstance(holder, dict) else MAX_ITEMS
            if len(holder) > cap:
                kind = "keys in one object" if isinstance(holder, dict) else "items in one array"
                note(rules.CUT, path, f"{len(holder)} {kind}; the first {cap} are read")
            names: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            items: Any = holder
            for name in names[:cap]:
                value = items[name]
                place = (path, str(name))
                if isinstance(name, str) and len(name) > MAX_CHARS:
                    note(rules.CUT, path, f"{len(name)} characters in one key; it is left out")
                    del items[name]
                elif isinstance(value, str) and len(value) > MAX_CHARS:
                    note(rules.CUT, place, f"{len(value)} characters in one text; the first {MAX_CHARS} are read")
                    items[name] = value[:MAX_CHARS]
                elif isinstance(value, dict | list):
                    if depth < MAX_DEPTH:
                        next_level.append((value, place))
                        continue
                    note(rules.CUT, place, f"more than {MAX_DEPTH} levels; deeper ones are left out")
                    _leave_out(items, name)
                elif isinstance(value, float) and not isfinite(value):
                    note(rules.NUMBER, place, "beyond all numbers; it is left out")
                    _leave_out(items, name)
                elif isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
                    items[name] = text = format(Decimal(value), "f")  # str() refuses more than 4,300 digits
                    note(rules.NUMBER, place, text)
            for name in reversed(names[cap:]):
                del items[name]
        level = next_level
    cuts = []
    for rule, kept in found.items():
        cuts += [Finding(rule, at("", *_keys(path)), line_of(evidence, EVIDENCE_CHARS)) for path, evidence in kept]
        if (more := counts[rule] - len(kept)) > 0:
            cuts[-1] = replace(cuts[-1], evidence=f"and {more + 1} more of {counts[rule]}", count=more + 1)
    return cuts


def _leave_out(items: Any, name: Any) -> None:
    if isinstance(items, dict):
        del items[name]
    else:
        items[name] = None  # the places of the others stay


def _pointer_to(target: Json, root: Json) -> str:
    """Return a JSON Pointer to a value in `root`, found by identity. An equal interned value breaks the same rule.
    Paths are chains of keys, and only the wanted one is written: all of them could outgrow the document."""
    paths: list[tuple[Json, _Path]] = [(root, None)]
    while paths:
        value, path = paths.pop()
        if value is target:
            return at("", *_keys(path))
        if isinstance(value, dict | list):
            children = value.items() if isinstance(value, dict) else enumerate(value)
            paths.extend((child, (path, str(name))) for name, child in children)
    return ""


def _keys(path: _Path) -> list[str]:
    keys: list[str] = []
    while path is not None:
        path, key = path
        keys.append(key)
    return keys[::-1]


def _refuse_text(text: str) -> NoReturn:
    if len(text) > MAX_CHARS:
        raise Unreadable(rules.TEXT_TOO_LONG, f"{len(text)} characters in one string")
    raise Unreadable(rules.NUL)
