"""Recognise and read MCP discovery files that follow no specification.

They are flat files, lists of servers or client configurations. Without a specification few rules apply: a file needs an
endpoint, a tool or a package. Publishers serve lists and client configurations to describe their own servers: servers
of one site are the host's offer, servers of several other sites are only pointed to.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support import common_rules, manifest, mcp_parts, mcp_remotes, mcp_service
from registry.core.format_support.account import TEXT_OR_OBJECT, Part
from registry.core.format_support.endpoints import Endpoint, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import MAX_TEXTS, Notes, Object, first_text, flag_of, has_placeholder
from registry.core.format_support.mcp_parts import card_pointer, context_offers, tool_entries, whole_server
from registry.core.format_support.mcp_remotes import Remote, address_key, configured_servers, described_remotes
from registry.core.format_support.mcp_service import CONTEXT, READ, TITLES, base_service, first_pointer, mcp_auth
from registry.core.format_support.probing import CARD_CAP, ProbePath, Topic, never
from registry.core.format_support.shapes import TEXT
from registry.core.model.documents import Document
from registry.core.model.findings import CONFORMANCE, INFO, Rule
from registry.core.model.services import Capability, Origin, Pointer, Service
from registry.core.names.domains import host_of, registrable_domain, same_site
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG = "mcp-json"

UNSPECIFIED = Rule(
    "mcp.unspecified", INFO, points=0, section=CONFORMANCE, spec="MCP server card v1 (SEP-2127)",
    says="The document has a shape that no specification describes.",
    fix="Publish a server card beside it.",
)  # fmt: skip
_CLIENT, _SERVERS, _FLAT, _FLAT_TOOLS, _AD_HOC = "client-config", "servers", "flat", "flat-tools", "adhoc"
_SERVER_KEYS = ("url", "endpoint", "transport", "tools")
_LINKS = {"openapi": "openapi", "serverCard": "mcp-server-card", "server_card": "mcp-server-card"}
"""Members that name other documents of the site, with the promised format."""


def dialect(document: Document) -> str | None:
    value = document.members
    if isinstance(value.get("mcpServers"), dict):
        return _CLIENT
    has_tools = isinstance(value.get("tools"), list)
    if any(isinstance(value.get(key), str | int | float) for key in ("mcp_version", "mcp-version")):
        return _FLAT_TOOLS if has_tools else _FLAT
    if has_tools and any(key in value for key in ("endpoint", "endpoints", "transport", "url")):
        return _FLAT_TOOLS
    servers = [item for item in manifest.list_of(value, "servers") if isinstance(item, dict)]
    if any(key in item for item in servers for key in _SERVER_KEYS):
        return _SERVERS
    has_name_and_endpoint = isinstance(value.get("endpoint"), str) and isinstance(value.get("name"), str)
    mentions_mcp = "transport" in value or "protocolVersion" in value or value.get("protocol") == "mcp"
    return _FLAT if has_name_and_endpoint and mentions_mcp else None


def at_mcp_path(document: Document) -> str | None:
    """Recognise any document with tools, an address or the protocol's name. A weak test, for paths that contain mcp."""
    value = document.members
    protocol = value.get("protocol")
    mentions_mcp = isinstance(protocol, str) and protocol.upper() == "MCP"
    if mentions_mcp or tool_entries(value) or configured_servers(value) or isinstance(value.get("tools"), list):
        return _AD_HOC
    is_named = any(isinstance(value.get(key), str) for key in ("name", "description", "version"))
    return _AD_HOC if is_named and described_remotes(value, document, Notes()) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    notes.add(UNSPECIFIED, "", dialect)
    if flag_of(value, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)
    if has_placeholder(value.get("name")):
        notes.add(common_rules.TEMPLATE, "/name", value["name"])
    servers = configured_servers(value)
    listed, card_pointers = _list_servers(servers, document, notes)
    own = described_remotes(value, document, notes)
    chosen, others = _split_by_site(listed, own, document)
    protocols, remotes_auth, address = mcp_remotes.unite_remotes([*own, *(remote for _, _, remote in chosen)])
    entries = tool_entries(value) or [entry for _, item, _ in chosen for entry in tool_entries(item)]
    tool_capabilities = mcp_parts.listed_tools(entries, address, document, SLUG, notes)
    offered = tool_capabilities or context_offers(value, address, document, SLUG, notes)
    holders = [value]
    if len(servers) == 1:  # the facts of the only server describe the service
        _, label, entry = servers[0]
        holders.append(entry if label is None else {"name": label, **entry})
    described = base_service(holders, value, document)
    is_shown_whole = not offered or (not tool_capabilities and mcp_parts.keeps_tools_to_itself(value))
    whole = _read_whole_servers(value, described, own, chosen, servers, document) if is_shown_whole else ()
    if not own and not servers:
        notes.add(mcp_parts.NO_REMOTE if entries or described["packages"] else mcp_parts.NOTHING, "/endpoint")
    every_remote = (*own, *others, *(remote for _, _, remote in chosen))
    cards = [card for remote in every_remote for card in card_pointer(remote.address, remote.pointer)]
    service = Service(
        **described,
        capabilities=(*whole, *offered),
        auth=mcp_auth(value, remotes_auth, described["description"], document.url),
        protocols=protocols,
        pointers=tuple(dict.fromkeys((*_read_links(value, document), *card_pointers, *cards)))[:MAX_TEXTS],
        native=mcp_service.other_facts(SLUG, value, READ if tool_capabilities or not offered else READ | CONTEXT, {}),
    )
    first = own[0].pointer if own else servers[0][0] if servers else ""
    tools_pointer = entries[0][0].rpartition("/")[0] if tool_capabilities else ""
    sources = {field: first_pointer(value, *keys) for field, keys in _SOURCES.items()}
    return manifest.with_provenance(
        service, document, SLUG, {**sources, "protocols": first, "capabilities": tools_pointer}
    )


