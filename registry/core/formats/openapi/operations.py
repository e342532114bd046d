"""Operations of a description -> capabilities. A path is appended to the server's URL as text (OpenAPI 3.1 4.8.8.1)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from registry.core.documents import Document, Json
from registry.core.endpoints import MAX_URL_CHARS, Endpoint, link
from registry.core.findings import Reason
from registry.core.formats.openapi.schemas import Schemas
from registry.core.manifest import (
    ID_CHARS,
    NAME_CHARS,
    Notes,
    Object,
    at,
    first_text,
    flag_of,
    list_of,
    map_of,
    slug,
    text_of,
    texts_of,
    unique_name,
    word_of,
)
from registry.core.params import MAX_PARAMS, object_schema, property_of
from registry.core.plain_text import line
from registry.core.security import demanded_by
from registry.core.services import AuthScheme, Capability, Invocation, Origin
from registry.core.vocabulary import SAFE_METHODS

PAID: Final = "x-payment-info"
PAID_SERVICE: Final = "x-service-info"
PAID_TAG: Final = "payment"

MAX_OPERATIONS: Final = 5_000

_METHODS: Final = ("get", "head", "post", "put", "patch", "delete")


def read(
    value: Object, base: Endpoint | None, known: Mapping[str, AuthScheme], document: Document, notes: Notes
) -> tuple[Capability, ...]:
    """One capability for each of the first MAX_OPERATIONS operations."""
    return tuple(_operations(value, base, known, document, notes))


def _operations(
    value: Object, base: Endpoint | None, known: Mapping[str, AuthScheme], document: Document, notes: Notes
) -> Iterator[Capability]:
    ids: set[str] = set()
    operations = list(_listed(value))
    schemas = Schemas(value, notes)
    if len(operations) > MAX_OPERATIONS:
        notes.add(Reason.TOO_MANY_CAPABILITIES, "/paths", len(operations))
    for path, method, shared, operation in operations[:MAX_OPERATIONS]:
        pointer = at("", "paths", path, method)
        given = text_of(operation, "operationId", ID_CHARS) or slug(f"{method} {path}")
        if given in ids:
            notes.add(Reason.OPENAPI_OPERATION_ID, pointer, given)
        name = unique_name(given, ids)
        call = Invocation(
            "http",
            base.url + path if base else None,
            method.upper(),
            auth=demanded_by(operation, known),
            templated="{" in path or (base is not None and base.templated),
            origin=Origin(document.url, pointer, "openapi"),
        )
        yield Capability(
            name,
            name,
            first_text(operation, "description", "summary"),
            params=_params(shared, operation, schemas),
            result=_result(operation, schemas),
            side_effects=method.upper() not in SAFE_METHODS,
            deprecated=flag_of(operation, "deprecated"),
            tags=(*texts_of(operation, "tags"), *((PAID_TAG,) if PAID in operation else ())),
            docs_url=link(map_of(operation, "externalDocs").get("url"), document.url),
            invocations=(call,),
        )


def _listed(value: Object) -> Iterator[tuple[str, str, Object, Object]]:
    """(path, method, path item, operation). A path that does not begin with a slash could change the host."""
    for path, item in map_of(value, "paths").items():
        if isinstance(item, dict) and path.startswith("/") and len(path) <= MAX_URL_CHARS:
            for method in _METHODS:
                operation = item.get(method)
                if isinstance(operation, dict):
                    yield path, method, item, operation


def _params(shared: Object, operation: Object, schemas: Schemas) -> dict[str, Any]:
    """Parameters of the path and of the operation, and the members of a JSON body, as one object schema."""
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    body: Json = operation.get("requestBody")
    for item in (*list_of(shared, "parameters"), *list_of(operation, "parameters"))[:MAX_PARAMS]:
        parameter = schemas.one(item)
        name = word_of(parameter, "name")
        if word_of(parameter, "in") == "body":  # Swagger 2.0
            body = {"content": {"application/json": parameter}}
        elif name is not None and schemas.affordable(parameter):
            properties[name] = {**schemas.member(parameter.get("schema")), **property_of(parameter)}
            required += [name] if parameter.get("required") is True else []
    schema = schemas.one(_json_schema(schemas.one(body)))
    members = map_of(schema, "properties")
    if members and schemas.affordable(members):
        for name, item in list(members.items())[:MAX_PARAMS]:
            properties.setdefault(line(name, NAME_CHARS), schemas.member(item))
        required += [name for name in list_of(schema, "required") if isinstance(name, str)]
    return object_schema(properties.items(), required)


def _result(operation: Object, schemas: Schemas) -> dict[str, Any] | None:
    """The schema of the first successful answer."""
    answers = map_of(operation, "responses")
    success = next((answers[code] for code in sorted(answers) if code.startswith("2")), None)
    answer = schemas.one(success)
    schema = schemas.one(_json_schema(answer) or answer.get("schema"))
    return schemas.whole(schema)


def _json_schema(holder: Object) -> Json:
    content = map_of(holder, "content")
    kind = next((kind for kind in content if "json" in kind), next(iter(content), ""))
    return map_of(content, kind).get("schema")
