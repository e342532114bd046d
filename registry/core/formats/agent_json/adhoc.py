"""Read cards in shapes of their own at the paths of agent cards: a name, addresses, and what can be called there.

No specification describes them. A card counts only if it names something that can be called: an endpoint, an MCP or A2A
server, entries with addresses, or abilities of an agent that answers at a stated address. A business card with a name,
wallets and abilities in words does not.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from registry.core.format_support import loose
from registry.core.format_support.endpoints import Endpoint, callable_url, first_link, link, origin_of
from registry.core.format_support.manifest import (
    NAME_CHARS,
    Notes,
    Object,
    first_text,
    has_template,
    map_of,
    native,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.named_addresses import is_protocol_member, named_documents, named_protocols
from registry.core.format_support.offers import Offer, capabilities_of, offers_in, target_of
from registry.core.format_support.security import NOTHING_NEEDED, loose_auth, schemes_of
from registry.core.format_support.shapes import says_no_auth, stated_pricing
from registry.core.formats.agent_json import rules
from registry.core.model.documents import Document
from registry.core.model.services import Auth, Capability, InvocationKind, Pricing, Protocol, Service

AD_HOC: Final = "adhoc"
SLUG: Final = "agent-json"

_NAMES: Final = ("display_name", "displayName", "name", "title", "service", "platform", "product", "agent_name")
_DESCRIPTIONS: Final = ("description", "summary", "tagline", "about")
_DOCS: Final = ("documentation", "docs", "documentation_url", "documentationUrl", "docs_url", "docsUrl")
_TERMS: Final = ("terms", "terms_url", "termsOfService", "tos")
_LISTS: Final = (
    "endpoints", "skills", "tools", "actions", "functions", "operations", "intents", "services", "commands", "apis",
    "workflows", "capabilities",
)  # fmt: skip
_WRAPPERS: Final = ("a", "agent", "metadata", "service", "info", "profile")
_BASES: Final = (
    "api_base", "apiBase", "api_base_url", "base_url", "baseUrl", "api_url", "apiUrl", "endpoint", "url", "u",
)  # fmt: skip
_SPEAKS: Final = ("authentication", "defaultInputModes", "protocols", "preferredTransport", "transport", "p")
_ADDRESSES: Final = ("u", "endpoint", "agent_url", "api", "url")
_NO_OFFERS: Final = frozenset({
    "docs", "documentation", "llms", "llmstxt", "health", "status", "homepage", "website", "home", "landing", "terms",
    "privacy", "contact", "support", "pricing", "feed", "sitemap", "standards",
})  # fmt: skip
_READ: Final = frozenset({
    *_NAMES[:4], "description", "version", "homepage", "tags", "languages", "license", "skills", "tools", "actions",
    "intents", "authentication",
})  # fmt: skip


def dialect(document: Document) -> str | None:
    """Return "adhoc" for a card with a name and something to call. A weak test, for the paths of agent cards."""
    card = _flatten(document.members)
    if not first_text(card, *_NAMES, chars=NAME_CHARS):
        return None
    is_callable = (
        next(named_protocols(card, document), None) is not None
        or next(named_documents(card, document), None) is not None
        or any(target_of(offer.holder)[0] for offer in _read_offers(card))
        or (bool(_read_offers(card)) and _read_agent_address(card, document) is not None)
    )
    return AD_HOC if is_callable else None


def recognise_wrapped(document: Document) -> str | None:
    """Return "adhoc" for short members, like AID's, with a profile of the agent in `a`."""
    is_short = document.members.keys() >= {"v", "p", "u"}
    return AD_HOC if is_short and short_text_of(map_of(document.members, "a"), "name") else None


def read(document: Document, notes: Notes) -> Service:
    value = document.members
    notes.add(rules.AD_HOC)
    card = _flatten(value)
    protocols = list(_read_protocols(card, document))
    is_template = has_template(card, ("name", "description"), "", notes)
    capabilities = tuple(_read_capabilities(card, protocols, document, notes))
    description = None if is_template else first_text(card, *_DESCRIPTIONS)
    service = Service(
        name=None if is_template else first_text(card, *_NAMES, chars=NAME_CHARS),
        description=description,
        provider=loose.provider_of(card, document.url),
        version=short_text_of(card, "version"),
        homepage=loose.homepage_of(card, document.url) or _read_site(card, protocols, document),
        docs_url=first_link(card, _DOCS, document.url) or first_link(card.get("developer"), _DOCS, document.url),
        icon_url=link(first_text(card, "logo", "icon", "iconUrl", "logo_url"), document.url),
        repository=loose.repository_of(card, document.url),
        license=loose.license_of(card),
        languages=texts_of(card, "languages"),
        tags=texts_of(card, "tags"),
        capabilities=capabilities,
        auth=_read_auth(card, description, document),
        pricing=_read_pricing(card, description, document),
        protocols=tuple(protocols),
        pointers=tuple(named_documents(card, document)),
        native=native(SLUG, value, _READ),
    )
    pointers = dict.fromkeys(
        ("name", "description", "provider", "homepage", "docs_url", "capabilities", "auth", "pricing", "protocols"), ""
    )
    return with_provenance(service, document, SLUG, pointers)


