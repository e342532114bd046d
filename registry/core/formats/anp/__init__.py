"""ANP agent descriptions (Agent Network Protocol), in JSON and in the older JSON-LD, and collections of them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import claim, endpoint, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import license_of, provider_of
from registry.core.format_support.manifest import (
    Notes,
    Object,
    first_text,
    flag_of,
    list_of,
    map_of,
    short_text_of,
    text_of,
)
from registry.core.format_support.probing import ProbePath, never
from registry.core.format_support.shapes import OBJECT, TEXT
from registry.core.format_support.vocabulary import auth_type
from registry.core.model import services
from registry.core.model.documents import Document
from registry.core.model.findings import CONFORMANCE, ERROR, Rule
from registry.core.model.services import Auth, AuthScheme, Capability, Identity, Invocation, Pointer, Provider, Service
from registry.core.reading.json_pointer import at

SLUG: Final = "anp"

UNNAMED = Rule(
    "anp.name", ERROR, points=4, section=CONFORMANCE, spec="ANP agent description 1.0",
    says="The agent description has no name.",
    fix="Add a name.",
)  # fmt: skip
_CONTEXT: Final = "agent-network-protocol.com/ad"
_READ: Final = frozenset({
    "@context", "@type", "name", "description", "version", "did", "security", "securityDefinitions", "protocolType",
    "protocolVersion", "type",
})  # fmt: skip
_KIND: Final = "ad:AgentDescription"
_POINTERS = {
    "version": "/version", "provider": "/owner", "claims": "/did", "identity": "/did", "name": "/name",
    "description": "/description", "capabilities": "/interfaces", "auth": "/security",
}  # fmt: skip


def dialect(document: Document) -> str | None:
    value = document.members
    kinds = [value.get("@type"), *(item.get("@type") for item in list_of(value, "items") if isinstance(item, dict))]
    context = value.get("@context")
    texts = context if isinstance(context, list) else context.values() if isinstance(context, dict) else [context]
    names_context = any(isinstance(text, str) and _CONTEXT in text for text in texts)
    return "" if names_context or value.get("protocolType") == "ANP" or _KIND in kinds else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = _without_prefix(document.members)
    if "items" in value:
        return Service(pointers=tuple(_read_item_pointers(value, document))[: manifest.MAX_TEXTS])
    name = None if manifest.has_placeholder(value.get("name")) else short_text_of(value, "name")
    if name is None:
        notes.add(UNNAMED, "/name", value.get("name", ""))
    owner = map_of(value, "owner")
    identity = claim(value.get("did"), document, "/did", notes)
    service = Service(
        name=name,
        description=text_of(value, "description"),
        provider=_read_provider(value, owner, document),
        license=license_of(value),
        version=short_text_of(value, "version"),
        capabilities=tuple(_read_interfaces(value, document, notes)),
        auth=_read_auth(value),
        protocols=(services.Protocol(SLUG, short_text_of(value, "protocolVersion")),) if name else (),
        claims={"did": identity} if identity else {},
        identity=Identity((identity,) if identity and identity.startswith("did:") else ()),
        native=manifest.native(SLUG, value, _READ),
    )
    return manifest.with_provenance(service, document, SLUG, _POINTERS)


def _read_provider(value: Object, owner: Object, document: Document) -> Provider | None:
    """Return the owner, with the addresses that the description names for contact."""
    others = provider_of({**value, "owner": owner}, document.url)
    if not owner:
        return others
    named = Provider(short_text_of(owner, "name"), link(first_text(owner, "url", "@id"), document.url))
    return replace(named, contact=others.contact, contacts=others.contacts) if others else named


def _without_prefix(value: Object) -> Object:
    """Return the object with `ad:interfaces` of the JSON-LD dialect renamed to `interfaces`, and so on."""
    return {key.removeprefix("ad:"): item for key, item in value.items()}


def _read_item_pointers(value: Object, document: Document) -> Iterator[Pointer]:
    for index, item in enumerate(list_of(value, "items")):
        target = link(item.get("@id", item.get("url")), document.url) if isinstance(item, dict) else None
        if target:
            yield Pointer(target, "item", at("", "items", index), SLUG)
    next_url = link(value.get("next"), document.url)
    if next_url:
        yield Pointer(next_url, "next", "/next", SLUG)


def _read_interfaces(value: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    used_names: set[str] = set()
    place = next((at("", key) for key in ("ad:interfaces", "interfaces") if key in document.members), "/interfaces")
    for pointer, raw in manifest.members(list_of(value, "interfaces"), place, common_rules.ENDPOINT_INVALID, notes):
        item = _without_prefix(raw)
        key = "url" if "url" in item else "@id"
        address = endpoint(item.get(key), document.url, document, at(pointer, key), notes)
        kind = first_text(item, "protocol", "type", "@type") or "interface"
        name = manifest.unique_name(manifest.slug(short_text_of(item, "name") or kind), used_names)
        url, templated = (address.url, address.templated) if address else (None, False)
        call = Invocation("pointer", url, templated=templated, origin=services.Origin(document.url, pointer, SLUG))
        asks_human = flag_of(item, "humanAuthorization")
        yield Capability(
            name,
            name,
            text_of(item, "description"),
            tags=(kind,),
            confirmation=None if asks_human is None else services.Confirmation(asks_human),
            invocations=(call,),
        )


def _read_auth(value: Object) -> Auth:
    """Return the schemes of `security`; all that are defined where none is named as required."""
    definitions = map_of(value, "securityDefinitions")
    required = value.get("security", list(definitions))
    names = required if isinstance(required, list) else [required]
    schemes = []
    for name in names[: manifest.MAX_TEXTS]:
        scheme = map_of(definitions, name) if isinstance(name, str) else {}
        kind = auth_type(short_text_of(scheme, "scheme"))
        if kind is not None:
            schemes.append(AuthScheme(kind, short_text_of(scheme, "in"), short_text_of(scheme, "name")))
    return Auth(tuple(dict.fromkeys(schemes)), True if schemes and "security" in value else None)


FORMAT: Final = Format(
    slug=SLUG,
    title="ANP agent description",
    spec="ANP agent description 1.0",
    cited_as="ANP ",
    about=(
        "An agent describes itself and its interfaces, with a decentralised identity. Other agents of the "
        "Agent Network Protocol read it to talk to it."
    ),
    link="https://github.com/agent-network-protocol/AgentNetworkProtocol",
    example={
        "protocolType": "ANP",
        "protocolVersion": "1.0.0",
        "type": "AgentDescription",
        "url": "https://example.com/ad.json",
        "name": "City weather",
        "description": "Tells the weather of any city.",
        "did": "did:wba:example.com",
        "owner": {"name": "Example"},
        "interfaces": [
            {
                "type": "StructuredInterface",
                "protocol": "openrpc",
                "url": "https://example.com/rpc.json",
                "description": "Tells the weather of a city.",
            },
        ],
        "securityDefinitions": {"didwba_sc": {"scheme": "didwba", "in": "header", "name": "Authorization"}},
        "security": "didwba_sc",
    },
    paths=("/.well-known/agent-descriptions", "/ad.json"),
    media_types=("application/json", "application/ld+json"),
    role=Role.SERVICE,
    read=read,
    parts=(
        Part("/interfaces|ad:interfaces/[]", "interface", members={"url": TEXT, "description": TEXT}),
        Part("/items/[]", "item"),
    ),
    types={"/name": TEXT, "/description": TEXT, "/owner": OBJECT},
    rules=(UNNAMED,),
    asks=frozenset({"service.unnamed"}),
    probe_paths=(
        ProbePath("S4", 220, "/.well-known/agent-descriptions", when=never),
        ProbePath("S4", 230, "/ad.json", fallback_of="/.well-known/agent-descriptions", when=never),
    ),
    precedence=170,
)
