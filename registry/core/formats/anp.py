"""ANP agent descriptions (Agent Network Protocol), in JSON and in the older JSON-LD, and the collection naming them."""

from collections.abc import Iterator
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import claim, endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    MAX_TEXTS,
    Notes,
    Object,
    at,
    first_text,
    list_of,
    map_of,
    members,
    slug,
    sourced,
    text_of,
    unique_name,
    unrendered,
    word_of,
)
from registry.core.services import (
    Auth,
    AuthScheme,
    Capability,
    Identity,
    Invocation,
    Origin,
    Pointer,
    Protocol,
    Provider,
    Service,
)
from registry.core.vocabulary import auth_type

_SLUG: Final = "anp"
_CONTEXT: Final = "agent-network-protocol.com/ad"
_KIND: Final = "ad:AgentDescription"


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict):
        return None
    kinds = [value.get("@type"), *(item.get("@type") for item in list_of(value, "items") if isinstance(item, dict))]
    marked = value.get("protocolType") == "ANP" or _KIND in kinds
    return "" if marked or _mentions(value.get("@context")) else None


def _mentions(context: Json) -> bool:
    texts = context if isinstance(context, list) else context.values() if isinstance(context, dict) else [context]
    return any(isinstance(text, str) and _CONTEXT in text for text in texts)


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = _without_prefix(document.value if isinstance(document.value, dict) else {})
    if "items" in value:
        return Service(pointers=tuple(_collected(value, document))[:MAX_TEXTS])
    name = None if unrendered(value.get("name")) else word_of(value, "name")
    if name is None:
        notes.add(Reason.ANP_UNNAMED, "/name", value.get("name", ""))
    owner = map_of(value, "owner")
    identity = claim(value.get("did"), document, "/did", Notes())
    service = Service(
        name=name,
        description=text_of(value, "description"),
        provider=Provider(word_of(owner, "name"), link(first_text(owner, "url", "@id"), document.url))
        if owner
        else None,
        version=word_of(value, "version"),
        capabilities=tuple(_interfaces(value, document, notes)),
        auth=_auth(value),
        protocols=(Protocol(_SLUG, word_of(value, "protocolVersion")),) if name else (),
        claims={"did": identity} if identity else {},
        identity=Identity((identity,) if identity and identity.startswith("did:") else ()),
    )
    places = {
        "version": "/version",
        "provider": "/owner",
        "claims": "/did",
        "identity": "/did",
        "name": "/name",
        "description": "/description",
        "capabilities": "/interfaces",
        "auth": "/security",
    }
    return sourced(service, document, _SLUG, places)


def _without_prefix(value: Object) -> Object:
    """The JSON-LD dialect writes `ad:interfaces` where the JSON one writes `interfaces`."""
    return {key.removeprefix("ad:"): item for key, item in value.items()}


def _collected(value: Object, document: Document) -> Iterator[Pointer]:
    for index, item in enumerate(list_of(value, "items")):
        target = link(item.get("@id", item.get("url")), document.url) if isinstance(item, dict) else None
        if target:
            yield Pointer(target, "item", at("", "items", index), _SLUG)
    following = link(value.get("next"), document.url)
    if following:
        yield Pointer(following, "next", "/next", _SLUG)


def _interfaces(value: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    taken: set[str] = set()
    for pointer, raw in members(list_of(value, "interfaces"), "/interfaces", Reason.ENDPOINT_INVALID, notes):
        item = _without_prefix(raw)
        key = "url" if "url" in item else "@id"
        address = endpoint(item.get(key), document.url, document, at(pointer, key), notes)
        kind = first_text(item, "protocol", "type", "@type") or "interface"
        name = unique_name(slug(word_of(item, "name") or kind), taken)
        call = Invocation(
            "pointer",
            address.url if address else None,
            templated=address.templated if address else False,
            origin=Origin(document.url, pointer, _SLUG),
        )
        yield Capability(name, name, text_of(item, "description"), tags=(kind,), invocations=(call,))


def _auth(value: Object) -> Auth:
    definitions = map_of(value, "securityDefinitions")
    demanded = value.get("security")
    names = demanded if isinstance(demanded, list) else [demanded]
    found = []
    for name in names[:MAX_TEXTS]:
        scheme = map_of(definitions, name) if isinstance(name, str) else {}
        kind = auth_type(word_of(scheme, "scheme"))
        if kind is not None:
            found.append(AuthScheme(kind, word_of(scheme, "in"), word_of(scheme, "name")))
    return Auth(tuple(dict.fromkeys(found)), True if found else None)


FORMAT = Format(
    slug=_SLUG,
    title="ANP agent description",
    spec="ANP agent description 1.0",
    paths=("/.well-known/agent-descriptions", "/ad.json"),
    media_types=("application/json", "application/ld+json"),
    role=Role.SERVICE,
    read=_read,
)
