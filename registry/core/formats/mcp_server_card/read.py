"""Recognise and read MCP server cards: v1 (SEP-2127, final) and the SEP-1649 draft, which most sites still serve.

A v1 card lists no tools by design, so one capability represents the whole server for search.
"""

import re

from registry.core.format_support import common_rules, mcp_rules
from registry.core.format_support.endpoints import Endpoint, claim, endpoint, link
from registry.core.format_support.manifest import (
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    has_placeholder,
    list_of,
    map_of,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.format_support.mcp_parts import (
    card_pointer,
    listed_tools,
    remotes,
    tools,
    tools_or_server,
    whole_server,
)
from registry.core.format_support.security import loose_auth
from registry.core.formats.mcp_server_card import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import Origin, Pointer, Protocol, Provider, Service

SLUG = "mcp-server-card"
_V1, _SEP1649 = "v1", "sep1649"
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_SCHEMA_LIKE = re.compile(r"static\.modelcontextprotocol\.io/.*server-card\.schema\.json")
_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_RANGE = re.compile(r"[\^~*]|[<>]|\.x\b|\|\|")
_LONGEST = {"name": 200, "version": 255, "description": 100, "title": 100}


# --- recognition ----------------------------------------------------------------------------------------------------


def by_schema(document: Document) -> str | None:
    return _V1 if _SCHEMA_LIKE.search(text_of(document.value, "$schema") or "") else None


def by_remotes(document: Document) -> str | None:
    """Recognise a v1 card without $schema."""
    card = document.value
    return _V1 if isinstance(card, dict) and isinstance(card.get("remotes"), list) and "name" in card else None


def by_server_info(document: Document) -> str | None:
    card = document.value
    return _SEP1649 if isinstance(card, dict) and isinstance(card.get("serverInfo"), dict) else None


# --- reading --------------------------------------------------------------------------------------------------------


def read(document: Document, dialect: str, notes: Notes) -> Service:
    card = document.value if isinstance(document.value, dict) else {}
    if flag_of(card, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)
    return _draft(card, document, notes) if dialect == _SEP1649 else _final(card, document, notes)


def _final(card: Object, document: Document, notes: Notes) -> Service:
    _grade(card, notes)
    endpoints = remotes(card, document, notes)
    if not list_of(card, "remotes"):
        notes.add(mcp_rules.NO_REMOTE, "/remotes")
    name = short_text_of(card, "name")
    if has_placeholder(card.get("name")):
        name = None
        notes.add(common_rules.TEMPLATE, "/name", card["name"])
    title = short_text_of(card, "title")
    description = text_of(card, "description")
    tool_capabilities = tools(list_of(card, "tools"), "/tools", endpoints.address, document, SLUG, notes)
    origin = Origin(document.url, "", SLUG)
    server_capabilities = (
        (whole_server(name, title, description, endpoints.address, origin),) if name and not tool_capabilities else ()
    )
    service = Service(
        name=title or name,
        description=description,
        version=short_text_of(card, "version"),
        homepage=link(card.get("websiteUrl"), document.url),
        docs_url=link(map_of(card, "repository").get("url"), document.url),
        icon_url=_icon(card, document),
        capabilities=tool_capabilities or server_capabilities,
        auth=endpoints.auth,
        protocols=endpoints.protocols,
        claims=_claims(card, document, notes),
    )
    field_pointers = {"name": "/title" if title else "/name", "capabilities": "/tools" if tool_capabilities else ""}
    return with_provenance(service, document, SLUG, {**_POINTERS, **field_pointers})


_POINTERS = {
    "description": "/description",
    "version": "/version",
    "homepage": "/websiteUrl",
    "docs_url": "/repository/url",
    "icon_url": "/icons/0",
    "auth": "/remotes",
    "protocols": "/remotes",
    "claims": "/websiteUrl",
}


def _grade(card: Object, notes: Notes) -> None:
    for key in ("name", "version", "description"):
        if not text_of(card, key):
            notes.add(mcp_rules.REQUIRED, f"/{key}")
    for key, max_chars in _LONGEST.items():
        value = card.get(key)
        if isinstance(value, str) and len(value) > max_chars:
            notes.add(rules.LONG_TEXT, f"/{key}", f"{len(value)} characters")
    name = card.get("name")
    if isinstance(name, str) and name.strip() and not _NAME.fullmatch(name):
        notes.add(rules.NAME, "/name", name)
    if _RANGE.search(text_of(card, "version") or ""):
        notes.add(rules.VERSION_RANGE, "/version", card["version"])
    if card.get("$schema") != _SCHEMA:
        notes.add(rules.SCHEMA, "/$schema", card.get("$schema", ""))


def _draft(card: Object, document: Document, notes: Notes) -> Service:
    info = map_of(card, "serverInfo")
    transport = map_of(card, "transport")
    address = _address(transport, document, notes)
    items, tools_pointer = listed_tools(card)
    if not _has_address(transport):
        notes.add(mcp_rules.NO_REMOTE if items else mcp_rules.NOTHING, "/transport", transport.get("type", ""))
    name = short_text_of(info, "name")
    title = first_text(info, "title", "displayName", chars=NAME_CHARS)
    description = first_text(info, "description") or text_of(card, "description")
    tool_capabilities = tools(items, tools_pointer, address, document, SLUG, notes)
    origin = Origin(document.url, "", SLUG)
    service = Service(
        name=title or name,
        description=description,
        provider=_vendor(info, document),
        version=short_text_of(info, "version"),
        homepage=_first_link(document, info, card, "homepage", "websiteUrl"),
        docs_url=_first_link(document, info, card, "documentation", "documentationUrl"),
        icon_url=_first_link(document, info, card, "iconUrl"),
        capabilities=tools_or_server(tool_capabilities, name, title, description, address, origin),
        auth=loose_auth(card.get("authentication"), document.url),
        protocols=_protocols(transport, card, address),
        pointers=(*_pointers(card, document), *card_pointer(address, _address_pointer(transport))),
    )
    description_pointer = "/serverInfo/description" if text_of(info, "description") else "/description"
    field_pointers = {
        "name": f"/serverInfo/{'title' if text_of(info, 'title') else 'name'}",
        "description": description_pointer,
    }
    capabilities_pointer = tools_pointer if tool_capabilities else "/serverInfo"
    return with_provenance(
        service, document, SLUG, {**_DRAFT_POINTERS, **field_pointers, "capabilities": capabilities_pointer}
    )


_DRAFT_POINTERS = {
    "version": "/serverInfo/version",
    "provider": "/serverInfo",
    "homepage": "/serverInfo",
    "docs_url": "/serverInfo",
    "icon_url": "/serverInfo",
    "protocols": "/transport",
    "auth": "/authentication",
}


def _has_address(transport: Object) -> bool:
    return short_text_of(transport, "type") != "none" and first_text(transport, "url", "endpoint") is not None


def _address(transport: Object, document: Document, notes: Notes) -> Endpoint | None:
    if not _has_address(transport):
        return None
    pointer = _address_pointer(transport)
    return endpoint(transport.get(pointer.rpartition("/")[2]), document.url, document, pointer, notes)


def _address_pointer(transport: Object) -> str:
    return "/transport/url" if text_of(transport, "url") else "/transport/endpoint"


def _protocols(transport: Object, card: Object, address: Endpoint | None) -> tuple[Protocol, ...]:
    if address is None:
        return ()
    versions = (short_text_of(transport, "protocolVersion"), short_text_of(card, "protocolVersion"))
    return (Protocol("mcp", next((v for v in versions if v), None), address.url, short_text_of(transport, "type")),)


def _vendor(info: Object, document: Document) -> Provider | None:
    vendor: Json = info.get("vendor", info.get("provider"))
    if isinstance(vendor, str):
        vendor = {"name": vendor}
    name, contact = short_text_of(vendor, "name"), short_text_of(info, "contact")
    url = link(vendor.get("url"), document.url) if isinstance(vendor, dict) else None
    return Provider(name, url, contact) if name or contact else None


def _first_link(document: Document, info: Object, card: Object, *keys: str) -> str | None:
    links = (link(holder.get(key), document.url) for holder in (info, card) for key in keys)
    return next((url for url in links if url), None)


def _icon(card: Object, document: Document) -> str | None:
    icon = next(iter(list_of(card, "icons")), None)
    return link(icon.get("src", icon.get("url")), document.url) if isinstance(icon, dict) else None


def _claims(card: Object, document: Document, notes: Notes) -> dict[str, str]:
    claimed = claim(card.get("websiteUrl"), document, "/websiteUrl", notes)
    return {"website": claimed} if claimed else {}


def _pointers(card: Object, document: Document) -> tuple[Pointer, ...]:
    target = link(card.get("openapi"), document.url)
    return (Pointer(target, "openapi", "/openapi", "openapi"),) if target else ()
