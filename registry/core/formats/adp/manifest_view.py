"""Present a service of any format as an ADP manifest (ADP 1.0, sections 2 to 5).

Authentication and pricing are reduced to ADP's three values each. Nothing is invented; for facts that ADP cannot
express, the interfaces add their own keys. Capability details are in `detail_view.py`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from registry.core.model.listing import AdpAuthType, AdpPricingType
from registry.core.model.services import AuthScheme, Capability, Service
from registry.core.reading.plain_text import line, plain

ADP_VERSION: Final = "1.0"
NAME_CHARS: Final = 200
DESCRIPTION_CHARS: Final = 4_000
CAPABILITY_DESCRIPTION_CHARS: Final = 2_000
KEYWORDS_CHARS: Final = 500

_WITH_GROUPS: Final = ("adp", "adp-detail")

_COLLAPSED: Final[dict[str, AdpAuthType]] = {
    **dict.fromkeys(("api_key", "http_basic", "bearer", "session", "custom", "did", "mtls"), "api_key"),
    **dict.fromkeys(("oauth2", "openid"), "oauth2"),
}
"""`none` and `payment` are missing, because neither requires a credential."""

_PRICED: Final[dict[str, AdpPricingType]] = {
    "free": "free",
    "freemium": "freemium",
    "paid": "paid",
    "pay_per_call": "paid",
    "unknown": "free",
}


def adp_auth_type(service: Service) -> AdpAuthType:
    """Return which of ADP's three kinds of credential a client needs. The first scheme of the service that requires a
    credential decides; if the service declares no scheme, the first such scheme of its invocations. Explicitly optional
    credentials count as `none`."""
    scheme = _deciding_scheme(service)
    return _COLLAPSED[scheme.type] if scheme else "none"


def adp_pricing_type(service: Service) -> AdpPricingType:
    """Return `free`, `freemium` or `paid`. Unknown pricing is `free`, as ADP defines, unless callers can only pay."""
    if service.pricing.model == "unknown" and _is_payment_only(service):
        return "paid"
    return _PRICED[service.pricing.model]


def adp_manifest(host: str, service: Service, detail_url: Callable[[str], str]) -> dict[str, Any]:
    """Return the service as an ADP manifest. `detail_url` maps a capability's name to the absolute URL of this
    registry's detail; it is used where the host has no detail document."""
    base_url = adp_base_url(host, service)
    manifest: dict[str, Any] = {
        "spec_version": ADP_VERSION,
        "name": service_name(host, service),
        "description": plain(service.description or "", DESCRIPTION_CHARS),
        "base_url": base_url,
        "auth": adp_auth(service),
    }
    if service.pricing.model != "unknown" or _is_payment_only(service):
        # ADP has no word for unknown pricing, but pricing may be left out (section 4)
        manifest["pricing"] = adp_pricing(service)
    manifest["capabilities"] = [
        _manifest_capability(capability, base_url, detail_url)
        for capability in sorted(service.capabilities, key=lambda c: c.name)
    ]
    return manifest


def service_name(host: str, service: Service) -> str:
    """Return the service's own name, else its host: clients cannot select a row without a name."""
    return line(service.name or "", NAME_CHARS) or host


def adp_base_url(host: str, service: Service) -> str:
    """Return the base URL, without a trailing slash, that clients concatenate endpoints and detail URLs to."""
    return (service.base_url or f"https://{host}").rstrip("/")


def adp_auth(service: Service) -> dict[str, Any]:
    """Return `auth` (ADP section 3). Only `header` and `prefix` have defaults; other members come from documents."""
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
        default_prefix = {"bearer": "Bearer", "http_basic": "Basic"}.get(scheme.type)
        # None: the document does not name a prefix. An empty string: the credential is sent without one.
        auth["prefix"] = default_prefix if scheme.prefix is None else scheme.prefix
    auth["setup_url"] = scheme.setup_url
    auth["authorization_url"] = scheme.authorization_url
    auth["token_url"] = scheme.token_url
    auth["scopes"] = list(scheme.scopes) or None
    auth["note"] = line(scheme.note or "", 500) or None
    return {key: value for key, value in auth.items() if value is not None}


def adp_pricing(service: Service) -> dict[str, Any]:
    """Return `pricing` (ADP section 4), including the plans, which the reference registry drops."""
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


def _manifest_capability(capability: Capability, base_url: str, detail_url: Callable[[str], str]) -> dict[str, Any]:
    """Return the entry. The host's own detail URL is relative if below `base_url`: clients concatenate the two."""
    url = capability.detail_url or detail_url(capability.name)
    relative_url = url.removeprefix(base_url)
    entry: dict[str, Any] = {
        "name": capability.name,
        "description": plain(capability.description or "", CAPABILITY_DESCRIPTION_CHARS),
        "detail_url": relative_url if capability.detail_url and relative_url.startswith("/") else url,
    }
    if group := resource_group(capability):
        entry["resource_group"] = group
    return entry


def resource_group(capability: Capability) -> str | None:
    """Return the group of capabilities that the detail names, else the entry of the manifest. The readers of both put
    it first among the tags; tags of documents of other formats are no groups."""
    group = (capability.detail or {}).get("resource_group")
    source = capability.provenance.get("tags", capability.origin)
    if not isinstance(group, str) and capability.tags and source is not None and source.format in _WITH_GROUPS:
        group = capability.tags[0]
    return line(group, NAME_CHARS) or None if isinstance(group, str) else None
