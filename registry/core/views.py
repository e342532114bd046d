"""ADP views of any service: whatever a host speaks, a client of an ADP registry sees ADP's shapes.

Sources: the Agent Discovery Protocol 1.0 (sections 2 to 5), formats.md "Common model" for the collapse of
authentication and pricing into ADP's three values, and the registry contract, section 9, for trust. What cannot be
said in ADP's words is left to keys of our own at the door; nothing is invented here. Capability details are in
`details.py`.
"""

from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, Final

from registry.core.domains import host_of, same_site
from registry.core.listing import AdpAuthType, AdpPricingType, ListedCapability, Listing, TrustLevel
from registry.core.plain_text import line, plain
from registry.core.services import AuthScheme, Capability, Pricing, Service, is_semantic_type

ADP_VERSION: Final = "1.0"
NAME_CHARS: Final = 200
DESCRIPTION_CHARS: Final = 4_000
CAPABILITY_DESCRIPTION_CHARS: Final = 2_000
KEYWORDS_CHARS: Final = 500

_COLLAPSED: Final[dict[str, AdpAuthType]] = {
    "api_key": "api_key",
    "http_basic": "api_key",
    "bearer": "api_key",
    "session": "api_key",
    "custom": "api_key",
    "did": "api_key",
    "mtls": "api_key",
    "oauth2": "oauth2",
    "openid": "oauth2",
}
"""`none` and `payment` are missing: neither asks for a credential."""

_PRICED: Final[dict[str, AdpPricingType]] = {
    "free": "free",
    "freemium": "freemium",
    "paid": "paid",
    "pay_per_call": "paid",
    "unknown": "free",
}


def adp_auth_type(service: Service) -> AdpAuthType:
    """The one of ADP's three values that tells a client what to bring.

    The first scheme of the service that asks for a credential decides; a service that only declares schemes on its
    invocations is asked there. Credentials that are explicitly optional count as `none`.
    """
    scheme = _deciding_scheme(service)
    return _COLLAPSED[scheme.type] if scheme else "none"


def adp_pricing_type(service: Service) -> AdpPricingType:
    """`free`, `freemium` or `paid`. Unknown is `free`, as ADP reads a manifest without `pricing`; payment is `paid`."""
    if service.pricing.model == "unknown" and _is_payment_only(service):
        return "paid"
    return _PRICED[service.pricing.model]


def trust_level(host: str, service: Service, *, has_errors: bool, is_failing: bool = False) -> TrustLevel:
    """What stands behind the listing of a host that served its documents over valid TLS.

    `has_errors`: a finding of severity error stands against any of them. `is_failing`: its last visits failed softly,
    often and long enough to doubt it is there (the store decides; age alone never does).
    """
    if is_failing:
        return TrustLevel.UNVERIFIED
    if has_errors or service.synthetic or any(not same_site(host, other) for other in _called_hosts(service)):
        return TrustLevel.COMMUNITY
    return TrustLevel.VERIFIED


def adp_manifest(host: str, service: Service, detail_url: Callable[[str], str]) -> dict[str, Any]:
    """The service as an ADP manifest, whatever format it was found in.

    `detail_url` maps a capability's name to the absolute URL at which this registry serves its detail; it is used
    where the host has no detail document of its own.
    """
    base_url = adp_base_url(host, service)
    manifest: dict[str, Any] = {
        "spec_version": ADP_VERSION,
        "name": service_name(host, service),
        "description": plain(service.description or "", DESCRIPTION_CHARS),
        "base_url": base_url,
        "auth": adp_auth(service),
    }
    if service.pricing != Pricing():
        manifest["pricing"] = adp_pricing(service)
    manifest["capabilities"] = [
        _manifest_capability(one, base_url, detail_url) for one in sorted(service.capabilities, key=lambda c: c.name)
    ]
    return manifest


def service_name(host: str, service: Service) -> str:
    """The name it gives itself, else its host: a row without a name cannot be chosen."""
    return line(service.name or "", NAME_CHARS) or host


def adp_base_url(host: str, service: Service) -> str:
    """The base URL that endpoints and detail URLs are concatenated to, without a trailing slash."""
    return (service.base_url or f"https://{host}").rstrip("/")


def absolute_detail_url(capability: Capability, detail_url: Callable[[str], str]) -> str:
    """Where the detail of a capability is: the host's own document if it has one, else ours."""
    return capability.detail_url or detail_url(capability.name)


