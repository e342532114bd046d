"""ACP discovery (Agentic Commerce Protocol): a shop's base address and which services of the protocol it offers."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.account import TEXT_OR_OBJECT, Part
from registry.core.format_support.endpoints import Endpoint, endpoint, first_link, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import provider_of
from registry.core.format_support.loose_card import loose_card
from registry.core.format_support.manifest import (
    MAX_TEXTS,
    Notes,
    Object,
    first_text,
    list_of,
    map_of,
    short_text_of,
    text_of,
)
from registry.core.format_support.named_addresses import named_protocols
from registry.core.format_support.offers import Offer, capabilities_of, target_of
from registry.core.format_support.probing import ProbePath, Topic
from registry.core.format_support.shapes import LIST, TEXT
from registry.core.formats.acp import rules
from registry.core.model import services
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Capability, Invocation, Origin, Pointer, Pricing, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

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
_READ: Final = frozenset({"api_base_url", "contact", "name", "description"})
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
    capabilities = tuple(_read_services(value, base, document, notes))
    if not capabilities:
        notes.add(rules.REQUIRED, "/capabilities/services")
    is_protocol = any(capability.id in _PATHS for capability in capabilities)
    version, contact = short_text_of(protocol, "version"), short_text_of(value, "contact")
    own = services.Protocol(SLUG, version, base.url, "rest") if base and capabilities else None
    others = (one for one in named_protocols(value, document) if base is None or one.endpoint != base.url)
    service = Service(
        name=short_text_of(value, "name"),
        description=text_of(value, "description"),
        provider=provider_of({**value, "provider": value.get("provider", value.get("merchant"))}, document.url)
        or (services.Provider(contact=contact) if contact else None),
        docs_url=first_link(protocol, ("documentation_url", "documentation"), document.url),
        base_url=base.url if base else None,
        languages=manifest.texts_of(map_of(value, "capabilities"), "supported_locales"),
        capabilities=capabilities,
        auth=Auth((AuthScheme("bearer", "header", "Authorization", "Bearer"),), True) if is_protocol else Auth(),
        protocols=(*((own,) if own else ()), *others),
        pricing=_read_pricing(value),
        pointers=tuple(_read_pointers(value, document)),
        native=manifest.native(SLUG, value, _READ),
    )
    return manifest.with_provenance(service, document, SLUG, _POINTERS)


_POINTERS: Final = {
    **manifest.own_members("name", "description"),
    "docs_url": "/protocol",
    "languages": "/capabilities/supported_locales",
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


def _read_services(value: Object, base: Endpoint | None, document: Document, notes: Notes) -> Iterator[Capability]:
    """Yield the services, each once. Only the protocol's own have an address that it defines; others may name one."""
    origin_url = base.url if base else document.url
    used_names: set[str] = set()
    for pointer, name, entry in _entries_of(value, notes):
        if name not in _PATHS:
            notes.add(rules.SERVICE, pointer, name if name is not None else entry)
        if name in used_names:
            notes.mark_read(pointer)
        if name is None or name in used_names:
            continue
        if target_of(entry)[0] is not None:
            offer = Offer(pointer, None, {"id": name, **entry})
            yield from capabilities_of(offer, origin_url, document, SLUG, used_names, notes)
            continue
        used_names.add(name)
        path = _PATHS.get(name)
        url = base.url.rstrip("/") + path if base and path else None
        call = Invocation(
            "http",
            url,
            "POST" if url else None,
            templated=bool(url and base and base.templated),
            origin=Origin(document.url, pointer, SLUG),
        )
        yield Capability(name, name, text_of(entry, "description"), invocations=(call,))


def _entries_of(value: Object, notes: Notes) -> Iterator[tuple[str, str | None, Object]]:
    """Yield JSON Pointer, name and members of each service. They are a list of words; some publishers write objects, a
    map from names to objects or to true and false, or leave out the object around the list."""
    capabilities, nested = value.get("capabilities"), map_of(value, "capabilities").get("services")
    held, place = (nested, "/capabilities/services") if nested is not None else (capabilities, "/capabilities")
    if isinstance(held, list):
        for index, item in enumerate(held[:MAX_TEXTS]):
            entry = item if isinstance(item, dict) else {}
            name = item if isinstance(item, str) else first_text(entry, "name", "id", "type", chars=manifest.ID_CHARS)
            yield at(place, index), line(name, manifest.ID_CHARS) or None if name else None, entry
    else:
        for key, item in list(map_of(value.get("capabilities"), "services").items())[:MAX_TEXTS]:
            if item is False:
                notes.mark_read(at(place, key))  # the site says that it does not offer this
            else:
                yield at(place, key), line(key, manifest.ID_CHARS) or None, item if isinstance(item, dict) else {}


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
    cited_as="ACP ",
    about=(
        "A shop says where its agentic checkout is and which services it offers. Agents that buy for a person read it."
    ),
    link="https://github.com/agentic-commerce-protocol/agentic-commerce-protocol",
    example={
        "protocol": {"name": "acp", "version": "2026-04-17", "supported_versions": ["2026-04-17"]},
        "api_base_url": "https://example.com/acp",
        "transports": ["rest"],
        "capabilities": {"services": ["checkout"]},
    },
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
