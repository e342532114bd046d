"""Resolve references and schemas of a description, only inside the document and within a budget.

A description of 4 MB may refer to one large schema from thousands of operations; inlined, that would be gigabytes. Each
operation has a share of the budget; a larger schema is shown with fewer of its references resolved.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from registry.core.format_support.endpoints import parse_short
from registry.core.format_support.manifest import NAME_CHARS, TEXT_CHARS, Notes, Object, text_of
from registry.core.formats.openapi import rules
from registry.core.formats.openapi.keywords import Known, Mark, leave_out, to_json_schema, unite_all_of
from registry.core.model.documents import Document, Json
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line, plain

MAX_WRITTEN: Final = 2_000_000
"""Most characters of schemas and texts that are written for all operations of one document."""

_MAX_ONE: Final = 150_000  # most characters of one schema
_MIN_SHARE: Final = 2_000  # characters that an operation may always write while the budget lasts
_SHARES: Final = 8  # an operation may use so many times its equal share: most need less than theirs
_MAX_DEPTH: Final = 5  # references inside references that are resolved, if the share allows
_MAX_LEVELS: Final = 40  # nested values of one schema
_MAX_REFERENCES: Final = 20  # a longer chain of references, or a circle, is not resolved
_INDEX_CHARS: Final = 9  # digits of an index in a pointer
_MEMBER_COST: Final = 8

_VALUES: Final = frozenset({"example", "examples", "default", "enum", "const"})  # values, not schemas
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_BRIEF: Final = ("type", "format", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "default")
_BRIEF_CHARS: Final = 200
_UNUSED: Final = frozenset({"xml", "externalDocs"})


@dataclass(frozen=True, slots=True)
class _Reference:
    """A reference in a cleaned schema, with its sibling members."""

    target: str
    others: dict[str, Any]


@dataclass(slots=True)
class _Own:
    """A cleaned schema in which references stand as they are: its size in characters, its height in nested values, and
    its references, each with the number of values around it. Schemas that contain each other have the same `circle`.
    `source` keeps the id() of the schema its own."""

    source: Json
    value: Any = None
    size: int = 0
    height: int = 0
    references: list[tuple[str, int]] = field(default_factory=list)
    circle: int | None = None


_Left = tuple[int, int]
"""How many references inside references are still resolved, and how many that lead back into a circle."""


class OpenApiSchemas:
    """Resolves references within the budget. Only those into the document are followed; others are noted, not fetched.
    `operations`: how many share the budget; set before the first. A
    schema is cleaned once, and written once for each depth; the operations that name it share the result. Its size is
    known before it is written. A schema that contains itself is shown within itself once."""

    def __init__(self, root: Object, document: Document, notes: Notes) -> None:
        self._root, self._notes = root, notes
        own = parse_short(text_of(root, "$self") or "", document.url)  # OpenAPI 3.2
        self._own_urls = {document.url.partition("#")[0], own.href.partition("#")[0] if own else ""}
        self._document_url = document.url
        self._budget_left = MAX_WRITTEN
        self._operations_left = 1
        self._pointer = ""
        self._is_cut_noted = False
        self._keys: dict[str, str] = {}
        self._owns: dict[int, _Own] = {}
        self._holders: set[int] = set()  # id() of cleaned values that hold references; `_owns` keeps them alive
        self._targets: dict[str, _Own] = {}
        self._measures: dict[tuple[str, _Left], tuple[int, int]] = {}
        self._written: dict[tuple[str, _Left | None], dict[str, Any]] = {}
        marks: tuple[Mark, ...] = ("readOnly", "writeOnly")
        self._marks = {mark for mark in marks if mark.encode() in document.raw}
        self._left_out: Known = {}
        self._briefs: dict[int, tuple[Object, dict[str, Any]]] = {}
        self._circles = 0

    def share_among(self, operations: int) -> None:
        """Share the budget among so many operations. Called once, before the first of them begins."""
        self._operations_left = operations + 1

    def begin_operation(self, pointer: str) -> None:
        """Give the operation at `pointer` its share of the remaining budget. Called once for each operation."""
        self._pointer = pointer
        self._operations_left = max(1, self._operations_left - 1)

    def resolve(self, value: Json) -> Object:
        """Return the object that `value` is or refers to, or an empty one. Siblings of `$ref` replace its members."""
        return self.follow(value, self._pointer)[0]

    def follow(self, value: Json, pointer: str) -> tuple[Object, str]:
        """Return what `resolve` returns for the value at `pointer`, and the pointer to the place where it stands."""
        first = pointer
        for _ in range(_MAX_REFERENCES):
            if not isinstance(value, dict):
                return {}, pointer
            target = value.get("$ref")
            if not isinstance(target, str):
                return value, pointer
            others = {key: item for key, item in value.items() if key != "$ref"}
            keys = self._keys_of(target)
            value = self._referenced_value(target, first)
            pointer = at("", *keys) if keys else pointer
            if others and isinstance(value, dict):
                value = {**value, **others}
        self._notes.add(rules.REFERENCE, first, "a chain of references without an end")
        return {}, pointer

    def affordable(self, cost: int) -> bool:
        """Return whether the operation may write `cost` more characters, and charge them if so."""
        if cost > self._share():
            self._note_cut()
            return False
        self._budget_left -= cost
        return True

    def text(self, value: str | None) -> str | None:
        """Return a text if it is affordable."""
        return value if value and self.affordable(_MEMBER_COST + len(value)) else None

    def whole(self, schema: Json) -> dict[str, Any] | None:
        """Return the cleaned schema with its references resolved as deep as the share allows. None if it is no object,
        empty, or too large even without them. A reference that is not resolved leaves an object whose `$comment` says
        so. The result may be shared by several operations: it must not be changed."""
        share = self._share()
        if not isinstance(schema, dict) or not schema or share <= 0:
            return None
        if (flat := self._get_flat(schema, share)) is not None:
            return flat
        own = self._own(schema)
        for depth in range(_MAX_DEPTH, -1, -1):
            size, height = self._measure(own, (depth, 1))
            if size <= share and height <= _MAX_LEVELS:
                self._budget_left -= size
                if depth < _MAX_DEPTH:
                    self._note_cut()
                written = self._write(own.value, own.circle, (depth, 1))
                return written if isinstance(written, dict) else None
        self._note_cut()
        return None

    def brief(self, owner: Object, schema: Object) -> dict[str, Any]:
        """Return type and limits of a parameter's schema for which nothing is left of the budget: without them a caller
        would send a text for a number. Made once for each `owner`, so it costs nothing; it must not be changed."""
        if id(owner) not in self._briefs:
            members = self.resolve(schema)
            few = {key: members[key] for key in _BRIEF if _is_short(members.get(key))}
            self._briefs[id(owner)] = owner, to_json_schema({key: _clean_value(value) for key, value in few.items()})
        return self._briefs[id(owner)][1]

    def sent(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema of `whole` without the members that only answers have (`readOnly`), at any depth."""
        return self._without(schema, "readOnly")

    def received(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema of `whole` without the members that only requests have (`writeOnly`), at any depth."""
        return self._without(schema, "writeOnly")

    def _without(self, schema: dict[str, Any], mark: Mark) -> dict[str, Any]:
        if mark not in self._marks:  # as in most documents: nothing to look for
            return schema
        result: dict[str, Any] = leave_out(schema, mark, self._left_out)
        return result

    def _get_flat(self, schema: Object, share: int) -> dict[str, Any] | None:
        """Return a schema that has no subschemas, as most parameters' schemas have none; None for any other schema."""
        size = 0
        result: dict[str, Any] = {}
        for key, value in schema.items():
            if isinstance(value, dict | list) or key == "$ref":
                return None
            size += _MEMBER_COST + len(key)
            if isinstance(value, str):
                size += len(value)
                result[self._key(key)] = _clean(value)
            elif value is not None:
                result[self._key(key)] = value
        if size > share:
            return None
        self._budget_left -= size
        return to_json_schema(result)

    def _share(self) -> int:
        left = self._budget_left
        share = _SHARES * left // self._operations_left
        if share < _MIN_SHARE:
            share = _MIN_SHARE
        return min(share, left, _MAX_ONE)

    def _note_cut(self) -> None:
        if not self._is_cut_noted:
            self._notes.add(rules.CUT)
        self._is_cut_noted = True

    # --- one schema as it stands ------------------------------------------------------------------------------------

    def _own(self, schema: Json) -> _Own:
        own = self._owns.get(id(schema))
        if own is None:
            own = self._owns[id(schema)] = _Own(schema)
            own.value = self._cleaned(schema, own, 0)
        return own

    def _cleaned(self, value: Json, own: _Own, level: int) -> Any:
        if isinstance(value, dict):
            return self._schema(value, own, level + 1)
        if isinstance(value, list):
            own.size += _MEMBER_COST
            known = len(own.references)
            return self._remember_references([self._cleaned(item, own, level + 1) for item in value], own, known)
        return self._value(value, own)

    def _remember_references(self, value: Any, own: _Own, known: int) -> Any:
        """Return a cleaned value; remember it if it holds references. `known` references were found before it. A value
        without references is written once and shared by all schemas that name it."""
        if len(own.references) > known:
            self._holders.add(id(value))
            return value
        return unite_all_of(value) if isinstance(value, dict) and "allOf" in value else value

    def _schema(self, schema: Object, own: _Own, level: int) -> Any:
        own.height = max(own.height, level)
        known = len(own.references)
        target = schema.get("$ref")
        if isinstance(target, str):
            own.references.append((target, level))
            own.size += 4 * _MEMBER_COST + len(target)
            schema = {key: item for key, item in schema.items() if key != "$ref"}
        result: dict[str, Any] = {}
        keys = self._keys
        size = 0
        for key, value in schema.items():
            if value is None or key in _UNUSED:
                continue
            size += _MEMBER_COST + len(key)
            name = keys.get(key) or self._key(key)
            if isinstance(value, str):
                size += _MEMBER_COST + len(value)
                result[name] = _clean(value)
            elif key in _VALUES:
                result[name] = self._value(value, own)
            elif key in _NAMED and isinstance(value, dict):
                members: dict[str, Any] = {}
                before = len(own.references)
                for member, item in value.items():
                    size += _MEMBER_COST + len(member)
                    members[keys.get(member) or self._key(member)] = self._cleaned(item, own, level + 1)
                result[name] = self._remember_references(members, own, before)
            else:
                result[name] = self._cleaned(value, own, level)
        own.size += size
        result = to_json_schema(result)
        if isinstance(target, str):
            self._holders.add(id(result))
            return _Reference(target, result)
        return self._remember_references(result, own, known)

    def _value(self, value: Json, own: _Own) -> Any:
        own.size += _MEMBER_COST
        if isinstance(value, str):
            own.size += len(value)
            return _clean(value)
        if isinstance(value, list):
            return [self._value(item, own) for item in value]
        if isinstance(value, dict):
            own.size += sum(map(len, value))
            return {self._key(key): self._value(item, own) for key, item in value.items()}
        return value

    def _key(self, key: str) -> str:
        if key not in self._keys:
            self._keys[key] = line(key, NAME_CHARS)
        return self._keys[key]

    # --- with its references ----------------------------------------------------------------------------------------

    def _measure(self, own: _Own, left: _Left) -> tuple[int, int]:
        """Return size and height of a schema whose references are resolved as far as `left` allows."""
        size, height = own.size, own.height
        for target, level in own.references:
            inner_left = self._left_inside(own.circle, target, left)
            if inner_left is not None:
                key = target, inner_left
                if key not in self._measures:
                    self._measures[key] = self._measure(self._target(target), inner_left)
                inner_size, inner_height = self._measures[key]
                size, height = size + inner_size, max(height, level + inner_height)
        return size, height

    def _left_inside(self, circle: int | None, target: str, left: _Left) -> _Left | None:
        """Return the budget inside a reference from a schema of `circle`; None: do not resolve it."""
        depth, repeats = left
        if depth == 0:
            return None
        if circle is None or self._target(target).circle != circle:
            return depth - 1, 1
        return (depth - 1, 0) if repeats else None

    def _write(self, value: Any, circle: int | None, left: _Left) -> Any:
        if not isinstance(value, _Reference):
            if id(value) not in self._holders:
                return value
            if isinstance(value, list):
                return [self._write(item, circle, left) for item in value]
            written = {key: self._write(item, circle, left) for key, item in value.items()}
            return unite_all_of(written) if "allOf" in written else written
        found = self._resolve(value.target, self._left_inside(circle, value.target, left))
        return unite_all_of({**found, **self._write(value.others, circle, left)}) if value.others else found

    def _resolve(self, target: str, left: _Left | None) -> dict[str, Any]:
        """Return the schema that a reference names, or a note of why it is not shown."""
        key = target, left
        if key not in self._written:
            own = self._target(target)
            name = line(target.rpartition("/")[2], NAME_CHARS)
            if own.value is None:
                self._written[key] = {"$comment": f"{name} is not part of the document"}
            elif left is None:
                kind = own.value.get("type") if isinstance(own.value, dict) else None
                self._written[key] = {"$comment": f"{name} is not shown in full", **({"type": kind} if kind else {})}
            else:
                written = self._write(own.value, own.circle, left)
                self._written[key] = written if isinstance(written, dict) else {}
        return self._written[key]

    def _target(self, target: str) -> _Own:
        if target not in self._targets:
            self._find_circles(target)
        return self._targets[target]

    def _find_circles(self, first: str) -> None:
        """Clean all schemas that `first` leads to and number the circles among them (Tarjan's algorithm). Not
        recursive: a description may chain thousands of schemas."""
        order: dict[str, int] = {}
        lowest: dict[str, int] = {}
        path: list[str] = []
        waiting: list[tuple[str, Iterator[str]]] = []

        def enter(target: str) -> None:
            value = self._referenced_value(target)
            own = self._own(value) if isinstance(value, dict) else _Own(None)
            self._targets[target] = own
            order[target] = lowest[target] = len(order)
            path.append(target)
            waiting.append((target, iter([inner for inner, _ in own.references])))

        enter(first)
        while waiting:
            target, inner_targets = waiting[-1]
            inner = next((inner for inner in inner_targets), None)
            if inner is None:
                waiting.pop()
                if waiting:
                    lowest[waiting[-1][0]] = min(lowest[waiting[-1][0]], lowest[target])
                if lowest[target] == order[target]:
                    self._circles += 1
                    members = path[path.index(target) :]
                    del path[-len(members) :]
                    for member in members:
                        self._targets[member].circle = self._circles
            elif inner not in self._targets:
                enter(inner)
            elif inner in lowest and self._targets[inner].circle is None:
                lowest[target] = min(lowest[target], order[inner])

    def _referenced_value(self, reference: str, pointer: str | None = None) -> Json:
        """Return the value that a reference leads to; None, with a finding, outside the document and for nothing."""
        keys = self._keys_of(reference)
        value: Json = None if keys is None else self._root
        for key in keys or ():
            if isinstance(value, list) and key.isdecimal() and len(key) <= _INDEX_CHARS and int(key) < len(value):
                value = value[int(key)]
            else:
                value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            self._notes.add(rules.REFERENCE, self._pointer if pointer is None else pointer, reference)
        return value

    def _keys_of(self, reference: str) -> list[str] | None:
        """Return the keys of a reference into this document (RFC 6901 section 6); None for any other reference."""
        address, _, fragment = reference.partition("#")
        if address:
            parsed = parse_short(address, self._document_url)
            if parsed is None or parsed.href.partition("#")[0] not in self._own_urls:
                return None
        if fragment and not fragment.startswith("/"):
            return None
        return [part.replace("~1", "/").replace("~0", "~") for part in unquote(fragment).split("/")[1:]]


def _clean(text: str) -> str:
    """Return a text as `plain` does; most are short and need no look at each character."""
    if len(text) <= TEXT_CHARS and text.isascii() and text.isprintable() and text.strip() == text:
        return text
    return plain(text, TEXT_CHARS)


def _is_short(value: Json) -> bool:
    items = value if isinstance(value, list) else [value]
    texts = [str(item) for item in items[: _BRIEF_CHARS + 1] if isinstance(item, str | int | float)]
    return 0 < len(texts) == len(items) and sum(map(len, texts)) <= _BRIEF_CHARS


def _clean_value(value: Json) -> Any:
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    return _clean(value) if isinstance(value, str) else value
