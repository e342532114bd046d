"""Bytes of YAML -> the JSON value that they stand for, or the reason why not. Only `Unreadable` leaves this module.

Only what JSON can say is read (OpenAPI 3.1 section 4.3: YAML 1.2, JSON schema ruleset): no dates, no yes and no, no
merge keys, no tags. libyaml parses, PyYAML's Python classes compose the nodes, and the values are built here, so that
no constructor of a tag exists. Where PyYAML was built without libyaml, its own parser takes the place: it is fifteen
times as slow and therefore reads less. An alias costs what it stands for, before anything is built: a few lines could
name billions of values.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import yaml  # type: ignore[import-untyped]  # the package ships no types
from yaml.composer import Composer  # type: ignore[import-untyped]  # as above
from yaml.parser import Parser  # type: ignore[import-untyped]  # as above
from yaml.reader import Reader  # type: ignore[import-untyped]  # as above
from yaml.resolver import Resolver  # type: ignore[import-untyped]  # as above
from yaml.scanner import Scanner  # type: ignore[import-untyped]  # as above

from registry.core.documents import Json
from registry.core.findings import Reason
from registry.core.manifest import POINTER_KEY_CHARS, keys_of
from registry.core.reader import MAX_BYTES, MAX_DEPTH, Unreadable, check_caps

MAX_CHARS: Final = MAX_BYTES if yaml.__with_libyaml__ else 512 * 1024  # one or two seconds of work, either way
MAX_ALIASES: Final = 100
MAX_NODES: Final = 200_000  # with every alias written out

_TAG: Final = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,20})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_LITERALS: Final = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_LONGEST_NUMBER: Final = 400


def read_yaml(text: str) -> Json:
    """One document within the caps of JSON. Raises Unreadable."""
    node = _composed(text)
    value = None if node is None else _value(node)
    check_caps(value)
    return value


def places(text: str, pointers: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Line and column, from 1, of the value that each JSON Pointer names in the document, or of its innermost
    container that is there. Raises Unreadable."""
    root = _composed(text)
    return {pointer: _mark(_nearest(root, keys_of(pointer))) for pointer in pointers}


def _nearest(node: yaml.Node | None, keys: Sequence[str]) -> yaml.Node | None:
    for key in keys:
        inner = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for name, value in node.value if _name(name) == key), None)
        elif isinstance(node, yaml.SequenceNode) and key.isdecimal() and int(key) < len(node.value):
            inner = node.value[int(key)]
        if inner is None:
            break
        node = inner
    return node


def _name(key: yaml.Node) -> str | None:
    return key.value[:POINTER_KEY_CHARS] if isinstance(key, yaml.ScalarNode) else None


def _mark(node: yaml.Node | None) -> tuple[int, int]:
    return (node.start_mark.line + 1, node.start_mark.column + 1) if node is not None else (1, 1)


def _composed(text: str) -> yaml.Node | None:
    if len(text) > MAX_CHARS:
        raise Unreadable(Reason.TOO_LARGE, f"{len(text)} characters of YAML")
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise Unreadable(Reason.NOT_YAML, str(error.problem or error.context or ""), *where) from None
    except yaml.YAMLError as error:
        raise Unreadable(Reason.NOT_YAML, str(error)) from None


class _PythonEvents(Reader, Scanner, Parser):  # type: ignore[misc]  # bases without types
    """What libyaml does, in Python."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)


_Events: Any = yaml.cyaml.CParser if yaml.__with_libyaml__ else _PythonEvents


class _Loader(Composer, _Events, Resolver):  # type: ignore[misc]  # bases without types
    """Composes nodes; counts them as it goes."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own name and shape

    def __init__(self, text: str) -> None:
        _Events.__init__(self, text)
        Composer.__init__(self)
        Resolver.__init__(self)
        self._depth = self._nodes = self._aliases = 0
        self._sizes: dict[str, int] = {}  # nodes below each anchor that is complete

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            self._spend_alias(self.peek_event().anchor)
            return super().compose_node(parent, index)
        anchor, before = self.peek_event().anchor, self._nodes
        self._spend(1)
        if self._depth > MAX_DEPTH:
            raise Unreadable(Reason.TOO_DEEP, f"more than {MAX_DEPTH} levels")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if anchor is not None:
            self._sizes[anchor] = self._nodes - before
        return node

    def _spend_alias(self, anchor: str) -> None:
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise Unreadable(Reason.YAML_ALIASES, f"more than {MAX_ALIASES}")
        if anchor not in self._sizes:  # unknown, or the node that is being composed: a circle
            raise Unreadable(Reason.YAML_ALIASES, anchor)
        self._spend(self._sizes[anchor])

    def _spend(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise Unreadable(Reason.TOO_MANY, f"more than {MAX_NODES} values")


def _value(node: yaml.Node) -> Json:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    if isinstance(node, yaml.SequenceNode):
        _refuse_tag(node, "seq")
        return [_value(item) for item in node.value]
    return _scalar(node)


def _mapping(node: yaml.MappingNode) -> dict[str, Json]:
    _refuse_tag(node, "map")
    members: dict[str, Json] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _refusal(Reason.NOT_YAML, key, "a key is no text")
        if key.value in members:
            raise _refusal(Reason.DUPLICATE_KEY, key, key.value)
        members[key.value] = _value(item)
    return members


def _scalar(node: yaml.ScalarNode) -> Json:
    text: str = node.value
    if node.tag.startswith("!") or node.tag.removeprefix(_TAG) not in ("str", "int", "float", "bool", "null"):
        raise _refusal(Reason.NOT_YAML, node, f"tag {node.tag}")
    if node.style:  # quoted, or a block: always a text
        return text
    if text in _LITERALS:
        return _LITERALS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) else text


def _refuse_tag(node: yaml.Node, usual: str) -> None:
    if node.tag != _TAG + usual:
        raise _refusal(Reason.NOT_YAML, node, f"tag {node.tag}")


def _refusal(reason: Reason, node: yaml.Node, evidence: str) -> Unreadable:
    return Unreadable(reason, evidence, node.start_mark.line + 1, node.start_mark.column + 1)
