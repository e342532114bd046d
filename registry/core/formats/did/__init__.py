"""DID documents (W3C Decentralized Identifiers): identifiers and keys of a host, added to its service."""

from typing import Final

from registry.core.format_support import manifest, published_keys
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import claim, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.published_keys import note_private_keys, read_keys
from registry.core.model.documents import Document, Json
from registry.core.model.findings import rules_in
from registry.core.model.services import Identity, Pointer, Service
from registry.core.reading.json_pointer import at

SLUG: Final = "did"
_SERVICES: Final = {"AgentDescription": "anp", "ad:AgentDescription": "anp", "A2AAgentCard": "a2a"}
"""Types of DID services, with the format of the document that each points to."""

_SOURCES: Final = {"homepage": "/service", "claims": "/id", "identity": "/verificationMethod"}


def dialect(document: Document) -> str | None:
    return "" if (manifest.text_of(document.value, "id") or "").startswith("did:") else None


def read(document: Document, dialect: str, notes: manifest.Notes) -> Service:
    note_private_keys(document, "verificationMethod", "publicKeyJwk", notes)
    identifier = claim(manifest.text_of(document.value, "id"), document, "/id", notes)
    pointers, homepage = [], None
    for index, item in enumerate(manifest.list_of(document.value, "service")[: manifest.MAX_TEXTS]):
        target = _read_endpoint(item, document)
        types = (manifest.short_text_of(item, "type"), *manifest.texts_of(item, "type"))
        form = next((_SERVICES[one] for one in types if one in _SERVICES), None)
        if target and form is not None:
            pointers.append(Pointer(target, "service", at("", "service", index), form))
        if target and "LinkedDomains" in types:  # DIF Well Known DID Configuration
            homepage = homepage or target
    keys: list[tuple[str, Json]] = []
    for index, method in enumerate(manifest.list_of(document.value, "verificationMethod")[: manifest.MAX_TEXTS]):
        key, method_id = manifest.map_of(method, "publicKeyJwk"), manifest.short_text_of(method, "id")
        if key:  # the method's id is the kid of a key without its own
            named: Json = {"kid": method_id.rpartition("#")[2], **key} if method_id else key
            keys.append((at("/verificationMethod", index), named))
    service = Service(
        homepage=homepage,
        claims={"did": identifier} if identifier else {},
        pointers=tuple(pointers),
        identity=Identity((identifier,) if identifier else (), read_keys(keys, notes)),
    )
    return manifest.with_provenance(service, document, SLUG, _SOURCES)


def _read_endpoint(item: Json, document: Document) -> str | None:
    """Return the first address of a DID service: a URL, a list of URLs, or a map such as `{origins: [...]}`."""
    value = item.get("serviceEndpoint") if isinstance(item, dict) else None
    for _ in range(3):
        value = next(iter(value.values()), None) if isinstance(value, dict) else value
        value = next(iter(value), None) if isinstance(value, list) else value
    return link(value, document.url)


FORMAT: Final = Format(
    slug=SLUG,
    title="DID document",
    spec="W3C Decentralized Identifiers 1.0 section 5",
    about="A host publishes the keys of a decentralised identity. Programs use it to verify who signed something.",
    link="https://www.w3.org/TR/did-1.0/",
    example={
        "@context": ["https://www.w3.org/ns/did/v1"],
        "id": "did:web:example.com",
        "verificationMethod": [
            {
                "id": "did:web:example.com#key-1",
                "type": "JsonWebKey2020",
                "controller": "did:web:example.com",
                "publicKeyJwk": {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
            },
        ],
    },
    paths=("/.well-known/did.json",),
    media_types=("application/json", "application/did+json", "application/did+ld+json"),
    role=Role.ENRICHER,
    read=read,
    parts=(Part("/verificationMethod/[]", "key", is_offered=False),),
    rules=rules_in(published_keys),
)
