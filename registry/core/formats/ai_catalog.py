"""AI Catalog 1.0 and ARD 0.9/0.91: a publisher's list of agents, servers, APIs and skills. It vouches, it serves none.

Each entry is a pointer, with its inline data where it has any, and a provisional capability: its sample queries are
the best search text that anybody writes. Identifiers are claims.
"""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import claim, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    Notes,
    Object,
    at,
    has_template,
    list_of,
    map_of,
    members,
    sourced,
    text_of,
    texts_of,
    word_of,
)
from registry.core.services import Capability, Invocation, Origin, Pointer, Policies, Service

_SLUG: Final = "ai-catalog"
_AD_HOC: Final = "adhoc"
_URN = re.compile(r"urn:(air?):([a-z0-9.-]+\.[a-z0-9-]+)(:[^:\s]+)+", re.IGNORECASE)
_QUERIES: Final = range(2, 6)
_QUERY_CHARS: Final = 500
_LOOSE_LISTS: Final = {
    "agentCards": "a2a", "mcpServers": "mcp-server-card", "services": None, "resources": None,
}  # fmt: skip
_PROMISES: Final = {
    "application/a2a-agent-card+json": "a2a",
    "application/agent-card+json": "a2a",
    "application/mcp-server-card+json": "mcp-server-card",
    "application/mcp-server+json": "mcp-server-card",
    "application/ai-catalog+json": _SLUG,
    "application/linkset+json": "api-catalog",
}
_SNIFFED: Final = frozenset(
    {"application/json", "application/ld+json", "application/yaml", "text/yaml", "text/plain", "text/html",
     "text/markdown"}
)  # fmt: skip
"""Types that promise nothing: the content decides."""
_REGISTRY: Final = frozenset({"application/ai-registry", "application/ai-registry+json"})
"""Search interfaces: recorded, never called."""
_OPENAPI = re.compile(r"application/(openapi\b|vnd\.oai\.openapi\b|rest-api\+json)")
_SKILL = re.compile(
    r"application/(ai-skill|agent-?skills?)(\+(md|zip|gzip))?|text/markdown;.*profile=\"?urn:air:agent-skills.*"
)


# --- recognition ----------------------------------------------------------------------------------------------------


def dialect(document: Document) -> str | None:
    value = document.value
    entries = value.get("entries") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(entries, list):
        return None
    if "specVersion" not in value and not any(_is_entry(item) for item in entries):
        return None
    return "mediaType" if any(isinstance(item, dict) and "mediaType" in item for item in entries) else "type"


def at_own_path(document: Document) -> str | None:
    """Only at a catalogue's path: lists of resources in a shape of their own."""
    value = document.value if isinstance(document.value, dict) else {}
    return _AD_HOC if any(isinstance(value.get(key), list) for key in _LOOSE_LISTS) else None


def _is_entry(item: Json) -> bool:
    return (
        isinstance(item, dict) and "identifier" in item and any(k in item for k in ("type", "mediaType", "url", "data"))
    )


# --- reading --------------------------------------------------------------------------------------------------------


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    if dialect == _AD_HOC:
        notes.add(Reason.CATALOG_SHAPE)
        return Service(pointers=tuple(_loose(value, document))[:MAX_TEXTS])
    host = map_of(value, "host")
    entries = list(_entries(value, document, notes))
    own = map_of(value, "trustManifest")
    trust = own or map_of(host, "trustManifest")
    service = Service(
        name=word_of(host, "displayName"),
        docs_url=link(host.get("documentationUrl"), document.url),
        icon_url=link(host.get("logoUrl"), document.url),
        capabilities=tuple(capability for capability, _ in entries),
        policies=Policies(
            terms_url=link(trust.get("termsOfServiceUrl"), document.url),
            privacy_url=link(trust.get("privacyPolicyUrl"), document.url),
        ),
        claims=_claims(host, document, notes),
        pointers=tuple(pointer for _, pointer in entries if pointer is not None),
    )
    places = {"policies": "/trustManifest" if own else "/host/trustManifest", "claims": "/host/identifier"}
    return sourced(service, document, _SLUG, {**_PLACES, **places})


_PLACES: Final = {
    "name": "/host/displayName",
    "docs_url": "/host/documentationUrl",
    "icon_url": "/host/logoUrl",
    "capabilities": "/entries",
}


def _claims(host: Object, document: Document, notes: Notes) -> dict[str, str]:
    claimed = claim(host.get("identifier"), document, "/host/identifier", Notes())
    return {"identifier": claimed} if claimed else {}


