"""Read operations into capabilities. A path is appended to the server's URL as text (OpenAPI 3.1 section 4.8.8.1)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from registry.core.format_support import common_rules
from registry.core.format_support.endpoints import MAX_URL_CHARS, Endpoint, link
from registry.core.format_support.manifest import (
    ID_CHARS,
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    list_of,
    map_of,
    short_text_of,
    slug,
    text_of,
    texts_of,
    unique_name,
)
from registry.core.format_support.params import MAX_PARAMS, object_schema, property_of
from registry.core.format_support.security import operation_auth
from registry.core.format_support.vocabulary import SAFE_METHODS
from registry.core.formats.openapi import rules
from registry.core.formats.openapi.schemas import Schemas
from registry.core.model.documents import Document, Json
from registry.core.model.services import AuthScheme, Capability, Invocation, Origin
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

PAID: Final = "x-payment-info"
PAID_SERVICE: Final = "x-service-info"
PAID_TAG: Final = "payment"

MAX_OPERATIONS: Final = 5_000

_METHODS: Final = ("get", "head", "post", "put", "patch", "delete")


def read(
    value: Object, base: Endpoint | None, auth_schemes: Mapping[str, AuthScheme], document: Document, notes: Notes
) -> tuple[Capability, ...]:
    """Return one capability for each of the first MAX_OPERATIONS operations."""
    return tuple(_operations(value, base, auth_schemes, document, notes))


def _operations(
    value: Object, base: Endpoint | None, auth_schemes: Mapping[str, AuthScheme], document: Document, notes: Notes
) -> Iterator[Capability]:
    ids: set[str] = set()
    operations = list(_listed_operations(value))
    schemas = Schemas(value, notes)
    if len(operations) > MAX_OPERATIONS:
        notes.add(common_rules.TOO_MANY_CAPABILITIES, "/paths", len(operations))
    for path, method, path_item, operation in operations[:MAX_OPERATIONS]:
        pointer = at("", "paths", path, method)
        operation_id = text_of(operation, "operationId", ID_CHARS) or slug(f"{method} {path}")
        if operation_id in ids:
            notes.add(rules.OPERATION_ID, pointer, operation_id)
        name = unique_name(operation_id, ids)
        call = Invocation(
            "http",
            base.url + path if base else None,
            method.upper(),
            auth=operation_auth(operation, auth_schemes),
            templated="{" in path or (base is not None and base.templated),
            origin=Origin(document.url, pointer, "openapi"),
        )
        yield Capability(
            name,
            name,
            first_text(operation, "description", "summary"),
            params=_params(path_item, operation, schemas),
            result=_result(operation, schemas),
            side_effects=method.upper() not in SAFE_METHODS,
            deprecated=flag_of(operation, "deprecated"),
            tags=(*texts_of(operation, "tags"), *((PAID_TAG,) if PAID in operation else ())),
            docs_url=link(map_of(operation, "externalDocs").get("url"), document.url),
            invocations=(call,),
        )


def _listed_operations(value: Object) -> Iterator[tuple[str, str, Object, Object]]:
    """Yield (path, method, path item, operation); a path without a leading slash could change the host."""
    for path, item in map_of(value, "paths").items():
        if isinstance(item, dict) and path.startswith("/") and len(path) <= MAX_URL_CHARS:
            for method in _METHODS:
                operation = item.get(method)
                if isinstance(operation, dict):
                    yield path, method, item, operation


def _params(path_item: Object, operation: Object, schemas: Schemas) -> dict[str, Any]:
    """Return the parameters of path and operation and the members of a JSON body as one object schema."""
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    body: Json = operation.get("requestBody")
    for item in (*list_of(path_item, "parameters"), *list_of(operation, "parameters"))[:MAX_PARAMS]:
        parameter = schemas.resolve(item)
        name = short_text_of(parameter, "name")
        if short_text_of(parameter, "in") == "body":  # Swagger 2.0
            body = {"content": {"application/json": parameter}}
        elif name is not None and schemas.affordable(parameter):
            properties[name] = {**schemas.member(parameter.get("schema")), **property_of(parameter)}
            required += [name] if parameter.get("required") is True else []
    schema = schemas.resolve(_json_schema(schemas.resolve(body)))
    members = map_of(schema, "properties")
    if members and schemas.affordable(members):
        for name, item in list(members.items())[:MAX_PARAMS]:
            properties.setdefault(line(name, NAME_CHARS), schemas.member(item))
        required += [name for name in list_of(schema, "required") if isinstance(name, str)]
    return object_schema(properties.items(), required)


def _result(operation: Object, schemas: Schemas) -> dict[str, Any] | None:
    """Return the schema of the first successful (2xx) answer."""
    responses = map_of(operation, "responses")
    success = next((responses[code] for code in sorted(responses) if code.startswith("2")), None)
    response = schemas.resolve(success)
    schema = schemas.resolve(_json_schema(response) or response.get("schema"))
    return schemas.whole(schema)


def _json_schema(holder: Object) -> Json:
    content = map_of(holder, "content")
    media_type = next((media_type for media_type in content if "json" in media_type), next(iter(content), ""))
    return map_of(content, media_type).get("schema")