def adp_auth(service: Service) -> dict[str, Any]:
    """ADP section 3. `type` is one of the three; everything else only as the documents say it."""
    scheme = _deciding_scheme(service)
    if scheme is None:
        return {"type": "none"}
    kind = _COLLAPSED[scheme.type]
    auth: dict[str, Any] = {"type": kind}
    if kind == "api_key":
        if scheme.location in (None, "header") and scheme.type in ("api_key", "http_basic", "bearer"):
            auth["header"] = scheme.name or "Authorization"
        if scheme.location == "query" and scheme.name:
            auth["query_param"] = scheme.name
        by_type = {"bearer": "Bearer", "http_basic": "Basic"}.get(scheme.type)
        auth["prefix"] = by_type if scheme.prefix is None else scheme.prefix  # "" is a statement: no prefix at all
    auth["setup_url"] = scheme.setup_url
    auth["authorization_url"] = scheme.authorization_url
    auth["token_url"] = scheme.token_url
    auth["scopes"] = list(scheme.scopes) or None
    auth["note"] = line(scheme.note or "", 500) or None
    return {key: value for key, value in auth.items() if value is not None}


def adp_pricing(service: Service) -> dict[str, Any]:
    """ADP section 4, with the plans that the reference registry loses."""
    pricing: dict[str, Any] = {"type": adp_pricing_type(service)}
    plans = [
        {key: line(value, 500) for key in ("name", "price", "limits") if (value := getattr(plan, key))}
        for plan in service.pricing.plans
    ]
    if plans:
        pricing["plans"] = plans
    if service.pricing.url:
        pricing["plans_url"] = service.pricing.url
    return pricing


def make_listing(
    domain: str,
    host: str,
    service: Service,
    score: int,
    trust: TrustLevel,
    formats: Iterable[str],
    seen_on: date | None,
) -> Listing:
    """What search and the doors see of a service: texts cleaned and cut, vocabularies collapsed.

    `formats` are slugs, or `slug/dialect` pairs of which the slug counts.
    """
    return Listing(
        domain=domain,
        host=host,
        name=service_name(host, service),
        description=plain(service.description or "", DESCRIPTION_CHARS),
        trust_level=trust,
        score=score,
        formats=tuple(dict.fromkeys(one.partition("/")[0] for one in formats)),
        auth_type=adp_auth_type(service),
        pricing_type=adp_pricing_type(service),
        protocols=tuple(sorted({one.id for one in service.protocols})),
        capabilities=tuple(
            ListedCapability(
                one.name,
                plain(one.description or "", CAPABILITY_DESCRIPTION_CHARS),
                one.side_effects,
                tuple(tag for tag in one.tags if is_semantic_type(tag)),
                _keywords(one),
            )
            for one in service.capabilities
        ),
        seen_on=seen_on,
        languages=service.languages,
        keywords=_keywords(service),
    )


def _keywords(described: Service | Capability) -> tuple[str, ...]:
    """Examples first: they are sentences in which somebody would ask for it. As many as fit into KEYWORDS_CHARS."""
    kept: list[str] = []
    left = KEYWORDS_CHARS
    for text in (plain(one, KEYWORDS_CHARS) for one in dict.fromkeys((*described.examples, *described.tags))):
        if text and len(text) <= left:
            kept.append(text)
            left -= len(text)
    return tuple(kept)


def _deciding_scheme(service: Service) -> AuthScheme | None:
    if service.auth.required is False:
        return None
    declared: Iterable[AuthScheme] = service.auth.schemes
    if not service.auth.schemes:
        declared = (
            scheme
            for capability in service.capabilities
            for call in capability.invocations
            if call.auth is not None and call.auth.required is not False
            for scheme in call.auth.schemes
        )
    return next((scheme for scheme in declared if scheme.type in _COLLAPSED), None)


def _is_payment_only(service: Service) -> bool:
    types = {scheme.type for scheme in service.auth.schemes}
    return "payment" in types and not types & set(_COLLAPSED)


def _called_hosts(service: Service) -> set[str]:
    """Every host a client would be sent to."""
    urls = [service.base_url, *(protocol.endpoint for protocol in service.protocols)]
    urls += (call.endpoint for capability in service.capabilities for call in capability.invocations)
    return {host for url in urls if url and (host := host_of(url)) is not None}


def _manifest_capability(capability: Capability, base_url: str, detail_url: Callable[[str], str]) -> dict[str, Any]:
    """A detail URL below `base_url` is given relative: that is how ADP documents write it, and clients concatenate."""
    url = absolute_detail_url(capability, detail_url)
    below = url.removeprefix(base_url)
    entry: dict[str, Any] = {
        "name": capability.name,
        "description": plain(capability.description or "", CAPABILITY_DESCRIPTION_CHARS),
        "detail_url": below if capability.detail_url and below.startswith("/") else url,
    }
    group = (capability.detail or {}).get("resource_group")
    if isinstance(group, str):
        entry["resource_group"] = line(group, NAME_CHARS)
    return entry
