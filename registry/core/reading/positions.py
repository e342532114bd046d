"""Locate findings in their source: JSON Pointers -> line and column, in one pass over the text.

The parser keeps no positions, so the text is scanned a second time, and only for documents with findings. The scan is
linear and tolerant: it expects JSON, because the reader has accepted the text, but does not fail on anything else.
Lines end at U+000A, as the parser counts them; columns are characters, the unit of SARIF's `unicodeCodePoints`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from registry.core.model.findings import Finding
from registry.core.reading import rules
from registry.core.reading.json_pointer import POINTER_KEY_CHARS, keys_of
from registry.core.reading.reader import BOM, Unreadable, read_json, read_text
from registry.core.reading.yaml_reader import places, read_yaml

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
"""Strings, punctuation, and runs of anything else. Possessive, so that no text makes it backtrack."""

_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?(?:[eE][-+]?\d{1,3})?")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """`line` and `column` from 1; a byte order mark does not count as a column."""

    line: int = 1
    column: int = 1


START = Position()  # the position of findings about a whole document, and of findings that cannot be located

_FROM_YAML = frozenset({rules.NOT_YAML, rules.DUPLICATE_KEY})  # rules that the YAML reader reports with a line


def place(raw: bytes, findings: Sequence[Finding]) -> tuple[Position, ...]:
    """Return the position of each finding about the document `raw`, in order. Never raises.

    An existing member has the position of its value. A missing member has the position of the innermost object or
    array that should hold it. In an unreadable document it is the position where reading stopped. YAML is located
    likewise; other texts have only a start.
    """
    if not findings:
        return ()
    broken, pointers = {finding.rule for finding in findings}, {finding.pointer for finding in findings}
    try:
        read_json(raw, [])
        by_pointer = positions(raw, pointers)
        return tuple(by_pointer[finding.pointer] for finding in findings)
    except Unreadable as refusal:
        if refusal.rule in broken:
            stopped = refused_at(raw, refusal)
            return tuple(stopped if finding.rule is refusal.rule else START for finding in findings)
    try:  # a text that is not JSON: read as YAML only if a finding needs it
        if not broken.isdisjoint(_FROM_YAML):
            read_yaml(read_text(raw), [])
        marks = places(read_text(raw), pointers) if any(pointers) else {"": (1, 1)}
    except Unreadable as refusal:
        stopped = Position(refusal.line or 1, refusal.column or 1)
        return tuple(stopped if finding.rule is refusal.rule else START for finding in findings)
    return tuple(Position(*marks[finding.pointer]) for finding in findings)


def number_at(raw: bytes, pointer: str, value: float) -> str:
    """Return a number as the document `raw` writes it at an existing pointer: 1.10, where `value` is 1.1."""
    position = place(raw, [Finding(rules.NUMBER, pointer)])[0]
    lines = raw.removeprefix(BOM).decode("utf-8", "replace").split("\n", position.line)
    written = _NUMBER.match(lines[position.line - 1] if len(lines) >= position.line else "", position.column - 1)
    return written[0] if written and float(written[0]) == value else str(value)


def refused_at(raw: bytes, refusal: Unreadable) -> Position:
    """Return where the reader stopped, in characters, from its byte column, offset or pointer. Never raises."""
    if refusal.offset is not None:
        text = raw[: refusal.offset].removeprefix(BOM).decode("utf-8", "replace")
        return _positions_of_offsets(text, [len(text)])[len(text)]
    if refusal.line is not None and refusal.column is not None:
        lines = raw.removeprefix(BOM).split(b"\n", refusal.line)
        line = lines[refusal.line - 1] if refusal.line <= len(lines) else b""
        return Position(refusal.line, len(line[: max(0, refusal.column - 1)].decode("utf-8", "replace")) + 1)
    return positions(raw, [refusal.pointer])[refusal.pointer] if refusal.pointer else START


def positions(raw: bytes, pointers: Iterable[str]) -> dict[str, Position]:
    """Return the position of the value of each pointer, or of its innermost existing container. Never raises."""
    text = raw.removeprefix(BOM).decode("utf-8", "replace")
    root, paths = _Node(), {}
    for pointer in pointers:
        paths[pointer] = path = [root]
        for key in keys_of(pointer):
            path.append(path[-1].children.setdefault(key, _Node()))
    _scan(text, root)
    starts = {pointer: max((node.at for node in path), default=0) for pointer, path in paths.items()}
    by_offset = _positions_of_offsets(text, starts.values())
    return {pointer: by_offset[max(0, offset)] for pointer, offset in starts.items()}


@dataclass(slots=True, eq=False)
class _Node:
    """A requested value, or one on the path to it; `at` is its offset, -1 until it is found."""

    children: dict[str, "_Node"] = field(default_factory=dict)
    at: int = -1


@dataclass(slots=True, eq=False)
class _Container:
    """An object or array that the scan is inside. `node` None: nothing in it was requested."""

    node: _Node | None
    is_object: bool
    key: str = ""
    index: int = 0
    expects_key: bool = False


def _scan(text: str, root: _Node) -> None:
    """Write the offsets of the requested values into their nodes; of a repeated key the first counts."""
    stack: list[_Container] = []
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        container = stack[-1] if stack else None
        if first in "}]":
            del stack[-1:]
        elif first == ",":
            if container is not None:
                container.index += 1
                container.expects_key = container.is_object
        elif first == ":":
            pass
        elif container is not None and container.expects_key:
            container.expects_key = False
            if container.node is not None:
                container.key = _key(token[0])[:POINTER_KEY_CHARS]
        else:
            node: _Node | None = root
            if container is not None:
                key = container.key if container.is_object else str(container.index)
                node = container.node.children.get(key) if container.node else None
            if node is not None and node.at < 0:
                node.at = token.start()
            if first in "{[":
                requested = node if node and node.children else None
                stack.append(_Container(requested, first == "{", expects_key=first == "{"))


def _key(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        return str(json.loads(token, strict=False))
    except ValueError:
        return token[1:-1]


def _positions_of_offsets(text: str, offsets: Iterable[int]) -> Mapping[int, Position]:
    """Return the positions of offsets into a text, counted in one pass."""
    by_offset: dict[int, Position] = {}
    line, line_start, scanned = 1, 0, 0
    for start in sorted({max(0, offset) for offset in offsets}):
        line += text.count("\n", scanned, start)
        line_start = text.rfind("\n", line_start, start) + 1 or line_start
        scanned = start
        by_offset[start] = Position(line, start - line_start + 1)
    return by_offset
