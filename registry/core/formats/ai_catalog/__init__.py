"""Recognise AI Catalog 1.0 and ARD 0.9/0.91 and read them: a publisher's list of agents, servers, APIs and skills.

Each entry becomes a provisional capability, because its sample queries are a good text to search, and a pointer to the
document that it names or contains. The catalogue itself offers nothing to call. Identifiers are claims.
"""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.account import TEXT_OR_OBJECT, Part
from registry.core.format_support.artifact_types import promised_format
from registry.core.format_support.common_rules import PROVIDER_ELSEWHERE
from registry.core.format_support.endpoints import claim, claims, link, origin_of
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import license_of, provider_of, repository_of
from registry.core.format_support.loose_card import loose_card
from registry.core.format_support.manifest import Notes, Object, list_of, map_of, short_text_of, text_of, texts_of
from registry.core.format_support.probing import CARD_CAP, ProbePath
from registry.core.format_support.shapes import OBJECT, TEXT
from registry.core.formats.ai_catalog import rules
from registry.core.model.documents import Document, Json
from registry.core.model.findings import rules_in
from registry.core.model.services import Capability, Invocation, Origin, Pointer, Policies, Service
from registry.core.reading.json_pointer import at

SLUG: Final = "ai-catalog"
_AD_HOC: Final = "adhoc"
_URN = re.compile(r"urn:(air?):([a-z0-9.-]+\.[a-z0-9-]+)(:[^:\s]+)+", re.IGNORECASE)
_QUERIES: Final = range(2, 6)
_QUERY_CHARS: Final = 500
_QUERIES_KEY: Final = "representativeQueries"
_TAGS: Final = ("tags", "capabilities")
_INLINE: Final = ("data", "inline")
_READ: Final = frozenset({
    "identifier", "displayName", "description", "url", "tags", "capabilities", _QUERIES_KEY, "extensions",
})  # fmt: skip
_LOOSE_LISTS: Final = {
    "agentCards": "a2a", "mcpServers": "mcp-server-card", "services": None, "resources": None,
}  # fmt: skip
_KNOWN = frozenset({
    "application/a2a-agent-card+json", "application/agent-card+json", "application/mcp-server-card+json",
    "application/mcp-server+json", "application/ai-catalog+json", "application/linkset+json",
})  # fmt: skip
_SNIFFED: Final = frozenset(
    {"application/json", "application/ld+json", "application/yaml", "text/yaml", "text/plain", "text/html",
     "text/markdown"}
)  # fmt: skip
"""Types that promise no format; the content decides."""
_CARD: Final = frozenset({"$schema", "serverInfo", "remotes", "packages"})
_REGISTRY: Final = frozenset({"application/ai-registry", "application/ai-registry+json"})
"""Types of search interfaces, which are recorded but never called."""
_OPENAPI = re.compile(r"application/(openapi\b|vnd\.oai\.openapi\b|rest-api\+json)")
_SKILL = re.compile(
    r"application/(ai-skill|agent-?skills?)(\+(md|zip|gzip))?|text/markdown;.*profile=\"?urn:air:agent-skills.*"
)


def dialect(document: Document) -> str | None:
    value = document.members
    entries = value.get("entries")
    if isinstance(entries, dict) and "specVersion" in value:
        entries = list(entries.values())
    if not isinstance(entries, list):
        return None
    if "specVersion" not in value and not any(_is_entry(item) for item in entries):
        return None
    return "mediaType" if any(isinstance(item, dict) and "mediaType" in item for item in entries) else "type"


def at_own_path(document: Document) -> str | None:
    """Recognise lists of resources in any other shape. A weak test, for the catalogue's paths."""
    value = document.members
    return _AD_HOC if any(isinstance(value.get(key), list) for key in _LOOSE_LISTS) else None


