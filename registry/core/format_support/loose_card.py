"""Read a file at a format's path that lacks the format's structure, as far as its members are clear, and the members
that documents of all formats carry although their specifications do not define them."""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from registry.core.format_support import loose, manifest
from registry.core.format_support.endpoints import first_link, origin_of, page
from registry.core.format_support.named_addresses import (
    DOCS,
    DOCS_HOLDERS,
    docs_of,
    is_protocol_member,
    named_documents,
    named_protocols,
    names_addresses,
)
from registry.core.format_support.offers import Offer, capabilities_of, offers_in, target_of
from registry.core.format_support.security import loose_auth
from registry.core.model.documents import Document
from registry.core.model.services import Auth, Origin, Pointer, Pricing, Protocol, Provider, Service

_LISTS: Final = ("services", "endpoints", "actions", "tools", "operations")
_OWNERS: Final = ("service", "business", "merchant", "provider")
"""Objects whose name and description are those of the service, where the file itself has none."""
_BASES: Final = ("api_base_url", "api_base", "base_url", "baseUrl", "api_url", "url")
_PAGES: Final = frozenset({*DOCS, "homepage", "website", "terms", "privacy", "support", "contact", "pricing"})
_PRICES: Final = (
    "tiers", "plans", "pricing_tiers", "pricingTiers", "free_tier", "freeTier", "paid_tiers", "paidTiers",
)  # fmt: skip
_PAID: Final = frozenset({"pricing", "price", *_PRICES, "x402", "payment", "payments"})
_PUBLISHERS: Final = frozenset({*loose.ORGANIZATIONS, *loose.CONTACTS})
_TERMS: Final = ("terms_url", "termsUrl", "terms_of_service", "termsOfService", "terms", "tos")
_PRIVACY: Final = ("privacy_url", "privacyUrl", "privacy_policy", "privacyPolicy", "privacy")
_ICONS: Final = ("icon_url", "iconUrl", "icon", "logo_url", "logoUrl", "logo")
_FIELDS: Final = (
    "name", "description", "provider", "homepage", "docs_url", "repository", "license", "capabilities", "auth",
    "pricing", "protocols", "tags",
)  # fmt: skip


def loose_card(
    value: manifest.Object,
    document: Document,
    format_slug: str,
    notes: manifest.Notes,
    *,
    pointers: tuple[Pointer, ...] = (),
    pricing: Pricing | None = None,
    protocol: Protocol | None = None,
) -> Service:
    """Return the file's publisher, its entries with an address, and the protocols and documents that it names.
    `pointers`, `pricing` and `protocol` are the format's own results; the members' prices count if `pricing` is
    blank."""
    owner = next((held for key in _OWNERS if (held := manifest.map_of(value, key))), {})
    base = first_link(value, _BASES, document.url) or origin_of(document.url)
    own_prices = card_pricing(value, document.url)
    used_names: set[str] = set()
    offers = [offer for offer in offers_in(value, _LISTS) if _is_offered(offer)]
    found = (capabilities_of(offer, base, document, format_slug, used_names, notes) for offer in offers)
    service = Service(
        name=next((text for one in (value, owner) if (text := manifest.short_text_of(one, "name"))), None),
        description=next((text for one in (value, owner) if (text := manifest.text_of(one, "description"))), None),
        provider=loose.provider_of(value, document.url),
        homepage=loose.homepage_of(value, document.url),
        docs_url=docs_of(value, document.url),
        repository=loose.repository_of(value, document.url),
        license=loose.license_of(value),
        tags=manifest.texts_of(value, "tags"),
        capabilities=tuple(chain.from_iterable(found)),
        auth=loose_auth(value.get("authentication", value.get("auth")), document.url),
        pricing=pricing if pricing not in (None, Pricing()) else loose.with_payments(own_prices, value),
        protocols=(*((protocol,) if protocol else ()), *named_protocols(value, document)),
        pointers=(*pointers, *named_documents(value, document))[: manifest.MAX_TEXTS],
        native=manifest.native(format_slug, value, ("name", "description", "tags")),
    )
    return manifest.with_provenance(service, document, format_slug, {**dict.fromkeys(_FIELDS, ""), "name": "/name"})


