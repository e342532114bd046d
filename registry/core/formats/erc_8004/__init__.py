"""ERC-8004 registrations: what an agent on a blockchain is called, and where its cards, servers and pages are.

The file is the content of the agent's token. A site may serve it, or its registrations alone, as a sign that the agent
is its own. Nothing is asked of a blockchain: ids, wallets and names there are claims.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from registry.core.format_support import common_rules, loose, manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import Endpoint, claim, endpoint, link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import (
    MAX_TEXTS,
    Notes,
    Object,
    first_flag,
    list_of,
    short_text_of,
    text_of,
    texts_of,
)
from registry.core.format_support.mcp_parts import card_pointer, whole_server
from registry.core.format_support.offers import Offer, capabilities_of
from registry.core.format_support.probing import ProbePath, Topic
from registry.core.format_support.shapes import FLAG, TEXT
from registry.core.formats.erc_8004 import rules
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import (
    Capability,
    Identity,
    Invocation,
    Origin,
    Pointer,
    Pricing,
    Protocol,
    Provider,
    Service,
)
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "erc-8004"
_TYPE: Final = re.compile(r"\b(?:eip|erc)-?8004\b.*registration", re.IGNORECASE)
_LISTS: Final = ("services", "endpoints")
"""Drafts before 2026 called the services endpoints."""
_REGISTRATIONS: Final = "registrations"
_HOMES: Final = frozenset({"web", "website", "homepage", "home", "site"})
_DOCS: Final = frozenset({"docs", "documentation", "guide"})
_SOURCES: Final = frozenset({"github", "gitlab", "repository", "source", "sourcecode"})
_PAGES: Final = _HOMES | _DOCS | _SOURCES | frozenset({
    "dashboard", "app", "blog", "discord", "telegram", "twitter", "x", "farcaster", "linkedin", "youtube", "whitepaper",
})  # fmt: skip
"""Names of services that are pages for people."""
_PROTOCOLS: Final = {"a2a": "a2a", "mcp": "mcp-server-card"}
_NOT_CALLED: Final = frozenset({"email", "oasf"})
_DOCUMENTS: Final = {
    "openapi": "openapi", "openapispec": "openapi", "swagger": "openapi", "llms": "llms-txt", "llmstxt": "llms-txt",
    "agentcard": "a2a", "x402": "x402", "ucp": "ucp", "acp": "acp", "skills": "agent-skills-index",
    "aicatalog": "ai-catalog", "apicatalog": "api-catalog",
}  # fmt: skip
"""Names of services that are documents, with the formats that they promise."""
_CLAIMS: Final = frozenset({"did", "ens", "agentwallet", "wallet"})
_TAGS: Final = ("tags", "capabilities", "skills", "domains")
_IS_FILE: Final = re.compile(r"\.(?:json|ya?ml|txt|md)$|/\.well-known/[^/]+$", re.IGNORECASE)
_NAMED_IN_TEXTS: Final = re.compile(rb"\b(?:erc|eip)[-_]?8004\b|\bagent-registration\.json\b")
_READ: Final = frozenset({"type", "name", "description", "image", "version", _REGISTRATIONS, "active", *_TAGS[:2]})


def dialect(document: Document) -> str | None:
    """Return the list of the services, "registrations" for a file that only names registrations. An A2A card with the
    members of a registration stays a card."""
    value = document.members
    is_card = isinstance(value.get("skills"), list) and not {"url", "supportedInterfaces"}.isdisjoint(value)
    is_typed = _TYPE.search(text_of(value, "type") or "") is not None
    if is_card or not (is_typed or _has_registrations(value)):
        return None
    return next((key for key in _LISTS if isinstance(value.get(key), list)), _REGISTRATIONS)


def _has_registrations(value: Object) -> bool:
    """Return whether a file without a type names registrations, and nothing but members of this format."""
    items = list_of(value, "registrations")
    are_registrations = bool(items) and all(isinstance(item, dict) and "agentRegistry" in item for item in items)
    return are_registrations and "skills" not in value


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    if dialect != _REGISTRATIONS:
        for key in ("name", "description"):
            if not text_of(value, key):
                notes.add(rules.TEXT, f"/{key}", value.get(key, ""))
    if first_flag(value, "active") is False:
        notes.add(common_rules.DECLARED_INACTIVE, "/active", False)
    is_template = manifest.has_template(value, ("name", "description"), "", notes)
    listed = [] if is_template else list(_read_services(value, dialect, document, notes))
    pays = first_flag(value, "x402Support", "x402support", "x402_support") is True
    name = None if is_template else short_text_of(value, "name")
    service = Service(
        name=name,
        description=None if is_template else text_of(value, "description"),
        version=short_text_of(value, "version"),
        icon_url=link(value.get("image"), document.url),
        provider=_read_provider(value, listed, document),
        homepage=_first_url(listed, _HOMES),
        docs_url=_first_url(listed, _DOCS),
        repository=_first_url(listed, _SOURCES),
        tags=_read_tags(value, listed),
        capabilities=tuple(_read_capabilities(listed, name, document, notes)),
        pricing=Pricing("pay_per_call") if pays else Pricing(),
        protocols=(*_read_protocols(listed, document), *((Protocol("x402"),) if pays else ())),
        pointers=tuple(dict.fromkeys(_read_pointers(listed, document)))[:MAX_TEXTS],
        identity=Identity(dids=tuple(one.target for one in listed if one.kind == "did")),
        claims=_read_claims(value, listed, document, notes),
        native=manifest.native(SLUG, value, _READ),
    )
    list_pointer = f"/{dialect}"
    places = {"name": "/name", "description": "/description", "version": "/version", "icon_url": "/image"}
    of_list = ("homepage", "docs_url", "repository", "capabilities", "protocols", "pointers", "identity", "provider")
    rest = {"pricing": "/x402Support", "claims": "/registrations", "tags": ""}
    return manifest.with_provenance(service, document, SLUG, {**places, **dict.fromkeys(of_list, list_pointer), **rest})


@dataclass(frozen=True, slots=True)
class _ServiceEntry:
    """An entry. `kind`: its name in lower case, letters and digits only; `url`: its endpoint, if that is a URL."""

    kind: str
    name: str
    target: str
    url: str | None
    entry: Object
    pointer: str

    @property
    def is_document(self) -> bool:
        is_named = self.kind in _DOCUMENTS and self.kind != "x402"  # also the name of paid endpoints
        return self.url is not None and (is_named or _IS_FILE.search(self.url) is not None)


def _read_services(value: Object, dialect: str, document: Document, notes: Notes) -> Iterator[_ServiceEntry]:
    if dialect == _REGISTRATIONS:
        return
    for pointer, item in manifest.members(list_of(value, dialect), f"/{dialect}", rules.SERVICE, notes):
        name, target = short_text_of(item, "name"), manifest.first_text(item, "endpoint", "url", chars=2_048)
        if name is None or target is None:
            notes.add(rules.SERVICE, pointer, name or "")
            continue
        kind = re.sub(r"[^a-z0-9]", "", name.lower())
        is_address = "://" in target or target.startswith("/")  # not a name such as agent.eth
        yield _ServiceEntry(kind, name, target, link(target, document.url) if is_address else None, item, pointer)


def _first_url(listed: list[_ServiceEntry], kinds: frozenset[str]) -> str | None:
    return next((one.url for one in listed if one.kind in kinds and one.url), None)


def _read_protocols(listed: list[_ServiceEntry], document: Document) -> Iterator[Protocol]:
    """Yield the servers and agents. The endpoint of A2A is the card (ERC-8004); some write the agent's own address."""
    for one in listed:
        if one.url not in (None, document.url) and one.kind in _PROTOCOLS:
            endpoint_url, card_url = (None, one.url) if one.is_document else (one.url, None)
            yield Protocol(one.kind, short_text_of(one.entry, "version"), endpoint_url, card_url=card_url)


