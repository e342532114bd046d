"""Recognise and read MCP discovery files that follow no specification.

They are flat files, lists of servers or client configurations. Without a specification few rules apply: a flat file
needs an endpoint or a tool. Lists and client configurations name other servers, so they yield only pointers.
"""

from collections.abc import Iterator

from registry.core.format_support import common_rules, mcp_rules
from registry.core.format_support.endpoints import Endpoint, endpoint, link
from registry.core.format_support.manifest import (
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    flag_of,
    has_placeholder,
    list_of,
    map_of,
    members,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.format_support.mcp_parts import card_pointer, listed_tools, tools, tools_or_server
from registry.core.format_support.security import loose_auth
from registry.core.formats.mcp_json import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import Origin, Pointer, Pricing, Protocol, Provider, Service
from registry.core.reading.json_pointer import at

SLUG = "mcp-json"
_CLIENT, _SERVERS, _FLAT, _FLAT_TOOLS, _AD_HOC = "client-config", "servers", "flat", "flat-tools", "adhoc"
_ADDRESSES = (
    *("mcp_endpoint", "mcpEndpoint", "mcp_server", "mcpServer", "mcp_url", "mcpUrl"),
    *("endpoint", "server_url", "serverUrl", "url"),
)
"""Members that may hold the server's address, the most specific first: a bare `url` is often the site's."""
_SERVER_KEYS = ("url", "endpoint", "transport", "tools")
_LINKS = {
    "openapi": "openapi",
    "serverCard": "mcp-server-card",
    "server_card": "mcp-server-card",
}
"""Members that name other documents of the site, with the promised format."""


# --- recognition ----------------------------------------------------------------------------------------------------


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("mcpServers"), dict):
        return _CLIENT
    has_tools = isinstance(value.get("tools"), list)
    if any(isinstance(value.get(key), str | int | float) for key in ("mcp_version", "mcp-version")):
        return _FLAT_TOOLS if has_tools else _FLAT
    if has_tools and any(key in value for key in ("endpoint", "endpoints", "transport", "url")):
        return _FLAT_TOOLS
    if _is_servers(value.get("servers")):
        return _SERVERS
    has_name_and_endpoint = isinstance(value.get("endpoint"), str) and isinstance(value.get("name"), str)
    mentions_mcp = "transport" in value or "protocolVersion" in value or value.get("protocol") == "mcp"
    return _FLAT if has_name_and_endpoint and mentions_mcp else None


def at_mcp_path(document: Document) -> str | None:
    """Recognise any document with tools or with the protocol's name. A weak test, for paths that contain mcp."""
    value = document.value
    if not isinstance(value, dict):
        return None
    protocol = value.get("protocol")
    mentions_mcp = isinstance(protocol, str) and protocol.upper() == "MCP"
    return _AD_HOC if mentions_mcp or isinstance(value.get("tools"), list) else None


def _is_servers(servers: Json) -> bool:
    items = servers if isinstance(servers, list) else []
    return any(isinstance(item, dict) and any(key in item for key in _SERVER_KEYS) for item in items)


# --- reading --------------------------------------------------------------------------------------------------------


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    notes.add(rules.UNSPECIFIED, "", dialect)
    if flag_of(value, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)
    if dialect == _CLIENT:
        return Service(pointers=tuple(_configured_servers(value, document, notes))[:MAX_TEXTS])
    if dialect == _SERVERS:
        return Service(pointers=tuple(_listed_servers(value, document, notes))[:MAX_TEXTS])
    return _flat_service(value, document, notes)


