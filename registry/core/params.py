"""Parameters of documents -> JSON Schema. The result describes; it is never compiled, resolved or matched."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.documents import Json
from registry.core.manifest import NAME_CHARS, Object, clean_json, text_of, word_of
from registry.core.plain_text import line

MAX_PARAMS: Final = 500
MAX_ENUM: Final = 500
MAX_EXPANSION: Final = 500_000  # characters that one document may grow by writing out what it names

_JSON_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_OTHER_NAMES: Final = {
    "str": "string", "text": "string", "int": "integer", "long": "integer", "float": "number", "double": "number",
    "decimal": "number", "bool": "boolean", "list": "array", "dict": "object", "map": "object", "json": "object",
}  # fmt: skip
_FORMATS: Final = {"url": "uri", "link": "uri", "datetime": "date-time", "timestamp": "date-time"}
_NUMBERS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_TEXTS: Final = ("format", "pattern")
_LIST = re.compile(r"(.+?)(?:\[\]|<>)")


def object_schema(properties: Iterable[tuple[str, dict[str, Any]]], required: Iterable[str]) -> dict[str, Any]:
    """An object schema of the first MAX_PARAMS properties; `required` keeps only names that are there."""
    kept = dict(list(properties)[:MAX_PARAMS])
    schema: dict[str, Any] = {"type": "object", "properties": kept}
    needed = [name for name in dict.fromkeys(required) if name in kept]
    return {**schema, "required": needed} if needed else schema


def listed(items: list[Json]) -> dict[str, Any]:
    """`[{name, type, required, description, default, enum, ...}]` -> object schema. Items without name are left out."""
    named = [(name, item) for item in items if isinstance(item, dict) and (name := word_of(item, "name"))]
    needed = [name for name, item in named if item.get("required") is True]
    return object_schema([(name, property_of(item)) for name, item in named], needed)


def property_of(item: Object) -> dict[str, Any]:
    """One parameter: its type and the keywords that JSON Schema knows under the same name."""
    schema = type_of(item.get("type"))
    if description := text_of(item, "description"):
        schema["description"] = description
    for key in _TEXTS:
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
    """A type's name -> schema: JSON's own types, `string[]`, common other names; the rest is text with a hint."""
    if not isinstance(kind, str) or not kind.strip():
        return {}
    name = kind.strip()
    # a name of thousands of brackets would nest our own calls as deep
    if len(name) <= NAME_CHARS and (many := _LIST.fullmatch(name)) is not None:
        return {"type": "array", "items": type_of(many[1])}
    known = _OTHER_NAMES.get(name.lower(), name.lower())
    if known in _JSON_TYPES:
        return {"type": known}
    return {"type": "string", "format": _FORMATS.get(name.lower()) or line(name, NAME_CHARS)}


@dataclass(slots=True)
class Definitions:
    """What a document defines once and names often, within a budget: a few definitions that name each other, or one
    that is named by every capability, would grow a small document beyond any memory."""

    named: Object
    left: int = MAX_EXPANSION
    _sizes: dict[str, int] = field(default_factory=dict)

    def taken(self, name: str) -> Json:
        """The definition, paid for by its size; None where there is none or the budget is spent."""
        found = self.named.get(name)
        if found is None:
            return None
        if name not in self._sizes:
            self._sizes[name] = len(json.dumps(found, ensure_ascii=False))
        self.left -= self._sizes[name]
        return found if self.left >= 0 else None