def _read_pointers(listed: list[_ServiceEntry], document: Document) -> Iterator[Pointer]:
    for one in listed:
        place = at(one.pointer, "endpoint")
        if one.url is None or one.url == document.url or one.kind in _PAGES:
            continue
        if one.is_document:
            yield Pointer(one.url, "entry", place, _PROTOCOLS.get(one.kind) or _DOCUMENTS.get(one.kind))
        elif one.kind == "mcp":
            yield from card_pointer(Endpoint(one.url, "{" in one.url), place)
        elif one.kind == "a2a" and (card := link("/.well-known/agent-card.json", one.url)):
            yield Pointer(card, "a2a", place, "a2a")


def _read_capabilities(
    listed: list[_ServiceEntry], name: str | None, document: Document, notes: Notes
) -> Iterator[Capability]:
    """Yield a capability for each service that can be called, and a reference for each that a document describes."""
    used_names: set[str] = set()
    for one in listed:
        origin = Origin(document.url, one.pointer, SLUG)
        if one.kind in _PAGES or one.kind in _CLAIMS or one.kind in _NOT_CALLED or one.url == document.url:
            notes.mark_read(one.pointer)
            continue
        if one.is_document:
            unique = _unique_name(name, one, used_names)
            yield Capability(one.kind, unique, invocations=(Invocation("pointer", one.url, origin=origin),))
        elif one.kind == "mcp":
            address = endpoint(one.target, document.url, document, at(one.pointer, "endpoint"), notes)
            if address is not None:
                unique = _unique_name(name, one, used_names)
                yield whole_server(unique, unique, text_of(one.entry, "description"), address, origin)
        elif one.kind != "a2a":
            offer = Offer(one.pointer, None, one.entry)
            yield from capabilities_of(offer, document.url, document, SLUG, used_names, notes)


