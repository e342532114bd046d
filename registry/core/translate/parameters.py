"""JSON Schema of a request -> the flat lists of parameters that ATP, AWAS and AWP write.

A parameter whose type nobody says stays without one: `string` would be a guess. compare.py finds what is lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from registry.core.manifest import NAME_CHARS, TEXT_CHARS, clean_json
from registry.core.params import MAX_ENUM, MAX_PARAMS
from registry.core.plain_text import line

MAX_LEVELS: Final = 20  # of a value inside a document; readers take 32 in all

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_UNIONS: Final = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One property of the request. `type`: a type of JSON Schema that it certainly takes, None where nobody says."""

    name: str
    type: str | None
    required: bool
    rules: Mapping[str, Any]

    def text(self, key: str) -> str | None:
        value = self.rules.get(key)
        return (line(value, TEXT_CHARS) or None) if isinstance(value, str) else None

    def number(self, key: str) -> int | float | None:
        value = self.rules.get(key)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def value(self, key: str) -> Any:
        """A JSON value, None where there is none or where it is nested deeper than documents are read."""
        value = self.rules.get(key)
        return clean_json(value) if value is not None and levels(value) <= MAX_LEVELS else None

    @property
    def choices(self) -> list[Any]:
        value = self.value("enum")
        return value[:MAX_ENUM] if isinstance(value, list) else []

    @property
    def example(self) -> Any:
        given = self.value("examples")
        return given[0] if isinstance(given, list) and given else self.value("example")


def parameters(schema: Mapping[str, Any] | None) -> list[Parameter] | None:
    """The first MAX_PARAMS properties of an object schema; None where the schema lists none (that is not "no
    parameters": a body may be an array, or a choice of objects)."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return None
    required = (schema or {}).get("required")
    needed = set(_texts(required))
    found = []
    for name, rules in list(properties.items())[:MAX_PARAMS]:
        clean = line(name, NAME_CHARS)
        if clean:
            holder = rules if isinstance(rules, Mapping) else {}
            found.append(Parameter(clean, type_in(holder), name in needed, holder))
    return found


def type_in(rules: Mapping[str, Any]) -> str | None:
    """A type that a value may certainly have: as declared, the first of several, or what its other rules imply."""
    said = rules.get("type")
    if isinstance(said, str):
        return said if said in _TYPES else None
    if isinstance(said, list | tuple):
        return next((one for one in said if one in _TYPES), None)
    for key in _UNIONS:
        branches = rules.get(key)
        if isinstance(branches, list) and branches:
            return next((kind for one in branches if isinstance(one, Mapping) and (kind := type_in(one))), None)
    choices = rules.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(one, str) for one in choices):
        return "string"
    if isinstance(rules.get("properties"), Mapping):
        return "object"
    return "array" if isinstance(rules.get("items"), Mapping) else None


def portable(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A schema that stands by itself: references dropped (they lead nowhere from here), depth bounded."""
    if not schema:
        return None
    found: dict[str, Any] = clean_json(_portable(dict(schema), MAX_LEVELS))
    return found or None


def levels(value: Any) -> int:
    """How deep containers are nested in a JSON value. Iterative: the depth is somebody else's choice."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, Mapping | list | tuple)]:
        depth += 1
        level = [child for one in level for child in (one.values() if isinstance(one, Mapping) else one)]
    return depth


def _portable(value: Any, left: int) -> Any:
    if isinstance(value, Mapping):
        if left == 0:
            return {}
        kept = {} if "$ref" in value else value
        return {key: _portable(item, left - 1) for key, item in kept.items()}
    if isinstance(value, list | tuple):
        return [_portable(item, left - 1) for item in value] if left else []
    return value


def _texts(values: object) -> Iterator[str]:
    if isinstance(values, Sequence) and not isinstance(values, str):
        yield from (one for one in values if isinstance(one, str))
