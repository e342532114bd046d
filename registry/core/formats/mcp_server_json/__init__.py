"""server.json of the MCP registry, in its dated schemas and in the shape of May 2025.

Only `remotes` can be called; callers install `packages` themselves, so those yield instructions and no endpoint.
"""

import re
from typing import Final

from registry.core.format_support import common_rules, manifest, mcp_parts
from registry.core.format_support.account import PACKAGE, TEXT_OR_OBJECT, Part
from registry.core.format_support.endpoints import Endpoint, page
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import license_of, provider_of, repository_of
from registry.core.format_support.manifest import Notes, Object, first_text, list_of, map_of, short_text_of, text_of
from registry.core.format_support.mcp_parts import listed_tools, remote_cards, tool_entries, whole_server
from registry.core.format_support.mcp_remotes import argument_details, other_remote_members, packages_of, remotes
from registry.core.format_support.probing import ProbePath, never
from registry.core.format_support.shapes import TEXT
from registry.core.formats.mcp_server_json import rules
from registry.core.model.documents import Document, Json
from registry.core.model.findings import rules_in
from registry.core.model.services import Capability, Origin, Service
from registry.core.reading.json_pointer import at

SLUG = "mcp-server-json"
_DATED = re.compile(r"/(\d{4}-\d{2}-\d{2})/server\.schema\.json")
_REQUIRED = ("name", "description")
_ANGLED: Final = re.compile(r"<[A-Za-z][\w .-]*>")
_READ: Final = frozenset({
    "$schema", "name", "title", "description", "version", "version_detail", "websiteUrl", "website_url", "homepage",
    "repository", "packages", "remotes", "tools", "license", "keywords", "tags",
})  # fmt: skip
_POINTERS = {
    "name": "", "description": "/description", "version": "/version", "homepage": "/websiteUrl",
    "repository": "/repository/url", "packages": "/packages", "protocols": "/remotes", "auth": "/remotes",
    "capabilities": "", "provider": "", "docs_url": "", "icon_url": "", "license": "/license", "tags": "/keywords",
}  # fmt: skip


def dialect(document: Document) -> str | None:
    """Return the date of the schema that the document names, "no-schema" without one, None for other documents."""
    value = document.members
    schema = text_of(value, "$schema") or ""
    if match := _DATED.search(schema):
        return match[1]
    if "server-card" in schema:  # a card that also lists packages
        return None
    return "no-schema" if isinstance(value.get("packages"), list) and "name" in value else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    _grade(value, notes)
    endpoints = remotes(value, document, notes)
    name, title = _read_name(value, notes), short_text_of(value, "title")
    entries = tool_entries(value)
    tool_capabilities = listed_tools(entries, endpoints.address, document, SLUG, notes)
    icon = next(iter(list_of(value, "icons")), None)
    service = Service(
        name=title or name,
        description=text_of(value, "description"),
        provider=provider_of(value, document.url),
        version=_read_version(value),
        homepage=page(first_text(value, "websiteUrl", "website_url", "homepage"), document.url),
        docs_url=page(first_text(value, "documentationUrl", "documentation", "docs"), document.url),
        icon_url=page(first_text(icon, "src", "url") or first_text(value, "iconUrl", "icon"), document.url),
        repository=repository_of(value, document.url),
        license=license_of(value),
        tags=manifest.texts_of(value, "keywords") or manifest.texts_of(value, "tags"),
        capabilities=tool_capabilities or _read_server_capability(value, name, title, endpoints.address, document),
        auth=endpoints.auth,
        protocols=endpoints.protocols,
        packages=packages_of(value, document.url),
        pointers=remote_cards(endpoints.protocols, document),
        native=manifest.native(
            SLUG,
            {
                **value,
                "repository": {key: item for key, item in map_of(value, "repository").items() if key != "url"},
                "release_date": map_of(value, "version_detail").get("release_date"),
                "variables": dict(endpoints.variables),
                "remotes": list(other_remote_members(value)),
                "arguments": list(argument_details(value)),
            },
            _READ - {"repository", "remotes"},
        ),
    )
    tools_pointer = entries[0][0].rpartition("/")[0] if tool_capabilities else None
    capabilities_pointer = tools_pointer or ("/remotes" if endpoints.protocols else "/packages")
    own_pointers = {"name": "/title" if title else "/name", "capabilities": capabilities_pointer}
    return manifest.with_provenance(service, document, SLUG, {**_POINTERS, **own_pointers})


