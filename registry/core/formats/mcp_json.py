"""What sites serve about MCP servers without any specification: flat files, lists of servers, client configurations.

No rule is broken by them, except that a file with neither an endpoint nor a tool says nothing (formats.md 3.3). Lists
and client configurations name other servers: they give pointers and no service of their own.
"""

from collections.abc import Iterator

from registry.core.documents import Document, Json
from registry.core.endpoints import Endpoint, endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    at,
    first_text,
    flag_of,
    list_of,
    map_of,
    members,
    sourced,
    text_of,
    unrendered,
    word_of,
)
from registry.core.mcp_parts import card_pointer, listed_tools, tools, whole_server
from registry.core.security import declared
from registry.core.services import Origin, Pointer, Pricing, Protocol, Provider, Service

_SLUG = "mcp-json"
_CLIENT, _SERVERS, _FLAT, _FLAT_TOOLS, _AD_HOC = "client-config", "servers", "flat", "flat-tools", "adhoc"
_ADDRESSES = (
    *("mcp_endpoint", "mcpEndpoint", "mcp_server", "mcpServer", "mcp_url", "mcpUrl"),
    *("endpoint", "server_url", "serverUrl", "url"),
)
"""What names the server, the most telling first: a bare `url` is often the site's."""
_SERVER_KEYS = ("url", "endpoint", "transport", "tools")
_LINKS = {
    "openapi": "openapi",
    "serverCard": "mcp-server-card",
    "server_card": "mcp-server-card",
}
"""Members that name other documents of the same site, and what they promise."""


# --- recognition ----------------------------------------------------------------------------------------------------


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("mcpServers"), dict):
        return _CLIENT
    listed = isinstance(value.get("tools"), list)
    if any(isinstance(value.get(key), str | int | float) for key in ("mcp_version", "mcp-version")):
        return _FLAT_TOOLS if listed else _FLAT
    if listed and any(key in value for key in ("endpoint", "endpoints", "transport", "url")):
        return _FLAT_TOOLS
    if _is_servers(value.get("servers")):
        return _SERVERS
    named = isinstance(value.get("endpoint"), str) and isinstance(value.get("name"), str)
    speaks = "transport" in value or "protocolVersion" in value or value.get("protocol") == "mcp"
    return _FLAT if named and speaks else None


def at_mcp_path(document: Document) -> str | None:
    """Only below a path that says mcp: tools, or the protocol's name."""
    value = document.value
    if not isinstance(value, dict):
        return None
    protocol = value.get("protocol")
    speaks = isinstance(protocol, str) and protocol.upper() == "MCP"
    return _AD_HOC if speaks or isinstance(value.get("tools"), list) else None


def _is_servers(servers: Json) -> bool:
    items = servers if isinstance(servers, list) else []
    return any(isinstance(item, dict) and any(key in item for key in _SERVER_KEYS) for item in items)


# --- reading --------------------------------------------------------------------------------------------------------


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    notes.add(Reason.MCP_UNSPECIFIED, "", dialect)
    if flag_of(value, "enabled") is False:
        notes.add(Reason.DECLARED_INACTIVE, "/enabled", False)
    if dialect == _CLIENT:
        return Service(pointers=tuple(_configured(value, document, notes))[:MAX_TEXTS])
    if dialect == _SERVERS:
        return Service(pointers=tuple(_listed(value, document, notes))[:MAX_TEXTS])
    return _flat(value, document, notes)


