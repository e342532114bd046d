"""Recognise ACP discovery documents (Agentic Commerce Protocol) and read them into the common model."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.format_support.endpoints import Endpoint, endpoint, link
from registry.core.format_support.manifest import (
    MAX_TEXTS,
    Notes,
    Object,
    list_of,
    map_of,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.formats.acp import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Invocation,
    Origin,
    Pointer,
    Protocol,
    Provider,
    Service,
)
from registry.core.reading.json_pointer import at

SLUG: Final = "acp"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_PATHS: Final = {
    "checkout": "/checkout_sessions",
    "orders": None,
    "delegate_payment": "/delegate_payment",
    "carts": "/carts",
}
"""Services of the protocol with their paths; orders has none, because the shop reports orders by webhook."""
_DISCOVERY: Final = {
    "mcp_server_card": "mcp-server-card", "openapi": "openapi", "agent_card": "a2a", "ucp": "ucp",
}  # fmt: skip


def dialect(document: Document) -> str | None:
    return "" if map_of(document.value, "protocol").get("name") == SLUG else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    protocol = map_of(value, "protocol")
    _grade(value, protocol, notes)
    if not text_of(value, "api_base_url"):
        notes.add(rules.REQUIRED, "/api_base_url")
    base = endpoint(value.get("api_base_url"), document.url, document, "/api_base_url", notes)
    services = list(_known_services(value, notes))
    if not services:
        notes.add(rules.REQUIRED, "/capabilities/services")
    version = short_text_of(protocol, "version")
    service = Service(
        provider=_provider(value),
        base_url=base.url if base else None,
        capabilities=tuple(_capability(name, pointer, base, document) for name, pointer in services),
        auth=Auth((AuthScheme("bearer", "header", "Authorization", "Bearer"),), True) if services else Auth(),
        protocols=(Protocol(SLUG, version, base.url, "rest"),) if base and services else (),
        pointers=tuple(_pointers(value, document)),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


_POINTERS: Final = {
    "provider": "/contact",
    "base_url": "/api_base_url",
    "capabilities": "/capabilities/services",
    "auth": "/capabilities/services",
    "protocols": "/protocol",
}


def _grade(value: Object, protocol: Object, notes: Notes) -> None:
    if not _DATE.fullmatch(text_of(protocol, "version") or ""):
        notes.add(rules.DECLARATION, "/protocol/version", protocol.get("version", ""))
    if not list_of(protocol, "supported_versions"):
        notes.add(rules.DECLARATION, "/protocol/supported_versions")
    transports = list_of(value, "transports")
    if not transports or any(transport not in ("rest", "mcp") for transport in transports):
        notes.add(rules.DECLARATION, "/transports")


def _known_services(value: Object, notes: Notes) -> Iterator[tuple[str, str]]:
    for index, item in enumerate(list_of(map_of(value, "capabilities"), "services")[:MAX_TEXTS]):
        name: Json = item.get("name", item.get("id")) if isinstance(item, dict) else item
        pointer = at("", "capabilities", "services", index)
        if isinstance(name, str) and name in _PATHS:
            yield name, pointer
        else:
            notes.add(rules.SERVICE, pointer, name)


def _capability(name: str, pointer: str, base: Endpoint | None, document: Document) -> Capability:
    path = _PATHS[name]
    url = base.url.rstrip("/") + path if base and path else None
    call = Invocation(
        "http",
        url,
        "POST" if url else None,
        templated=bool(url and base and base.templated),
        origin=Origin(document.url, pointer, SLUG),
    )
    return Capability(name, name, side_effects=True if url else None, invocations=(call,))


def _provider(value: Object) -> Provider | None:
    contact = short_text_of(value, "contact")
    return Provider(contact=contact) if contact else None


def _pointers(value: Object, document: Document) -> Iterator[Pointer]:
    for key, expected in _DISCOVERY.items():
        target = link(map_of(value, "discovery").get(key), document.url)
        if target:
            yield Pointer(target, "discovery", at("", "discovery", key), expected)
