"""OpenAPI 2.0 to 3.2: every operation is an HTTP capability.

References are resolved inside the document only, one step at a time where a text or a parameter is needed; the schemas
of a description are data, kept as they are. A description in YAML is recognised, its operations are not read.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from registry.core.documents import Document, Json
from registry.core.endpoints import Endpoint, endpoint, link, origin_of
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    ID_CHARS,
    MAX_CAPABILITIES,
    NAME_CHARS,
    Notes,
    Object,
    at,
    clean_json,
    first_text,
    flag_of,
    judged,
    list_of,
    map_of,
    sourced,
    text_of,
    texts_of,
    unique_name,
    word_of,
)
from registry.core.params import object_schema, property_of
from registry.core.plain_text import line
from registry.core.security import demanded, schemes_of
from registry.core.services import (
    Auth,
    AuthScheme,
    Capability,
    Invocation,
    Origin,
    Policies,
    Pricing,
    Provider,
    Service,
)
from registry.core.vocabulary import SAFE_METHODS

_SLUG: Final = "openapi"
_YAML: Final = "yaml"
_METHODS: Final = ("get", "head", "post", "put", "patch", "delete")
_VERSION = re.compile(r"3\.\d+(\.\d+)?\S*")
_YAML_VERSION = re.compile(r"^(?:openapi:\s*['\"]?3\.\d|swagger:\s*['\"]?2\.0)", re.MULTILINE)
_YAML_INFO = re.compile(r"^info:[ \t]*\r?\n((?:[ \t]+.*\r?\n|[ \t]*\r?\n)+)", re.MULTILINE)
_YAML_TITLE = re.compile(r"^[ \t]+title:[ \t]*(['\"]?)(\S.*?)\1[ \t]*$", re.MULTILINE)
_SCANNED: Final = 100_000
_MAX_REFERENCES: Final = 4  # a chain of references longer than this leads nowhere
_PAID: Final = "x-payment-info"
_PAID_TAG: Final = "payment"


# --- recognition ----------------------------------------------------------------------------------------------------


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict) or not isinstance(value.get("info"), dict):
        return None
    if value.get("swagger") == "2.0":
        return "2.0"
    version = text_of(value, "openapi", 20)
    return version if version and _VERSION.fullmatch(version) else None


def yaml(document: Document) -> str | None:
    """Only at a description's path: the two members that every description begins with."""
    text = (document.text or "")[:_SCANNED]
    return _YAML if _YAML_VERSION.search(text) and _YAML_INFO.search(text) else None


# --- reading --------------------------------------------------------------------------------------------------------


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    if dialect == _YAML:
        return _textual(document, notes)
    value = document.value if isinstance(document.value, dict) else {}
    info = map_of(value, "info")
    _grade(value, info, notes)
    base = _base(value, document, notes)
    known = schemes_of(
        map_of(value, "securityDefinitions") or map_of(map_of(value, "components"), "securitySchemes"), document.url
    )
    contact = map_of(info, "contact")
    capabilities = tuple(_operations(value, base, known, document, notes))
    service = Service(
        name=word_of(info, "title"),
        description=first_text(info, "description", "summary"),
        provider=_provider(contact, document),
        version=word_of(info, "version"),
        base_url=base.url if base else None,
        docs_url=link(map_of(value, "externalDocs").get("url"), document.url),
        capabilities=capabilities,
        auth=demanded(value.get("security"), known) or Auth(tuple(dict.fromkeys(known.values()))),
        pricing=_pricing(value, capabilities),
        policies=Policies(terms_url=link(info.get("termsOfService"), document.url)),
    )
    return sourced(service, document, _SLUG, _PLACES)


_PLACES = {
    "name": "/info/title",
    "description": "/info/description",
    "provider": "/info/contact",
    "version": "/info/version",
    "base_url": "/servers/0/url",
    "capabilities": "/paths",
}


def _textual(document: Document, notes: Notes) -> Service:
    notes.add(Reason.OPENAPI_YAML)
    info = _YAML_INFO.search((document.text or "")[:_SCANNED])
    title = _YAML_TITLE.search(info[1]) if info else None
    return Service(name=line(title[2], NAME_CHARS) if title else None)


def _grade(value: Object, info: Object, notes: Notes) -> None:
    if not text_of(info, "title"):
        notes.add(Reason.OPENAPI_TITLE, "/info/title")
    if not any(isinstance(value.get(key), dict) for key in ("paths", "webhooks", "components")):
        notes.add(Reason.OPENAPI_EMPTY)
    if not text_of(info, "version"):
        notes.add(Reason.OPENAPI_VERSION, "/info/version")


def _provider(contact: Object, document: Document) -> Provider | None:
    name, mail, url = word_of(contact, "name"), word_of(contact, "email"), link(contact.get("url"), document.url)
    return Provider(name, url, mail or url) if name or mail or url else None


def _pricing(value: Object, capabilities: tuple[Capability, ...]) -> Pricing:
    """Machine Payments Protocol: the members that announce a payment challenge. A claim."""
    paid = any(_PAID_TAG in one.tags for one in capabilities) or _PAID in value
    return Pricing("pay_per_call", note=_PAID) if paid else Pricing()


# --- the server -----------------------------------------------------------------------------------------------------


def _base(value: Object, document: Document, notes: Notes) -> Endpoint | None:
    """The first server's URL; paths are appended to it as text (OpenAPI 3.1 section 4.8.8.1)."""
    target, pointer = _server(value, document)
    if target is None or not target.startswith("http") or "{" in target:
        notes.add(Reason.OPENAPI_SERVER, pointer, target or "")
    found = endpoint(target or "/", document.url, document, pointer, notes)
    return Endpoint(found.url.partition("?")[0].rstrip("/"), found.templated) if found else None


