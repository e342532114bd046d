"""AID (Agent Identity and Discovery): a record, in DNS or as JSON at `/.well-known/agent`, that names one address.

Commands to start locally (docker:, npx:, pip:) are never executed and yield no endpoint.
"""

import re
from typing import Final

from registry.core.format_support.endpoints import Endpoint, endpoint, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes, Object, native, short_text_of, text_of, with_provenance
from registry.core.format_support.mcp_parts import card_pointer
from registry.core.format_support.shapes import TEXT
from registry.core.format_support.vocabulary import auth_type
from registry.core.formats.aid import rules
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Pointer, Protocol, Service

SLUG: Final = "aid"
_VERSION = re.compile(r"aid\d+")
_ALIASES: Final = {
    "v": "version", "u": "uri", "p": "proto", "a": "auth", "s": "desc", "d": "docs", "e": "dep", "k": "pka",
}  # fmt: skip
_PROTOCOLS: Final = frozenset({"mcp", "a2a", "openapi", "grpc", "graphql", "websocket", "local", "zeroconf", "ucp"})
_AUTH: Final = frozenset({"none", "pat", "apikey", "basic", "oauth2_device", "oauth2_code", "mtls", "custom"})
_READ: Final = frozenset({
    "v", "version", "u", "uri", "p", "proto", "a", "auth", "s", "desc", "d", "docs",
})  # fmt: skip
_LOCAL = re.compile(r"(docker|npx|pip|zeroconf):")
MAX_DOCUMENT_BYTES: Final = 64 * 1024


def dialect(document: Document) -> str | None:
    """Return the record's version, None where it has none; the record may still be invalid."""
    value = document.members
    version = text_of(value, "v", 20) or text_of(value, "version", 20)
    return version if version and _VERSION.fullmatch(version) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    members = {key.lower(): value for key, value in document.members.items()}
    if dialect not in ("aid1", "aid2"):
        notes.add(rules.VERSION, "/v", dialect)
        return Service()
    if len(document.raw) > MAX_DOCUMENT_BYTES:
        notes.add(rules.SIZE, "", f"{len(document.raw)} bytes")
    # a letter together with its long name, or in aid2 the dropped `kid` or `i`
    duplicates = [letter for letter, name in _ALIASES.items() if letter in members and name in members]
    dropped = [key for key in ("kid", "i") if key in members and members.get("v", members.get("version")) == "aid2"]
    for key in (*duplicates, *dropped):
        notes.add(rules.REQUIRED, f"/{key}", f"{key} and {_ALIASES[key]}" if key in duplicates else key)
    if duplicates or dropped:
        return Service()
    record = {**{letter: members[name] for letter, name in _ALIASES.items() if name in members}, **members}
    for key in ("u", "p"):
        if not text_of(record, key):
            notes.add(rules.REQUIRED, f"/{key}")
    protocol, auth = (short_text_of(record, "p") or "").lower(), (short_text_of(record, "a") or "").lower()
    for key, word, known_words in (("p", protocol, _PROTOCOLS), ("a", auth, _AUTH)):
        if word and word not in known_words:
            notes.add(rules.WORD, f"/{key}", word)
    address = _read_address(record, protocol, document, notes)
    kind = auth_type(auth)
    service = Service(
        description=text_of(record, "s"),
        docs_url=link(record.get("d"), document.url),
        auth=Auth((AuthScheme(kind),), kind != "none") if kind else Auth(),
        protocols=(Protocol(protocol, None, address.url),) if address and protocol else (),
        pointers=_read_pointers(protocol, address),
        native=native(SLUG, document.members, _READ if address else _READ - {"u", "uri"}),
    )
    written_names = {letter: letter if letter in members else name for letter, name in _ALIASES.items()}
    letters = {"description": "s", "docs_url": "d", "auth": "a", "protocols": "u"}
    pointers = {field: f"/{written_names[letter]}" for field, letter in letters.items()}
    return with_provenance(service, document, SLUG, pointers)


def _read_address(record: Object, protocol: str, document: Document, notes: Notes) -> Endpoint | None:
    target = text_of(record, "u")
    if target is None:
        return None
    is_local, is_local_protocol = _LOCAL.match(target) is not None, protocol in ("local", "zeroconf")
    if is_local and is_local_protocol:
        return None
    has_scheme = target.startswith("wss://" if protocol == "websocket" else "https://")
    if is_local or is_local_protocol or not has_scheme:
        notes.add(rules.ADDRESS, "/u", target)
        return None
    return endpoint(target, document.url, document, "/u", notes)


def _read_pointers(protocol: str, address: Endpoint | None) -> tuple[Pointer, ...]:
    if address is None:
        return ()
    if protocol == "mcp":
        return card_pointer(address, "/u")
    if protocol == "openapi":
        return (Pointer(address.url, "openapi", "/u", "openapi"),)
    card = link("/.well-known/agent-card.json", address.url)
    return (Pointer(card, "a2a", "/u", "a2a"),) if protocol == "a2a" and card else ()


FORMAT: Final = Format(
    slug=SLUG,
    title="AID record",
    spec="AID 2, record format",
    cited_as="AID ",
    about=(
        "A domain names the one address of its agent and the protocol that it speaks. The same facts can "
        "stand in a DNS record."
    ),
    link="https://aid.agentcommunity.org/",
    example={"v": "aid2", "u": "https://example.com/mcp", "p": "mcp", "s": "City weather", "a": "none"},
    paths=("/.well-known/agent",),
    role=Role.SERVICE,
    read=read,
    no_parts="a record names one address",
    types=dict.fromkeys((f"/{key}" for names in _ALIASES.items() for key in names), TEXT),
    rules=rules_in(rules),
    promised_paths=(),
    precedence=180,
    follows_redirects=False,  # AID 2: only a record served at the requested URL counts
)
