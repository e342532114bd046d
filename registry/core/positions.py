"""Where in its source a finding is: JSON Pointers -> line and column, in one pass over the text.

The parser keeps no positions, so the text is scanned a second time, and only for documents with findings. The scan is
linear and tolerant: it trusts the text to be JSON because the reader has accepted it, and nothing breaks where it is
not. Lines end at U+000A, as the parser counts them; columns are characters, the unit of SARIF's `unicodeCodePoints`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from registry.core.findings import Finding, Reason
from registry.core.manifest import POINTER_KEY_CHARS, keys_of
from registry.core.reader import BOM, Unreadable, read_json, read_text
from registry.core.yaml_reader import places, read_yaml

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
"""Strings, punctuation, and runs of anything else. Possessive, so that no text makes it backtrack."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """`line` and `column` from 1; a byte order mark is no column."""

    line: int = 1
    column: int = 1


START = Position()
"""Of what is about a whole document, and of what nobody can place."""

_FROM_YAML = frozenset({Reason.NOT_YAML, Reason.DUPLICATE_KEY})
"""What the reader of YAML refuses, with a line."""


def place(raw: bytes, findings: Sequence[Finding]) -> tuple[Position, ...]:
    """The position of each finding about the document `raw`, in order. Never raises.

    A member that is there has the position of its value. One that is missing has that of the innermost object or array
    that should hold it. Where the document is unreadable, it is the place at which reading stopped. YAML is placed
    likewise; texts of other kinds have only a start.
    """
    if not findings:
        return ()
    try:
        read_json(raw)
    except Unreadable as refusal:
        if any(finding.reason is refusal.reason for finding in findings):
            return _stopped(findings, refusal.reason, refused_at(raw, refusal))
        return _place_in_text(raw, findings)
    found = positions(raw, {finding.pointer for finding in findings})
    return tuple(found[finding.pointer] for finding in findings)


def _stopped(findings: Sequence[Finding], reason: Reason, where: Position) -> tuple[Position, ...]:
    return tuple(where if finding.reason is reason else START for finding in findings)


def _place_in_text(raw: bytes, findings: Sequence[Finding]) -> tuple[Position, ...]:
    """YAML is read again only for findings that have a place in it: most texts are prose."""
    try:
        if any(finding.reason in _FROM_YAML for finding in findings):
            read_yaml(read_text(raw))
        if not any(finding.pointer for finding in findings):
            return (START,) * len(findings)
        marks = places(read_text(raw), [finding.pointer for finding in findings])
    except Unreadable as refusal:
        where = Position(refusal.line or 1, refusal.column or 1)
        return _stopped(findings, refusal.reason, where)
    return tuple(Position(*marks[finding.pointer]) for finding in findings)


def refused_at(raw: bytes, refusal: Unreadable) -> Position:
    """Where the reader stopped, in characters: it says the parser's bytes, an offset or a pointer. Never raises."""
    if refusal.offset is not None:
        return _position(raw[: refusal.offset].removeprefix(BOM).decode("utf-8", "replace"))
    if refusal.line is not None and refusal.column is not None:
        lines = raw.removeprefix(BOM).split(b"\n", refusal.line)
        line = lines[refusal.line - 1] if refusal.line <= len(lines) else b""
        return Position(refusal.line, len(line[: max(0, refusal.column - 1)].decode("utf-8", "replace")) + 1)
    return positions(raw, [refusal.pointer])[refusal.pointer] if refusal.pointer else START


def positions(raw: bytes, pointers: Iterable[str]) -> dict[str, Position]:
    """The position of the value that each pointer names, or of its innermost container that is there. Never raises."""
    text = raw.removeprefix(BOM).decode("utf-8", "replace")
    root, asked = _Node(), {}
    for pointer in pointers:
        asked[pointer] = path = [root]
        for key in keys_of(pointer):
            path.append(path[-1].children.setdefault(key, _Node()))
    _scan(text, root)
    starts = {pointer: max((node.at for node in path), default=0) for pointer, path in asked.items()}
    places = _places(text, starts.values())
    return {pointer: places[max(0, at)] for pointer, at in starts.items()}


@dataclass(slots=True, eq=False)
class _Node:
    """A value that somebody asked for, or one on the way to it; `at` is its offset, -1 until it is met."""

    children: dict[str, "_Node"] = field(default_factory=dict)
    at: int = -1


@dataclass(slots=True, eq=False)
class _Open:
    """An object or array that the scan is in. `node` None: nothing in it was asked for."""

    node: _Node | None
    is_object: bool
    key: str = ""
    index: int = 0
    expects_key: bool = False

    def asked_for(self) -> _Node | None:
        return self.node.children.get(self.key if self.is_object else str(self.index)) if self.node else None


def _scan(text: str, root: _Node) -> None:
    """Writes the offsets of the values that were asked for into their nodes; of a repeated key the first counts."""
    stack: list[_Open] = []
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        inside = stack[-1] if stack else None
        if first in "}]":
            del stack[-1:]
        elif first == ",":
            if inside is not None:
                inside.index += 1
                inside.expects_key = inside.is_object
        elif first == ":":
            pass
        elif inside is not None and inside.expects_key:
            inside.expects_key = False
            if inside.node is not None:
                inside.key = _key(token[0])[:POINTER_KEY_CHARS]
        else:
            node = inside.asked_for() if inside is not None else root
            if node is not None and node.at < 0:
                node.at = token.start()
            if first in "{[":
                stack.append(_Open(node if node and node.children else None, first == "{", expects_key=first == "{"))


def _key(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return token[1:-1]


def _places(text: str, offsets: Iterable[int]) -> Mapping[int, Position]:
    """The positions of offsets into a text, counted in one pass."""
    found: dict[int, Position] = {}
    line, line_start, seen = 1, 0, 0
    for at in sorted({max(0, offset) for offset in offsets}):
        line += text.count("\n", seen, at)
        line_start = text.rfind("\n", line_start, at) + 1 or line_start
        seen = at
        found[at] = Position(line, at - line_start + 1)
    return found


def _position(before: str) -> Position:
    """Of the character that comes after `before`."""
    return Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
