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
from registry.core.model.listing import ListedCapability, Listing, TrustLevel
from registry.core.model.services import Capability, Service, is_semantic_type
from registry.core.names.domains import host_of, same_site
from registry.core.reading.plain_text import plain

KEYWORDS_CHARS: Final = 500


def trust_level(host: str, service: Service, *, has_errors: bool, is_failing: bool = False) -> TrustLevel:
    """Return the level of trust of a host that served its documents over valid TLS.

    `has_errors`: one of its documents has a finding of severity error. `is_failing`: its last visits failed so often
    and for so long that it may be gone (decided by the store; age alone is no reason).
    """
    if is_failing:
        return TrustLevel.UNVERIFIED
    if has_errors or service.synthetic or any(not same_site(host, other) for other in _called_hosts(service)):
        return TrustLevel.COMMUNITY
    return TrustLevel.VERIFIED


def make_listing(
    domain: str,
    host: str,
    service: Service,
    score: int,
    trust: TrustLevel,
    formats: Iterable[str],
    seen_on: date | None,
) -> Listing:
    """Return what search and the interfaces see of a service: texts cleaned and cut, ADP's vocabularies.

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
        auth_type=adp_auth_type(service),
        pricing_type=adp_pricing_type(service),
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
    )


def _keywords(owner: Service | Capability) -> tuple[str, ...]:
    """Return examples, then tags, as many as fit into KEYWORDS_CHARS. Examples resemble queries, so they come first."""
    keywords: list[str] = []
    remaining = KEYWORDS_CHARS
    for text in (plain(phrase, KEYWORDS_CHARS) for phrase in dict.fromkeys((*owner.examples, *owner.tags))):
        if text and len(text) <= remaining:
            keywords.append(text)
            remaining -= len(text)
    return tuple(keywords)


def _called_hosts(service: Service) -> set[str]:
    """Return every host that a client of the service would call."""
    urls = [service.base_url, *(protocol.endpoint for protocol in service.protocols)]
    urls += (call.endpoint for capability in service.capabilities for call in capability.invocations)
    return {host for url in urls if url and (host := host_of(url)) is not None}
