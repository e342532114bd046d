"""server.json of the MCP registry, in its dated schemas and in the shape of May 2025.

Only `remotes` can be called; `packages` are installed by the caller, so they give instructions and no endpoint.
"""

import re

from registry.core.documents import Document, Json
from registry.core.endpoints import Endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    Notes,
    Object,
    at,
    first_text,
    list_of,
    map_of,
    sourced,
    text_of,
    unrendered,
    word_of,
)
from registry.core.mcp_parts import remote_cards, remotes, tools, whole_server
from registry.core.services import Capability, Origin, Service

_SLUG = "mcp-server-json"
_DATED = re.compile(r"/(\d{4}-\d{2}-\d{2})/server\.schema\.json")
_REQUIRED = ("name", "description")


def dialect(document: Document) -> str | None:
    """The date of the schema that the document names, or "no-schema"."""
    value = document.value
    if not isinstance(value, dict):
        return None
    dated = _DATED.search(text_of(value, "$schema") or "")
    if dated:
        return dated[1]
    return "no-schema" if isinstance(value.get("packages"), list) and "name" in value else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    _grade(value, notes)
    reached = remotes(value, document, notes)
    name, title = word_of(value, "name"), word_of(value, "title")
    listed = tools(list_of(value, "tools"), "/tools", reached.address, document, _SLUG, notes)
    service = Service(
        name=title or name,
        description=text_of(value, "description"),
        version=_version(value),
        homepage=link(first_text(value, "websiteUrl", "website_url", "homepage"), document.url),
        docs_url=link(map_of(value, "repository").get("url"), document.url),
        capabilities=listed or _server(value, name, title, reached.address, document),
        auth=reached.auth,
        protocols=reached.protocols,
        pointers=remote_cards(reached.protocols, document),
    )
    places = {"name": "/title" if title else "/name", "description": "/description", "version": "/version"}
    linked = {"homepage": "/websiteUrl", "docs_url": "/repository/url"}
    listed_at = "/tools" if listed else "/remotes" if reached.protocols else "/packages"
    others = {"protocols": "/remotes", "auth": "/remotes", "capabilities": listed_at}
    return sourced(service, document, _SLUG, {**places, **linked, **others})


def _grade(value: Object, notes: Notes) -> None:
    for key in _REQUIRED:
        if not text_of(value, key):
            blank = key != "name" and isinstance(value.get(key), str)
            notes.add(Reason.MCP_BLANK if blank else Reason.MCP_REQUIRED, f"/{key}")
    if _version(value) is None:
        notes.add(Reason.MCP_REQUIRED, "/version")
    if "version_detail" in value or _is_old(list_of(value, "packages")):
        notes.add(Reason.MCP_OLD_RECORD, "/version_detail" if "version_detail" in value else "/packages")
    if not list_of(value, "remotes") and not list_of(value, "packages"):
        notes.add(Reason.MCP_NO_REMOTE, "/remotes")
    place = _unrendered_at(value)
    if place is not None:
        notes.add(Reason.TEMPLATE, *place)


def _version(value: Object) -> str | None:
    return word_of(value, "version") or word_of(map_of(value, "version_detail"), "version")


def _is_old(packages: list[Json]) -> bool:
    return any(isinstance(item, dict) and "registry_name" in item for item in packages)


def _unrendered_at(value: Json, pointer: str = "") -> tuple[str, str] | None:
    """The first placeholder of a generator anywhere: one in an argument spoils the command it belongs to."""
    if isinstance(value, str):
        return (pointer, value) if unrendered(value) else None
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = (_unrendered_at(part, at(pointer, key)) for key, part in parts)
    return next((place for place in found if place is not None), None)


def _server(
    value: Object, name: str | None, title: str | None, address: Endpoint | None, document: Document
) -> tuple[Capability, ...]:
    """One capability for the server: called over the network, or installed by whoever wants it."""
    packages = list_of(value, "packages")
    if name is None or (address is None and not packages):
        return ()
    local = address is None
    origin = Origin(document.url, "/packages" if local else "/remotes", _SLUG)
    return (whole_server(name, title, text_of(value, "description"), address, origin, local=local),)


FORMAT = Format(
    slug=_SLUG,
    title="MCP registry record (server.json)",
    spec="server.json schema of the MCP registry",
    paths=("/server.json",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
