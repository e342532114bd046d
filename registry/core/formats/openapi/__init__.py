"""OpenAPI 2.0 to 3.2, in JSON or YAML: every operation is an HTTP capability."""

import re
from typing import Final

from registry.core.documents import Document
from registry.core.endpoints import Endpoint, endpoint, link, origin_of
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.formats.openapi import operations
from registry.core.manifest import (
    Notes,
    Object,
    first_text,
    list_of,
    map_of,
    sourced,
    text_of,
    texts_of,
    word_of,
)
from registry.core.security import demanded, schemes_of
from registry.core.services import (
    Auth,
    Capability,
    Policies,
    Pricing,
    Provider,
    Service,
)

_SLUG: Final = "openapi"
_YAML: Final = "yaml"
_VERSION = re.compile(r"3\.\d+(\.\d+)?\S*")
_YAML_VERSION = re.compile(r"^(?:openapi:\s*['\"]?3\.\d|swagger:\s*['\"]?2\.0)", re.MULTILINE)
_YAML_INFO = re.compile(r"^info:", re.MULTILINE)
_SCANNED: Final = 100_000


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
    value = document.value if isinstance(document.value, dict) else {}
    info = map_of(value, "info")
    _grade(value, info, notes)
    base = _base(value, document, notes)
    known = schemes_of(
        map_of(value, "securityDefinitions") or map_of(map_of(value, "components"), "securitySchemes"), document.url
    )
    contact = map_of(info, "contact")
    capabilities = operations.read(value, base, known, document, notes)
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
    return sourced(service, document, _SLUG, {**_PLACES, "auth": _auth_place(value), "pricing": _paid_at(value) or ""})


_PLACES = {
    "name": "/info/title",
    "description": "/info/description",
    "provider": "/info/contact",
    "version": "/info/version",
    "base_url": "/servers/0/url",
    "docs_url": "/externalDocs/url",
    "capabilities": "/paths",
    "policies": "/info/termsOfService",
}


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


def _auth_place(value: Object) -> str:
    if "security" in value:
        return "/security"
    return "/securityDefinitions" if "swagger" in value else "/components/securitySchemes"


def _pricing(value: Object, capabilities: tuple[Capability, ...]) -> Pricing:
    """Machine Payments Protocol: the members that announce a payment challenge. A claim."""
    place = _paid_at(value)
    if place is not None:
        return Pricing("pay_per_call", note=place.removeprefix("/"))
    paid = any(operations.PAID_TAG in one.tags for one in capabilities)
    return Pricing("pay_per_call", note=operations.PAID) if paid else Pricing()


def _paid_at(value: Object) -> str | None:
    return next((f"/{key}" for key in (operations.PAID, operations.PAID_SERVICE) if key in value), None)


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
    read=_read,
)
