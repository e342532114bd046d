"""Keys and identifiers of a host: JWK sets (RFC 7517) and DID documents. They add to a service, they are none."""

from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import MAX_TEXTS, Notes, at, list_of, map_of, sourced, text_of, word_of
from registry.core.services import Identity, Pointer, Service
from registry.core.signatures import public_keys

_JWKS: Final = "jwks"
_DID: Final = "did"
_PRIVATE: Final = ("d", "p", "q", "k")
_KEY_SETS: Final = ("verificationMethod",)
_SERVICES: Final = {"AgentDescription": "anp", "ad:AgentDescription": "anp", "A2AAgentCard": "a2a"}


def jwks(document: Document) -> str | None:
    keys = list_of(document.value, "keys")
    return "" if any(isinstance(key, dict) and "kty" in key for key in keys) else None


def did(document: Document) -> str | None:
    return "" if (text_of(document.value, "id") or "").startswith("did:") else None


def _read_jwks(document: Document, dialect: str, notes: Notes) -> Service:
    _refuse_private(document, ("keys",), None, notes)
    service = Service(identity=Identity(keys=public_keys(list_of(document.value, "keys"))))
    return sourced(service, document, _JWKS, {"identity": "/keys"})


def _read_did(document: Document, dialect: str, notes: Notes) -> Service:
    _refuse_private(document, _KEY_SETS, "publicKeyJwk", notes)
    name = word_of(document.value, "id")
    pointers = []
    for index, item in enumerate(list_of(document.value, "service")[:MAX_TEXTS]):
        target = link(item.get("serviceEndpoint"), document.url) if isinstance(item, dict) else None
        kind = word_of(item, "type") or ""
        if target and kind in _SERVICES:
            pointers.append(Pointer(target, "service", at("", "service", index), _SERVICES[kind]))
    service = Service(
        claims={"did": name} if name else {},
        pointers=tuple(pointers),
        identity=Identity((name,) if name else (), public_keys(_methods(document))),
    )
    return sourced(service, document, _DID, {"claims": "/id", "identity": "/verificationMethod"})


def _methods(document: Document) -> list[Json]:
    """The keys of the verification methods; one without a kid of its own is known by the method's id."""
    found: list[Json] = []
    for method in list_of(document.value, "verificationMethod")[:MAX_TEXTS]:
        key, name = map_of(method, "publicKeyJwk"), word_of(method, "id")
        if key:
            found.append({"kid": name.rpartition("#")[2], **key} if name else key)
    return found


def _refuse_private(document: Document, lists: tuple[str, ...], inner: str | None, notes: Notes) -> None:
    """Only that there is one is told: the value of a key is no evidence to keep."""
    for name in lists:
        for index, item in enumerate(list_of(document.value, name)[:MAX_TEXTS]):
            key = item.get(inner) if inner and isinstance(item, dict) else item
            found = [part for part in _PRIVATE if isinstance(key, dict) and part in key]
            if found:
                notes.add(Reason.IDENTITY_PRIVATE_KEY, at("", name, index), ", ".join(found))


JWKS = Format(
    slug=_JWKS,
    title="JSON Web Key Set",
    spec="RFC 7517 section 5",
    paths=("/.well-known/jwks.json", "/.well-known/http-message-signatures-directory"),
    media_types=("application/json", "application/jwk-set+json", "application/http-message-signatures-directory+json"),
    role=Role.ENRICHER,
    read=_read_jwks,
)

DID = Format(
    slug=_DID,
    title="DID document",
    spec="W3C Decentralized Identifiers 1.0 section 5",
    paths=("/.well-known/did.json",),
    media_types=("application/json", "application/did+json", "application/did+ld+json"),
    role=Role.ENRICHER,
    read=_read_did,
)

FORMATS = (JWKS, DID)
