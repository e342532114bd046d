"""Read server.json of the MCP registry, in its dated schemas and in the shape of May 2025.

Only `remotes` can be called; callers install `packages` themselves, so those yield instructions and no endpoint.
"""

import re

from registry.core.format_support import common_rules, mcp_rules
from registry.core.format_support.endpoints import Endpoint, link
from registry.core.format_support.manifest import (
    Notes,
    Object,
    first_text,
    has_placeholder,
    list_of,
    map_of,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.format_support.mcp_parts import remote_cards, remotes, tools, whole_server
from registry.core.formats.mcp_server_json import rules
from registry.core.model.documents import Document, Json
from registry.core.model.services import Capability, Origin, Service
from registry.core.reading.json_pointer import at

SLUG = "mcp-server-json"
_DATED = re.compile(r"/(\d{4}-\d{2}-\d{2})/server\.schema\.json")
_REQUIRED = ("name", "description")


def dialect(document: Document) -> str | None:
    """Return the date of the schema that the document names, "no-schema" without one, None for other documents."""
    value = document.value
    if not isinstance(value, dict):
        return None
    match = _DATED.search(text_of(value, "$schema") or "")
    if match:
        return match[1]
    return "no-schema" if isinstance(value.get("packages"), list) and "name" in value else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    _grade(value, notes)
    endpoints = remotes(value, document, notes)
    name, title = short_text_of(value, "name"), short_text_of(value, "title")
    tool_capabilities = tools(list_of(value, "tools"), "/tools", endpoints.address, document, SLUG, notes)
    service = Service(
        name=title or name,
        description=text_of(value, "description"),
        version=_version(value),
        homepage=link(first_text(value, "websiteUrl", "website_url", "homepage"), document.url),
        docs_url=link(map_of(value, "repository").get("url"), document.url),
        capabilities=tool_capabilities or _server_capability(value, name, title, endpoints.address, document),
        auth=endpoints.auth,
        protocols=endpoints.protocols,
        pointers=remote_cards(endpoints.protocols, document),
    )
    text_pointers = {"name": "/title" if title else "/name", "description": "/description", "version": "/version"}
    link_pointers = {"homepage": "/websiteUrl", "docs_url": "/repository/url"}
    capabilities_pointer = "/tools" if tool_capabilities else "/remotes" if endpoints.protocols else "/packages"
    other_pointers = {"protocols": "/remotes", "auth": "/remotes", "capabilities": capabilities_pointer}
    return with_provenance(service, document, SLUG, {**text_pointers, **link_pointers, **other_pointers})


def _grade(value: Object, notes: Notes) -> None:
    for key in _REQUIRED:
        if not text_of(value, key):
            is_blank = key != "name" and isinstance(value.get(key), str)
            notes.add(rules.BLANK if is_blank else mcp_rules.REQUIRED, f"/{key}")
    if _version(value) is None:
        notes.add(mcp_rules.REQUIRED, "/version")
    if "version_detail" in value or _is_old(list_of(value, "packages")):
        notes.add(rules.OLD_RECORD, "/version_detail" if "version_detail" in value else "/packages")
    if not list_of(value, "remotes") and not list_of(value, "packages"):
        notes.add(mcp_rules.NO_REMOTE, "/remotes")
    placeholder = _first_placeholder(value)
    if placeholder is not None:
        notes.add(common_rules.TEMPLATE, *placeholder)


def _version(value: Object) -> str | None:
    return short_text_of(value, "version") or short_text_of(map_of(value, "version_detail"), "version")


def _is_old(packages: list[Json]) -> bool:
    return any(isinstance(item, dict) and "registry_name" in item for item in packages)


def _first_placeholder(value: Json, pointer: str = "") -> tuple[str, str] | None:
    """Return pointer and text of the first placeholder anywhere: even one in an argument makes a command unusable."""
    if isinstance(value, str):
        return (pointer, value) if has_placeholder(value) else None
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    placeholders = (_first_placeholder(part, at(pointer, key)) for key, part in parts)
    return next((placeholder for placeholder in placeholders if placeholder is not None), None)


def _server_capability(
    value: Object, name: str | None, title: str | None, address: Endpoint | None, document: Document
) -> tuple[Capability, ...]:
    """Return one capability for the server, called over the network or installed.

    A server without a name, or with neither an address nor a package, has none.
    """
    packages = list_of(value, "packages")
    if name is None or (address is None and not packages):
        return ()
    is_local = address is None
    origin = Origin(document.url, "/packages" if is_local else "/remotes", SLUG)
    return (whole_server(name, title, text_of(value, "description"), address, origin, local=is_local),)