def _configured(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    """Addresses only: what a command would start on the reader's machine is ignored."""
    for name, server in list(map_of(value, "mcpServers").items())[:MAX_TEXTS]:
        if isinstance(server, dict) and server.get("url"):
            place = at("", "mcpServers", name, "url")
            yield from card_pointer(endpoint(server["url"], document.url, document, place, notes), place)


def _listed(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    """An entry names a card, or a server whose card lies beside its address."""
    for pointer, item in members(list_of(value, "servers"), "/servers", Reason.MCP_REMOTE, notes):
        key = "url" if "url" in item else "endpoint"
        address = endpoint(item.get(key), document.url, document, at(pointer, key), notes)
        if address is not None and address.url.endswith(".json"):
            yield Pointer(address.url, "server", at(pointer, key), "mcp-server-card")
        else:
            yield from card_pointer(address, at(pointer, key))


def _flat(value: Object, document: Document, notes: Notes) -> Service:
    address, place = _address(value, document, notes)
    items, items_at = listed_tools(value)
    if not place:
        notes.add(Reason.MCP_NO_REMOTE if items else Reason.MCP_NOTHING, "/endpoint")
    name = None if unrendered(value.get("name")) else word_of(value, "name")
    title = first_text(value, "title", "displayName", "display_name", chars=NAME_CHARS)
    description = text_of(value, "description")
    listed = tools(items, items_at, address, document, _SLUG, notes)
    origin = Origin(document.url, "", _SLUG)
    one = (whole_server(name, title, description, address, origin),) if name and address and not listed else ()
    service = Service(
        name=title or name,
        description=description,
        provider=_provider(value, document),
        version=word_of(value, "version"),
        homepage=link(first_text(value, "homepage", "website"), document.url),
        docs_url=link(first_text(value, "documentation", "documentation_url", "docs"), document.url),
        capabilities=listed or one,
        auth=declared(_first_of(value, "authentication", "auth"), document.url),
        pricing=Pricing("pay_per_call", note="payment") if map_of(value, "payment") else Pricing(),
        protocols=_protocols(value, address),
        pointers=(*_links(value, document), *card_pointer(address, place)),
    )
    titled = next((key for key in ("title", "displayName", "display_name") if text_of(value, key)), "name")
    secured = "/authentication" if "authentication" in value else "/auth"
    found = {"name": f"/{titled}", "protocols": place, "capabilities": items_at if listed else "", "auth": secured}
    return sourced(service, document, _SLUG, {**_PLACES, **found})


_PLACES = {
    "description": "/description",
    "version": "/version",
    "provider": "/provider",
    "homepage": "/homepage",
    "docs_url": "/documentation",
    "pricing": "/payment",
}


def _first_of(value: Object, *keys: str) -> Json:
    return next((value[key] for key in keys if key in value), None)


def _address(value: Object, document: Document, notes: Notes) -> tuple[Endpoint | None, str]:
    """The address under any of the names it is given, and where it stands."""
    transport, endpoints = map_of(value, "transport"), map_of(value, "endpoints")
    named: list[tuple[Json, str]] = [(value.get(key), f"/{key}") for key in _ADDRESSES]
    named += [(endpoints.get("mcp"), "/endpoints/mcp")]
    named += [(transport.get(key), f"/transport/{key}") for key in ("url", "endpoint")]
    target, place = next(((t, p) for t, p in named if isinstance(t, str) and t.strip()), (None, ""))
    return endpoint(target, document.url, document, place, notes), place


def _protocols(value: Object, address: Endpoint | None) -> tuple[Protocol, ...]:
    if address is None:
        return ()
    version = first_text(value, "protocolVersion", "protocol_version", "mcp_version", "mcp-version", chars=NAME_CHARS)
    transport = word_of(value, "transport") or word_of(map_of(value, "transport"), "type")
    return (Protocol("mcp", version, address.url, transport),)


def _provider(value: Object, document: Document) -> Provider | None:
    given = _first_of(value, "provider", "vendor", "publisher", "author")
    if isinstance(given, str):
        given = {"name": given}
    name = first_text(given, "name", "organization", chars=NAME_CHARS)
    contact = first_text(value, "contact", "contact_email", "support", chars=NAME_CHARS)
    url = link(given.get("url"), document.url) if isinstance(given, dict) else None
    return Provider(name, url, contact) if name or contact else None


def _links(value: Object, document: Document) -> Iterator[Pointer]:
    for key, promised in _LINKS.items():
        target = link(value.get(key), document.url)
        if target:
            yield Pointer(target, key, f"/{key}", promised)


FORMAT = Format(
    slug=_SLUG,
    title="MCP discovery file without a specification",
    spec="SEP-1649 and SEP-1960, drafts",
    paths=("/.well-known/mcp.json", "/.well-known/mcp", "/.well-known/mcp/server-cards.json", "/mcp.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
