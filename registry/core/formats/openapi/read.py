"""Recognise OpenAPI 2.0 to 3.2, in JSON or YAML, and read it: every operation is an HTTP capability."""

import re
from typing import Final

from registry.core.format_support.endpoints import Endpoint, endpoint, link, origin_of
from registry.core.format_support.manifest import (
    Notes,
    Object,
    first_text,
    list_of,
    map_of,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.security import required_auth, schemes_of
from registry.core.formats.openapi import operations, rules
from registry.core.model.documents import Document
from registry.core.model.services import (
    Auth,
    Capability,
    Policies,
    Pricing,
    Provider,
    Service,
)

SLUG: Final = "openapi"
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
    """Recognise YAML by the two members that every description has. A weak test, for a description's paths."""
    text = (document.text or "")[:_SCANNED]
    return _YAML if _YAML_VERSION.search(text) and _YAML_INFO.search(text) else None


# --- reading --------------------------------------------------------------------------------------------------------


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    info = map_of(value, "info")
    _grade(value, info, notes)
    base = _base(value, document, notes)
    auth_schemes = schemes_of(
        map_of(value, "securityDefinitions") or map_of(map_of(value, "components"), "securitySchemes"), document.url
    )
    contact = map_of(info, "contact")
    capabilities = operations.read(value, base, auth_schemes, document, notes)
    service = Service(
        name=short_text_of(info, "title"),
        description=first_text(info, "description", "summary"),
        provider=_provider(contact, document),
        version=short_text_of(info, "version"),
        base_url=base.url if base else None,
        docs_url=link(map_of(value, "externalDocs").get("url"), document.url),
        capabilities=capabilities,
        auth=required_auth(value.get("security"), auth_schemes) or Auth(tuple(dict.fromkeys(auth_schemes.values()))),
        pricing=_pricing(value, capabilities),
        policies=Policies(terms_url=link(info.get("termsOfService"), document.url)),
    )
    return with_provenance(
        service, document, SLUG, {**_POINTERS, "auth": _auth_pointer(value), "pricing": _payment_pointer(value) or ""}
    )


_POINTERS = {
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
        notes.add(rules.TITLE, "/info/title")
    if not any(isinstance(value.get(key), dict) for key in ("paths", "webhooks", "components")):
        notes.add(rules.EMPTY)
    if not text_of(info, "version"):
        notes.add(rules.VERSION, "/info/version")


def _provider(contact: Object, document: Document) -> Provider | None:
    name, mail, url = (
        short_text_of(contact, "name"),
        short_text_of(contact, "email"),
        link(contact.get("url"), document.url),
    )
    return Provider(name, url, mail or url) if name or mail or url else None


def _auth_pointer(value: Object) -> str:
    if "security" in value:
        return "/security"
    return "/securityDefinitions" if "swagger" in value else "/components/securitySchemes"


def _pricing(value: Object, capabilities: tuple[Capability, ...]) -> Pricing:
    """Return pay-per-call pricing if members of the Machine Payments Protocol announce a payment: only a claim."""
    pointer = _payment_pointer(value)
    if pointer is not None:
        return Pricing("pay_per_call", note=pointer.removeprefix("/"))
    paid = any(operations.PAID_TAG in capability.tags for capability in capabilities)
    return Pricing("pay_per_call", note=operations.PAID) if paid else Pricing()


def _payment_pointer(value: Object) -> str | None:
    return next((f"/{key}" for key in (operations.PAID, operations.PAID_SERVICE) if key in value), None)


# --- the server -----------------------------------------------------------------------------------------------------


def _base(value: Object, document: Document, notes: Notes) -> Endpoint | None:
    """Return the first server's URL; paths are appended to it as text (OpenAPI 3.1 section 4.8.8.1)."""
    target, pointer = _server(value, document)
    if target is None or not target.startswith("http") or "{" in target:
        notes.add(rules.SERVER, pointer, target or "")
    resolved = endpoint(target or "/", document.url, document, pointer, notes)
    return Endpoint(resolved.url.partition("?")[0].rstrip("/"), resolved.templated) if resolved else None


def _server(value: Object, document: Document) -> tuple[str | None, str]:
    if "swagger" not in value:
        return text_of(next(iter(list_of(value, "servers")), None), "url"), "/servers/0/url"
    schemes = texts_of(value, "schemes")
    scheme = "https" if not schemes or "https" in schemes else schemes[0]
    host = short_text_of(value, "host") or origin_of(document.url).split("/")[2]
    return f"{scheme}://{host}{text_of(value, 'basePath') or ''}", "/host"
