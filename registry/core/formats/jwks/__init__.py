"""JWK sets (RFC 7517): public keys of a host, added to its service."""

from typing import Final

from registry.core.format_support import published_keys
from registry.core.format_support.account import Part
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes, list_of, with_provenance
from registry.core.format_support.published_keys import note_private_keys, read_keys
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Identity, Service
from registry.core.reading.json_pointer import at

SLUG: Final = "jwks"


def dialect(document: Document) -> str | None:
    keys = list_of(document.value, "keys")
    return "" if any(isinstance(key, dict) and "kty" in key for key in keys) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    note_private_keys(document, "keys", None, notes)
    keys = read_keys(((at("/keys", index), key) for index, key in enumerate(list_of(document.value, "keys"))), notes)
    service = Service(identity=Identity(keys=keys))
    return with_provenance(service, document, SLUG, {"identity": "/keys"})


FORMAT: Final = Format(
    slug=SLUG,
    title="JSON Web Key Set",
    spec="RFC 7517 section 5",
    about="A host publishes its public keys. Programs use them to verify signatures, such as those of agent cards.",
    link="https://www.rfc-editor.org/rfc/rfc7517",
    example={
        "keys": [
            {
                "kty": "OKP",
                "crv": "Ed25519",
                "kid": "2026-01",
                "use": "sig",
                "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            },
        ],
    },
    paths=("/.well-known/jwks.json", "/.well-known/http-message-signatures-directory"),
    media_types=("application/json", "application/jwk-set+json", "application/http-message-signatures-directory+json"),
    role=Role.ENRICHER,
    read=read,
    parts=(Part("/keys/[]", "key", is_offered=False),),
    rules=rules_in(published_keys),
)
