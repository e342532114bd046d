"""MCP server cards: v1 (SEP-2127, final) and the SEP-1649 draft, which most sites still serve.

A v1 card lists no tools by design: one capability stands for the whole server, so that it can be found.
"""

import re

from registry.core.documents import Document, Json
from registry.core.endpoints import Endpoint, claim, endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    list_of,
    map_of,
    sourced,
    text_of,
    unrendered,
    word_of,
)
from registry.core.mcp_parts import card_pointer, listed_tools, remotes, tools, whole_server
from registry.core.security import declared
from registry.core.services import Origin, Pointer, Protocol, Provider, Service

_SLUG = "mcp-server-card"
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
    """A v1 card without $schema."""
    card = document.value
    return _V1 if isinstance(card, dict) and isinstance(card.get("remotes"), list) and "name" in card else None


def by_server_info(document: Document) -> str | None:
    card = document.value
    return _SEP1649 if isinstance(card, dict) and isinstance(card.get("serverInfo"), dict) else None


# --- reading --------------------------------------------------------------------------------------------------------


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    card = document.value if isinstance(document.value, dict) else {}
    if flag_of(card, "enabled") is False:
        notes.add(Reason.DECLARED_INACTIVE, "/enabled", False)
    return _draft(card, document, notes) if dialect == _SEP1649 else _final(card, document, notes)


def _final(card: Object, document: Document, notes: Notes) -> Service:
    _grade(card, notes)
    reached = remotes(card, document, notes)
    if not list_of(card, "remotes"):
        notes.add(Reason.MCP_NO_REMOTE, "/remotes")
    name = word_of(card, "name")
    if unrendered(card.get("name")):
        name = None
        notes.add(Reason.TEMPLATE, "/name", card["name"])
    title = word_of(card, "title")
    description = text_of(card, "description")
    listed = tools(list_of(card, "tools"), "/tools", reached.address, document, _SLUG, notes)
    origin = Origin(document.url, "", _SLUG)
    one = (whole_server(name, title, description, reached.address, origin),) if name and not listed else ()
    service = Service(
        name=title or name,
        description=description,
        version=word_of(card, "version"),
        homepage=link(card.get("websiteUrl"), document.url),
        docs_url=link(map_of(card, "repository").get("url"), document.url),
        icon_url=_icon(card, document),
        capabilities=listed or one,
        auth=reached.auth,
        protocols=reached.protocols,
        claims=_claims(card, document, notes),
    )
    named = {"name": "/title" if title else "/name", "capabilities": "/tools" if listed else ""}
    return sourced(service, document, _SLUG, {**_PLACES, **named})


