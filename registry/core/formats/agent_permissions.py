"""agent-permissions 1.0.0: advice to agents on a site's pages; no robots.txt. It names APIs to use instead."""

from collections.abc import Iterator
from typing import Final

from registry.core.documents import Document
from registry.core.endpoints import endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    MAX_TEXTS,
    TEXT_CHARS,
    Notes,
    Object,
    at,
    list_of,
    map_of,
    members,
    sourced,
    text_of,
    word_of,
)
from registry.core.mcp_parts import card_pointer
from registry.core.plain_text import line
from registry.core.services import Pointer, Policies, Service

_SLUG: Final = "agent-permissions"
_RULE: Final = ("verb", "selector", "allowed")


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    described = "schema_version" in map_of(value, "metadata") and "action_guidelines" in value
    return "" if isinstance(value.get("resource_rules"), list) or described else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    rules = members(list_of(value, "resource_rules"), "/resource_rules", Reason.PERMISSIONS_RULE, notes)
    hints = {
        f"rule {word_of(rule, 'verb')} {word_of(rule, 'selector')}": "allowed" if rule["allowed"] is True else "refused"
        for place, rule in rules
        if _is_whole(rule, place, notes)
    }
    hints |= dict(_guidelines(value))
    service = Service(
        policies=Policies(hints=dict(list(hints.items())[:MAX_TEXTS])),
        pointers=tuple(_apis(value, document, notes))[:MAX_TEXTS],
    )
    return sourced(service, document, _SLUG, {"policies": "/resource_rules", "pointers": "/api"})


def _is_whole(rule: Object, place: str, notes: Notes) -> bool:
    missing = [key for key in _RULE if key not in rule]
    if missing:
        notes.add(Reason.PERMISSIONS_RULE, place, ", ".join(missing))
    return not missing


def _guidelines(value: Object) -> Iterator[tuple[str, str]]:
    for index, item in enumerate(list_of(value, "action_guidelines")[:MAX_TEXTS]):
        if description := text_of(item, "description"):
            yield f"guideline {index + 1}", line(f"{word_of(item, 'directive') or ''} {description}", TEXT_CHARS)


def _apis(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    """OpenAPI endpoints are descriptions; the card of an MCP or A2A endpoint lies at a place of its own."""
    for place, item in members(list_of(value, "api"), "/api", Reason.ENDPOINT_INVALID, notes):
        kind, pointer = word_of(item, "type"), at(place, "endpoint")
        if kind == "mcp":
            yield from card_pointer(endpoint(item.get("endpoint"), document.url, document, pointer, notes), pointer)
        elif kind == "a2a":
            target = link("/.well-known/agent-card.json", link(item.get("endpoint"), document.url) or document.url)
            if target:
                yield Pointer(target, "a2a", pointer, "a2a")
        elif kind == "openapi" and (target := link(item.get("endpoint"), document.url)):
            yield Pointer(target, "openapi", pointer, "openapi")


FORMAT = Format(
    slug=_SLUG,
    title="agent-permissions",
    spec="agent-permissions 1.0.0",
    paths=("/.well-known/agent-permissions.json",),
    media_types=("application/json",),
    role=Role.POINTERS,
    read=_read,
)