def _is_offered(offer: Offer) -> bool:
    """Return whether an entry is something to call: by its address, or by its name and description. Protocols and pages
    in a map of endpoints are read as such."""
    if offer.key is not None and (is_protocol_member(offer.key) or offer.key.lower() in _PAGES):
        return False
    is_described = manifest.text_of(offer.holder, "description") is not None and not offer.is_bare
    has_name = any(manifest.text_of(offer.holder, key) for key in ("id", "name"))
    return target_of(offer.holder)[0] is not None or (is_described and has_name)


def card_pricing(value: manifest.Object, base: str) -> Pricing:
    """Return the pricing in `pricing` or `price` of a document, else in the tiers beside its other members."""
    stated = value.get("pricing", value.get("price"))
    if stated is None:
        stated = {key: value[key] for key in _PRICES if key in value}
    return loose.pricing_of(stated, base)


def with_common_members(service: Service, document: Document, format_slug: str) -> Service:
    """Return the service with what the document says in members of no specification, where its reader found nothing:
    documentation, home page, publisher, contacts, source code, licence, terms, prices, authentication, and the
    addresses and documents that it names."""
    value, base = document.members, document.url
    filled: dict[str, Any] = {}
    for name, (members, find) in _COMMON.items():
        if not members.isdisjoint(value) and getattr(service, name) == getattr(_BLANK, name):
            found = find(value, base)
            if found not in _NOTHING:
                filled[name] = found
    if service.provider is not None and not service.provider.contact and not _PUBLISHERS.isdisjoint(value):
        others = loose.provider_of(value, base) or Provider()
        filled["provider"] = replace(service.provider, contact=others.contact, contacts=others.contacts)
    if not _PAID.isdisjoint(value) and service.pricing == Pricing(url=service.pricing.url):
        prices = loose.with_payments(card_pricing(value, base), value)
        filled["pricing"] = replace(prices, url=service.pricing.url or prices.url)
    terms = service.policies.terms_url or _first_page(value, _TERMS, base)
    privacy = service.policies.privacy_url or _first_page(value, _PRIVACY, base)
    if (terms, privacy) != (service.policies.terms_url, service.policies.privacy_url):
        filled["policies"] = replace(service.policies, terms_url=terms, privacy_url=privacy)
    if names_addresses(value):
        known = {protocol.endpoint for protocol in service.protocols}
        protocols = [one for one in named_protocols(value, document) if one.endpoint not in known]
        # the base of REST calls is no separate protocol beside the calls of a format, which settles its own addresses
        more = [one for one in protocols if one.id not in ("rest", format_slug)]
        filled["protocols"] = (*service.protocols, *more)
        targets = {pointer.url for pointer in service.pointers}
        pointers = (one for one in named_documents(value, document) if one.url not in targets)
        filled["pointers"] = (*service.pointers, *pointers)[: manifest.MAX_TEXTS]
    filled = {name: found for name, found in filled.items() if found != getattr(service, name)}
    origin = Origin(document.url, "", format_slug)
    sources = {name: origin for name in filled if name not in service.provenance and name != "pointers"}
    return replace(service, **filled, provenance={**service.provenance, **sources}) if filled else service


def _first_page(value: manifest.Object, keys: tuple[str, ...], base: str) -> str | None:
    return next((url for key in keys if key in value and (url := page(value[key], base))), None)


_BLANK: Final = Service()
_NOTHING: Final = (None, (), Auth())
_COMMON: Final[dict[str, tuple[frozenset[str], Callable[[manifest.Object, str], Any]]]] = {
    "docs_url": (frozenset({*DOCS, *DOCS_HOLDERS}), docs_of),
    "homepage": (frozenset({*loose.HOMEPAGES, "links", "discovery"}), loose.homepage_of),
    "provider": (_PUBLISHERS, loose.provider_of),
    "repository": (frozenset(loose.REPOSITORIES), loose.repository_of),
    "license": (frozenset({*loose.LICENSES, "licenses"}), lambda value, base: loose.license_of(value)),
    "icon_url": (frozenset(_ICONS), lambda value, base: first_link(value, _ICONS, base)),
    "tags": (frozenset({"tags"}), lambda value, base: manifest.texts_of(value, "tags")),
    "auth": (frozenset({"authentication"}), lambda value, base: loose_auth(value["authentication"], base)),
}
"""Fields with the members, of no specification, that may hold their value, and the function that reads it there."""
