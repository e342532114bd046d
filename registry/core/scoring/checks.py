"""Report what a merged service does not state: the part of the score that no single document is to blame for.

A service is graded by the specifications of its documents. A missing fact costs points if at least one of their
formats asks for it; else it is a note. Only presence, structure and shares count. No text raises a score by its
wording: stuffing a description gains nothing.
"""

from collections.abc import Callable, Collection, Iterator

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
    return (
        *(_grade(finding, formats) for finding in _service_gaps(service)),
        *(
            _grade(finding, _formats_of(service.capabilities[index]) or formats)
            for index, finding in _capability_gaps(service)
        ),
    )


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


def _service_gaps(service: Service) -> Iterator[Finding]:
    calls = [call for capability in service.capabilities for call in capability.invocations]
    provider = service.provider or Provider()
    if not service.name:
        yield Finding(rules.SERVICE_UNNAMED, "/name")
    if not service.description:
        yield Finding(rules.SERVICE_UNDESCRIBED, "/description")
    if not service.capabilities:
        yield Finding(rules.SERVICE_WITHOUT_CAPABILITIES, "/capabilities")
        yield Finding(rules.SERVICE_NOTHING_TO_CALL, "/capabilities")
        yield Finding(rules.SERVICE_NOTHING_TO_JUDGE, "/capabilities")
    if not service.auth.schemes and service.auth.required is None and not any(call.auth for call in calls):
        yield Finding(rules.SERVICE_AUTH_UNKNOWN, "/auth")
    if service.pricing.model == "unknown":
        yield Finding(rules.SERVICE_PRICING_UNKNOWN, "/pricing")
    if service.policies.rate_limit is None and not any(call.rate_limit for call in calls):
        yield Finding(rules.SERVICE_RATE_LIMIT_UNKNOWN, "/policies/rate_limit")
    if not (service.version or service.protocols):
        yield Finding(rules.SERVICE_UNVERSIONED, "/version")
    if not (service.policies.terms_url or service.policies.privacy_url):
        yield Finding(rules.SERVICE_WITHOUT_TERMS, "/policies")
    if not provider.name:
        yield Finding(rules.SERVICE_PROVIDER_UNKNOWN, "/provider")
    if not (provider.contact or service.docs_url):
        yield Finding(rules.SERVICE_WITHOUT_CONTACT, "/provider/contact")
    if service.synthetic:
        yield Finding(rules.SERVICE_SYNTHETIC, "/synthetic")


def _capability_gaps(service: Service) -> Iterator[tuple[int, Finding]]:
    for rule, is_missing in _PER_CAPABILITY:
        for index, capability in enumerate(service.capabilities):
            if is_missing(capability):
                yield index, Finding(rule, f"/capabilities/{index}", capability.id[:60])


def _is_plannable(capability: Capability) -> bool:
    return any(call.kind in _DESCRIBED_CALLS for call in capability.invocations)


def _is_unreachable(capability: Capability) -> bool:
    return not capability.detail_url and not any(
        call.endpoint or call.kind in ("instructions", "navigation") for call in capability.invocations
    )


def _is_unconfirmed(capability: Capability) -> bool:
    """Return whether the capability has a call that deletes and states nothing about asking a human first."""
    deletes = any(call.method == "DELETE" for call in capability.invocations)
    return deletes and capability.confirmation is None


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
