"""Read YAML as the JSON value it represents. `Unreadable` is the only exception that leaves this module.

Only what JSON can express is accepted (OpenAPI 3.1 section 4.3: YAML 1.2, JSON schema ruleset): no dates, no `yes` and
`no` as booleans, no merge keys, no tags. libyaml parses, PyYAML's Python classes compose the nodes, and this module
builds the values, so no tag constructor exists. An alias is charged for everything it refers to before any value is
built, because a few lines of aliases can stand for billions of values.
"""

import re
from collections.abc import Iterable
from typing import Any, Final

import yaml  # type: ignore[import-untyped]  # the package ships no types
from yaml.composer import Composer  # type: ignore[import-untyped]  # as above
from yaml.resolver import Resolver  # type: ignore[import-untyped]  # as above

from registry.core.model.documents import Json
from registry.core.model.findings import Finding, Rule
from registry.core.reading import rules
from registry.core.reading.json_pointer import POINTER_KEY_CHARS, keys_of
from registry.core.reading.reader import MAX_BYTES, Unreadable, enforce_caps

try:
    from yaml.cyaml import CParser  # type: ignore[import-untyped]  # as above
except ImportError as error:
    hint = "this PyYAML was built without libyaml: install one of its wheels, or libyaml before it"
    raise ImportError(hint) from error

MAX_CHARS: Final = MAX_BYTES  # one to two seconds of CPU
MAX_LEVELS: Final = 100  # PyYAML composes by recursion, with three frames for each level
MAX_NODES: Final = 200_000  # with every alias expanded

_TAG: Final = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_LITERALS: Final = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_MAX_NUMBER_CHARS: Final = 400


def read_yaml(text: str, cuts: list[Finding] | None = None) -> Json:
    """Return the value of the single document in `text`, within the limits for JSON. Raise Unreadable. `cuts`: see
    `read_json`."""
    node = _compose(text)
    value = None if node is None else _value(node)
    enforce_caps(value, cuts)
    return value


def places(text: str, pointers: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the 1-based line and column of the value that each JSON Pointer refers to. Where the value does not exist,
    return the position of its innermost existing container. Raise Unreadable."""
    root, found = _compose(text), {}
    for pointer in pointers:
        node = root
        for key in keys_of(pointer):
            child = None
            if isinstance(node, yaml.MappingNode):
                named = ((name, item) for name, item in node.value if isinstance(name, yaml.ScalarNode))
                child = next((item for name, item in named if name.value[:POINTER_KEY_CHARS] == key), None)
            elif isinstance(node, yaml.SequenceNode) and key.isdecimal() and int(key) < len(node.value):
                child = node.value[int(key)]
            if child is None:
                break
            node = child
        found[pointer] = (1, 1) if node is None else (node.start_mark.line + 1, node.start_mark.column + 1)
    return found


def _compose(text: str) -> yaml.Node | None:
    if len(text) > MAX_CHARS:  # guard: yaml-length
        raise Unreadable(rules.TOO_LARGE, f"{len(text)} characters of YAML")
    try:
        loader = _Loader(text)
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        position = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise Unreadable(rules.NOT_YAML, str(error.problem or error.context or ""), *position) from None
    except yaml.YAMLError as error:
        raise Unreadable(rules.NOT_YAML, str(error)) from None


class _Loader(Composer, CParser, Resolver):  # type: ignore[misc]  # bases without types
    """Compose nodes and enforce the limits on depth, values and aliases while doing so."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # PyYAML's own name and shape

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        Resolver.__init__(self)
        self._depth = self._nodes = 0
        self._sizes: dict[str, int] = {}  # anchor -> number of nodes, for complete anchors

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            anchor = self.peek_event().anchor
            # guard: yaml-cycle
            if anchor not in self._sizes:  # unknown, or the node being composed: a cycle
                raise Unreadable(rules.YAML_ALIASES, anchor)
            self._charge(self._sizes[anchor])
            return super().compose_node(parent, index)
        anchor, nodes_before = self.peek_event().anchor, self._nodes
        self._charge(1)
        if self._depth > MAX_LEVELS:  # guard: yaml-depth
            raise Unreadable(rules.TOO_DEEP, f"more than {MAX_LEVELS} levels")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if anchor is not None:
            self._sizes[anchor] = self._nodes - nodes_before
        return node

    def _charge(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise Unreadable(rules.TOO_MANY, f"more than {MAX_NODES} values")


def _value(node: yaml.Node) -> Json:
    if isinstance(node, yaml.SequenceNode):
        _require_tag(node, "seq")
        return [_value(item) for item in node.value]
    if not isinstance(node, yaml.MappingNode):
        return _scalar(node)
    _require_tag(node, "map")
    members: dict[str, Json] = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _refusal(rules.NOT_YAML, key, "a key is not a scalar")
        if key.value in members:
            raise _refusal(rules.DUPLICATE_KEY, key, key.value)
        members[key.value] = _value(item)
    return members


def _scalar(node: yaml.ScalarNode) -> Json:
    text: str = node.value
    # guard: yaml-tag
    if node.tag.startswith("!") or node.tag.removeprefix(_TAG) not in ("str", "int", "float", "bool", "null"):
        raise _refusal(rules.NOT_YAML, node, f"tag {node.tag}")
    if node.style:  # quoted or block scalar: always a string
        return text
    if text in _LITERALS:
        return _LITERALS[text]
    if len(text) > _MAX_NUMBER_CHARS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text


def _require_tag(node: yaml.Node, expected: str) -> None:
    if node.tag != _TAG + expected:
        raise _refusal(rules.NOT_YAML, node, f"tag {node.tag}")


def _refusal(rule: Rule, node: yaml.Node, evidence: str) -> Unreadable:
    return Unreadable(rule, evidence, node.start_mark.line + 1, node.start_mark.column + 1)