def _configured_servers(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    """Yield pointers to the cards of servers with an address; commands to start a local server are ignored."""
    for name, server in list(map_of(value, "mcpServers").items())[:MAX_TEXTS]:
        if isinstance(server, dict) and server.get("url"):
            pointer = at("", "mcpServers", name, "url")
            yield from card_pointer(endpoint(server["url"], document.url, document, pointer, notes), pointer)


def _listed_servers(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    """Yield a pointer per entry: the card that it names, or the card beside the server's address."""
    for pointer, item in members(list_of(value, "servers"), "/servers", mcp_rules.REMOTE, notes):
        key = "url" if "url" in item else "endpoint"
        address = endpoint(item.get(key), document.url, document, at(pointer, key), notes)
        if address is not None and address.url.endswith(".json"):
            yield Pointer(address.url, "server", at(pointer, key), "mcp-server-card")
        else:
            yield from card_pointer(address, at(pointer, key))


def _flat_service(value: Object, document: Document, notes: Notes) -> Service:
    address, address_pointer = _address(value, document, notes)
    items, tools_pointer = listed_tools(value)
    if not address_pointer:
        notes.add(mcp_rules.NO_REMOTE if items else mcp_rules.NOTHING, "/endpoint")
    name = None if has_placeholder(value.get("name")) else short_text_of(value, "name")
    title = first_text(value, "title", "displayName", "display_name", chars=NAME_CHARS)
    description = text_of(value, "description")
    tool_capabilities = tools(items, tools_pointer, address, document, SLUG, notes)
    origin = Origin(document.url, "", SLUG)
    service = Service(
        name=title or name,
        description=description,
        provider=_provider(value, document),
        version=short_text_of(value, "version"),
        homepage=link(first_text(value, "homepage", "website"), document.url),
        docs_url=link(first_text(value, "documentation", "documentation_url", "docs"), document.url),
        capabilities=tools_or_server(tool_capabilities, name, title, description, address, origin),
        auth=loose_auth(_first_member(value, "authentication", "auth"), document.url),
        pricing=Pricing("pay_per_call", note="payment") if map_of(value, "payment") else Pricing(),
        protocols=_protocols(value, address),
        pointers=(*_links(value, document), *card_pointer(address, address_pointer)),
    )
    title_key = next((key for key in ("title", "displayName", "display_name") if text_of(value, key)), "name")
    auth_pointer = "/authentication" if "authentication" in value else "/auth"
    field_pointers = {
        "name": f"/{title_key}",
        "protocols": address_pointer,
        "capabilities": tools_pointer if tool_capabilities else "",
        "auth": auth_pointer,
    }
    return with_provenance(service, document, SLUG, {**_POINTERS, **field_pointers})


_POINTERS = {
    "description": "/description",
    "version": "/version",
    "provider": "/provider",
    "homepage": "/homepage",
    "docs_url": "/documentation",
    "pricing": "/payment",
}


def _first_member(value: Object, *keys: str) -> Json:
    return next((value[key] for key in keys if key in value), None)


def _address(value: Object, document: Document, notes: Notes) -> tuple[Endpoint | None, str]:
    """Return the server's address from any known member, and the pointer to it ("" where there is none)."""
    transport, endpoints = map_of(value, "transport"), map_of(value, "endpoints")
    candidates: list[tuple[Json, str]] = [(value.get(key), f"/{key}") for key in _ADDRESSES]
    candidates += [(endpoints.get("mcp"), "/endpoints/mcp")]
    candidates += [(transport.get(key), f"/transport/{key}") for key in ("url", "endpoint")]
    target, pointer = next(((t, p) for t, p in candidates if isinstance(t, str) and t.strip()), (None, ""))
    return endpoint(target, document.url, document, pointer, notes), pointer


def _protocols(value: Object, address: Endpoint | None) -> tuple[Protocol, ...]:
    if address is None:
        return ()
    version = first_text(value, "protocolVersion", "protocol_version", "mcp_version", "mcp-version", chars=NAME_CHARS)
    transport = short_text_of(value, "transport") or short_text_of(map_of(value, "transport"), "type")
    return (Protocol("mcp", version, address.url, transport),)


def _provider(value: Object, document: Document) -> Provider | None:
    provider = _first_member(value, "provider", "vendor", "publisher", "author")
    if isinstance(provider, str):
        provider = {"name": provider}
    name = first_text(provider, "name", "organization", chars=NAME_CHARS)
    contact = first_text(value, "contact", "contact_email", "support", chars=NAME_CHARS)
    url = link(provider.get("url"), document.url) if isinstance(provider, dict) else None
    return Provider(name, url, contact) if name or contact else None


def _links(value: Object, document: Document) -> Iterator[Pointer]:
    for key, promised_format in _LINKS.items():
        target = link(value.get(key), document.url)
        if target:
            yield Pointer(target, key, f"/{key}", promised_format)