def _server(value: Object, document: Document) -> tuple[str | None, str]:
    if "swagger" not in value:
        return text_of(next(iter(list_of(value, "servers")), None), "url"), "/servers/0/url"
    schemes = texts_of(value, "schemes")
    scheme = "https" if not schemes or "https" in schemes else schemes[0]
    host = word_of(value, "host") or origin_of(document.url).split("/")[2]
    return f"{scheme}://{host}{text_of(value, 'basePath') or ''}", "/host"


# --- operations -----------------------------------------------------------------------------------------------------


def _operations(
    value: Object, base: Endpoint | None, known: dict[str, AuthScheme], document: Document, notes: Notes
) -> Iterator[Capability]:
    ids: set[str] = set()
    operations = list(_listed(value))
    if len(operations) > MAX_CAPABILITIES:
        notes.add(Reason.TOO_MANY_CAPABILITIES, "/paths", len(operations))
    for path, method, shared, operation in operations[:MAX_CAPABILITIES]:
        pointer = at("", "paths", path, method)
        given = text_of(operation, "operationId", ID_CHARS) or line(f"{method} {path}", ID_CHARS)
        if given in ids:
            notes.add(Reason.OPENAPI_OPERATION_ID, pointer, given)
        name = unique_name(given, ids)
        resolver = _Resolver(value, notes, pointer)
        call = Invocation(
            "http",
            base.url + path if base else None,
            method.upper(),
            auth=demanded(operation.get("security"), known),
            templated="{" in path or (base is not None and base.templated),
            origin=Origin(document.url, pointer, _SLUG),
        )
        yield Capability(
            name,
            name,
            first_text(operation, "description", "summary"),
            params=_params(shared, operation, resolver),
            result=_result(operation, resolver),
            side_effects=method.upper() not in SAFE_METHODS,
            deprecated=flag_of(operation, "deprecated"),
            tags=(*texts_of(operation, "tags"), *((_PAID_TAG,) if _PAID in operation else ())),
            docs_url=link(map_of(operation, "externalDocs").get("url"), document.url),
            invocations=(call,),
        )


def _listed(value: Object) -> Iterator[tuple[str, str, Object, Object]]:
    """(path, method, path item, operation). A path that does not begin with a slash could change the host."""
    for path, item in map_of(value, "paths").items():
        if isinstance(item, dict) and path.startswith("/"):
            for method in _METHODS:
                operation = item.get(method)
                if isinstance(operation, dict):
                    yield path, method, item, operation


def _params(shared: Object, operation: Object, resolver: "_Resolver") -> dict[str, Any]:
    """Parameters of the path and of the operation, and the members of a JSON body, as one object schema."""
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    body: Json = operation.get("requestBody")
    for item in (*list_of(shared, "parameters"), *list_of(operation, "parameters")):
        parameter = resolver.one(item)
        name = word_of(parameter, "name")
        if word_of(parameter, "in") == "body":  # Swagger 2.0
            body = {"required": parameter.get("required"), "content": {"application/json": parameter}}
        elif name is not None:
            described = {**resolver.one(parameter.get("schema")), **parameter}
            properties[name] = property_of(described)
            required += [name] if parameter.get("required") is True else []
    schema = resolver.one(_json_schema(resolver.one(body)))
    for name, item in map_of(schema, "properties").items():
        described = resolver.one(item)
        properties.setdefault(line(name, NAME_CHARS), property_of(described))
    required += [name for name in list_of(schema, "required") if isinstance(name, str)]
    return object_schema(properties.items(), required)


def _result(operation: Object, resolver: "_Resolver") -> dict[str, Any] | None:
    """The schema of the first successful answer."""
    answers = map_of(operation, "responses")
    success = next((answers[code] for code in sorted(answers) if code.startswith("2")), None)
    answer = resolver.one(success)
    schema = resolver.one(_json_schema(answer) or answer.get("schema"))
    return clean_json(schema) if schema else None


def _json_schema(holder: Object) -> Json:
    content = map_of(holder, "content")
    kind = next((kind for kind in content if "json" in kind), next(iter(content), ""))
    return map_of(content, kind).get("schema")


class _Resolver:
    """Local references (`#/a/b`), step by step; anything else is noted and left out, never fetched."""

    def __init__(self, root: Object, notes: Notes, pointer: str) -> None:
        self._root, self._notes, self._pointer = root, notes, pointer

    def one(self, value: Json) -> Object:
        """The object that `value` is or refers to, empty where there is none."""
        for _ in range(_MAX_REFERENCES):
            if not isinstance(value, dict):
                return {}
            target = value.get("$ref")
            if not isinstance(target, str):
                return value
            value = self._target(target)
        return {}

    def _target(self, reference: str) -> Json:
        if not reference.startswith("#/"):
            self._notes.add(Reason.OPENAPI_REFERENCE, self._pointer, reference)
            return None
        place: Json = self._root
        for part in reference[2:].split("/"):
            place = place.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(place, dict) else None
        return place


_validate, _normalise = judged(_read)

FORMAT = Format(
    slug=_SLUG,
    title="OpenAPI description",
    spec="OpenAPI 3.1; Swagger 2.0",
    paths=("/openapi.json", "/.well-known/openapi.json", "/openapi.yaml", "/swagger.json"),
    media_types=(
        "application/json",
        "application/openapi+json",
        "application/vnd.oai.openapi+json",
        "application/yaml",
        "application/openapi+yaml",
        "application/vnd.oai.openapi",
        "text/yaml",
    ),
    role=Role.SERVICE,
    validate=_validate,
    normalise=_normalise,
)
