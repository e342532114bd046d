"""Read AWAS bridge manifests, which only point to the catalogue of actions (AWAS 1.0, MCP and A2A Integration)."""

from collections.abc import Iterator
from typing import Final

from registry.core.format_support.endpoints import link, page
from registry.core.format_support.loose import homepage_of, license_of, provider_of, repository_of
from registry.core.format_support.manifest import Notes, Object, map_of, native, short_text_of, text_of
from registry.core.format_support.shapes import OBJECT, check_types
from registry.core.formats.awas import rules
from registry.core.model.documents import Document
from registry.core.model.services import Pointer, Protocol, Service
from registry.core.reading.json_pointer import at

_CATALOGUE: Final = frozenset({"actions", "actions_registry", "discover"})
_READ: Final = frozenset({"$schema", "name", "description", "version", "protocol"})
_DOCS: Final = ("documentation", "documentationUrl", "docs")
_MAX_POINTERS: Final = 20
_NEEDED: Final = {"mcp": ("capabilities", "endpoints"), "a2a": ("capabilities", "endpoints", "interoperability")}


def read(body: Object, document: Document, notes: Notes) -> Service:
    protocol = _read_protocol(body, document)
    for key in _NEEDED[protocol]:
        if key not in body:
            notes.add(rules.BRIDGE, at("", key))
    _check_endpoints(body, document, notes)
    metadata = map_of(body, "metadata")
    members = {**body, **metadata}
    return Service(
        name=short_text_of(body, "name"),
        description=text_of(body, "description"),
        version=short_text_of(body, "version"),
        provider=provider_of(members, document.url),
        homepage=homepage_of(members, document.url),
        docs_url=next((url for key in _DOCS if (url := page(members.get(key), document.url))), None),
        repository=repository_of(members, document.url),
        license=license_of(members),
        native=native("awas", body, _READ),
        protocols=(Protocol(protocol, version=short_text_of(map_of(body, "integration"), "version")),),
        pointers=tuple(_read_pointers(body, document))[:_MAX_POINTERS],
    )


def _check_endpoints(body: Object, document: Document, notes: Notes) -> None:
    """Check that the bridge links the catalogue of actions and its schema, and the types of its sections."""
    endpoints, actions = map_of(body, "endpoints"), map_of(body, "actions")
    catalogue_urls = [endpoints.get("actions"), endpoints.get("actions_registry"), actions.get("discover")]
    if not any(link(url, document.url) for url in catalogue_urls):
        notes.add(rules.BRIDGE_LINK, "/endpoints", next((url for url in catalogue_urls if url is not None), ""))
    if not any(key.startswith("schema") for key in endpoints):
        notes.add(rules.BRIDGE_SCHEMA, "/endpoints")
    check_types(body, {"endpoints": OBJECT, "interoperability": OBJECT}, "", rules.MEMBER_TYPE, notes)
    if not isinstance(body.get("capabilities", []), list | dict):
        notes.add(rules.MEMBER_TYPE, "/capabilities", body["capabilities"])


def _read_protocol(body: Object, document: Document) -> str:
    protocol = (short_text_of(body, "protocol") or short_text_of(map_of(body, "integration"), "protocol") or "").lower()
    if protocol in _NEEDED:
        return protocol
    return "a2a" if "a2a" in document.url.rpartition("/")[2] else "mcp"


def _read_pointers(body: Object, document: Document) -> Iterator[Pointer]:
    """Yield pointers to the documents that the bridge names, except schemas, which describe no capability."""
    for section in ("endpoints", "discovery", "actions"):
        for key, target in map_of(body, section).items():
            url = link(target, document.url)
            if url is not None and url != document.url and not key.startswith("schema"):
                expected = "awas" if key in _CATALOGUE else None
                yield Pointer(url, "ai-actions" if expected else key[:40], at("", section, key), expected)
