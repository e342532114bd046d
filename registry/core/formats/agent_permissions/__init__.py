"""agent-permissions 1.0.0: advice to agents about a site's pages, and APIs to use instead. It is not a robots.txt."""

from collections.abc import Iterator
from typing import Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import endpoint, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import (
    MAX_TEXTS,
    TEXT_CHARS,
    Notes,
    Object,
    list_of,
    map_of,
    members,
    short_text_of,
)
from registry.core.format_support.mcp_parts import card_pointer
from registry.core.format_support.probing import ProbePath, always
from registry.core.format_support.shapes import TEXT
from registry.core.model.documents import Document
from registry.core.model.findings import CONFORMANCE, WARNING, Rule
from registry.core.model.services import Pointer, Policies, Provider, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "agent-permissions"

_SOURCES: Final = {
    "provider": "/metadata/author", "docs_url": "/api", "policies": "/resource_rules", "pointers": "/api",
}  # fmt: skip
RULE = Rule(
    "permissions.rule", WARNING, points=1, section=CONFORMANCE, spec="agent-permissions 1.0.0, resource_rules",
    says="A rule lacks verb, selector or allowed.",
    fix="Give every rule all three members.",
)  # fmt: skip


def dialect(document: Document) -> str | None:
    value = document.members
    has_guidelines = "schema_version" in manifest.map_of(value, "metadata") and "action_guidelines" in value
    return "" if isinstance(value.get("resource_rules"), list) or has_guidelines else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    hints: dict[str, str] = {}
    for pointer, rule in members(list_of(value, "resource_rules"), "/resource_rules", RULE, notes):
        if missing := [key for key in ("verb", "selector", "allowed") if key not in rule]:
            notes.add(RULE, pointer, ", ".join(missing))
        else:
            name = f"rule {short_text_of(rule, 'verb')} {short_text_of(rule, 'selector')}"
            notes.mark_read(pointer)
            hints[name] = "allowed" if rule["allowed"] is True else "refused"
    for index, item in enumerate(list_of(value, "action_guidelines")[:MAX_TEXTS]):
        if description := manifest.text_of(item, "description"):
            text = f"{short_text_of(item, 'directive') or ''} {description}"
            notes.mark_read(at("/action_guidelines", index))
            hints[f"guideline {index + 1}"] = line(text, TEXT_CHARS)
    author = short_text_of(map_of(value, "metadata"), "author")
    apis = [item for item in list_of(value, "api")[:MAX_TEXTS] if isinstance(item, dict)]
    service = Service(
        provider=Provider(author) if author else None,
        docs_url=next((url for item in apis if (url := link(item.get("docs"), document.url))), None),
        policies=Policies(hints=dict(list(hints.items())[:MAX_TEXTS])),
        pointers=tuple(_read_apis(value, document, notes))[:MAX_TEXTS],
        native=manifest.native(SLUG, value, ()),
    )
    return manifest.with_provenance(service, document, SLUG, _SOURCES)


def _read_apis(value: Object, document: Document, notes: Notes) -> Iterator[Pointer]:
    """Yield pointers: an OpenAPI endpoint is the description, an MCP or A2A endpoint has a card elsewhere."""
    for item_pointer, item in members(list_of(value, "api"), "/api", common_rules.ENDPOINT_INVALID, notes):
        kind, pointer = short_text_of(item, "type"), at(item_pointer, "endpoint")
        if kind == "mcp":
            yield from card_pointer(endpoint(item.get("endpoint"), document.url, document, pointer, notes), pointer)
        elif kind == "a2a":
            target = link("/.well-known/agent-card.json", link(item.get("endpoint"), document.url) or document.url)
            if target:
                yield Pointer(target, "a2a", pointer, "a2a")
        elif kind == "openapi" and (target := link(item.get("endpoint"), document.url)):
            yield Pointer(target, "openapi", pointer, "openapi")


FORMAT: Final = Format(
    slug=SLUG,
    title="agent-permissions",
    spec="agent-permissions 1.0.0",
    cited_as="agent-permissions ",
    about=(
        "A site tells agents which of its pages they may use and how, beyond robots.txt. Agents in a browser "
        "read it before they act."
    ),
    link="https://github.com/las-wg/agent-permissions.json",
    example={
        "metadata": {"schema_version": "1.0.0", "last_updated": "2026-01-01T00:00:00Z"},
        "resource_rules": [{"verb": "read_content", "selector": "*", "allowed": True}],
        "action_guidelines": [],
        "api": [{"type": "openapi", "endpoint": "https://example.com/openapi.json"}],
    },
    paths=("/.well-known/agent-permissions.json",),
    role=Role.POINTERS,
    read=read,
    parts=(
        Part("/resource_rules/[]", "rule", members={"verb": TEXT, "selector": TEXT}, is_offered=False),
        Part("/action_guidelines/[]", "guideline", is_offered=False),
        Part("/api/[]", "interface"),
    ),
    rules=(RULE,),
    link_relations=("agent-permissions",),
    probe_paths=(ProbePath("S4", 90, "/.well-known/agent-permissions.json", when=always),),
    precedence=220,
)