def _flatten(value: Object) -> Object:
    """Return the card with the members of its wrappers at the top; members that stand there already count."""
    flat: Object = {}
    for key in reversed(_WRAPPERS):
        flat |= map_of(value, key)
    return {**flat, **{key: item for key, item in value.items() if key not in _WRAPPERS or isinstance(item, str)}}


# --- what can be called ----------------------------------------------------------------------------------------------


def _read_offers(card: Object) -> list[Offer]:
    """Return the entries of all lists and maps; `capabilities` counts only as a list, or with `services` below it.
    Abilities in bare texts count where nothing else is listed, and only as names: a sentence cannot be called."""
    offers = []
    capabilities = map_of(card, "capabilities")
    for offer in (*offers_in(card, _LISTS), *offers_in(capabilities, ("services",), "/capabilities")):
        is_flag = offer.pointer.startswith("/capabilities/") and offer.key is not None and offer.is_bare is False
        if is_flag and not offer.pointer.startswith("/capabilities/services/") and not target_of(offer.holder)[0]:
            continue
        if offer.key is not None and (is_protocol_member(offer.key) or _plain(offer.key) in _NO_OFFERS):
            continue
        offers.append(offer)
    abilities = [offer for offer in offers if offer.is_bare and offer.pointer.startswith("/capabilities/")]
    others = [offer for offer in offers if offer not in abilities]
    are_names = all(" " not in str(offer.holder.get("name", "")) for offer in abilities)
    return others or (abilities if are_names else [])


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _read_protocols(card: Object, document: Document) -> Iterator[Protocol]:
    """Yield the named protocols, and the address of short members: `{"p": ["a2a"], "u": "https://..."}`."""
    found = list(named_protocols(card, document))
    words = [text_of(card, "p"), *texts_of(card, "p")]
    address = callable_url(text_of(card, "u") or "", document.url, document.url) if text_of(card, "u") else None
    word = next((word for word in words if word in ("a2a", "mcp", "rest", "graphql")), None)
    if address is not None and word is not None and all(protocol.endpoint != address.url for protocol in found):
        yield Protocol(word, None, address.url)
    yield from found


def _read_capabilities(
    card: Object, protocols: list[Protocol], document: Document, notes: Notes
) -> Iterator[Capability]:
    base = first_link(card, _BASES, document.url) or origin_of(document.url)
    kind, fallback = _read_call(card, protocols, document)
    used_names: set[str] = set()
    for offer in _read_offers(card):
        if fallback is None and target_of(offer.holder)[0] is None:
            continue  # an offer in words: nothing says where it is called
        # an entry among `tools` of an MCP server is a tool
        called: InvocationKind = "rpc" if kind == "mcp_tool" and not offer.pointer.startswith("/tools") else kind
        yield from capabilities_of(offer, base, document, SLUG, used_names, notes, kind=called, fallback=fallback)


def _read_call(card: Object, protocols: list[Protocol], document: Document) -> tuple[InvocationKind, Endpoint | None]:
    """Return how entries without an address are called: at the agent's own address, by its first protocol."""
    kinds: dict[str, InvocationKind] = {"a2a": "a2a_skill", "mcp": "mcp_tool"}
    protocol = next((protocol for protocol in protocols if protocol.endpoint), None)
    if protocol is not None and protocol.endpoint:
        return kinds.get(protocol.id, "http"), Endpoint(protocol.endpoint, "{" in protocol.endpoint)
    return "http", _read_agent_address(card, document)


def _read_agent_address(card: Object, document: Document) -> Endpoint | None:
    """Return the address of a card that says how its agent is spoken to."""
    if not any(card.get(key) for key in _SPEAKS):
        return None
    targets = (text_of(card, key) for key in _ADDRESSES)
    return next(
        (found for target in targets if target and (found := callable_url(target, document.url, document.url))), None
    )


def _read_site(card: Object, protocols: list[Protocol], document: Document) -> str | None:
    """Return `url` where it is a site and nothing else in the card is called at it."""
    url = link(card.get("url"), document.url)
    is_site = url is not None and url == origin_of(url)
    return url if is_site and all(protocol.endpoint != url for protocol in protocols) else None


# --- access and prices -----------------------------------------------------------------------------------------------


def _read_auth(card: Object, description: str | None, document: Document) -> Auth:
    schemes = schemes_of(card.get("securitySchemes"), document.url)
    if schemes:
        return Auth(tuple(dict.fromkeys(schemes.values())))
    for key in ("authentication", "auth", "security"):
        auth = loose_auth(card.get(key), document.url)
        if auth != Auth():
            return auth
    return NOTHING_NEEDED if says_no_auth([description]) else Auth()


def _read_pricing(card: Object, description: str | None, document: Document) -> Pricing:
    pricing = loose.with_payments(loose.pricing_of(card.get("pricing", card.get("price")), document.url), card)
    if pricing.model == "unknown" and (model := stated_pricing([description])) is not None:
        return replace(pricing, model=model)
    return pricing
