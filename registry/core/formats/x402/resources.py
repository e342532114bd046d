"""Put the resources of every dialect of x402 into the shape that the readers of loose entries know.

Version 2 describes a resource in an object `{url, description, mimeType}` and its call in `extensions.bazaar`. Version
1 writes the URL as a text and describes the call in `accepts[].outputSchema`. Servers in Python write both in
snake_case.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from registry.core.format_support import manifest
from registry.core.format_support.endpoints import origin_of
from registry.core.format_support.loose import first_result, parameters_of
from registry.core.format_support.manifest import MAX_TEXTS, Object, map_of, text_of
from registry.core.format_support.named_addresses import camel_name
from registry.core.format_support.vocabulary import http_method
from registry.core.model.documents import Json

_SPECIFIED: Final = frozenset({
    "maxAmountRequired", "payTo", "maxTimeoutSeconds", "mimeType", "outputSchema", "inputSchema", "serviceName",
    "paymentRequirements", "iconUrl", "queryParams", "pathParams", "bodyType", "bodyFields", "headerFields",
    "routeTemplate", "toolName",
})  # fmt: skip
_REQUIREMENTS: Final = ("accepts", "paymentRequirements")
_OF_RESOURCE: Final = ("description", "mimeType", "serviceName", "tags", "iconUrl", "method")
_PARAMETERS: Final = ("inputSchema", "pathParams", "queryParams", "headerFields", "headers", "bodyFields", "body")
_OF_INPUT: Final = frozenset({*_PARAMETERS, "method", "bodyType", "tool", "toolName"})
_OF_CALL: Final = frozenset({"input", "output", "info", "schema"})
_OF_METADATA: Final = ("name", "description", "tags", "input", "inputSchema", "output", "outputSchema")
_MEDIA_TYPES: Final = {
    "json": "application/json", "form-data": "multipart/form-data", "multipart-form-data": "multipart/form-data",
    "form-urlencoded": "application/x-www-form-urlencoded", "text": "text/plain", "binary": "application/octet-stream",
}  # fmt: skip
_ROUTE: Final = re.compile(r"/[a-zA-Z0-9_/:.\-~]+")  # without `%`, so that nothing is hidden in it


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as a loose entry. `tool`: of an MCP server at the address; `media_type`: of the answer."""

    holder: Object
    accepts: list[Object]
    result: dict[str, Any] | None
    media_type: str | None
    tool: str | None


def requirements_of(holder: Object) -> list[Object]:
    """Return the payment requirements of a resource, also a single one without a list."""
    for key in _REQUIREMENTS:
        held = holder.get(key)
        items = held[:MAX_TEXTS] if isinstance(held, list) else [held]
        if found := [_specified(item) for item in items if isinstance(item, dict)]:
            return found
    return []


def read_resource(holder: Object) -> Resource:
    """Return a resource with its address, method, description and parameters as members of the entry itself."""
    own = _specified(holder)
    described, metadata = _specified(map_of(own, "resource")), _specified(map_of(own, "metadata"))
    accepts = requirements_of(own)
    entry = {key: item for key, item in own.items() if key not in ("type", "outputSchema", "bazaar", "headers")}
    sources = [own, described, *accepts, metadata]
    if accepts:
        entry["accepts"] = [*accepts]
    for key in _OF_RESOURCE:
        found = next((source[key] for source in sources if source.get(key)), None)
        if found is not None:
            entry[key] = found
    if "name" in metadata:
        entry["displayName"] = metadata["name"]
    if not isinstance(own.get("resource"), str):
        urls = (text_of(source, key, 2_048) for key in ("url", "resource") for source in (described, *accepts))
        url = next((url for url in urls if url), None)
        entry = {key: item for key, item in entry.items() if key != "resource"} | ({"resource": url} if url else {})
    bazaar = map_of(map_of(own, "extensions"), "bazaar") or map_of(own, "bazaar")
    call = _read_input(own, accepts, metadata, bazaar)
    if _is_input(_specified(map_of(entry, "input"))):
        entry.pop("input")
    if "method" not in entry and (method := http_method(call)):
        entry["method"] = method
    if route := _read_route(entry, bazaar):
        entry["resource"] = route
    tool = text_of(call, "tool", manifest.ID_CHARS) or text_of(call, "toolName", manifest.ID_CHARS)
    if tool:
        entry |= {"id": tool, "description": call.get("description") or entry.get("description") or ""}
    entry |= {key: call[key] for key in ("inputSchema", "pathParams", "queryParams") if key in call}
    if header := call.get("headerFields", call.get("headers")):
        entry["headerFields"] = header
    body = call.get("bodyFields", call.get("body"))
    kind = _MEDIA_TYPES.get((text_of(call, "bodyType") or "").lower())
    if body is None and kind and not kind.startswith("application/json"):
        body = {"type": "string", "description": text_of(call, "description") or ""}
    if body is not None:
        entry["requestBody"] = {"content": {kind: {"schema": body}}} if kind else body
    schemas = [map_of(source, "outputSchema") for source in (own, *accepts, metadata)]
    result = _read_result([bazaar, *schemas, {"output": metadata.get("output")}])
    return Resource(entry, accepts, result, text_of(entry, "mimeType", manifest.NAME_CHARS), tool)


