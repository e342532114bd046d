"""Turn a document's parameters into JSON Schema, as data: nothing is compiled, resolved or matched here."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.format_support.manifest import NAME_CHARS, Object, clean_json, short_text_of, text_of
from registry.core.model.documents import Json
from registry.core.reading.plain_text import line

MAX_PARAMS: Final = 500
MAX_ENUM: Final = 500
MAX_EXPANSION: Final = 500_000  # characters that inlined definitions may add to one document

JSON_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_OTHER_NAMES: Final = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
    "decimal": "number", "bool": "boolean", "list": "array", "dict": "object", "map": "object", "json": "object",
}  # fmt: skip
_FORMATS: Final = {"url": "uri", "link": "uri", "datetime": "date-time", "timestamp": "date-time", "file": "binary"}
_NUMBERS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_VARIABLES = re.compile(r"(?<!\{)\{([A-Za-z_][\w.-]*)\}|(?<=/):([A-Za-z_]\w*)")
_LIST = re.compile(r"(.+?)(?:\[\]|<>)")


def object_schema(properties: Iterable[tuple[str, dict[str, Any]]], required: Iterable[str]) -> dict[str, Any]:
    """Return an object schema of the first MAX_PARAMS properties; `required` keeps only names of kept properties."""
    kept_properties = dict(list(properties)[:MAX_PARAMS])
    schema: dict[str, Any] = {"type": "object", "properties": kept_properties}
    required_names = [name for name in dict.fromkeys(required) if name in kept_properties]
    return {**schema, "required": required_names} if required_names else schema


def with_path_variables(schema: Mapping[str, Any] | None, endpoint: str | None) -> dict[str, Any] | None:
    """Return an object schema with the variables of a templated URL, `{id}` or `/:id`, as required properties. A
    variable that the schema already describes keeps its description. Schemas of other types are returned unchanged."""
    names = list(dict.fromkeys(first or second for first, second in _VARIABLES.findall(endpoint or "")))[:MAX_PARAMS]
    if not names or (schema or {}).get("type", "object") != "object":
        return None if schema is None else dict(schema)
    properties = (schema or {}).get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    required = (schema or {}).get("required")
    required = [name for name in required if isinstance(name, str)] if isinstance(required, list | tuple) else []
    added = {name: {"type": "string"} for name in names if name not in properties}
    return {
        "type": "object",
        **(schema or {}),
        "properties": {**added, **properties},
        "required": list(dict.fromkeys((*names, *required))),
    }


def describes_variables(schema: Mapping[str, Any] | None, endpoint: str | None) -> bool:
    """Return whether a templated URL has variables and the object schema has a property for each of them."""
    names = {first or second for first, second in _VARIABLES.findall(endpoint or "")}
    properties = (schema or {}).get("properties")
    return bool(names) and isinstance(properties, Mapping) and names <= properties.keys()


def list_schema(items: list[Json]) -> dict[str, Any]:
    """Return the object schema of `[{name, type, required, description, ...}]`; items without a name are left out."""
    named_items = [(name, item) for item in items if isinstance(item, dict) and (name := short_text_of(item, "name"))]
    required_names = [name for name, item in named_items if item.get("required") is True]
    return object_schema([(name, property_of(item)) for name, item in named_items], required_names)


def property_of(item: Object) -> dict[str, Any]:
    """Return the schema of one parameter: its type, and the keywords that JSON Schema has under the same name."""
    schema = type_of(item.get("type"))
    for key in ("description", "format", "pattern"):
        if text := text_of(item, key):
            schema[key] = text
    for key in _NUMBERS:
        value = item.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            schema[key] = value
    if "default" in item and item["default"] is not None:
        schema["default"] = clean_json(item["default"])
    choices = item.get("enum")
    if isinstance(choices, list) and choices:
        schema["enum"] = clean_json(choices[:MAX_ENUM])
    if "example" in item and item["example"] is not None:
        schema["examples"] = [clean_json(item["example"])]
    return schema


def type_of(kind: Json) -> dict[str, Any]:
    """Return the schema for a type's name: a JSON type, `string[]`, or a common synonym. Any other name becomes a
    string, with the name as `format`."""
    if not isinstance(kind, str) or not kind.strip():
        return {}
    name = kind.strip()
    # limit the length: a name with thousands of brackets would recurse as deep
    if len(name) <= NAME_CHARS and (list_match := _LIST.fullmatch(name)) is not None:
        return {"type": "array", "items": type_of(list_match[1])}
    type_name = _OTHER_NAMES.get(name.lower(), name.lower())
    if type_name in JSON_TYPES:
        return {"type": type_name}
    return {"type": "string", "format": _FORMATS.get(name.lower()) or line(name, NAME_CHARS)}


@dataclass(slots=True)
class Definitions:
    """Definitions that a document may inline, within a budget of characters. Without a budget, definitions that refer
    to each other, or a definition used by every capability, could grow a small document beyond all memory."""

    named: Object
    left: int = MAX_EXPANSION
    _sizes: dict[str, int] = field(default_factory=dict)

    def taken(self, name: str) -> Json:
        """Return the definition and charge its size to the budget; None where it is missing or the budget is spent."""
        definition = self.named.get(name)
        if definition is None:
            return None
        if name not in self._sizes:
            self._sizes[name] = len(json.dumps(definition, ensure_ascii=False))
        self.left -= self._sizes[name]
        return definition if self.left >= 0 else None
