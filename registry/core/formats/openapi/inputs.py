"""Read the inputs of an operation: its parameters, the variables of its server and path, and its body.

All are properties of one object schema, and `places` states where a request carries each. A body that is an object of
named members is spread over its members; any other body is one property.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.format_support import manifest
from registry.core.format_support.manifest import Object, flag_of, list_of, map_of, short_text_of, text_of, texts_of
from registry.core.format_support.params import MAX_PARAMS, object_schema
from registry.core.formats.openapi.keywords import to_json_schema
from registry.core.formats.openapi.schemas import OpenApiSchemas
from registry.core.model.documents import Json
from registry.core.model.services import ParameterPlace
from registry.core.reading.plain_text import line

JSON_TYPE: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_PLACES: Final[dict[str, ParameterPlace]] = {
    "path": "path", "query": "query", "querystring": "query", "header": "header", "cookie": "cookie",
    "formData": "body",
}  # fmt: skip
_OF_REQUEST: Final = frozenset({"accept", "content-type"})  # OpenAPI 3.1 section 4.8.12.2.1: shall be ignored
_OUTSIDE_OF_SCHEMA: Final = frozenset({"name", "in", "required", "collectionFormat", "allowEmptyValue", "schema"})
_OF_MEMBERS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "description", "title", "nullable", "discriminator"}
)
"""Keywords of a body's schema that can be kept or dropped without loss when its members become parameters."""
_STYLES: Final = ("style", "explode", "allowReserved", "collectionFormat")
_VARIABLE: Final = re.compile(r"\{([^{}/?]+)\}")


@dataclass(slots=True)
class Inputs:
    """`schema` describes everything that a caller fills in; `styles` are how values are written, by parameter."""

    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    places: dict[str, ParameterPlace] = field(default_factory=dict)
    media_type: str | None = None
    idempotency_key: bool | None = None
    styles: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def schema(self) -> dict[str, Any]:
        return object_schema(self.properties.items(), self.required)

    def add(self, name: str, schema: dict[str, Any], place: ParameterPlace, *, required: bool) -> None:
        """Add one property; the first of a name counts."""
        if name not in self.properties and len(self.properties) < MAX_PARAMS:
            self.properties[name] = schema
            self.places[name] = place
            self.required += [name] if required else []


def inputs_of(
    root: Object, path_item: Object, operation: Object, url: str, variables: Object, s: OpenApiSchemas
) -> Inputs:
    """Return the inputs of the operation. `url`: its address; `variables`: of its server."""
    inputs = Inputs()
    parameters = sorted(_read_parameters(path_item, operation, s), key=lambda parameter: parameter["in"] != "path")
    for parameter in parameters:
        _add_parameter(parameter, inputs, s)
    for name in _VARIABLE.findall(url):
        variable = map_of(variables, name)
        schema = {"type": "string", **_read_variable_schema(variable)}
        inputs.add(line(name, manifest.NAME_CHARS), schema, "path", required="default" not in schema)
    if "requestBody" in operation:
        body = s.resolve(operation["requestBody"])
        media_type, content = chosen_content(body)
        if content is not None:
            inputs.media_type = media_type
            is_required = flag_of(body, "required") is True
            _add_body(content.get("schema"), read_example(content), body, is_required, inputs, s)
    old_body = next((parameter for parameter in parameters if parameter.get("in") == "body"), None)
    consumed = texts_of(operation, "consumes") or texts_of(root, "consumes")
    if old_body is not None:  # OpenAPI 2.0
        inputs.media_type = next((kind for kind in consumed if "json" in kind), next(iter(consumed), JSON_TYPE))
        _add_body(old_body.get("schema"), None, old_body, flag_of(old_body, "required") is True, inputs, s)
    elif any(parameter.get("in") == "formData" for parameter in parameters):
        has_file = any(parameter.get("type") == "file" for parameter in parameters)
        form = next((kind for kind in consumed if kind in (_FORM, _MULTIPART)), None)
        inputs.media_type = _MULTIPART if has_file else form or _FORM
    return inputs


def chosen_content(holder: Json) -> tuple[str | None, Object | None]:
    """Return the media type of `content` that is easiest to write, JSON before others, and its value."""
    content = map_of(holder, "content")
    if JSON_TYPE in content and isinstance(content[JSON_TYPE], dict):
        return JSON_TYPE, map_of(content, JSON_TYPE)
    kinds = sorted(content, key=lambda kind: (kind != JSON_TYPE, "json" not in kind, kind not in (_FORM, _MULTIPART)))
    kind = next((kind for kind in kinds if isinstance(content[kind], dict)), None)
    return (None, None) if kind is None else (line(kind, manifest.NAME_CHARS), map_of(content, kind))


