"""Inputs and outputs of AWP actions -> JSON Schema (AWP sections 8 and 9)."""

import re
from typing import Any, Final

from registry.core.documents import Json
from registry.core.manifest import MAX_TEXTS, NAME_CHARS, Object, map_of
from registry.core.params import Definitions, object_schema, property_of, type_of
from registry.core.plain_text import line

_ENTITY_DEPTH: Final = 3  # entities may name each other in a circle
_ENUM = re.compile(r"enum\[(.*)\]")
_NESTED = re.compile(r"(array|object)\[(.+)\]")


def schema(fields: Json, entities: Definitions) -> dict[str, Any] | None:
    """`{name: {type, required, ...}}` or `{name: type}` -> object schema; None where it is no map."""
    return _schema(fields, entities, _ENTITY_DEPTH) if isinstance(fields, dict) else None


def _schema(fields: Object, entities: Definitions, depth: int) -> dict[str, Any]:
    named = [(line(name, NAME_CHARS), field) for name, field in fields.items()]
    needed = [name for name, field in named if isinstance(field, dict) and field.get("required") is True]
    return object_schema([(name, _field(field, entities, depth)) for name, field in named], needed)


def _field(field: Json, entities: Definitions, depth: int) -> dict[str, Any]:
    if not isinstance(field, dict):
        return _typed(field, entities, depth)
    described = property_of({**field, "type": None, "enum": field.get("options", field.get("enum"))})
    return {**_typed(field.get("type"), entities, depth), **described}


def _typed(kind: Json, entities: Definitions, depth: int) -> dict[str, Any]:
    """Primitive types, `enum[a, b]`, `array[x]`, `object[entity]`; entities are written out, not linked."""
    if not isinstance(kind, str) or len(kind) > NAME_CHARS:  # array[array[... of a whole document is no type
        return {}
    if (choices := _ENUM.fullmatch(kind)) is not None:
        return {"type": "string", "enum": [line(one, NAME_CHARS) for one in choices[1].split(",")][:MAX_TEXTS]}
    if (nested := _NESTED.fullmatch(kind)) is not None:
        inner = _typed(nested[2], entities, depth)
        return {"type": "array", "items": inner} if nested[1] == "array" else inner
    if kind in entities.named:
        fields = map_of(entities.taken(kind), "fields") if depth > 0 else {}
        return _schema(fields, entities, depth - 1) if fields else {"type": "object"}
    return {"type": "string"} if kind == "enum" else type_of(kind)