_PLACES = {
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
            notes.add(Reason.MCP_REQUIRED, f"/{key}")
    for key, most in _LONGEST.items():
        value = card.get(key)
        if isinstance(value, str) and len(value) > most:
            notes.add(Reason.MCP_LONG_TEXT, f"/{key}", f"{len(value)} characters")
    name = card.get("name")
    if isinstance(name, str) and name.strip() and not _NAME.fullmatch(name):
        notes.add(Reason.MCP_NAME, "/name", name)
    if _RANGE.search(text_of(card, "version") or ""):
        notes.add(Reason.MCP_VERSION_RANGE, "/version", card["version"])
    if card.get("$schema") != _SCHEMA:
        notes.add(Reason.MCP_SCHEMA, "/$schema", card.get("$schema", ""))


def _draft(card: Object, document: Document, notes: Notes) -> Service:
    info = map_of(card, "serverInfo")
    transport = map_of(card, "transport")
    address = _address(transport, document, notes)
    items, items_at = listed_tools(card)
    if not _names_address(transport):
        notes.add(Reason.MCP_NO_REMOTE if items else Reason.MCP_NOTHING, "/transport", transport.get("type", ""))
    name = word_of(info, "name")
    title = first_text(info, "title", "displayName", chars=NAME_CHARS)
    description = first_text(info, "description") or text_of(card, "description")
    listed = tools(items, items_at, address, document, _SLUG, notes)
    origin = Origin(document.url, "", _SLUG)
    one = (whole_server(name, title, description, address, origin),) if name and address and not listed else ()
    service = Service(
        name=title or name,
        description=description,
        provider=_vendor(info, document),
        version=word_of(info, "version"),
        homepage=_first_link(document, info, card, "homepage", "websiteUrl"),
        docs_url=_first_link(document, info, card, "documentation", "documentationUrl"),
        icon_url=_first_link(document, info, card, "iconUrl"),
        capabilities=listed or one,
        auth=declared(card.get("authentication"), document.url),
        protocols=_protocols(transport, card, address),
        pointers=(*_pointers(card, document), *card_pointer(address, _address_place(transport))),
    )
    said = "/serverInfo/description" if text_of(info, "description") else "/description"
    named = {"name": f"/serverInfo/{'title' if text_of(info, 'title') else 'name'}", "description": said}
    listed_at = items_at if listed else "/serverInfo"
    return sourced(service, document, _SLUG, {**_DRAFT_PLACES, **named, "capabilities": listed_at})


_DRAFT_PLACES = {
    "version": "/serverInfo/version",
    "provider": "/serverInfo",
    "homepage": "/serverInfo",
    "docs_url": "/serverInfo",
    "icon_url": "/serverInfo",
    "protocols": "/transport",
    "auth": "/authentication",
}


def _names_address(transport: Object) -> bool:
    return word_of(transport, "type") != "none" and first_text(transport, "url", "endpoint") is not None


def _address(transport: Object, document: Document, notes: Notes) -> Endpoint | None:
    if not _names_address(transport):
        return None
    place = _address_place(transport)
    return endpoint(transport.get(place.rpartition("/")[2]), document.url, document, place, notes)


def _address_place(transport: Object) -> str:
    return "/transport/url" if text_of(transport, "url") else "/transport/endpoint"


def _protocols(transport: Object, card: Object, address: Endpoint | None) -> tuple[Protocol, ...]:
    if address is None:
        return ()
    versions = (word_of(transport, "protocolVersion"), word_of(card, "protocolVersion"))
    return (Protocol("mcp", next((v for v in versions if v), None), address.url, word_of(transport, "type")),)


def _vendor(info: Object, document: Document) -> Provider | None:
    vendor: Json = info.get("vendor", info.get("provider"))
    if isinstance(vendor, str):
        vendor = {"name": vendor}
    name, contact = word_of(vendor, "name"), word_of(info, "contact")
    url = link(vendor.get("url"), document.url) if isinstance(vendor, dict) else None
    return Provider(name, url, contact) if name or contact else None


def _first_link(document: Document, info: Object, card: Object, *keys: str) -> str | None:
    found = (link(holder.get(key), document.url) for holder in (info, card) for key in keys)
    return next((url for url in found if url), None)


def _icon(card: Object, document: Document) -> str | None:
    first = next(iter(list_of(card, "icons")), None)
    return link(first.get("src", first.get("url")), document.url) if isinstance(first, dict) else None


def _claims(card: Object, document: Document, notes: Notes) -> dict[str, str]:
    claimed = claim(card.get("websiteUrl"), document, "/websiteUrl", notes)
    return {"website": claimed} if claimed else {}


def _pointers(card: Object, document: Document) -> tuple[Pointer, ...]:
    target = link(card.get("openapi"), document.url)
    return (Pointer(target, "openapi", "/openapi", "openapi"),) if target else ()


FORMAT = Format(
    slug=_SLUG,
    title="MCP server card",
    spec="MCP server card v1 (SEP-2127)",
    paths=("/.well-known/mcp/server-card.json", "/.well-known/mcp.json", "/.well-known/mcp-server-card.json"),
    media_types=("application/mcp-server-card+json", "application/mcp-server+json", "application/json"),
    role=Role.SERVICE,
    read=_read,
)