def _read_parameters(path_item: Object, operation: Object, s: OpenApiSchemas) -> Iterator[Object]:
    """Yield the parameters of the operation, then its path's parameters that it does not replace."""
    seen: set[tuple[Json, Json]] = set()
    for item in (*list_of(operation, "parameters"), *list_of(path_item, "parameters"))[:MAX_PARAMS]:
        parameter = s.resolve(item)
        name, place = parameter.get("name"), parameter.get("in")
        if isinstance(name, str) and isinstance(place, str) and (name, place) not in seen:
            seen.add((name, place))
            yield parameter


def _add_parameter(parameter: Object, inputs: Inputs, s: OpenApiSchemas) -> None:
    name, place = short_text_of(parameter, "name"), _PLACES.get(str(parameter.get("in")))
    if name is None or place is None or (place == "header" and name.lower() in _OF_REQUEST):
        return
    if place == "header" and name.lower() == "idempotency-key":
        inputs.idempotency_key = True
    schema = _read_parameter_schema(parameter, s)
    inputs.add(name, schema, place, required=flag_of(parameter, "required") is True)
    styles = [key for key in _STYLES if key in parameter and isinstance(parameter[key], str | bool)]
    if styles:
        inputs.styles[name] = {key: parameter[key] for key in styles}


def _read_parameter_schema(parameter: Object, s: OpenApiSchemas) -> dict[str, Any]:
    """Return the schema of one parameter: with its own description, example and mark of deprecation."""
    held = parameter.get("schema")
    if "content" in parameter:
        _, content = chosen_content(parameter)
        held = held if content is None else content.get("schema")
    if held is None and "type" in parameter:  # OpenAPI 2.0
        held = {key: value for key, value in parameter.items() if key not in _OUTSIDE_OF_SCHEMA}
    schema = dict(s.whole(held) or {})
    if description := s.text(text_of(parameter, "description")):
        schema["description"] = description
    if flag_of(parameter, "deprecated"):
        schema["deprecated"] = True
    example = read_example(parameter)
    if example is not None and (written := s.whole({"example": example})):
        schema |= to_json_schema(dict(written))
    return schema


def read_example(holder: Object) -> Json:
    """Return the example of a parameter or body: `example`, or the first of `examples`, which wraps it in `value`."""
    if "example" in holder:
        return holder["example"]
    first = next(iter(map_of(holder, "examples").values()), None)
    return first.get("value") if isinstance(first, dict) else None


def _read_variable_schema(variable: Object) -> dict[str, Any]:
    """Return the schema of a server's variable (OpenAPI 3.1 section 4.8.6)."""
    schema: dict[str, Any] = {}
    if (default := short_text_of(variable, "default")) is not None:
        schema["default"] = default
    if choices := texts_of(variable, "enum"):
        schema["enum"] = list(choices)
    if description := text_of(variable, "description"):
        schema["description"] = description
    return schema


def _add_body(held: Json, example: Json, body: Object, is_required: bool, inputs: Inputs, s: OpenApiSchemas) -> None:
    """Add the members of a body that is an object, or the body as one property."""
    schema = s.whole(held)
    if schema is None:
        schema = _make_outline(s.resolve(held), s)
    members = schema.get("properties")
    # members become parameters unless that loses a constraint of the schema
    demands = [key for key in schema if key not in _OF_MEMBERS and not key.startswith(("x-", "example", "$comment"))]
    is_plain_object = schema.get("type", "object") == "object" and not demands
    if members and isinstance(members, dict) and is_plain_object and not members.keys() & inputs.properties.keys():
        required = schema.get("required", ())
        examples = example if isinstance(example, dict) else {}
        for name, item in members.items():
            member = item if isinstance(item, dict) else {}
            if member.get("readOnly") is True:  # only in answers
                continue
            inputs.add(name, _with_example(member, examples.get(name), s), "body", required=name in required)
        return
    name = manifest.unique_name("body", set(inputs.properties))
    description = text_of(body, "description")
    if description and "description" not in schema:
        schema = {**schema, "description": description}
    inputs.add(name, _with_example(schema, example, s), "whole_body", required=is_required)


def _with_example(schema: dict[str, Any], example: Json, s: OpenApiSchemas) -> dict[str, Any]:
    if example is None or "examples" in schema or "default" in schema:
        return schema
    written = s.whole({"examples": [example]})
    return {**schema, **written} if written else schema


def _make_outline(schema: Object, s: OpenApiSchemas) -> dict[str, Any]:
    """Return the names and types of a body that is too large to be written in full."""
    members = map_of(schema, "properties")
    names: Sequence[str] = list(members)[:MAX_PARAMS]
    if not names or not s.affordable(sum(len(name) + 30 for name in names)):
        return {"type": "object"} if schema.get("type") == "object" else {}
    kinds = {line(name, manifest.NAME_CHARS): short_text_of(members[name], "type") for name in names}
    properties = {name: to_json_schema({"type": kind} if kind else {}) for name, kind in kinds.items()}
    required = [name for name in list_of(schema, "required") if isinstance(name, str)]
    return object_schema(properties.items(), required)
