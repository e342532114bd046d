"""Turn the JSON Schema of a request into the flat parameter lists of ATP, AWAS and AWP.

A parameter of unknown type is written without one: `string` would be a guess. translating/compare.py finds the losses.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from registry.core.format_support.manifest import NAME_CHARS, TEXT_CHARS, clean_json
from registry.core.format_support.params import MAX_ENUM, MAX_PARAMS
from registry.core.reading.plain_text import line

MAX_LEVELS: Final = 20  # of a value inside a document; readers accept 32 levels in total

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_UNIONS: Final = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One property of the request. `type` is a JSON Schema type that it certainly accepts, None if unknown."""

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
        """Return a JSON value; None where it is missing or nested more than MAX_LEVELS deep."""
        value = self.rules.get(key)
        return clean_json(value) if value is not None and levels(value) <= MAX_LEVELS else None

    @property
    def choices(self) -> list[Any]:
        value = self.value("enum")
        return value[:MAX_ENUM] if isinstance(value, list) else []

    @property
    def example(self) -> Any:
        examples = self.value("examples")
        return examples[0] if isinstance(examples, list) and examples else self.value("example")


def parameters(schema: Mapping[str, Any] | None) -> list[Parameter] | None:
    """Return the first MAX_PARAMS properties of an object schema; None where the schema lists none.

    None does not mean "no parameters": the body may be an array, or a choice of objects.
    """
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return None
    required = (schema or {}).get("required")
    required_names = set(_texts(required))
    found = []
    for name, rules in list(properties.items())[:MAX_PARAMS]:
        clean_name = line(name, NAME_CHARS)
        if clean_name:
            property_rules = rules if isinstance(rules, Mapping) else {}
            found.append(Parameter(clean_name, certain_type(property_rules), name in required_names, property_rules))
    return found


def certain_type(rules: Mapping[str, Any]) -> str | None:
    """Return a type that is certainly allowed: the declared one, the first of several, or one that keywords imply."""
    declared = rules.get("type")
    if isinstance(declared, str):
        return declared if declared in _TYPES else None
    if isinstance(declared, list | tuple):
        return next((type_name for type_name in declared if type_name in _TYPES), None)
    for key in _UNIONS:
        branches = rules.get(key)
        if isinstance(branches, list) and branches:
            return next(
                (kind for branch in branches if isinstance(branch, Mapping) and (kind := certain_type(branch))), None
            )
    choices = rules.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str) for choice in choices):
        return "string"
    if isinstance(rules.get("properties"), Mapping):
        return "object"
    return "array" if isinstance(rules.get("items"), Mapping) else None


def self_contained(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the schema without references (their targets are not written), cut at MAX_LEVELS."""
    if not schema:
        return None
    cleaned: dict[str, Any] = clean_json(_self_contained(dict(schema), MAX_LEVELS))
    return cleaned or None


def levels(value: Any) -> int:
    """Return how deep containers are nested in a JSON value. Iterative, because the site controls the depth."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, Mapping | list | tuple)]:
        depth += 1
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, Mapping) else container)
        ]
    return depth


def _self_contained(value: Any, levels_left: int) -> Any:
    if isinstance(value, Mapping):
        if levels_left == 0:
            return {}
        members = {} if "$ref" in value else value
        return {key: _self_contained(item, levels_left - 1) for key, item in members.items()}
    if isinstance(value, list | tuple):
        return [_self_contained(item, levels_left - 1) for item in value] if levels_left else []
    return value


def _texts(values: object) -> Iterator[str]:
    if isinstance(values, Sequence) and not isinstance(values, str):
        yield from (value for value in values if isinstance(value, str))
