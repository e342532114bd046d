"""Recognise WoA documents and read them into a service (draft-00 sections 4, 7, 8.1 and 9)."""

import re
from typing import Final

from registry.core.format_support.manifest import (
    TEXT_CHARS,
    Notes,
    Object,
    capped,
    list_of,
    map_of,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.formats.woa import rules
from registry.core.formats.woa.agents import SLUG, AgentContext, authz, capabilities, inherited
from registry.core.formats.woa.transports import VERSION, protocols, transports
from registry.core.model.documents import Document
from registry.core.model.services import Auth, Capability, Service
from registry.core.names.domains import host_of
from registry.core.reading.plain_text import line

_PATH = re.compile(r"https?://[^/]+/\.well-known/woa\.json(?:\?.*)?")
_CACHING: Final = ("etag", "last-modified", "cache-control")
_POINTERS: Final = {"description": "/agents", "capabilities": "/agents", "auth": "/authz", "protocols": "/transports"}


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
        document, is_configured, map_of(body, "transports"), usable_transports, inherited(body), notes
    )
    agent_capabilities = capped(capabilities(context, body.get("agents")), "/agents", notes)
    service = Service(
        name=host_of(document.url),
        description=_description(body, agent_capabilities),
        capabilities=agent_capabilities,
        auth=authz(body, document) or Auth(),
        protocols=tuple(protocols(usable_transports)),
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


def _description(body: Object, agent_capabilities: tuple[Capability, ...]) -> str | None:
    """Return the names of the usable agents, joined, because the draft has no description of the service."""
    usable_ids = {capability.id.partition(".")[0] for capability in agent_capabilities}
    agents = (agent for agent in list_of(body, "agents") if text_of(agent, "id") in usable_ids)
    names = dict.fromkeys(name for agent in agents if (name := short_text_of(agent, "name")))
    return line(", ".join(names), TEXT_CHARS) or None