def _specified(holder: Object) -> Object:
    """Return the object with the members that the specification defines in camelCase."""
    renamed = ((camel_name(key), key, item) for key, item in holder.items())
    return {(name if name in _SPECIFIED and name not in holder else key): item for name, key, item in renamed}


def _is_input(value: Object) -> bool:
    return not _OF_INPUT.isdisjoint(value) or text_of(value, "type") in ("http", "mcp")


def _read_input(own: Object, accepts: list[Object], metadata: Object, bazaar: Object) -> Object:
    """Return the description of the call: each member from the first place that has it. Values beside a schema, and in
    `extensions.bazaar.info`, are examples (x402 extension bazaar, "Input Types")."""
    info = _specified(map_of(map_of(bazaar, "info") or bazaar, "input"))
    schema = map_of(bazaar, "schema")
    typed = _specified(map_of(map_of(map_of(schema, "properties"), "input"), "properties"))
    call: Object = {}
    for key in _PARAMETERS:
        held = map_of(typed, key)
        if parameters_of(held) and any(word in held for word in ("properties", "oneOf", "anyOf", "items")):
            call[key] = _with_examples(held, info.get(key))
        elif key in info:
            call[key] = _as_examples(info[key]) if key != "inputSchema" else info[key]
    if not typed and isinstance(schema.get("properties"), dict) and "input" not in map_of(schema, "properties"):
        call.setdefault("inputSchema", schema)
    written = [map_of(map_of(source, "outputSchema"), "input") for source in (own, *accepts, metadata)]
    written = [_specified(item) for item in (*written, map_of(own, "input"), map_of(metadata, "input"))]
    for source in (info, *filter(_is_input, written), {"inputSchema": metadata.get("inputSchema")}):
        call |= {key: item for key, item in source.items() if key not in call and item is not None}
    if call.keys().isdisjoint(_PARAMETERS):  # a map of parameters, or a schema
        call |= next(({"inputSchema": item} for item in written if item and not _is_input(item)), {})
    method = map_of(typed, "method")
    choices = method.get("enum", [method.get("const")])
    if "method" not in call and isinstance(choices, list) and len(choices) == 1 and choices[0] is not None:
        call["method"] = choices[0]
    return call


def _with_examples(schema: Object, values: Json) -> Object:
    examples = values if isinstance(values, dict) else {}
    properties: Object = {
        name: {"examples": [examples[name]], **item} if isinstance(item, dict) and name in examples else item
        for name, item in map_of(schema, "properties").items()
    }
    return {**schema, "properties": properties}


def _as_examples(value: Json) -> Json:
    """Return a map of examples as a map of parameters; schemas in it stay."""
    if not isinstance(value, dict) or "properties" in value:
        return value
    return {
        name: item if isinstance(item, dict) and {"type", "description", "enum"} & set(item) else {"example": item}
        for name, item in value.items()
    }


def _read_route(entry: Object, bazaar: Object) -> str | None:
    """Return the address with the variables of `routeTemplate` (x402 extension bazaar, "Dynamic Routes")."""
    route, url = text_of(bazaar, "routeTemplate", 2_048), text_of(entry, "resource", 2_048)
    if not route or not url or "://" not in url or not _ROUTE.fullmatch(route) or ".." in route or "//" in route:
        return None
    return f"{origin_of(url)}{route[1:]}"


def _read_result(places: list[Object]) -> dict[str, Any] | None:
    """Return the schema of the answer, with its example, from the first place that describes one."""
    for place in places:
        described = map_of(map_of(place, "info") or place, "output")
        typed = map_of(map_of(map_of(map_of(map_of(place, "schema"), "properties"), "output"), "properties"), "example")
        if place and not _OF_CALL & set(place):
            described = place  # an `outputSchema` that is the schema itself
        elif "schema" not in described and len(typed) > 1:  # more than its type
            described = {**described, "schema": typed}
        if (read := first_result({"output": described}, ("output",))[0]) is not None:
            return read
    return None


def without_read_parts(holder: Object) -> Object:
    """Return a resource without the parts that are read from its extension and its metadata, to keep the others."""
    kept = dict(holder)
    for key, parts in (("extensions", ("bazaar",)), ("metadata", _OF_METADATA)):
        if isinstance(held := holder.get(key), dict):
            kept[key] = {name: item for name, item in held.items() if name not in parts}
    return kept
