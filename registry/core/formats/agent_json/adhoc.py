"""Read cards in shapes of their own at the paths of agent cards: a name, addresses, and what can be called there.

No specification describes them. A card counts only if it names something that can be called: an endpoint, an MCP or A2A
server, entries with addresses, or abilities of an agent that answers at a stated address. A business card with a name,
wallets and abilities in words does not.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from registry.core.format_support import loose
from registry.core.format_support.endpoints import (
    MAX_URL_CHARS,
    Endpoint,
    callable_url,
    first_link,
    link,
    origin_of,
)
from registry.core.format_support.loose_card import card_pricing
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
from registry.core.format_support.named_addresses import (
    docs_of,
    is_protocol_member,
    named_documents,
    named_protocols,
)
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
_ADDRESS_LISTS: Final = ("endpoints", "urls", "paths", "routes")
_EXAMPLES: Final = ("example", "example_request", "usage", "request")
_REQUEST = re.compile(r"(GET|POST|PUT|PATCH|DELETE)\s+(\S+)")
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
        docs_url=docs_of(card, document.url),
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


def _list_addresses(holder: Object) -> list[str]:
    """Return the addresses that an entry lists, `"endpoints": ["/tides", "/waves"]`."""
    texts = (text for key in _ADDRESS_LISTS for text in texts_of(holder, key, MAX_URL_CHARS))
    return [text for text in texts if target_of({"endpoint": text})[0]]


# --- what can be called ----------------------------------------------------------------------------------------------


def _read_offers(card: Object) -> list[Offer]:
    """Return the entries of all lists and maps; `capabilities` counts only as a list, or with `services` below it.
    Abilities in bare texts count where nothing else is listed, and only as names: a sentence cannot be called."""
    offers = []
    capabilities = map_of(card, "capabilities")
    for offer in (*offers_in(card, _LISTS), *offers_in(capabilities, ("services",), "/capabilities")):
        is_flag = offer.pointer.startswith("/capabilities/") and offer.key is not None and offer.is_bare is False
        has_address = target_of(offer.holder)[0] or _list_addresses(offer.holder)
        if is_flag and not offer.pointer.startswith("/capabilities/services/") and not has_address:
            continue
        if offer.key is not None and (is_protocol_member(offer.key) or _plain(offer.key) in _NO_OFFERS):
            continue
        offers.append(offer)
    abilities = [offer for offer in offers if offer.is_bare and offer.pointer.startswith("/capabilities/")]
    others = [offer for offer in offers if offer not in abilities]
    are_names = all(" " not in str(offer.holder.get("name", "")) for offer in abilities)
    return _unite(others) or (abilities if are_names else [])


def _unite(offers: list[Offer]) -> list[Offer]:
    """Return the entries; several with one address become one where they do not contradict each other. Some cards list
    their addresses with methods in one place and their abilities, by address, in another."""
    by_target: dict[str, int] = {}
    united: list[Offer] = []
    for offer in map(_completed, offers):
        target = target_of(offer.holder)[0]
        index = by_target.setdefault(target, len(united)) if target else len(united)
        if index == len(united):
            united.append(offer)
            continue
        first, second = sorted((united[index], offer), key=lambda one: not _is_named(one))
        shared = (first.holder.keys() & second.holder.keys()) - {"description", "example"}
        if all(first.holder[key] == second.holder[key] for key in shared):
            united[index] = replace(first, holder={**second.holder, **first.holder})
        else:
            united.append(offer)
    return united


def _is_named(offer: Offer) -> bool:
    return offer.key is not None or any(key in offer.holder for key in ("id", "name"))


def _completed(offer: Offer) -> Offer:
    """Return the entry with the first of the addresses that it lists, and with the method that its example begins with
    (`GET /prices?of=tin`), where it states neither itself."""
    target, method, _ = target_of(offer.holder)
    if target is None and (addresses := _list_addresses(offer.holder)):
        return replace(offer, holder={**offer.holder, "endpoint": addresses[0]})
    if method is not None or "method" in offer.holder or target is None:
        return offer
    for key in _EXAMPLES:
        match = _REQUEST.match(text_of(offer.holder, key) or "")
        if match is not None and match[2].startswith(target):
            return replace(offer, holder={**offer.holder, "method": match[1]})
    return offer


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
        found = list(capabilities_of(offer, base, document, SLUG, used_names, notes, kind=called, fallback=fallback))
        yield from _with_more_calls(found, offer, base, document, notes)


def _with_more_calls(
    found: list[Capability], offer: Offer, base: str, document: Document, notes: Notes
) -> Iterator[Capability]:
    """Yield the capabilities of an entry; an entry with several addresses has a call to each."""
    others = [replace(offer, holder={**offer.holder, "endpoint": url}) for url in _list_addresses(offer.holder)[1:]]
    more = [call for other in others for one in capabilities_of(other, base, document, SLUG, set(), notes)
            for call in one.invocations]  # fmt: skip
    yield from [replace(found[0], invocations=(*found[0].invocations, *more)), *found[1:]] if found and more else found


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
    """Return `url` where it is a page: nothing in the card is called at it, or below it by a path alone."""
    url = link(card.get("url"), document.url)
    if url is None or any(protocol.endpoint == url for protocol in protocols):
        return None
    agent = None if protocols else _read_agent_address(card, document)
    targets = [target_of(offer.holder)[0] for offer in _read_offers(card)]
    is_called = agent is not None and agent.url == url and None in targets
    is_base = any(target is not None and target.startswith("/") for target in targets)
    return url if url == origin_of(url) or not (is_called or is_base) else None


# --- access and prices -----------------------------------------------------------------------------------------------


def _read_auth(card: Object, description: str | None, document: Document) -> Auth:
    schemes = schemes_of(card.get("securitySchemes"), document.url)
    if schemes:
        return Auth(tuple(dict.fromkeys(schemes.values())))
    stated = [card.get(key) for key in ("authentication", "auth", "security")]
    for value in (*stated, map_of(card, "capabilities").get("authentication")):
        auth = loose_auth(value, document.url)
        if auth != Auth():
            return auth
    return NOTHING_NEEDED if says_no_auth([description]) else Auth()


def _read_pricing(card: Object, description: str | None, document: Document) -> Pricing:
    pricing = loose.with_payments(card_pricing(card, document.url), card)
    if pricing.model == "unknown" and (model := stated_pricing([description])) is not None:
        return replace(pricing, model=model)
    return pricing
