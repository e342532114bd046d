"""Read the inputs of an operation: its parameters, the variables of its server and path, and its body.

All are properties of one object schema, and `places` states where a request carries each. A parameter is its name and
its place (OpenAPI 3.1 section 4.8.12): where two have one name, the second is renamed, and `names` states its name in
the request. A body that is an object of named members is spread over its members; any other body is one property.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from registry.core.format_support import manifest
from registry.core.format_support.manifest import Object, flag_of, list_of, map_of, short_text_of, text_of, texts_of
from registry.core.format_support.params import MAX_PARAMS, object_schema
from registry.core.formats.openapi import rules
from registry.core.formats.openapi.keywords import to_json_schema, without_values
from registry.core.formats.openapi.schemas import OpenApiSchemas
from registry.core.model.documents import Json
from registry.core.model.services import ParameterPlace
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

JSON_TYPE: Final = "application/json"
_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"
_PLACES: Final[dict[str, ParameterPlace]] = {
    "path": "path", "query": "query", "querystring": "query", "header": "header", "cookie": "cookie",
    "formData": "body",
}  # fmt: skip
_FIRST: Final[tuple[ParameterPlace, ...]] = ("path", "query", "body", "header", "cookie", "whole_body")
"""Which of several parameters with one name keeps it: a URL template has no place for another name."""
_OF_REQUEST: Final = frozenset({"accept", "content-type"})  # OpenAPI 3.1 section 4.8.12.2.1: shall be ignored
_OUTSIDE_OF_SCHEMA: Final = frozenset({"name", "in", "required", "collectionFormat", "allowEmptyValue", "schema"})
_OF_MEMBERS: Final = frozenset(
    {"type", "properties", "required", "additionalProperties", "description", "title", "nullable", "discriminator"}
)
"""Keywords of a body's schema that can be kept or dropped without loss when its members become parameters."""
_OUTLINE_MEMBERS: Final = 20
_STYLES: Final = ("style", "explode", "allowReserved", "collectionFormat")
_OPERATORS: Final = re.compile(r"^[+#.;&]|[*+]$")  # of RFC 6570
_ANY_TYPES: Final = frozenset({"*/*", "application/*"})
_VARIABLE: Final = re.compile(r"\{([^{}/?]+)\}")


