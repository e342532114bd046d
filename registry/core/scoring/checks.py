"""Report what a merged service does not state: the part of the score that no single document is to blame for.

A service is graded by the specifications of its documents. A missing fact costs points if at least one of their
formats asks for it; else it is a note. Only presence, structure and shares count. No text raises a score by its
wording: stuffing a description gains nothing.
"""

from collections.abc import Callable, Collection

from registry.core.format_support.vocabulary import SAFE_METHODS
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.findings import Finding, Rule
from registry.core.model.services import Capability, Provider, Service
from registry.core.scoring import rules

_DESCRIBED_CALLS = frozenset({"http", "mcp_tool"})
"""Kinds of calls whose formats can describe parameters and effects. An A2A skill or an MCP server card cannot: their
absence is no gap."""


def gaps(service: Service) -> tuple[Finding, ...]:
    """Return one finding for each thing missing; capability-level findings point at `/capabilities/<index>`."""
    formats = _formats(service)
    found = [_grade(finding, formats) for finding in _service_gaps(service)]
    if any(finding.rule is rules.SERVICE_WITHOUT_CAPABILITIES for finding in found):
        others = (rules.SERVICE_NOTHING_TO_CALL, rules.SERVICE_NOTHING_TO_JUDGE)
        found += [Finding(rule, "/capabilities") for rule in others]
    for rule, is_missing in _PER_CAPABILITY:
        for index, capability in enumerate(service.capabilities):
            if is_missing(capability):
                finding = Finding(rule, f"/capabilities/{index}", capability.id[:60])
                found.append(_grade(finding, _formats_of(capability) or formats))
    return tuple(found)


def _grade(finding: Finding, formats: Collection[str]) -> Finding:
    """Return the finding if one of the formats asks for the missing fact, else return it as a note."""
    advice = rules.ADVICE.get(finding.rule)
    if advice is None or any(finding.rule.code in FORMAT_BY_SLUG[slug].asks for slug in formats):
        return finding
    return Finding(advice, finding.pointer, finding.evidence, finding.count)


def _formats(service: Service) -> frozenset[str]:
    """Return the formats of the documents that the service was made of."""
    origins = frozenset(origin.format for origin in service.provenance.values())
    return origins.union(*map(_formats_of, service.capabilities)) & FORMAT_BY_SLUG.keys()


def _formats_of(capability: Capability) -> frozenset[str]:
    """Return the formats of the documents that describe the capability."""
    calls = (call.origin for call in capability.invocations)
    origins = (capability.origin, *calls, *capability.provenance.values())
    return frozenset(origin.format for origin in origins if origin is not None) & FORMAT_BY_SLUG.keys()


def _service_gaps(service: Service) -> list[Finding]:
    calls = [call for capability in service.capabilities for call in capability.invocations]
    provider, policies = service.provider or Provider(), service.policies
    has_auth = bool(service.auth.schemes) or service.auth.required is not None or any(call.auth for call in calls)
    has_limit = policies.rate_limit is not None or any(call.rate_limit for call in calls)
    rows = (
        (rules.SERVICE_UNNAMED, "/name", not service.name),
        (rules.SERVICE_UNDESCRIBED, "/description", not service.description),
        (rules.SERVICE_WITHOUT_CAPABILITIES, "/capabilities", not service.capabilities),
        (rules.SERVICE_AUTH_UNKNOWN, "/auth", not has_auth),
        (rules.SERVICE_PRICING_UNKNOWN, "/pricing", service.pricing.model == "unknown"),
        (rules.SERVICE_RATE_LIMIT_UNKNOWN, "/policies/rate_limit", not has_limit),
        (rules.SERVICE_UNVERSIONED, "/version", not (service.version or service.protocols)),
        (rules.SERVICE_WITHOUT_TERMS, "/policies", not (policies.terms_url or policies.privacy_url)),
        (rules.SERVICE_PROVIDER_UNKNOWN, "/provider", not provider.name),
        (rules.SERVICE_WITHOUT_CONTACT, "/provider/contact", not (provider.contact or service.docs_url)),
        (rules.SERVICE_SYNTHETIC, "/synthetic", service.synthetic),
    )
    return [Finding(rule, pointer) for rule, pointer, is_missing in rows if is_missing]


def _is_plannable(capability: Capability) -> bool:
    return any(call.kind in _DESCRIBED_CALLS for call in capability.invocations)


def _is_unreachable(capability: Capability) -> bool:
    return not capability.detail_url and not any(
        call.endpoint or call.kind in ("instructions", "navigation") for call in capability.invocations
    )


def _is_unconfirmed(capability: Capability) -> bool:
    """Return whether the capability has a call that deletes and states nothing about asking a human first."""
    return capability.confirmation is None and any(call.method == "DELETE" for call in capability.invocations)


def _is_safe(capability: Capability) -> bool:
    """Return whether all HTTP calls use safe methods: nothing more needs to be said (RFC 9110 section 9.2.1)."""
    methods = {call.method for call in capability.invocations if call.kind == "http"}
    return bool(methods) and methods <= SAFE_METHODS


_PER_CAPABILITY: tuple[tuple[Rule, Callable[[Capability], bool]], ...] = (
    (rules.CAPABILITY_UNDESCRIBED, lambda capability: not capability.description),
    (rules.CAPABILITY_WITHOUT_PARAMS, lambda capability: _is_plannable(capability) and capability.params is None),
    (rules.CAPABILITY_WITHOUT_RESULT, lambda capability: _is_plannable(capability) and capability.result is None),
    (rules.CAPABILITY_UNREACHABLE, _is_unreachable),
    (
        rules.CAPABILITY_SIDE_EFFECTS_UNKNOWN,
        lambda capability: _is_plannable(capability) and capability.side_effects is None and not _is_safe(capability),
    ),
    (rules.CAPABILITY_UNCONFIRMED, _is_unconfirmed),
)
