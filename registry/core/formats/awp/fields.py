"""Turn inputs and outputs of AWP actions into JSON Schema (AWP sections 8 and 9)."""

import re
from typing import Any, Final

from registry.core.format_support.manifest import MAX_TEXTS, NAME_CHARS, Object, map_of
from registry.core.format_support.params import Definitions, object_schema, property_of, type_of
from registry.core.model.documents import Json
from registry.core.reading.plain_text import line

_ENTITY_DEPTH: Final = 3  # entities may refer to each other in a cycle
_ENUM = re.compile(r"enum\[(.*)\]")
_NESTED = re.compile(r"(array|object)\[(.+)\]")


def schema(fields: Json, entities: Definitions) -> dict[str, Any] | None:
    """Return the object schema of `{name: {type, required, ...}}` or `{name: type}`; None for anything but a map."""
    return _read_fields_schema(fields, entities, _ENTITY_DEPTH) if isinstance(fields, dict) else None


def _read_fields_schema(fields: Object, entities: Definitions, depth: int) -> dict[str, Any]:
    entries = [(line(name, NAME_CHARS), field) for name, field in fields.items()]
    required = [name for name, field in entries if isinstance(field, dict) and field.get("required") is True]
    return object_schema([(name, _read_field_schema(field, entities, depth)) for name, field in entries], required)


def _read_field_schema(field: Json, entities: Definitions, depth: int) -> dict[str, Any]:
    if not isinstance(field, dict):
        return _read_type_schema(field, entities, depth)
    property_schema = property_of({**field, "type": None, "enum": field.get("options", field.get("enum"))})
    return {**_read_type_schema(field.get("type"), entities, depth), **property_schema}


def _read_type_schema(kind: Json, entities: Definitions, depth: int) -> dict[str, Any]:
    """Return the schema of a primitive type, `enum[a, b]`, `array[x]` or `object[entity]`; entities are inlined."""
    if not isinstance(kind, str) or len(kind) > NAME_CHARS:  # limits the recursion for array[array[...
        return {}
    if (choices := _ENUM.fullmatch(kind)) is not None:
        return {"type": "string", "enum": [line(choice, NAME_CHARS) for choice in choices[1].split(",")][:MAX_TEXTS]}
    if (nested := _NESTED.fullmatch(kind)) is not None:
        nested_schema = _read_type_schema(nested[2], entities, depth)
        return {"type": "array", "items": nested_schema} if nested[1] == "array" else nested_schema
    if kind in entities.named:
        fields = map_of(entities.taken(kind), "fields") if depth > 0 else {}
        return _read_fields_schema(fields, entities, depth - 1) if fields else {"type": "object"}
    return {"type": "string"} if kind == "enum" else type_of(kind)