def _unique_name(name: str | None, one: _ServiceEntry, used_names: set[str]) -> str:
    """Return the agent's name, for the first service, or the agent's and the service's."""
    label = name if name and name not in used_names else f"{name} {one.name}" if name else one.name
    return manifest.unique_name(label, used_names)


def _read_tags(value: Object, listed: list[_ServiceEntry]) -> tuple[str, ...]:
    """Return the tags, and the skills and domains of the taxonomy OASF."""
    holders = (value, *(one.entry for one in listed if one.kind == "oasf"))
    return tuple(dict.fromkeys(tag for holder in holders for key in _TAGS for tag in texts_of(holder, key)))[:MAX_TEXTS]


def _read_provider(value: Object, listed: list[_ServiceEntry], document: Document) -> Provider | None:
    """Return who runs the agent; the service "email" is a contact."""
    mail = next((one.target for one in listed if one.kind == "email"), None)
    return loose.provider_of({**value, "email": mail} if mail else value, document.url)


def _read_claims(value: Object, listed: list[_ServiceEntry], document: Document, notes: Notes) -> dict[str, str]:
    """Return the agent's ids in registries (`eip155:1:<registry>:<id>`), its DID, its name in ENS and its wallets."""
    found: dict[str, list[str]] = {}
    for pointer, item in manifest.members(list_of(value, "registrations"), "/registrations", rules.REGISTRATION, notes):
        number = loose.scalar_text(item.get("agentId"))
        where = short_text_of(item, "agentRegistry")
        if number is None or where is None:
            notes.add(rules.REGISTRATION, pointer, where or number or "")
        else:
            notes.mark_read(pointer)
            found.setdefault("agent", []).append(f"{where}:{number}")
    for one in listed:
        if one.kind == "did":
            claim(one.target, document, at(one.pointer, "endpoint"), notes)
        if one.kind in _CLAIMS:
            found.setdefault("wallet" if one.kind == "agentwallet" else one.kind, []).append(one.target)
    return {
        kind: line(", ".join(dict.fromkeys(texts[:MAX_TEXTS])), manifest.TEXT_CHARS) for kind, texts in found.items()
    }


FORMAT: Final = Format(
    slug=SLUG,
    title="ERC-8004 agent registration",
    spec="ERC-8004, Agent Registration File",
    cited_as="ERC-8004",
    about=(
        "An agent that is registered on a blockchain says where it can be reached. Readers of that register "
        "follow its addresses."
    ),
    link="https://eips.ethereum.org/EIPS/eip-8004",
    example={
        "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1",
        "name": "City weather",
        "description": "Tells the weather of any city.",
        "image": "https://example.com/logo.png",
        "services": [{"name": "A2A", "endpoint": "https://example.com/.well-known/agent-card.json", "version": "1.0"}],
        "active": True,
        "registrations": [],
    },
    paths=("/.well-known/agent-registration.json",),
    role=Role.POINTERS,
    read=read,
    parts=(
        Part("/services|endpoints/[]", "service", members={"name": TEXT, "endpoint": TEXT}),
        Part("/registrations/[]", "registration", members={"agentRegistry": TEXT}, is_offered=False),
    ),
    types={"/name": TEXT, "/description": TEXT, "/image": TEXT, "/active": FLAG, "/x402Support": FLAG},
    rules=rules_in(rules),
    probe_paths=(
        ProbePath("S4", 125, "/.well-known/agent-registration.json", when=lambda facts: "erc-8004" in facts.words),
    ),
    topics=(Topic("erc-8004", (b"8004", b"agent-registration"), _NAMED_IN_TEXTS, in_home=True),),
    promised_pattern=re.compile(r"/(?:agent-registration|erc-?8004(?:-registration)?)\.json$"),
    precedence=195,
)
