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


def dialect(document: Document) -> str | None:
    return "" if (manifest.text_of(document.value, "id") or "").startswith("did:") else None


def read(document: Document, dialect: str, notes: manifest.Notes) -> Service:
    note_private_keys(document, "verificationMethod", "publicKeyJwk", notes)
    identifier = claim(manifest.text_of(document.value, "id"), document, "/id", notes)
    pointers = []
    for index, item in enumerate(manifest.list_of(document.value, "service")[: manifest.MAX_TEXTS]):
        target = link(item.get("serviceEndpoint"), document.url) if isinstance(item, dict) else None
        service_type = manifest.short_text_of(item, "type") or ""
        if target and service_type in _SERVICES:
            pointers.append(Pointer(target, "service", at("", "service", index), _SERVICES[service_type]))
    keys: list[tuple[str, Json]] = []
    for index, method in enumerate(manifest.list_of(document.value, "verificationMethod")[: manifest.MAX_TEXTS]):
        key, method_id = manifest.map_of(method, "publicKeyJwk"), manifest.short_text_of(method, "id")
        if key:  # the method's id is the kid of a key without its own
            named: Json = {"kid": method_id.rpartition("#")[2], **key} if method_id else key
            keys.append((at("/verificationMethod", index), named))
    service = Service(
        claims={"did": identifier} if identifier else {},
        pointers=tuple(pointers),
        identity=Identity((identifier,) if identifier else (), read_keys(keys, notes)),
    )
    return manifest.with_provenance(service, document, SLUG, {"claims": "/id", "identity": "/verificationMethod"})


FORMAT: Final = Format(
    slug=SLUG,
    title="DID document",
    spec="W3C Decentralized Identifiers 1.0 section 5",
    paths=("/.well-known/did.json",),
    media_types=("application/json", "application/did+json", "application/did+ld+json"),
    role=Role.ENRICHER,
    read=read,
    parts=(Part("/verificationMethod/[]", "key", is_offered=False),),
    rules=rules_in(published_keys),
)