@dataclass(slots=True)
class Inputs:
    """`schema` describes everything that a caller fills in; `names` are the names in the request of the renamed ones;
    `styles` are how values are written, by parameter; `left_out` counts those beyond MAX_PARAMS."""

    properties: dict[str, dict[str, Any]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    places: dict[str, ParameterPlace] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    media_type: str | None = None
    idempotency_key: bool | None = None
    styles: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: int = 0

    @property
    def schema(self) -> dict[str, Any]:
        return object_schema(self.properties.items(), self.required)

    def add(
        self, name: str, schema: dict[str, Any], place: ParameterPlace, *, required: bool, renamed: bool = False
    ) -> str | None:
        """Add one property and return its name. The first of a name and place counts: None for another one, and where
        there is no room. A parameter whose name is taken, or that is to be `renamed`, has the place in its name."""
        key = name
        if renamed or name in self.names or self.places.get(name, place) != place:
            key = manifest.unique_name(f"{name}__{place}", set(self.properties), "_")
        if key in self.properties:
            return None
        if len(self.properties) >= MAX_PARAMS:
            self.left_out += 1
            return None
        self.properties[key] = schema
        self.places[key] = place
        self.required += [key] if required else []
        if key != name:
            self.names[key] = name
        return key


@dataclass(frozen=True, slots=True)
class OperationPlace:
    """An operation and its path item, with the JSON Pointer to each."""

    path_item: Object
    item_pointer: str
    operation: Object
    pointer: str


def inputs_of(
    root: Object, described: OperationPlace, url: str, variables: Object, s: OpenApiSchemas, notes: manifest.Notes
) -> Inputs:
    """Return the inputs of the operation. `url`: its address; `variables`: of its server."""
    inputs = Inputs()
    operation = described.operation
    found = sorted(_read_parameters(described, s, notes), key=lambda parameter: parameter.place != "path")
    keepers: dict[str, ParameterPlace] = {}  # which place keeps a name
    for name, place, _ in found:
        if place is not None:
            keepers[name] = min(keepers[name], place, key=_FIRST.index) if name in keepers else place
    for parameter in found:
        _add_parameter(parameter, keepers, "swagger" in root, inputs, s)
    for written in _VARIABLE.findall(url):
        name = line(written, manifest.NAME_CHARS)
        name = name if name in inputs.properties else _OPERATORS.sub("", name)  # `{+path}`, `{proxy+}` of API Gateway
        if name and name not in inputs.properties:
            schema = {"type": "string", **_read_variable_schema(map_of(variables, name))}
            inputs.add(name, schema, "path", required="default" not in schema)
    if operation.get("requestBody") is not None:
        body = s.resolve(operation["requestBody"])
        if not isinstance(operation["requestBody"], dict):
            notes.add(rules.PARAMETER, at(described.pointer, "requestBody"), operation["requestBody"])
        media_type, content = chosen_content(body, s)
        if content is not None:
            inputs.media_type = JSON_TYPE if media_type in _ANY_TYPES else media_type  # a range cannot be sent
            is_required = flag_of(body, "required") is True
            _add_body(schema_of(content), read_example(content, s), body, is_required, inputs, s)
            _add_encoding(map_of(content, "encoding"), inputs)
    held = [parameter.held for parameter in found]
    old_body = next((parameter for parameter in held if parameter.get("in") == "body"), None)
    consumed = texts_of(operation, "consumes") or texts_of(root, "consumes")
    if old_body is not None:  # OpenAPI 2.0
        inputs.media_type = next((kind for kind in consumed if "json" in kind), next(iter(consumed), JSON_TYPE))
        _add_body(old_body.get("schema"), None, old_body, flag_of(old_body, "required") is True, inputs, s)
    elif any(parameter.get("in") == "formData" for parameter in held):
        has_file = any(parameter.get("type") == "file" for parameter in held)
        form = next((kind for kind in consumed if kind in (_FORM, _MULTIPART)), None)
        inputs.media_type = _MULTIPART if has_file else form or _FORM
    if inputs.left_out:
        notes.add(rules.TOO_MANY_PARAMETERS, described.pointer, f"{inputs.left_out} more than {MAX_PARAMS}")
    return inputs


class _Parameter(NamedTuple):
    """A parameter; `place` None: the body of OpenAPI 2.0."""

    name: str
    place: ParameterPlace | None
    held: Object


def _place_of(parameter: Object) -> ParameterPlace | None:
    place = str(parameter.get("in"))
    return _PLACES.get(place) or _PLACES.get(place.strip().lower())


def chosen_content(holder: Json, s: OpenApiSchemas) -> tuple[str | None, Object | None]:
    """Return the media type of `content` that is easiest to write, JSON before others, and its value. OpenAPI 3.2 may
    refer to the value (section 4.14)."""
    content = map_of(holder, "content")
    if JSON_TYPE in content and isinstance(content[JSON_TYPE], dict):
        return JSON_TYPE, s.resolve(content[JSON_TYPE])
    kinds = sorted(content, key=lambda kind: (kind != JSON_TYPE, "json" not in kind, kind not in (_FORM, _MULTIPART)))
    kind = next((kind for kind in kinds if isinstance(content[kind], dict)), None)
    return (None, None) if kind is None else (line(kind, manifest.NAME_CHARS), s.resolve(content[kind]))


def schema_of(content: Object) -> Json:
    """Return the schema of a media type; `itemSchema` describes each item of a stream (OpenAPI 3.2 section 4.14.3)."""
    if "schema" not in content and isinstance(content.get("itemSchema"), dict):
        return {"type": "array", "items": content["itemSchema"]}
    return content.get("schema")


def _read_parameters(described: OperationPlace, s: OpenApiSchemas, notes: manifest.Notes) -> Iterator[_Parameter]:
    """Yield the parameters of the operation, then its path's parameters that it does not replace."""
    seen: set[tuple[str, str]] = set()
    count = 0
    for holder, pointer in ((described.operation, described.pointer), (described.path_item, described.item_pointer)):
        listed = holder.get("parameters")
        if listed is not None and not isinstance(listed, list):
            notes.add(rules.PARAMETER, at(pointer, "parameters"), listed)
        for index, item in enumerate(list_of(holder, "parameters")):
            count += 1
            if count > MAX_PARAMS:
                notes.add(rules.TOO_MANY_PARAMETERS, at(pointer, "parameters", index), f"more than {MAX_PARAMS}")
                return
            held = item if isinstance(item, dict) else {}
            if "$ref" in held:
                held, _ = s.follow(item, at(pointer, "parameters", index))
                if not held:
                    continue  # has a finding
            name, place, is_body = short_text_of(held, "name"), _place_of(held), held.get("in") == "body"
            if not is_body and (name is None or place is None):
                notes.add(rules.PARAMETER, at(pointer, "parameters", index), name or item)
            elif (key := (name or "", str(held.get("in")))) not in seen:
                seen.add(key)
                yield _Parameter(name or "", place, held)


def _add_parameter(
    found: _Parameter, keepers: dict[str, ParameterPlace], is_old: bool, inputs: Inputs, s: OpenApiSchemas
) -> None:
    name, place, parameter = found
    if place is None or (place == "header" and name.lower() in _OF_REQUEST):
        return
    if place == "header" and name.lower() == "idempotency-key":
        inputs.idempotency_key = True
    schema = _read_parameter_schema(parameter, s)
    required = flag_of(parameter, "required") is True
    added = inputs.add(name, schema, place, required=required, renamed=keepers[name] != place)
    styles: dict[str, Any] = {key: parameter[key] for key in _STYLES if isinstance(parameter.get(key), str | bool)}
    if is_old and parameter.get("type") == "array":
        styles.setdefault("collectionFormat", "csv")  # OpenAPI 2.0: the default
    if isinstance(parameter.get("content"), dict):
        styles["content"] = chosen_content(parameter, s)[0] or JSON_TYPE
    if flag_of(parameter, "x-ms-skip-url-encoding"):  # an extension of Azure, older than `allowReserved` in paths
        styles["allowReserved"] = True
    if parameter.get("in") == "querystring":
        styles["style"] = "querystring"  # OpenAPI 3.2: the value is the whole query
    if styles and added is not None:
        inputs.styles[added] = styles


def _add_encoding(encoding: Object, inputs: Inputs) -> None:
    """Add how the members of a form are written (OpenAPI 3.1 section 4.8.15)."""
    for key, place in inputs.places.items():
        held = map_of(encoding, inputs.names.get(key, key)) if place == "body" else {}
        if styles := {name: held[name] for name in (*_STYLES, "contentType") if isinstance(held.get(name), str | bool)}:
            inputs.styles[key] = styles


def _read_parameter_schema(parameter: Object, s: OpenApiSchemas) -> dict[str, Any]:
    """Return the schema of one parameter: with its own description, example and mark of deprecation."""
    held = parameter.get("schema")
    if "content" in parameter:
        _, content = chosen_content(parameter, s)
        held = held if content is None else content.get("schema")
    if held is None and "type" in parameter:  # OpenAPI 2.0
        held = {key: value for key, value in parameter.items() if key not in _OUTSIDE_OF_SCHEMA}
    whole = s.whole(held)
    if whole is None and isinstance(held, dict) and held:
        return s.brief(parameter, held)
    schema = dict(whole or {})
    if description := s.text(text_of(parameter, "description")):
        schema["description"] = description
    if flag_of(parameter, "deprecated"):
        schema["deprecated"] = True
    example = read_example(parameter, s)
    if example is not None and (written := s.whole({"example": example})):
        schema |= to_json_schema(dict(written))
    return schema


def read_example(holder: Object, s: OpenApiSchemas) -> Json:
    """Return the example of a parameter or body: `example`, or the first of `examples`, which wraps it in `value` or
    `dataValue` (OpenAPI 3.2 section 4.19) and may be a reference. A plain list of values is read as well."""
    if "example" in holder:
        return holder["example"]
    if values := list_of(holder, "examples"):
        return values[0]
    first = s.resolve(next(iter(map_of(holder, "examples").values()), None))
    return first.get("dataValue", first.get("value"))


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
    whole = s.whole(held)
    example = without_values(example, whole, "readOnly")
    is_named_only = isinstance(held, dict) and "$ref" in held and whole is not None and "$comment" in whole
    schema = _make_outline(s.resolve(held), s) if whole is None or is_named_only else s.sent(whole)
    members = schema.get("properties")
    # members become parameters unless that loses a constraint of the schema
    demands = [key for key in schema if key not in _OF_MEMBERS and not key.startswith(("x-", "example", "$comment"))]
    is_plain_object = schema.get("type", "object") == "object" and not demands
    if members and isinstance(members, dict) and is_plain_object and len(members) + len(inputs.properties) < MAX_PARAMS:
        required = schema.get("required", ())
        examples = example if isinstance(example, dict) else {}
        for name, item in members.items():
            member = _with_example(item if isinstance(item, dict) else {}, examples.get(name), s)
            inputs.add(name, member, "body", required=name in required)
        for name in required:  # no call is accepted without them, described or not
            if isinstance(name, str) and name not in members:
                inputs.add(line(name, manifest.NAME_CHARS), {}, "body", required=True)
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
    members = {
        name: item for name, item in map_of(schema, "properties").items() if flag_of(item, "readOnly") is not True
    }
    names: Sequence[str] = list(members)[:MAX_PARAMS]
    if names and not s.affordable(sum(len(name) + 30 for name in names)):
        # without what it needs, no call is accepted; a few members are shown even without budget
        needed = [name for name in list_of(schema, "required") if isinstance(name, str) and name in members]
        needed = [name for name in needed[:_OUTLINE_MEMBERS] if len(name) <= manifest.NAME_CHARS]
        return object_schema([(name, s.brief(map_of(members, name), map_of(members, name))) for name in needed], needed)
    if not names:
        return {"type": "object"} if schema.get("type") == "object" else {}
    kinds = {line(name, manifest.NAME_CHARS): short_text_of(members[name], "type") for name in names}
    properties = {name: to_json_schema({"type": kind} if kind else {}) for name, kind in kinds.items()}
    required = [name for name in list_of(schema, "required") if isinstance(name, str)]
    return object_schema(properties.items(), required)