def _entries(value: Object, document: Document, notes: Notes) -> Iterator[tuple[Capability, Pointer | None]]:
    seen: set[tuple[str, str | None]] = set()
    for pointer, item in members(list_of(value, "entries"), "/entries", Reason.CATALOG_ENTRY, notes):
        identifier = text_of(item, "identifier", ID_CHARS)
        kind = word_of(item, "type") or word_of(item, "mediaType")
        inline = "data" if "data" in item else "inline"
        missing = identifier is None or kind is None or ("url" in item) == (inline in item)
        if missing or identifier is None or kind is None:
            notes.add(Reason.CATALOG_ENTRY, pointer, identifier or "")
            continue
        if (identifier, word_of(item, "version")) in seen:
            notes.add(Reason.CATALOG_REPEATED, at(pointer, "identifier"), identifier)
            continue
        if has_template(item, ("identifier", "displayName", "description"), pointer, notes, "url"):
            continue
        seen.add((identifier, word_of(item, "version")))
        _grade(item, identifier, kind, pointer, document, notes)
        target = link(item.get("url"), document.url)
        yield (
            _capability(item, identifier, kind, target, Origin(document.url, pointer, _SLUG)),
            _pointer(item, kind, target, inline, pointer),
        )


def _grade(item: Object, identifier: str, kind: str, pointer: str, document: Document, notes: Notes) -> None:
    folded = _folded(kind)
    known = folded in {*_PROMISES, *_SNIFFED, *_REGISTRY} or _OPENAPI.match(folded) or _SKILL.fullmatch(folded)
    if not known:
        notes.add(Reason.CATALOG_TYPE, at(pointer, "type" if "type" in item else "mediaType"), kind)
    urn = _URN.fullmatch(identifier)
    if urn is None:
        notes.add(Reason.CATALOG_IDENTIFIER, at(pointer, "identifier"), identifier)
    else:
        claim(urn[2], document, at(pointer, "identifier"), notes)
    draft = [key for key in ("mediaType", "inline") if key in item]
    if draft or (urn is not None and urn[1].lower() == "ai"):
        notes.add(Reason.CATALOG_DRAFT, pointer, ", ".join(draft) or identifier)
    if not text_of(item, "displayName"):
        notes.add(Reason.CATALOG_DISPLAY_NAME, at(pointer, "displayName"))
    queries = item.get("representativeQueries")
    told = queries if isinstance(queries, list) else []
    if len(told) not in _QUERIES or not all(isinstance(query, str) for query in told):
        notes.add(Reason.CATALOG_QUERIES, at(pointer, "representativeQueries"))
    if "trustManifest" in item and not map_of(item, "trustManifest").get("identity"):
        notes.add(Reason.CATALOG_TRUST, at(pointer, "trustManifest"))


def _capability(item: Object, identifier: str, kind: str, target: str | None, origin: Origin) -> Capability:
    """A skill is read by the agent itself; anything else is whatever its own document says."""
    is_skill = _SKILL.fullmatch(_folded(kind)) is not None
    call = Invocation("instructions" if is_skill else "pointer", None if is_skill else target, origin=origin)
    return Capability(
        identifier,
        word_of(item, "displayName") or identifier.rpartition(":")[2],
        text_of(item, "description"),
        tags=tuple(dict.fromkeys((*texts_of(item, "tags"), *texts_of(item, "capabilities")))),
        examples=texts_of(item, "representativeQueries", _QUERY_CHARS),
        docs_url=target if is_skill else None,
        invocations=(call,),
    )


def _folded(kind: str) -> str:
    """In lower case, and of the parameters only the profile, which tells skills from other Markdown."""
    name, *parameters = (part.strip() for part in kind.lower().split(";"))
    profile = [part for part in parameters if part.startswith("profile")]
    return ";".join([name, *profile])


def _pointer(item: Object, kind: str, target: str | None, inline: str, pointer: str) -> Pointer | None:
    """Skills are read by whoever uses them, registries are searched: neither is fetched. Of the rest the content
    decides, whatever the type promised."""
    folded = _folded(kind)
    if _SKILL.fullmatch(folded) or folded in _REGISTRY or not _is_document(folded):
        return None
    expected = "openapi" if _OPENAPI.match(folded) else _PROMISES.get(folded)
    if inline in item:
        data = item[inline]
        return Pointer(None, "entry", at(pointer, inline), expected, data) if isinstance(data, dict) else None
    return Pointer(target, "entry", at(pointer, "url"), expected) if target else None


def _is_document(folded: str) -> bool:
    """Archives, images and the like are no documents."""
    name = folded.partition(";")[0]
    return name in _PROMISES or name in _SNIFFED or name.endswith(("json", "yaml")) or _OPENAPI.match(name) is not None


def _loose(value: Object, document: Document) -> Iterator[Pointer]:
    for key, expected in _LOOSE_LISTS.items():
        for index, item in enumerate(list_of(value, key)[:MAX_TEXTS]):
            named = (
                item
                if isinstance(item, str)
                else next(
                    (item[k] for k in ("url", "card", "specification") if isinstance(item, dict) and k in item), None
                )
            )
            target = link(named, document.url)
            if target:
                yield Pointer(target, "entry", at("", key, index), expected)


FORMAT = Format(
    slug=_SLUG,
    title="AI Catalog / ARD manifest",
    spec="ARD 0.91; AI Catalog 1.0",
    paths=("/.well-known/ard.json", "/.well-known/ai-catalog.json"),
    media_types=("application/json", "application/ai-catalog+json", "application/ld+json"),
    role=Role.POINTERS,
    read=_read,
)
