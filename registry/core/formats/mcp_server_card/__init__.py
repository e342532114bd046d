"""Recognise and read MCP server cards: v1 (SEP-2127, final) and the SEP-1649 draft, which most sites still serve.

A v1 card lists no tools by design, so one capability represents the whole server for search. Many cards mix the members
of both; each is read wherever it stands.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support import common_rules, manifest, mcp_parts, mcp_remotes
from registry.core.format_support.account import PACKAGE, TEXT_OR_OBJECT, Part
from registry.core.format_support.endpoints import Endpoint, claims, link, origin_of
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes, Object, first_text, flag_of, map_of, text_of
from registry.core.format_support.mcp_remotes import Remotes, described_remotes, other_remote_members, remotes
from registry.core.format_support.mcp_service import CONTEXT, READ, TITLES, base_service, mcp_auth, name_of, other_facts
from registry.core.format_support.offers import capabilities_of, offers_in, target_of
from registry.core.format_support.probing import CARD_CAP, ProbePath, never
from registry.core.format_support.shapes import OBJECT, TEXT
from registry.core.formats.mcp_server_card import rules
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Capability, Origin, Pointer, Service

SLUG = "mcp-server-card"
_V1, _SEP1649 = "v1", "sep1649"
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_SCHEMA_LIKE = re.compile(r"static\.modelcontextprotocol\.io/.*server-card\.schema\.json")
_NAME = re.compile(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+")
_RANGE = re.compile(r"[\^~*]|[<>]|\.x\b|\|\|")
_READ: Final = (READ - {"remotes"}) | {"openapi"}
_MAX_CHARS = {"name": 200, "version": 255, "description": 100, "title": 100}


def by_schema(document: Document) -> str | None:
    return _V1 if _SCHEMA_LIKE.search(text_of(document.value, "$schema") or "") else None


def by_remotes(document: Document) -> str | None:
    """Recognise a v1 card without $schema."""
    card = document.members
    return _V1 if "name" in card and mcp_remotes.are_remotes(card.get("remotes")) else None


def by_server_info(document: Document) -> str | None:
    card = document.members
    return _SEP1649 if isinstance(card.get("serverInfo"), dict) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    card = document.members
    if flag_of(card, "enabled") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/enabled", False)
    if dialect == _V1:
        _grade(card, notes)
    info = map_of(card, "serverInfo")
    # the members of each draft stand where it puts them; the other place fills what is missing
    holders = [card, info] if dialect == _V1 and info else [info, card] if info else [card]
    for holder, pointer in ((card, "/name"), (info, "/serverInfo/name")):
        if manifest.has_placeholder(holder.get("name")):
            notes.add(common_rules.TEMPLATE, pointer, holder["name"])
    endpoints = remotes(card, document, notes)
    if not endpoints.protocols:  # `transport` and its spellings
        endpoints = Remotes(*mcp_remotes.unite_remotes(described_remotes(card, document, notes)), endpoints.variables)
    address = endpoints.address
    entries = mcp_parts.tool_entries(card)
    tool_capabilities = mcp_parts.listed_tools(entries, address, document, SLUG, notes)
    offered = tool_capabilities or mcp_parts.context_offers(card, address, document, SLUG, notes)
    offered = offered or tuple(_read_called_capabilities(card, document, notes))
    described = base_service(holders, card, document)
    is_shown_whole = not offered or (not tool_capabilities and mcp_parts.keeps_tools_to_itself(card))
    whole = _make_whole_server(holders, described, address, document) if is_shown_whole else ()
    service = Service(
        **described,
        capabilities=(*whole, *offered),
        auth=mcp_auth(card, endpoints.auth, described["description"], document.url),
        protocols=endpoints.protocols,
        pointers=(*_read_pointers(card, document), *_read_card_pointers(card, address, document)),
        claims=claims(
            "website", card.get("websiteUrl"), document, "/websiteUrl", notes, common_rules.PROVIDER_ELSEWHERE
        ),
        native=other_facts(
            SLUG,
            card,
            _READ if tool_capabilities or not offered else _READ | CONTEXT,
            {"variables": dict(endpoints.variables), "remotes": list(other_remote_members(card))},
        ),
    )
    transport = map_of(card, "transport")
    kind = transport.get("type", "")
    names_address = card.get("remotes") or (first_text(transport, "url", "endpoint") and kind != "none")
    if not endpoints.protocols and not names_address:
        is_empty = dialect == _SEP1649 and not offered and not service.packages
        place = "/remotes" if dialect == _V1 else "/transport"
        notes.add(mcp_parts.NOTHING if is_empty else mcp_parts.NO_REMOTE, place, kind)
    origin = offered[0].invocations[0].origin if offered else None
    info_pointer = "/serverInfo" if isinstance(card.get("serverInfo"), dict) else ""
    capabilities_pointer = origin.pointer.rpartition("/")[0] if origin else info_pointer
    sources = _read_sources(card, dialect)
    return manifest.with_provenance(service, document, SLUG, {**sources, "capabilities": capabilities_pointer})


def _read_called_capabilities(card: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    """Yield what a card offers below `capabilities` by addresses of its own: `{booking: {description, endpoint}}`."""
    used_names: set[str] = set()
    for offer in offers_in(card, ("capabilities",)):
        if target_of(offer.holder)[0] is not None:
            yield from capabilities_of(offer, origin_of(document.url), document, SLUG, used_names, notes)


def _make_whole_server(
    holders: list[Object], described: dict[str, Any], address: Endpoint | None, document: Document
) -> tuple[Capability, ...]:
    """Return the server as one capability, if it has a name and can be called or installed."""
    name = next((name for holder in holders if (name := name_of(holder))), None)
    is_local = address is None
    if name is None or (is_local and not described["packages"]):
        return ()
    title = described["name"] if described["name"] != name else None
    origin = Origin(document.url, "/packages" if is_local else "", SLUG)
    return (mcp_parts.whole_server(name, title, described["description"], address, origin, local=is_local),)


def _read_sources(card: Object, dialect: str) -> dict[str, str]:
    """Return pointers to the members that fields are taken from: of the card, or of `serverInfo`."""
    info = map_of(card, "serverInfo")
    sources = {}
    for field, keys in _MEMBERS.items():
        places = [(f"/{key}", key in card) for key in keys], [(f"/serverInfo/{key}", key in info) for key in keys]
        ordered = [*places[0], *places[1]] if dialect == _V1 else [*places[1], *places[0]]
        sources[field] = next((place for place, is_there in ordered if is_there), "")
    return sources


_MEMBERS = {
    "name": (*TITLES, "name"),
    "description": ("description",),
    "version": ("version",),
    "provider": ("vendor", "provider", "publisher", "author", "contact"),
    "homepage": ("homepage", "websiteUrl", "website"),
    "docs_url": ("documentation", "documentationUrl"),
    "repository": ("repository",),
    "icon_url": ("icons", "iconUrl"),
    "license": ("license",),
    "tags": ("tags", "keywords"),
    "pricing": ("pricing", "payment"),
    "packages": ("packages",),
    "auth": ("authentication", "auth", "remotes"),
    "protocols": ("remotes", "transport", "endpoint", "url"),
    "claims": ("websiteUrl",),
}


def _grade(card: Object, notes: Notes) -> None:
    for key in ("name", "version", "description"):
        if not text_of(card, key):
            notes.add(mcp_parts.REQUIRED, f"/{key}")
    for key, max_chars in _MAX_CHARS.items():
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


def _read_pointers(card: Object, document: Document) -> tuple[Pointer, ...]:
    target = link(card.get("openapi"), document.url)
    return (Pointer(target, "openapi", "/openapi", "openapi"),) if target else ()


def _read_card_pointers(card: Object, address: Endpoint | None, document: Document) -> tuple[Pointer, ...]:
    """Return the pointers to the final card of a server that a draft describes, and to its OAuth metadata."""
    if card.get("remotes"):
        return mcp_parts.resource_pointers([(address, "/remotes")], document)
    transport = map_of(card, "transport")
    pointer = "/transport/url" if text_of(transport, "url") else "/transport/endpoint" if transport else "/transport"
    cards = (found for found in mcp_parts.card_pointer(address, pointer) if found.url != document.url)
    return (*cards, *mcp_parts.resource_pointers([(address, pointer)], document))


FORMAT: Final = Format(
    slug=SLUG,
    title="MCP server card",
    spec="MCP server card v1 (SEP-2127)",
    cited_as="MCP server card",
    mistakes={"/name": "city weather", "/version": None},
    about=(
        "A site says which MCP server it has, before a client connects to it. Hosts of MCP servers read it to "
        "offer a connection."
    ),
    link="https://modelcontextprotocol.io/",
    example={
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "com.example/city-weather",
        "version": "1.0.0",
        "title": "City weather",
        "description": "Tells the weather of any city.",
        "remotes": [{"type": "streamable-http", "url": "https://example.com/mcp"}],
    },
    paths=("/.well-known/mcp/server-card.json", "/.well-known/mcp.json", "/.well-known/mcp-server-card.json"),
    media_types=("application/mcp-server-card+json", "application/mcp-server+json", "application/json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/tools/*", "tool", TEXT_OR_OBJECT, mcp_parts.TOOL_TYPES, marks=mcp_parts.DYNAMIC),
        Part("/remotes/[]", "remote", members={"type": TEXT, "url": TEXT}),
        Part("/packages/[]", PACKAGE, members={"identifier": TEXT}),
        Part("/resources|resourceTemplates/*", "resource", TEXT_OR_OBJECT, is_offered=False),
        Part("/prompts/*", "prompt", TEXT_OR_OBJECT, is_offered=False),
    ),
    types={"/name": TEXT, "/description": TEXT, "/version": TEXT, "/serverInfo": OBJECT, "/serverInfo/version": TEXT},
    rules=(
        *rules_in(rules),
        mcp_parts.REQUIRED,
        mcp_parts.NOTHING,
        mcp_parts.NO_REMOTE,
        mcp_parts.REMOTE,
        mcp_parts.TOOL,
    ),
    asks=frozenset({"service.unnamed", "service.unversioned", "capability.without_params"}),
    promised_paths=("/.well-known/mcp/server-card.json", "/.well-known/mcp-server-card.json"),
    promised_pattern=re.compile(r"/server-card$"),
    accept="application/mcp-server-card+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S3", 20, "/.well-known/mcp/server-card.json"),
        ProbePath(
            "S4", 170, "/.well-known/mcp-server-card.json", fallback_of="/.well-known/mcp/server-card.json", when=never
        ),
        ProbePath("S1", 10, "/.well-known/mcp/server-card.json", sub_host="mcp"),
        ProbePath("S1", 40, "/.well-known/mcp/server-card.json", sub_host="docs"),
    ),
    absence_member="serverInfo",
    precedence=80,
)
