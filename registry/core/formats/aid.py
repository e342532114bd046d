"""AID (Agent Identity and Discovery): one record, in DNS or as JSON at `/.well-known/agent`, that names one address.

Commands to start locally (docker:, npx:, pip:) are never executed and give no endpoint.
"""

import re
from typing import Final

from registry.core.documents import Document
from registry.core.endpoints import Endpoint, endpoint, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import Notes, Object, sourced, text_of, word_of
from registry.core.mcp_parts import card_pointer
from registry.core.services import Auth, AuthScheme, Pointer, Protocol, Service
from registry.core.vocabulary import auth_type

_SLUG: Final = "aid"
_VERSION = re.compile(r"aid\d+")
_ALIASES: Final = {
    "v": "version", "u": "uri", "p": "proto", "a": "auth", "s": "desc", "d": "docs", "e": "dep", "k": "pka",
}  # fmt: skip
_PROTOCOLS: Final = frozenset({"mcp", "a2a", "openapi", "grpc", "graphql", "websocket", "local", "zeroconf", "ucp"})
_AUTH: Final = frozenset({"none", "pat", "apikey", "basic", "oauth2_device", "oauth2_code", "mtls", "custom"})
_LOCAL = re.compile(r"(docker|npx|pip|zeroconf):")
MAX_DOCUMENT_BYTES: Final = 64 * 1024


def dialect(document: Document) -> str | None:
    """The record's version; the record may still be invalid."""
    value = document.value
    if not isinstance(value, dict):
        return None
    version = text_of(value, "v", 20) or text_of(value, "version", 20)
    return version if version and _VERSION.fullmatch(version) else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    given = document.value if isinstance(document.value, dict) else {}
    members = {key.lower(): value for key, value in given.items()}
    if dialect not in ("aid1", "aid2"):
        notes.add(Reason.AID_VERSION, "/v", dialect)
        return Service()
    if len(document.raw) > MAX_DOCUMENT_BYTES:
        notes.add(Reason.AID_SIZE, "", f"{len(document.raw)} bytes")
    if _is_ambiguous(members, notes):
        return Service()
    record = {**{letter: members[name] for letter, name in _ALIASES.items() if name in members}, **members}
    for key in ("u", "p"):
        if not text_of(record, key):
            notes.add(Reason.AID_REQUIRED, f"/{key}")
    protocol, auth = (word_of(record, "p") or "").lower(), (word_of(record, "a") or "").lower()
    for key, word, known in (("p", protocol, _PROTOCOLS), ("a", auth, _AUTH)):
        if word and word not in known:
            notes.add(Reason.AID_WORD, f"/{key}", word)
    address = _address(record, protocol, document, notes)
    kind = auth_type(auth)
    service = Service(
        description=text_of(record, "s"),
        docs_url=link(record.get("d"), document.url),
        auth=Auth((AuthScheme(kind),), kind != "none") if kind else Auth(),
        protocols=(Protocol(protocol, None, address.url),) if address and protocol else (),
        pointers=_pointers(protocol, address),
    )
    written = {letter: letter if letter in members else name for letter, name in _ALIASES.items()}
    places = {"description": "s", "docs_url": "d", "auth": "a", "protocols": "u"}
    return sourced(service, document, _SLUG, {field: f"/{written[letter]}" for field, letter in places.items()})


def _is_ambiguous(members: Object, notes: Notes) -> bool:
    """A letter and its long name together make a record invalid; so do kid and i, which aid2 dropped."""
    twice = [letter for letter, name in _ALIASES.items() if letter in members and name in members]
    dropped = [key for key in ("kid", "i") if key in members and members.get("v", members.get("version")) == "aid2"]
    for key in (*twice, *dropped):
        notes.add(Reason.AID_REQUIRED, f"/{key}", f"{key} and {_ALIASES[key]}" if key in twice else key)
    return bool(twice or dropped)


def _address(record: Object, protocol: str, document: Document, notes: Notes) -> Endpoint | None:
    target = text_of(record, "u")
    if target is None:
        return None
    is_local = _LOCAL.match(target) is not None
    if is_local or protocol in ("local", "zeroconf"):
        if not (is_local and protocol in ("local", "zeroconf")):
            notes.add(Reason.AID_ADDRESS, "/u", target)
        return None
    if not target.startswith("wss://" if protocol == "websocket" else "https://"):
        notes.add(Reason.AID_ADDRESS, "/u", target)
        return None
    return endpoint(target, document.url, document, "/u", notes)


def _pointers(protocol: str, address: Endpoint | None) -> tuple[Pointer, ...]:
    if address is None:
        return ()
    if protocol == "mcp":
        return card_pointer(address, "/u")
    if protocol == "openapi":
        return (Pointer(address.url, "openapi", "/u", "openapi"),)
    card = link("/.well-known/agent-card.json", address.url)
    return (Pointer(card, "a2a", "/u", "a2a"),) if protocol == "a2a" and card else ()


FORMAT = Format(
    slug=_SLUG,
    title="AID record",
    spec="AID 2, record format",
    paths=("/.well-known/agent",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
