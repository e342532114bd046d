"""Recognise WoA documents and read them into a service (draft-00 sections 4, 7, 8.1 and 9)."""

import re
from typing import Final

from registry.core.format_support.manifest import (
    TEXT_CHARS,
    Notes,
    Object,
    cap_capabilities,
    list_of,
    map_of,
    native,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.formats.woa import rules
from registry.core.formats.woa.agents import SLUG, AgentContext, authz, capabilities, read_definitions
from registry.core.formats.woa.transports import VERSION, protocols, transports
from registry.core.model.documents import Document
from registry.core.model.services import Auth, Capability, Service
from registry.core.names.domains import host_of
from registry.core.reading.plain_text import line

_PATH = re.compile(r"https?://[^/]+/\.well-known/woa\.json(?:\?.*)?")
_READ: Final = frozenset({"woa_version", "agents"})
_CACHING: Final = ("etag", "last-modified", "cache-control")
_POINTERS: Final = {
    "name": "/agents",
    "description": "/agents",
    "version": "/agents",
    "capabilities": "/agents",
    "auth": "/authz",
    "protocols": "/transports",
}


def dialect(document: Document) -> str | None:
    """Return VERSION, "other" for any other declared version, None for a document that is not WoA."""
    value = document.value
    if not isinstance(value, dict):
        return None
    if "woa_version" in value:
        return VERSION if str(value["woa_version"]) == VERSION else "other"
    agents = [agent for agent in list_of(value, "agents") if isinstance(agent, dict)]
    has_transports = any(isinstance(agent.get("transports"), list) for agent in agents)
    return VERSION if has_transports and isinstance(value.get("transports"), dict) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    _check_version(body, notes)
    _check_served(document, notes)
    usable_transports = dict(transports(body, document, notes))
    is_configured = isinstance(body.get("transports"), dict)
    if not is_configured:
        notes.add(rules.TRANSPORTS, "/transports", body.get("transports", ""))
    context = AgentContext(
        document, is_configured, map_of(body, "transports"), usable_transports, read_definitions(body), notes
    )
    agent_capabilities = cap_capabilities(capabilities(context, body.get("agents")), "/agents", notes)
    agents = _usable_agents(body, agent_capabilities)
    single_agent = agents[0] if len(agents) == 1 else {}
    service = Service(
        name=short_text_of(single_agent, "name") or host_of(document.url),
        description=text_of(single_agent, "description") or _joined_names(agents),
        version=short_text_of(single_agent, "version"),
        capabilities=agent_capabilities,
        auth=authz(body, document) or Auth(),
        protocols=tuple(protocols(usable_transports)),
        native=native(SLUG, body, _READ),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


def _check_version(body: Object, notes: Notes) -> None:
    version = body.get("woa_version", "")
    if version == 1 and not isinstance(version, bool):
        notes.add(rules.VERSION_NUMBER, "/woa_version", version)
    elif version != VERSION:
        notes.add(rules.VERSION, "/woa_version", version)


def _check_served(document: Document, notes: Notes) -> None:
    if document.url.startswith("http://"):
        notes.add(rules.HTTP, "", document.url)
    if not _PATH.fullmatch(document.url):
        notes.add(rules.PATH, "", document.url)
    if document.media_type == "application/json":
        notes.add(rules.MEDIA_TYPE, "", document.media_type)
    if document.headers and not any(name in document.headers for name in _CACHING):
        notes.add(rules.CACHING)


def _usable_agents(body: Object, agent_capabilities: tuple[Capability, ...]) -> list[Object]:
    """Return the agents that have capabilities. The draft names no service: a single agent stands for it."""
    usable_ids = {capability.id.partition(".")[0] for capability in agent_capabilities}
    agents = (agent for agent in list_of(body, "agents") if isinstance(agent, dict))
    return list({text_of(agent, "id"): agent for agent in agents if text_of(agent, "id") in usable_ids}.values())


def _joined_names(agents: list[Object]) -> str | None:
    """Return the names of several agents, joined: the draft has no description of the service."""
    names = dict.fromkeys(name for agent in agents if (name := short_text_of(agent, "name")))
    return line(", ".join(names), TEXT_CHARS) or None