Listed = tuple[str, Object, Remote]
"""Name, entry and address of a server in a list."""


def _list_servers(
    servers: list[tuple[str, str | None, Object]], document: Document, notes: Notes
) -> tuple[list[Listed], list[Pointer]]:
    """Return the servers of a list that clients may call, and pointers to the cards that it names instead."""
    listed: list[Listed] = []
    pointers: list[Pointer] = []
    for pointer, name, entry in servers:
        key = address_key(entry)
        if key is not None or isinstance(entry.get("command"), str):
            notes.mark_read(pointer)
        if key is None:
            continue
        remote = mcp_remotes.remote_of(entry, key, pointer, document, notes)
        if remote.address is None:
            continue
        if remote.address.url.endswith(".json"):
            pointers.append(Pointer(remote.address.url, "server", at(pointer, key), "mcp-server-card"))
        else:
            label = first_text(entry, *TITLES, "name", "id") or name or host_of(remote.address.url) or "server"
            listed.append((line(label, 100), entry, remote))
    return listed, pointers


def _split_by_site(listed: list[Listed], own: list[Remote], document: Document) -> tuple[list[Listed], list[Remote]]:
    """Return the host's own servers and the other ones: a client's configuration lists servers of many owners. Own
    servers are on the site that serves the document, else on the site of the document's own address. A document with no
    server on its site and no own address owns all servers if they are on one site."""
    sites = [_read_site(remote.address) for _, _, remote in listed]
    serving = host_of(document.url)
    hosts = [host_of(remote.address.url) if remote.address else None for _, _, remote in listed]
    here = [host is not None and serving is not None and same_site(host, serving) for host in hosts]
    own_site = next((_read_site(remote.address) for remote in own if remote.address), None)
    if any(here):
        is_chosen = here
    elif own_site is not None:
        is_chosen = [site == own_site for site in sites]
    else:
        is_chosen = [len(set(sites)) == 1] * len(sites)
    chosen = [entry for entry, taken in zip(listed, is_chosen, strict=True) if taken]
    return chosen, [entry[2] for entry, taken in zip(listed, is_chosen, strict=True) if not taken]


def _read_site(address: Endpoint | None) -> str | None:
    host = host_of(address.url) if address is not None else None
    return (registrable_domain(host) or host) if host is not None else None