def _is_entry(item: Json) -> bool:
    return isinstance(item, dict) and "identifier" in item and not {"type", "mediaType", "url", "data"}.isdisjoint(item)


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    if dialect == _AD_HOC:
        notes.add(rules.SHAPE)
        pointers = tuple(_read_ad_hoc_pointers(value, document))[: manifest.MAX_TEXTS]
        return loose_card(value, document, SLUG, notes, pointers=pointers)
    host = map_of(value, "host")
    entries = list(_read_entries(value, document, notes))
    own_trust = map_of(value, "trustManifest")
    trust = own_trust or map_of(host, "trustManifest")
    docs_url = link(host.get("documentationUrl"), document.url)
    service = Service(
        name=short_text_of(host, "displayName"),
        provider=provider_of(trust, document.url),
        homepage=docs_url if docs_url and docs_url == origin_of(docs_url) else None,  # a site's front page
        docs_url=docs_url,
        repository=repository_of(map_of(trust, "source"), document.url),
        license=license_of(map_of(trust, "source")),
        icon_url=link(host.get("logoUrl"), document.url),
        capabilities=tuple(capability for capability, _ in entries),
        policies=Policies(
            terms_url=link(trust.get("termsOfServiceUrl"), document.url),
            privacy_url=link(trust.get("privacyPolicyUrl"), document.url),
        ),
        claims=claims("identifier", host.get("identifier"), document, "/host/identifier", notes),
        pointers=tuple(pointer for _, pointer in entries if pointer is not None),
        native=manifest.native(SLUG, value, ("specVersion", "entries", "host")),
    )
    return manifest.with_provenance(
        service, document, SLUG, {**_POINTERS, "policies": "/trustManifest"} if own_trust else _POINTERS
    )


_POINTERS: Final = {
    "name": "/host/displayName",
    "docs_url": "/host/documentationUrl",
    "icon_url": "/host/logoUrl",
    "capabilities": "/entries",
    "policies": "/host/trustManifest",
    "claims": "/host/identifier",
}


def _read_entries(value: Object, document: Document, notes: Notes) -> Iterator[tuple[Capability, Pointer | None]]:
    seen: set[tuple[str, str | None]] = set()
    for pointer, key, held in manifest.parts_of(value, "entries", "/entries", notes, ("identifier",)):
        item: Object = {"identifier": key, **held} if isinstance(held, dict) and key else {}
        item = item or (held if isinstance(held, dict) else {})
        identifier = text_of(item, "identifier", manifest.ID_CHARS)
        kind = short_text_of(item, "type") or short_text_of(item, "mediaType")
        inline_key = "data" if "data" in item else "inline"
        if identifier is None or kind is None or ("url" in item) == (inline_key in item):
            notes.add(rules.ENTRY, pointer, identifier or "")
            continue
        if (identifier, short_text_of(item, "version")) in seen:
            notes.add(rules.REPEATED, at(pointer, "identifier"), identifier)
            continue
        if manifest.has_template(item, ("identifier", "displayName", "description"), pointer, notes, "url"):
            continue
        seen.add((identifier, short_text_of(item, "version")))
        _grade(item, identifier, kind, pointer, document, notes)
        target = link(item.get("url"), document.url)
        capability = _read_capability(item, identifier, kind, target, Origin(document.url, pointer, SLUG))
        yield capability, _read_pointer(item, kind, target, inline_key, pointer)


def _grade(item: Object, identifier: str, kind: str, pointer: str, document: Document, notes: Notes) -> None:
    media_type = _read_media_type(kind)
    is_known = media_type in _KNOWN or media_type in _SNIFFED or media_type in _REGISTRY
    if not is_known and not _OPENAPI.match(media_type) and not _SKILL.fullmatch(media_type):
        notes.add(rules.TYPE, at(pointer, "type" if "type" in item else "mediaType"), kind)
    urn = _URN.fullmatch(identifier)
    if urn is None:
        notes.add(rules.IDENTIFIER, at(pointer, "identifier"), identifier)
    else:
        claim(urn[2], document, at(pointer, "identifier"), notes, PROVIDER_ELSEWHERE)
    draft_keys = [key for key in ("mediaType", "inline") if key in item]
    if draft_keys or (urn is not None and urn[1].lower() == "ai"):
        notes.add(rules.DRAFT, pointer, ", ".join(draft_keys) or identifier)
    if not text_of(item, "displayName"):
        notes.add(rules.DISPLAY_NAME, at(pointer, "displayName"))
    queries = list_of(item, _QUERIES_KEY)
    if len(queries) not in _QUERIES or not all(isinstance(query, str) for query in queries):
        notes.add(rules.QUERIES, at(pointer, _QUERIES_KEY))
    if "trustManifest" in item and not map_of(item, "trustManifest").get("identity"):
        notes.add(rules.TRUST, at(pointer, "trustManifest"))


