"""Turn parameters and results of AWAS actions into JSON Schema. CSS selectors, meant for browsers, are dropped."""

from typing import Any, Final

from registry.core.format_support.manifest import (
    NAME_CHARS,
    TEXT_CHARS,
    Notes,
    Object,
    clean_json,
    list_of,
    map_of,
    texts_of,
)
from registry.core.format_support.params import list_schema, object_schema, property_of
from registry.core.formats.awas import rules
from registry.core.model.documents import Json
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

_LISTS: Final = ("parameters", "inputs", "params")
_SCHEMAS: Final = ("inputSchema", "request_schema")
_OUTPUT_SCHEMAS: Final = ("outputSchema", "response_schema")


def inputs(action: Object, pointer: str, graded: bool, notes: Notes) -> dict[str, Any] | None:
    """Return the schema of the action's parameters, from any member; `graded`: check their required members."""
    for key in _SCHEMAS:
        if isinstance(action.get(key), dict):
            schema: dict[str, Any] = clean_json(action[key])
            return schema
    for key in _LISTS:
        parameters = action.get(key)
        if isinstance(parameters, list):
            if graded:
                _check(parameters, at(pointer, key), notes)
            return list_schema([_with_validation(parameter) for parameter in parameters])
        if isinstance(parameters, dict):
            return _read_map_schema(parameters)
    return None


def outputs(action: Object) -> dict[str, Any] | None:
    for key in _OUTPUT_SCHEMAS:
        if isinstance(action.get(key), dict):
            schema: dict[str, Any] = clean_json(action[key])
            return schema
    if isinstance(action.get("outputs"), list):
        return list_schema(list_of(action, "outputs"))
    return _read_result_schema(map_of(action, "result"))


def _check(parameters: list[Json], pointer: str, notes: Notes) -> None:
    for index, parameter in enumerate(parameters):
        parameter_pointer = at(pointer, index)
        holder = parameter if isinstance(parameter, dict) else {}
        for key in ("name", "type", "required"):
            if key not in holder:
                notes.add(rules.PARAMETER, at(parameter_pointer, key))
        if "description" not in holder:
            notes.add(rules.PARAMETER_TEXT, at(parameter_pointer, "description"))
        choices = holder.get("enum")
        if "enum" in holder and not (isinstance(choices, list) and choices):
            notes.add(rules.ENUM, at(parameter_pointer, "enum"), choices)


def _with_validation(parameter: Json) -> Json:
    """Return the parameter with its own members and the JSON Schema keywords of its `validation`."""
    return {**map_of(parameter, "validation"), **parameter} if isinstance(parameter, dict) else parameter


def _read_map_schema(parameters: Object) -> dict[str, Any]:
    """Read `{required: [names], optional: [names]}`, `{name: text}` or `{name: {type, ...}}`."""
    if isinstance(parameters.get("required"), list):
        required = texts_of(parameters, "required")
        return object_schema([(name, {}) for name in (*required, *texts_of(parameters, "optional"))], required)
    properties = [(line(name, NAME_CHARS), _read_field_schema(field)) for name, field in parameters.items()]
    required_names = [
        name for name, field in parameters.items() if isinstance(field, dict) and field.get("required") is True
    ]
    return object_schema(properties, required_names)


def _read_field_schema(field: Json) -> dict[str, Any]:
    if isinstance(field, dict):
        return property_of(field)
    return {"type": "string", "description": line(field, TEXT_CHARS)} if isinstance(field, str) else {}


def _read_result_schema(result: Object) -> dict[str, Any] | None:
    if not result:
        return None
    fields = object_schema([(line(name, NAME_CHARS), {}) for name in map_of(result, "properties")], ())
    return {"type": "array", "items": fields} if result.get("type") in ("list", "table") else fields
