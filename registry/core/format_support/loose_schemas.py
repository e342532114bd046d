"""Read parameters and results that publishers describe in forms of their own into JSON Schema, as data.

Nothing is compiled, resolved or matched. Each function returns None where the value describes nothing.
"""

import re
from typing import Any, Final

from registry.core.format_support.manifest import NAME_CHARS, TEXT_CHARS, Object, clean_json, flag_of, text_of
from registry.core.format_support.params import MAX_PARAMS, list_schema, object_schema, property_of, type_of
from registry.core.model.documents import Json
from registry.core.reading.plain_text import line

PARAMETER_MEMBERS: Final = (
    "inputSchema", "input_schema", "parameters", "params", "input", "inputs", "arguments", "args", "body",
    "requestBody", "request_body", "requestSchema", "request_schema",
)  # fmt: skip
RESULT_MEMBERS: Final = (
    "outputSchema", "output_schema", "output", "outputs", "returns", "response", "responseSchema", "response_schema",
    "result",
)  # fmt: skip
_TYPE_WORDS: Final = frozenset({
    "string", "str", "text", "number", "integer", "int", "float", "double", "boolean", "bool", "array", "list",
    "object", "dict", "json", "url", "uri", "date", "datetime", "date-time", "email", "uuid", "any", "decimal",
    "timestamp",
})  # fmt: skip
_SCHEMA_WORDS: Final = frozenset({"properties", "type", "$ref", "oneOf", "anyOf", "allOf", "items", "enum", "$schema"})
_MARKED: Final = re.compile(r"\s?[(\[,;]?\s?\b(required|optional)\b\s?[)\]]?", re.IGNORECASE)


def first_parameters(holder: Object, keys: tuple[str, ...] = PARAMETER_MEMBERS) -> dict[str, Any] | None:
    """Return the schema of the parameters in the first member of `holder` that describes some."""
    return next((schema for key in keys if (schema := parameters_of(holder.get(key))) is not None), None)


def first_result(holder: Object, keys: tuple[str, ...] = RESULT_MEMBERS) -> tuple[dict[str, Any] | None, str | None]:
    """Return the result that `holder` describes: a schema, or words. At most one of the two is set."""
    for key in keys:
        value = holder.get(key)
        if isinstance(value, str) and (words := line(value, TEXT_CHARS)):
            return None, words
        if (schema := parameters_of(value)) is not None:
            return schema, None
    return None, None


def parameters_of(value: Json) -> dict[str, Any] | None:
    """Return the schema in a JSON Schema, a list of parameters or of names, or a map from names to what describes them.

    A map's values may be schemas, names of types ("string", "string (optional)"), descriptions or examples.
    """
    if isinstance(value, list):
        names: list[Json] = [{"name": item} if isinstance(item, str) else item for item in value[:MAX_PARAMS]]
        schema = list_schema(names)
        return schema if schema["properties"] else None
    if not isinstance(value, dict) or not value:
        return None
    if _is_schema(value):
        cleaned: dict[str, Any] = clean_json(value)
        return cleaned
    properties: list[tuple[str, dict[str, Any]]] = []
    required: list[str] = []
    for key, item in list(value.items())[:MAX_PARAMS]:
        name = line(key, NAME_CHARS).removesuffix("?")
        if not name:
            continue
        properties.append((name, _property(item)))
        if _is_required(item):
            required.append(name)
    return object_schema(properties, required) if properties else None


def _is_schema(value: Object) -> bool:
    """Return whether an object is a JSON Schema itself, not a map of parameters one of which is called `type`."""
    if isinstance(value.get("properties"), dict) or any(isinstance(value.get(key), list) for key in ("oneOf", "anyOf")):
        return True
    kind = value.get("type")
    return isinstance(kind, str) and kind in ("object", "array") and set(value) <= _SCHEMA_WORDS | {
        "description", "title", "required", "additionalProperties", "minItems", "maxItems", "example", "examples",
        "default", "allOf",
    }  # fmt: skip


def _property(item: Json) -> dict[str, Any]:
    if isinstance(item, dict):
        if _SCHEMA_WORDS & set(item) or text_of(item, "description"):
            nested = {key: clean_json(item[key]) for key in ("properties", "items") if isinstance(item.get(key), dict)}
            return {**property_of(item), **nested}
        return parameters_of(item) or {}
    if isinstance(item, str):
        return _worded(item)
    if isinstance(item, list) and item:
        return {"enum": clean_json(item)} if all(isinstance(one, str) for one in item) else {"type": "array"}
    return {} if item is None else {"examples": [clean_json(item)]}


def _worded(text: str) -> dict[str, Any]:
    """Return the schema of a parameter of which only a text is said: the name of a type, else a description."""
    words = line(text, TEXT_CHARS)
    bare = _MARKED.sub("", words).strip()
    is_type = bare.lower().removesuffix("[]") in _TYPE_WORDS
    kind = type_of(bare) if is_type and bare.lower() != "any" else {}
    return kind if is_type else ({"description": words} if words else {})


def _is_required(item: Json) -> bool:
    if isinstance(item, dict):
        return flag_of(item, "required") is True
    marked = _MARKED.search(line(item, TEXT_CHARS)) if isinstance(item, str) else None
    return marked is not None and marked[1].lower() == "required"
