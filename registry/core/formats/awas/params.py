"""Parameters and results of AWAS actions -> JSON Schema. CSS selectors are dropped: they are for browsers."""

from typing import Any, Final

from registry.core.documents import Json
from registry.core.findings import Reason
from registry.core.manifest import NAME_CHARS, TEXT_CHARS, Notes, Object, at, clean_json, list_of, map_of, texts_of
from registry.core.params import listed, object_schema, property_of
from registry.core.plain_text import line

_LISTS: Final = ("parameters", "inputs", "params")
_SCHEMAS: Final = ("inputSchema", "request_schema")
_OUTPUT_SCHEMAS: Final = ("outputSchema", "response_schema")


def inputs(action: Object, pointer: str, graded: bool, notes: Notes) -> dict[str, Any] | None:
    """The action's parameters, whichever member holds them; `graded`: the dialect says what they must have."""
    for key in _SCHEMAS:
        if isinstance(action.get(key), dict):
            schema: dict[str, Any] = clean_json(action[key])
            return schema
    for key in _LISTS:
        said = action.get(key)
        if isinstance(said, list):
            if graded:
                _check(said, at(pointer, key), notes)
            return listed([_with_validation(one) for one in said])
        if isinstance(said, dict):
            return _mapped(said)
    return None


def outputs(action: Object) -> dict[str, Any] | None:
    for key in _OUTPUT_SCHEMAS:
        if isinstance(action.get(key), dict):
            schema: dict[str, Any] = clean_json(action[key])
            return schema
    if isinstance(action.get("outputs"), list):
        return listed(list_of(action, "outputs"))
    return _result(map_of(action, "result"))


def _check(parameters: list[Json], pointer: str, notes: Notes) -> None:
    for index, parameter in enumerate(parameters):
        place = at(pointer, index)
        holder = parameter if isinstance(parameter, dict) else {}
        for key in ("name", "type", "required", "description"):
            if key not in holder:
                notes.add(Reason.AWAS_PARAMETER, at(place, key))
        choices = holder.get("enum")
        if "enum" in holder and not (isinstance(choices, list) and choices):
            notes.add(Reason.AWAS_ENUM, at(place, "enum"), choices)


def _with_validation(parameter: Json) -> Json:
    """`validation` holds JSON Schema keywords."""
    return {**map_of(parameter, "validation"), **parameter} if isinstance(parameter, dict) else parameter


def _mapped(said: Object) -> dict[str, Any]:
    """`{required: [names], optional: [names]}`, `{name: text}` or `{name: {type, ...}}`."""
    if isinstance(said.get("required"), list):
        required = texts_of(said, "required")
        return object_schema([(name, {}) for name in (*required, *texts_of(said, "optional"))], required)
    named = [(line(name, NAME_CHARS), _described(field)) for name, field in said.items()]
    needed = [name for name, field in said.items() if isinstance(field, dict) and field.get("required") is True]
    return object_schema(named, needed)


def _described(field: Json) -> dict[str, Any]:
    if isinstance(field, dict):
        return property_of(field)
    return {"type": "string", "description": line(field, TEXT_CHARS)} if isinstance(field, str) else {}


def _result(said: Object) -> dict[str, Any] | None:
    if not said:
        return None
    fields = object_schema([(line(name, NAME_CHARS), {}) for name in map_of(said, "properties")], ())
    return {"type": "array", "items": fields} if said.get("type") in ("list", "table") else fields