def _read_capability(item: Object, identifier: str, kind: str, target: str | None, origin: Origin) -> Capability:
    """Return the provisional capability: instructions for a skill, for anything else a pointer to its document."""
    is_skill = _SKILL.fullmatch(_read_media_type(kind)) is not None
    # a small inline value only says where something is; whole documents are judged by themselves
    kept = {key: value for key, value in item.items() if key not in _INLINE or _is_small(value)}
    extensions = map_of(item, "extensions").values()
    holders: list[Object] = [item, *(extension for extension in extensions if isinstance(extension, dict))][
        : manifest.MAX_TEXTS
    ]
    call = Invocation("instructions" if is_skill else "pointer", None if is_skill else target, origin=origin)
    return Capability(
        identifier,
        short_text_of(item, "displayName") or identifier.rpartition(":")[2],
        text_of(item, "description"),
        tags=tuple(dict.fromkeys(text for key in _TAGS for holder in holders for text in texts_of(holder, key))),
        examples=tuple(dict.fromkeys(text for one in holders for text in texts_of(one, _QUERIES_KEY, _QUERY_CHARS))),
        docs_url=target if is_skill else None,
        invocations=(call,),
        native=manifest.native(SLUG, kept, _READ),
    )


def _is_small(data: Json) -> bool:
    return isinstance(data, dict) and not any(isinstance(value, list | dict) for value in data.values())


def _read_media_type(kind: str) -> str:
    """Return the media type in lower case, with only the parameter profile, which marks skills in Markdown."""
    name, *parameters = (part.strip() for part in kind.lower().split(";"))
    profile = [part for part in parameters if part.startswith("profile")]
    return ";".join([name, *profile])


def _read_pointer(item: Object, kind: str, target: str | None, inline_key: str, pointer: str) -> Pointer | None:
    """Return the pointer to an entry's document. Skills and registries are not fetched. The content of a document
    decides its format, even if the type promises another."""
    media_type = _read_media_type(kind)
    name = media_type.partition(";")[0]
    # archives and images are no documents
    is_document = promised_format(name) is not None or name in _SNIFFED or name.endswith(("json", "yaml"))
    if _SKILL.fullmatch(media_type) or media_type in _REGISTRY or not is_document:
        return None
    expected = promised_format(media_type)
    if inline_key in item:
        data = item[inline_key]
        if not isinstance(data, dict):
            return None
        if expected == "mcp-server-card" and list_of(data, "tools") and not _CARD & set(data):
            expected = "mcp-json"  # a list of tools without what makes it a card
        return Pointer(None, "entry", at(pointer, inline_key), expected, data)
    return Pointer(target, "entry", at(pointer, "url"), expected) if target else None


def _read_ad_hoc_pointers(value: Object, document: Document) -> Iterator[Pointer]:
    for key, expected in _LOOSE_LISTS.items():
        for index, item in enumerate(list_of(value, key)[: manifest.MAX_TEXTS]):
            if isinstance(item, dict):
                item = next((item[name] for name in ("url", "card", "specification") if name in item), None)
            if target := link(item, document.url):
                yield Pointer(target, "entry", at("", key, index), expected)


FORMAT: Final = Format(
    slug=SLUG,
    title="AI Catalog / ARD manifest",
    spec="ARD 0.91; AI Catalog 1.0",
    cited_as="ARD ",
    mistakes={"/entries/0/identifier": "weather", "/entries/0/url": "example.com/card", "/specVersion": 1.0},
    about=(
        "A site lists what it has for agents: MCP servers, agent cards, skills, APIs. Registries and agents "
        "read the list and follow its entries."
    ),
    link="https://github.com/ards-project/ard-spec",
    example={
        "specVersion": "1.0",
        "entries": [
            {
                "identifier": "urn:air:example.com:server:weather",
                "displayName": "City weather",
                "type": "application/mcp-server-card+json",
                "url": "https://example.com/.well-known/mcp/server-card.json",
                "description": "Tells the weather of any city.",
                "representativeQueries": ["What is the weather in Oslo?", "Will it rain in Lima tomorrow?"],
            },
        ],
    },
    paths=("/.well-known/ard.json", "/.well-known/ai-catalog.json"),
    media_types=("application/json", "application/ai-catalog+json", "application/ld+json"),
    role=Role.POINTERS,
    read=read,
    parts=(
        Part("/entries/[]", "entry", members=dict.fromkeys(("identifier", "displayName", "type", "url"), TEXT)),
        *(Part(f"/{key}/[]", "entry", TEXT_OR_OBJECT) for key in _LOOSE_LISTS),
    ),
    types={"/host": OBJECT},
    rules=rules_in(rules),
    link_relations=("ard", "ai-catalog"),
    accept="application/ai-catalog+json",
    cap=CARD_CAP,
    probe_paths=(
        ProbePath("S1", 10, "/.well-known/ard.json"),
        ProbePath("S1", 20, "/.well-known/ai-catalog.json", fallback_of="/.well-known/ard.json"),
        ProbePath("S1", 40, "/.well-known/ard.json", sub_host="mcp"),
        ProbePath("S1", 20, "/.well-known/ard.json", sub_host="docs"),
    ),
    precedence=190,
)
