"""Change schemas of OpenAPI into JSON Schema 2020-12, and unite the parts of `allOf`."""

from collections.abc import Mapping
from typing import Any, Final

from registry.core.format_support.params import JSON_TYPES, type_of
from registry.core.format_support.shapes import LIST, NUMBER, OBJECT, TEXT, Kind

_TEXTS: Final = frozenset({"description", "title", "example", "examples", "$comment"})
_EXCLUSIVE: Final = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
_KEYWORDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("required", "enum", "examples", "allOf", "anyOf", "oneOf"), LIST),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), NUMBER),
    **dict.fromkeys(("pattern", "format"), TEXT),
    "properties": OBJECT,
}


def to_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Change the keywords of OpenAPI 2.0 and 3.0 that JSON Schema 2020-12 writes in another way; return `schema`. Words
    for types that JSON Schema lacks become formats. A keyword with a value of the wrong type is removed."""
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in JSON_TYPES:
        schema |= {**type_of(kind), **({"format": schema["format"]} if "format" in schema else {})}
    for keyword, limit in _EXCLUSIVE:
        if keyword in schema and schema[keyword] is True and limit in schema:
            schema[keyword] = schema[limit]
    if "example" in schema:
        example = schema.pop("example")
        schema["examples"] = schema["examples"] if isinstance(schema.get("examples"), list) else [example]
    invalid = [key for key, value in schema.items() if (expected := _KEYWORDS.get(key)) and not expected.holds(value)]
    for key in invalid:
        del schema[key]
    return schema


def unite_all_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the members of its `allOf` in one object; unchanged where two of them disagree."""
    parts = schema.get("allOf")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return schema
    whole: dict[str, Any] = {}
    for part in (*parts, {key: value for key, value in schema.items() if key != "allOf"}):
        for key, value in part.items():
            known = whole.get(key)
            if key == "properties" and isinstance(known, dict) and isinstance(value, dict):
                whole[key] = {**known, **value}
            elif key == "required" and isinstance(known, list) and isinstance(value, list):
                whole[key] = [*known, *(name for name in value if name not in known)]
            elif key in whole and key not in _TEXTS and known != value:
                return schema
            else:
                whole[key] = value
    return whole
