"""AWAS bridge manifests: they offer nothing themselves, they name the catalogue (AWAS 1.0, MCP and A2A Integration)."""

from collections.abc import Iterator
from typing import Final

from registry.core.documents import Document
from registry.core.endpoints import link
from registry.core.findings import Reason
from registry.core.manifest import Notes, Object, at, map_of, text_of, word_of
from registry.core.services import Pointer, Protocol, Service
from registry.core.shapes import check_types, is_map

_CATALOGUE: Final = frozenset({"actions", "actions_registry", "discover"})
_MAX_POINTERS: Final = 20
_NEEDED: Final = {"mcp": ("capabilities", "endpoints"), "a2a": ("capabilities", "endpoints", "interoperability")}


def read(body: Object, document: Document, notes: Notes) -> Service:
    protocol = _protocol(body, document)
    for key in _NEEDED[protocol]:
        if key not in body:
            notes.add(Reason.AWAS_BRIDGE, at("", key))
    _check_endpoints(body, document, notes)
    return Service(
        name=word_of(body, "name"),
        description=text_of(body, "description"),
        version=word_of(body, "version"),
        homepage=link(map_of(body, "metadata").get("homepage"), document.url),
        protocols=(Protocol(protocol, version=word_of(map_of(body, "integration"), "version")),),
        pointers=tuple(_pointers(body, document))[:_MAX_POINTERS],
    )


def _check_endpoints(body: Object, document: Document, notes: Notes) -> None:
    """A reference that leads nowhere references nothing; schemas belong beside the actions."""
    endpoints, actions = map_of(body, "endpoints"), map_of(body, "actions")
    named = [endpoints.get("actions"), endpoints.get("actions_registry"), actions.get("discover")]
    if not any(link(one, document.url) for one in named):
        notes.add(Reason.AWAS_BRIDGE_LINK, "/endpoints", next((one for one in named if one is not None), ""))
    if not any(key.startswith("schema") for key in endpoints):
        notes.add(Reason.AWAS_BRIDGE_SCHEMA, "/endpoints")
    check_types(body, {"endpoints": is_map, "interoperability": is_map}, "", Reason.AWAS_MEMBER_TYPE, notes)
    if not isinstance(body.get("capabilities", []), list | dict):
        notes.add(Reason.AWAS_MEMBER_TYPE, "/capabilities", body["capabilities"])


def _protocol(body: Object, document: Document) -> str:
    said = (word_of(body, "protocol") or word_of(map_of(body, "integration"), "protocol") or "").lower()
    if said in _NEEDED:
        return said
    return "a2a" if "a2a" in document.url.rpartition("/")[2] else "mcp"


def _pointers(body: Object, document: Document) -> Iterator[Pointer]:
    """The schema of the catalogue is for validators: it leads to nothing that could be listed."""
    for holder in ("endpoints", "discovery", "actions"):
        for key, said in map_of(body, holder).items():
            url = link(said, document.url)
            if url is not None and url != document.url and not key.startswith("schema"):
                expected = "awas" if key in _CATALOGUE else None
                yield Pointer(url, "ai-actions" if expected else key[:40], at("", holder, key), expected)
