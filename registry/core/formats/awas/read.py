"""Recognise AWAS documents and read them into a service (AWAS 1.0, Top-Level Properties)."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.format_support.endpoints import claim, endpoint, link, origin_of
from registry.core.format_support.loose import homepage_of, license_of, pricing_of, provider_of, repository_of
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    NAME_CHARS,
    TEXT_CHARS,
    Notes,
    Object,
    first_text,
    has_placeholder,
    has_template,
    list_of,
    map_of,
    native,
    short_text_of,
    text_of,
    with_provenance,
)
from registry.core.formats.awas import bridge, rules
from registry.core.formats.awas.actions import (
    SLUG,
    ActionCatalogue,
    auth_of,
    capabilities,
    customer_actions,
    rate_limit,
)
from registry.core.formats.awas.checks import check, check_path, check_served
from registry.core.formats.awas.dialects import BRIDGE, CUSTOMER, DIALECTS, GRADED, Dialect, dialect_of
from registry.core.model.documents import Document, Json
from registry.core.model.services import Pointer, Policies, Relations, Service, Workflow
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

MAX_POINTERS: Final = 10
_READ: Final = frozenset({
    "version", "specVersion", "schemaVersion", "schema_version", "name", "appName", "description", "siteDescription",
    "baseUrl", "actions", "customer_actions", "workflows", "openapiUrl", "mcpManifestUrl",
})  # fmt: skip
OWN_PATHS: Final = re.compile(r"/(?:ai-actions|awas|mcp-manifest|a2a-manifest|mcp-actions)\.json$")

_POINTERS: Final = {
    "name": "/name",
    "description": "/description",
    "base_url": "/baseUrl",
    "provider": "/contact",
    "capabilities": "/actions",
    "auth": "/authentication",
    "policies": "/rateLimit",
    "relations": "/workflows",
}


def weak_dialect(document: Document) -> str | None:
    """Return the dialect, or None for a document that is not AWAS.

    No member identifies AWAS, so this is a weak test: it counts at the format's own paths, after all strong tests.
    """
    return dialect_of(document.value) if isinstance(document.value, dict) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    if dialect == BRIDGE:
        return bridge.read(body, document, notes)
    check_served(document, notes)
    definition = DIALECTS[dialect]
    if not definition.published:
        notes.add(rules.DIALECT, "", definition.name)
    _check_required(body, definition, notes)
    if definition.published:
        check_path(document, notes)
    if definition.name == GRADED:
        check(body, notes)
    base_url = _read_base_url(body, document, notes)
    auth = auth_of(map_of(body, "authentication") or map_of(body, "auth"), base_url or document.url)
    catalogue = ActionCatalogue(document, definition, base_url or origin_of(document.url), auth, notes)
    limit = body.get("rateLimit", body.get("rate_limits"))
    service = Service(
        name=_text(body, NAME_CHARS, "name", "appName"),
        description=_text(body, TEXT_CHARS, "description", "siteDescription"),
        provider=provider_of(body, document.url),
        homepage=homepage_of(body, document.url) or link(body.get("site"), document.url),
        repository=repository_of(body, document.url),
        license=license_of(body),
        pricing=pricing_of(body.get("pricing"), document.url),
        base_url=base_url,
        capabilities=tuple(
            customer_actions(catalogue, map_of(body, "customer_actions"))
            if dialect == CUSTOMER
            else capabilities(catalogue, list_of(body, "actions"))
        ),
        auth=auth,
        policies=Policies(rate_limit=rate_limit(limit, "/rateLimit", notes)),
        pointers=tuple(_read_pointers(body, document)),
        relations=Relations(workflows=tuple(_read_workflows(body))),
        claims={"base_url": base_url} if base_url else {},
        native=native(SLUG, body, _READ),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


def _check_required(body: Object, dialect: Dialect, notes: Notes) -> None:
    for key in dialect.required:
        if not short_text_of(body, key):
            notes.add(rules.REQUIRED, at("", key), body.get(key, ""))
    for key in ("name", "description"):
        has_template(body, (key,), "", notes)


def _text(body: Object, chars: int, *keys: str) -> str | None:
    key = next((key for key in keys if text_of(body, key)), None)
    return None if key is None or has_placeholder(body[key]) else text_of(body, key, chars)


def _read_base_url(body: Object, document: Document, notes: Notes) -> str | None:
    if "baseUrl" not in body:
        return None
    address = endpoint(body["baseUrl"], document.url, document, "/baseUrl", notes)
    if address is None or address.templated:
        return None
    return claim(address.url, document, "/baseUrl", notes)


def _read_pointers(body: Object, document: Document) -> Iterator[Pointer]:
    """Yield pointers to the same calls in other formats: qontinui's members, `openapi.documentUrl` of 1.1."""
    seen = set()
    for key, rel, expected in (("openapiUrl", "service-desc", "openapi"), ("mcpManifestUrl", "mcp-manifest", None)):
        if (url := link(body.get(key), document.url)) is not None:
            seen.add(url)
            yield Pointer(url, rel, at("", key), expected)
    for index, action in enumerate(list_of(body, "actions")):
        url = link(map_of(action, "openapi").get("documentUrl"), document.url)
        if url is not None and url not in seen and len(seen) < MAX_POINTERS:
            seen.add(url)
            yield Pointer(url, "service-desc", at("/actions", index, "openapi", "documentUrl"), "openapi")


def _read_workflows(body: Object) -> Iterator[Workflow]:
    for workflow in list_of(body, "workflows")[:MAX_TEXTS]:
        name = first_text(workflow, "id", "name", chars=ID_CHARS)
        if name is not None:
            steps = tuple(filter(None, (_read_step(step) for step in list_of(workflow, "steps")[:MAX_TEXTS])))
            yield Workflow(name, short_text_of(workflow, "name"), text_of(workflow, "description"), steps)


def _read_step(step: Json) -> str | None:
    if isinstance(step, str):
        return line(step, ID_CHARS) or None
    return first_text(step, "action", "actionId", "id", chars=ID_CHARS)
