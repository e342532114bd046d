"""ACP discovery (Agentic Commerce Protocol): a shop's base address and which services of the protocol it offers."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.account import TEXT_OR_OBJECT, Part
from registry.core.format_support.endpoints import Endpoint, endpoint, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import provider_of
from registry.core.format_support.loose_card import loose_card
from registry.core.format_support.manifest import MAX_TEXTS, Notes, Object, list_of, map_of, short_text_of, text_of
from registry.core.format_support.probing import ProbePath, Topic
from registry.core.format_support.shapes import LIST, TEXT
from registry.core.formats.acp import rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Capability, Invocation, Origin, Pointer, Pricing, Service
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


_AD_HOC: Final = "adhoc"
_OWN_KEYS: Final = (
    "acp", "acp_version", "acpVersion", "protocol_version", "api_base_url", "checkout", "checkout_url", "merchant",
    "commerce", "endpoints", "services", "payment_methods",
)  # fmt: skip
_READ: Final = frozenset({"api_base_url", "contact"})
_PAID: Final = ("x402", "mpp", "lightning", "l402")


def dialect(document: Document) -> str | None:
    return "" if map_of(document.value, "protocol").get("name") == SLUG else None


def at_own_path(document: Document) -> str | None:
    """Recognise a file of another shape that names the protocol, an API or a checkout. Only for the protocol's path."""
    value = document.members
    names_another = short_text_of(map_of(value, "protocol"), "name") is not None
    has_own_key = any(key in value for key in _OWN_KEYS)
    return _AD_HOC if has_own_key and not names_another else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    if dialect == _AD_HOC:
        notes.add(rules.SHAPE)
        pointers = tuple(_read_pointers(value, document))
        return loose_card(value, document, SLUG, notes, pointers=pointers, pricing=_read_pricing(value))
    protocol = map_of(value, "protocol")
    _grade(value, protocol, notes)
    if not text_of(value, "api_base_url"):
        notes.add(rules.REQUIRED, "/api_base_url")
    base = endpoint(value.get("api_base_url"), document.url, document, "/api_base_url", notes)
    offered: list[tuple[str, str]] = []
    for index, item in enumerate(list_of(map_of(value, "capabilities"), "services")[:MAX_TEXTS]):
        name: Json = item.get("name", item.get("id")) if isinstance(item, dict) else item
        pointer = at("", "capabilities", "services", index)
        if isinstance(name, str) and name in _PATHS:
            offered.append((name, pointer))
        else:
            notes.add(rules.SERVICE, pointer, name)
    if not offered:
        notes.add(rules.REQUIRED, "/capabilities/services")
    version, contact = short_text_of(protocol, "version"), short_text_of(value, "contact")
    service = Service(
        provider=provider_of(value, document.url) or (services.Provider(contact=contact) if contact else None),
        base_url=base.url if base else None,
        capabilities=tuple(_read_capability(name, pointer, base, document) for name, pointer in offered),
        auth=Auth((AuthScheme("bearer", "header", "Authorization", "Bearer"),), True) if offered else Auth(),
        protocols=(services.Protocol(SLUG, version, base.url, "rest"),) if base and offered else (),
        pricing=_read_pricing(value),
        pointers=tuple(_read_pointers(value, document)),
        native=manifest.native(SLUG, value, _READ),
    )
    return manifest.with_provenance(service, document, SLUG, _POINTERS)


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


def _read_capability(name: str, pointer: str, base: Endpoint | None, document: Document) -> Capability:
    path = _PATHS[name]
    url = base.url.rstrip("/") + path if base and path else None
    templated, origin = bool(url and base and base.templated), Origin(document.url, pointer, SLUG)
    call = Invocation("http", url, "POST" if url else None, templated=templated, origin=origin)
    return Capability(name, name, invocations=(call,))


def _read_pricing(value: Object) -> Pricing:
    """Return the ways to pay. Payment for calls, not for goods, means that the calls cost money."""
    methods = list_of(map_of(value, "capabilities"), "supported_payment_methods")[:MAX_TEXTS]
    payments = tuple(
        services.Payment(
            currency=short_text_of(item, "token") or short_text_of(item, "currency"),
            network=short_text_of(item, "network"),
            scheme=short_text_of(item, "type"),
        )
        for item in methods
        if isinstance(item, dict) and short_text_of(item, "type")
    )
    is_paid = any((payment.scheme or "").lower() in _PAID for payment in payments)
    return Pricing("pay_per_call" if is_paid else "unknown", payments=payments)


def _read_pointers(value: Object, document: Document) -> Iterator[Pointer]:
    for key, expected in _DISCOVERY.items():
        target = link(map_of(value, "discovery").get(key), document.url)
        if target:
            yield Pointer(target, "discovery", at("", "discovery", key), expected)


FORMAT: Final = Format(
    slug=SLUG,
    title="ACP discovery document",
    spec="Agentic Commerce Protocol, discovery",
    paths=("/.well-known/acp.json",),
    role=Role.SERVICE,
    read=read,
    parts=(Part("/capabilities/services/[]", "service", TEXT_OR_OBJECT),),
    types={"/api_base_url": TEXT, "/protocol/version": TEXT, "/transports": LIST},
    rules=rules_in(rules),
    probe_paths=(
        ProbePath(
            "S4", 80, "/.well-known/acp.json", when=lambda facts: "ucp" in facts.formats or "shop" in facts.words
        ),
    ),
    topics=(
        Topic(
            "shop", (b"cdn.shopify.com", b"woocommerce"), re.compile(rb"cdn\.shopify\.com|woocommerce"), in_home=True
        ),
    ),
    absence_member="acp",
    precedence=140,
)