def _read_name(value: Object, notes: Notes) -> str | None:
    """Return the name of the record; None for the name in the template, `io.github.<owner>/<server>`."""
    name = short_text_of(value, "name")
    if name is not None and _ANGLED.search(name):
        notes.add(common_rules.TEMPLATE, "/name", name)
        return None
    return None if manifest.has_placeholder(value.get("name")) else name


def _grade(value: Object, notes: Notes) -> None:
    for key in _REQUIRED:
        if not text_of(value, key):
            is_blank = key != "name" and isinstance(value.get(key), str)
            notes.add(rules.BLANK if is_blank else mcp_parts.REQUIRED, f"/{key}")
    if _read_version(value) is None:
        notes.add(mcp_parts.REQUIRED, "/version")
    packages = list(manifest.parts_of(value, "packages", "/packages", notes, ("identifier",)))
    has_old_packages = any(isinstance(item, dict) and "registry_name" in item for _, _, item in packages)
    if "version_detail" in value or has_old_packages:
        notes.add(rules.OLD_RECORD, "/version_detail" if "version_detail" in value else "/packages")
    if not value.get("remotes") and not packages:
        notes.add(mcp_parts.NO_REMOTE, "/remotes")
    if (placeholder := _first_placeholder(value)) is not None:
        notes.add(common_rules.TEMPLATE, *placeholder)


def _read_version(value: Object) -> str | None:
    return short_text_of(value, "version") or short_text_of(map_of(value, "version_detail"), "version")


def _first_placeholder(value: Json, pointer: str = "") -> tuple[str, str] | None:
    """Return pointer and text of the first placeholder anywhere: even one in an argument makes a command unusable."""
    if isinstance(value, str):
        return (pointer, value) if manifest.has_placeholder(value) else None
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    placeholders = (_first_placeholder(part, at(pointer, key)) for key, part in parts)
    return next((placeholder for placeholder in placeholders if placeholder is not None), None)


def _read_server_capability(
    value: Object, name: str | None, title: str | None, address: Endpoint | None, document: Document
) -> tuple[Capability, ...]:
    """Return one capability for the server, called over the network or installed; none for a server without a name, or
    with neither an address nor a package."""
    is_local = address is None
    if name is None or (is_local and not value.get("packages")):
        return ()
    origin = Origin(document.url, "/packages" if is_local else "/remotes", SLUG)
    return (whole_server(name, title, text_of(value, "description"), address, origin, local=is_local),)


FORMAT: Final = Format(
    slug=SLUG,
    title="MCP registry record (server.json)",
    spec="server.json schema of the MCP registry",
    cited_as="server.json schema",
    about=(
        "A publisher describes an MCP server for the official MCP registry: packages to install, or "
        "addresses to connect to. This registry reads the same file from a site."
    ),
    link="https://github.com/modelcontextprotocol/registry",
    example={
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "com.example/city-weather",
        "description": "Tells the weather of any city.",
        "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": "https://example.com/mcp"}],
    },
    paths=("/server.json",),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/remotes/[]", "remote", members={"type": TEXT, "url": TEXT}),
        Part("/packages/[]", PACKAGE, members={"identifier": TEXT}),
        Part("/tools/*", "tool", TEXT_OR_OBJECT, mcp_parts.TOOL_TYPES, marks=mcp_parts.DYNAMIC),
    ),
    types={"/name": TEXT, "/description": TEXT, "/version": TEXT},
    rules=(*rules_in(rules), mcp_parts.REQUIRED, mcp_parts.NO_REMOTE, mcp_parts.REMOTE, mcp_parts.TOOL),
    asks=frozenset({"service.unnamed", "service.undescribed", "service.unversioned"}),
    probe_paths=(ProbePath("S4", 200, "/server.json", when=never),),
    precedence=100,
)
