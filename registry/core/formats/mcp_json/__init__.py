"""Recognise and read MCP discovery files that follow no specification.

They are flat files, lists of servers or client configurations. Without a specification few rules apply: a file needs an
endpoint, a tool or a package. Publishers serve lists and client configurations to describe their own servers, which
often run on a platform. `_split_by_site` decides which servers are the host's offer.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
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
from registry.core.model.findings import COMPLETENESS, CONFORMANCE, INFO, Rule
from registry.core.model.services import Capability, Origin, Pointer, Service
from registry.core.names.domains import host_of, is_on_platform, registrable_domain, same_site
from registry.core.names.impersonation import owned_name
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG = "mcp-json"

UNSPECIFIED = Rule(
    "mcp.unspecified", INFO, points=0, section=CONFORMANCE, spec="MCP server card v1 (SEP-2127)",
    says="The document has a shape that no specification describes.",
    fix="Publish a server card beside it.",
)  # fmt: skip
OTHERS_SERVER = Rule(
    "mcp.others_server", INFO, points=0, section=COMPLETENESS, spec="SEP-1649",
    says="A listed server is on another site; it is not shown as this host's offer.",
    fix="Serve a document on the host of that server; name in this one only the servers that are yours.",
)  # fmt: skip
_CLIENT, _SERVERS, _FLAT, _FLAT_TOOLS, _AD_HOC = "client-config", "servers", "flat", "flat-tools", "adhoc"
_SERVER_KEYS = ("url", "endpoint", "transport", "tools")
_LINKS = {"openapi": "openapi", "serverCard": "mcp-server-card", "server_card": "mcp-server-card"}
"""Members that name other documents of the site, with the promised format."""


def dialect(document: Document) -> str | None:
    value = document.members
    if isinstance(value.get("mcpServers"), dict):
        return _CLIENT
    server = value.get("server")
    if "mcpName" in value and isinstance(server, dict) and address_key(server) is not None:
        return _AD_HOC
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
    is_own_list = dialect == _SERVERS or first_text(value, *TITLES, "name", "description") is not None
    chosen, others = _split_by_site(listed, own, document, is_own_list=is_own_list)
    for other in others:
        notes.add(OTHERS_SERVER, other.pointer, other.address.url if other.address else "")
    protocols, remotes_auth, address = mcp_remotes.unite_remotes([*own, *(remote for _, _, remote in chosen)])
    entries = tool_entries(value)
    tool_capabilities = mcp_parts.listed_tools(entries, address, document, SLUG, notes)
    without_tools = chosen
    if not entries:  # the tools of each server are called at its own address
        of_servers = list(_list_tools_of_servers(servers, chosen))
        entries = [entry for held, _ in of_servers for entry in held]
        used_ids: set[str] = set()
        tool_capabilities = tuple(
            replace(tool, id=manifest.unique_name(tool.id, used_ids))
            for held, at_url in of_servers
            for tool in mcp_parts.listed_tools(held, at_url, document, SLUG, notes)
        )[: manifest.MAX_CAPABILITIES]
        without_tools = [one for one in chosen if not tool_entries(one[1])]
    offered = tool_capabilities or context_offers(value, address, document, SLUG, notes)
    holders = [value]
    if len(servers) == 1:  # the facts of the only server describe the service
        _, label, entry = servers[0]
        holders.append(entry if label is None else {"name": label, **entry})
    described = base_service(holders, value, document)
    is_shown_whole = not offered or (not tool_capabilities and mcp_parts.keeps_tools_to_itself(value))
    if is_shown_whole or (tool_capabilities and not tool_entries(value) and without_tools):
        shown = chosen if is_shown_whole else without_tools
        whole = tuple(_read_whole_servers(value, described, own, shown, servers, document))
    else:
        whole = ()
    if not own and not servers:
        notes.add(mcp_parts.NO_REMOTE if entries or described["packages"] else mcp_parts.NOTHING, "/endpoint")
    every_remote = (*own, *others, *(remote for _, _, remote in chosen))
    cards = [card for remote in every_remote for card in card_pointer(remote.address, remote.pointer)]
    resources = mcp_parts.resource_pointers(((one.address, one.pointer) for one in every_remote), document)
    service = Service(
        **described,
        capabilities=(*whole, *offered),
        auth=mcp_auth(value, remotes_auth, described["description"], document.url),
        protocols=protocols,
        pointers=tuple(dict.fromkeys((*_read_links(value, document), *card_pointers, *cards, *resources)))[:MAX_TEXTS],
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


def _split_by_site(
    listed: list[Listed], own: list[Remote], document: Document, *, is_own_list: bool
) -> tuple[list[Listed], list[Remote]]:
    """Return the host's own servers and the other ones: a client's configuration lists servers of many owners. Own
    servers are on the site that serves the document or on a platform, else on the site of the document's own address. A
    document with neither owns all servers if they are on one site, or if it describes itself (`is_own_list`); those of
    well-known owners stay theirs."""
    sites = [_read_site(remote.address) for _, _, remote in listed]
    serving = host_of(document.url)
    hosts = [host_of(remote.address.url) if remote.address else None for _, _, remote in listed]
    here = [
        host is not None and ((serving is not None and same_site(host, serving)) or is_on_platform(host))
        for host in hosts
    ]
    own_site = next((_read_site(remote.address) for remote in own if remote.address), None)
    if any(here):
        is_chosen = here
    elif own_site is not None:
        is_chosen = [site == own_site for site in sites]
    elif len(set(sites)) == 1:
        is_chosen = [True] * len(sites)
    else:
        is_chosen = [is_own_list and host is not None and not _is_of_known_owner(host, serving or "") for host in hosts]
    chosen = [entry for entry, taken in zip(listed, is_chosen, strict=True) if taken]
    return chosen, [entry[2] for entry, taken in zip(listed, is_chosen, strict=True) if not taken]


def _is_of_known_owner(host: str, serving: str) -> bool:
    """Return whether the host belongs to a well-known name whose owner does not run the serving host."""
    known = owned_name(host)
    return known is not None and not known.owns(registrable_domain(serving))


def _list_tools_of_servers(
    servers: list[tuple[str, str | None, Object]], chosen: list[Listed]
) -> Iterator[tuple[mcp_parts.Entries, Endpoint | None]]:
    """Yield the tools of each own server with its address, then those of entries without any address."""
    places = [(remote.pointer.rpartition("/")[0], item, remote.address) for _, item, remote in chosen]
    unaddressed = [(pointer, item, None) for pointer, _, item in servers if address_key(item) is None]
    for place, item, address in (*places, *unaddressed):
        if entries := tool_entries(item):
            yield [(f"{place}{pointer}", entry) for pointer, entry in entries], address


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
    cited_as="SEP-",
    about=(
        "Files at MCP's early addresses, in shapes that no specification describes. They are read as far as "
        "they are clear; a server card says the same and is specified."
    ),
    link="https://modelcontextprotocol.io/",
    example={
        "mcp_version": "2026-07-28",
        "name": "City weather",
        "description": "Tells the weather of any city.",
        "endpoint": "https://example.com/mcp",
        "transport": "streamable-http",
        "tools": [
            {
                "name": "get_weather",
                "description": "Tell the weather of a city.",
                "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            },
        ],
    },
    paths=("/.well-known/mcp.json", "/.well-known/mcp", "/.well-known/mcp/server-cards.json", "/mcp.json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/tools/*", "tool", TEXT_OR_OBJECT, mcp_parts.TOOL_TYPES, marks=mcp_parts.DYNAMIC),
        Part("/mcpServers|servers/*", "server", TEXT_OR_OBJECT),
        Part("/resources|resourceTemplates/*", "resource", TEXT_OR_OBJECT, is_offered=False),
        Part("/prompts/*", "prompt", TEXT_OR_OBJECT, is_offered=False),
    ),
    types={"/name": TEXT, "/description": TEXT, "/version": TEXT},
    rules=(UNSPECIFIED, OTHERS_SERVER, mcp_parts.NOTHING, mcp_parts.NO_REMOTE, mcp_parts.REMOTE, mcp_parts.TOOL),
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
