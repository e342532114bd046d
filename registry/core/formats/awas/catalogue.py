"""An AWAS document as a whole -> service (AWAS 1.0, Top-Level Properties)."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import claim, endpoint, link, origin_of
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.formats.awas import bridge
from registry.core.formats.awas.actions import SLUG, Catalogue, auth_of, capabilities, customer_actions, rate_limit
from registry.core.formats.awas.checks import check, check_path, check_served
from registry.core.formats.awas.dialects import BRIDGE, CUSTOMER, DIALECTS, GRADED, Dialect, chosen
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    NAME_CHARS,
    TEXT_CHARS,
    Notes,
    Object,
    at,
    first_text,
    has_template,
    list_of,
    map_of,
    sourced,
    text_of,
    unrendered,
    word_of,
)
from registry.core.plain_text import line
from registry.core.services import Pointer, Policies, Provider, Relations, Service, Workflow

MAX_POINTERS: Final = 10
OWN_PATHS: Final = re.compile(r"/(?:ai-actions|awas|mcp-manifest|a2a-manifest|mcp-actions)\.json$")

_PLACES: Final = {
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
    """Formats.md section 2.4, "Detect": only at the format's own paths, after all strong tests."""
    return chosen(document.value) if isinstance(document.value, dict) else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    body = document.value if isinstance(document.value, dict) else {}
    if dialect == BRIDGE:
        return bridge.read(body, document, notes)
    check_served(document, notes)
    form = DIALECTS[dialect]
    if not form.published:
        notes.add(Reason.AWAS_DIALECT, "", form.name)
    _check_required(body, form, notes)
    if form.published:
        check_path(document, notes)
    if form.name == GRADED:
        check(body, notes)
    base_url = _base_url(body, document, notes)
    auth = auth_of(map_of(body, "authentication") or map_of(body, "auth"), base_url or document.url)
    catalogue = Catalogue(document, form, base_url or origin_of(document.url), auth, notes)
    limit = body.get("rateLimit", body.get("rate_limits"))
    service = Service(
        name=_text(body, NAME_CHARS, "name", "appName"),
        description=_text(body, TEXT_CHARS, "description", "siteDescription"),
        provider=_provider(map_of(body, "contact")),
        base_url=base_url,
        capabilities=tuple(
            customer_actions(catalogue, map_of(body, "customer_actions"))
            if dialect == CUSTOMER
            else capabilities(catalogue, list_of(body, "actions"))
        ),
        auth=auth,
        policies=Policies(rate_limit=rate_limit(limit, "/rateLimit", notes)),
        pointers=tuple(_pointers(body, document)),
        relations=Relations(workflows=tuple(_workflows(body))),
        claims={"base_url": base_url} if base_url else {},
    )
    return sourced(service, document, SLUG, _PLACES)


def _check_required(body: Object, form: Dialect, notes: Notes) -> None:
    for key in form.required:
        if not word_of(body, key):
            notes.add(Reason.AWAS_REQUIRED, at("", key), body.get(key, ""))
    for key in ("name", "description"):
        has_template(body, (key,), "", notes)


def _text(body: Object, chars: int, *keys: str) -> str | None:
    key = next((key for key in keys if text_of(body, key)), None)
    return None if key is None or unrendered(body[key]) else text_of(body, key, chars)


def _base_url(body: Object, document: Document, notes: Notes) -> str | None:
    if "baseUrl" not in body:
        return None
    found = endpoint(body["baseUrl"], document.url, document, "/baseUrl", notes)
    if found is None or found.templated:
        return None
    return claim(found.url, document, "/baseUrl", notes)


def _provider(contact: Object) -> Provider | None:
    reach = first_text(contact, "email", "url", "phone", chars=NAME_CHARS)
    return Provider(contact=reach) if reach else None


def _pointers(body: Object, document: Document) -> Iterator[Pointer]:
    """Descriptions of the same calls in other formats: qontinui's members, 1.1's `openapi.documentUrl`."""
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


def _workflows(body: Object) -> Iterator[Workflow]:
    for said in list_of(body, "workflows")[:MAX_TEXTS]:
        name = first_text(said, "id", "name", chars=ID_CHARS)
        if name is not None:
            steps = tuple(filter(None, (_step(one) for one in list_of(said, "steps")[:MAX_TEXTS])))
            yield Workflow(name, word_of(said, "name"), text_of(said, "description"), steps)


def _step(said: Json) -> str | None:
    if isinstance(said, str):
        return line(said, ID_CHARS) or None
    return first_text(said, "action", "actionId", "id", chars=ID_CHARS)


FORMAT: Final = Format(
    slug=SLUG,
    title="AI-readable Web Action Standard",
    spec="AWAS 1.0",
    paths=(
        "/.well-known/ai-actions.json",
        "/.well-known/awas.json",
        "/.well-known/mcp-manifest.json",
        "/.well-known/a2a-manifest.json",
        "/ai-actions.json",
    ),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