def _read_whole_servers(
    value: Object,
    described: dict[str, Any],
    own: list[Remote],
    chosen: list[Listed],
    servers: list[tuple[str, str | None, Object]],
    document: Document,
) -> Iterator[Capability]:
    """Yield a capability for each server that can be called, else for each that is started by a command or package."""
    name, description = mcp_service.name_of(value), described["description"]
    title = described["name"] if described["name"] != name else None
    address = next((remote for remote in own if remote.address), None)
    if name is None and address is not None and address.address and not has_placeholder(value.get("name")):
        name = host_of(address.address.url)
    if address is not None and name is not None:
        yield whole_server(name, title, description, address.address, Origin(document.url, "", SLUG))
        return
    for label, entry, remote in chosen:
        text = first_text(entry, "description", "instructions") or (description if len(chosen) == 1 else None)
        origin = Origin(document.url, remote.pointer.rpartition("/")[0], SLUG)
        yield whole_server(label, None, text, remote.address, origin)
    if chosen or address is not None or not described["packages"]:
        return
    started = [(name, pointer) for pointer, name, entry in servers if isinstance(entry.get("command"), str) and name]
    for label, pointer in started or ([(name, "")] if name is not None else []):
        yield whole_server(label, None, description, None, Origin(document.url, pointer, SLUG), local=True)


_SOURCES: Final = {
    "name": (*TITLES, "name"),
    "description": ("description", "summary", "tagline"),
    "version": ("version",),
    "provider": ("provider", "vendor", "publisher", "author", "contact"),
    "homepage": ("homepage", "website", "websiteUrl"),
    "docs_url": ("documentation", "documentationUrl", "documentation_url", "docs", "links"),
    "icon_url": ("icons", "icon", "logo"),
    "repository": ("repository", "source", "links"),
    "license": ("license",),
    "tags": ("tags", "keywords", "categories"),
    "pricing": ("pricing", "payment", "payments", "pricing_model"),
    "policies": ("rate_limit", "rateLimits", "terms", "links"),
    "packages": ("packages", "install", "mcpServers", "servers"),
    "auth": ("authentication", "auth", "mcpServers", "servers"),
}


def _read_links(value: Object, document: Document) -> Iterator[Pointer]:
    for key, promised_format in _LINKS.items():
        target = link(value.get(key), document.url)
        if target:
            yield Pointer(target, key, f"/{key}", promised_format)


_CARD: Final = "/.well-known/mcp/server-card.json"


FORMAT: Final = Format(
    slug=SLUG,
    title="MCP discovery file without a specification",
    spec="SEP-1649 and SEP-1960, drafts",
    paths=("/.well-known/mcp.json", "/.well-known/mcp", "/.well-known/mcp/server-cards.json", "/mcp.json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/tools/*", "tool", TEXT_OR_OBJECT, {"name": TEXT, "description": TEXT}, marks=mcp_parts.DYNAMIC),
        Part("/mcpServers|servers/*", "server", TEXT_OR_OBJECT),
        Part("/resources|resourceTemplates|prompts/*", "resource or prompt", TEXT_OR_OBJECT, is_offered=False),
    ),
    types={"/name": TEXT, "/description": TEXT},
    rules=(UNSPECIFIED, mcp_parts.NOTHING, mcp_parts.NO_REMOTE, mcp_parts.REMOTE, mcp_parts.TOOL),
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S3", 30, "/.well-known/mcp.json", fallback_of=_CARD),
        ProbePath("S1", 20, "/.well-known/mcp.json", fallback_of=_CARD, sub_host="mcp"),
        ProbePath(
            "S4",
            50,
            "/.well-known/mcp",
            when=lambda facts: facts.absent(_CARD, "/.well-known/mcp.json") and "mcp" in facts.words,
        ),
        ProbePath("S4", 180, "/.well-known/mcp/server-cards.json", fallback_of=_CARD, when=never),
        ProbePath("S4", 190, "/mcp.json", fallback_of=_CARD, when=never),
    ),
    topics=(
        Topic("mcp", (b"mcp", b"model context protocol"), re.compile(rb"\bmcp\b|model context protocol"), in_home=True),
    ),
    absence_member="mcp",
    precedence=90,
)
