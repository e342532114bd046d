"""The listing of a merged service: what search and the interfaces see of it."""

from collections.abc import Iterable
from datetime import date
from typing import Final

from registry.core.formats.adp.manifest_view import (
    CAPABILITY_DESCRIPTION_CHARS,
    DESCRIPTION_CHARS,
    adp_auth_type,
    adp_pricing_type,
    service_name,
)
from registry.core.merging.categories import category_of
from registry.core.merging.claims import resemblance
from registry.core.model.listing import AuthKind, ListedCapability, Listing, PricingKind, TrustLevel
from registry.core.model.services import Auth, Capability, Service, is_semantic_type
from registry.core.reading.plain_text import plain

KEYWORDS_CHARS: Final = 500


def make_listing(
    domain: str,
    host: str,
    service: Service,
    score: int,
    trust: TrustLevel,
    formats: Iterable[str],
    seen_on: date | None,
    trust_reasons: tuple[str, ...] = (),
) -> Listing:
    """Return what search and the interfaces see of a service: texts cleaned and cut, ADP's vocabularies and `unknown`.

    `formats` are slugs, or `slug/dialect` pairs of which the slug counts.
    """
    return Listing(
        domain=domain,
        host=host,
        name=service_name(host, service),
        description=plain(service.description or "", DESCRIPTION_CHARS),
        trust_level=trust,
        score=score,
        formats=tuple(dict.fromkeys(entry.partition("/")[0] for entry in formats)),
        auth_type=auth_kind(service),
        pricing_type=pricing_kind(service),
        protocols=tuple(sorted({protocol.id for protocol in service.protocols})),
        capabilities=tuple(
            ListedCapability(
                capability.name,
                plain(capability.description or "", CAPABILITY_DESCRIPTION_CHARS),
                capability.side_effects,
                tuple(tag for tag in capability.tags if is_semantic_type(tag)),
                _keywords(capability),
            )
            for capability in service.capabilities
        ),
        seen_on=seen_on,
        languages=service.languages,
        keywords=_keywords(service),
        category=category_of(service),
        trust_reasons=trust_reasons,
        resembles=resemblance(host, service),
    )


def auth_kind(service: Service) -> AuthKind:
    """Return ADP's kind of credential, `unknown` where ADP's default `none` would say more than the documents do.

    `none` is known where a document says that no credential is needed or names payment instead of one, for the service
    or for each of its calls.
    """
    kind = adp_auth_type(service)
    if kind != "none" or _needs_no_credential(service.auth):
        return kind
    calls = [call for capability in service.capabilities for call in capability.invocations]
    is_said = service.auth == Auth() and calls and all(call.auth and _needs_no_credential(call.auth) for call in calls)
    return "none" if is_said else "unknown"


def pricing_kind(service: Service) -> PricingKind:
    """Return ADP's kind of pricing, `unknown` where ADP's default `free` would say more than the documents do."""
    kind = adp_pricing_type(service)
    return "unknown" if kind == "free" and service.pricing.model != "free" else kind


def _needs_no_credential(auth: Auth) -> bool:
    return auth.required is False or any(scheme.type in ("none", "payment") for scheme in auth.schemes)


def _keywords(owner: Service | Capability) -> tuple[str, ...]:
    """Return examples, then tags, as many as fit into KEYWORDS_CHARS. Examples resemble queries, so they come first."""
    keywords: list[str] = []
    remaining = KEYWORDS_CHARS
    for text in (plain(phrase, KEYWORDS_CHARS) for phrase in dict.fromkeys((*owner.examples, *owner.tags))):
        if text and len(text) <= remaining:
            keywords.append(text)
            remaining -= len(text)
    return tuple(keywords)
