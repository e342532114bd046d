"""What a merged service leaves unsaid, as findings: the part of the score that no single document can be blamed for.

Only presence, structure and shares count. No text lifts a score by what it says: stuffing a description gains nothing.
"""

from collections.abc import Callable, Iterator

from registry.core.findings import Finding, Reason
from registry.core.services import Capability, Service

_DESCRIBED_CALLS = frozenset({"http", "mcp_tool"})
"""Calls whose formats have a place for parameters and effects. An A2A skill or an MCP server card has none: its silence
is the format's."""


def gaps(service: Service) -> tuple[Finding, ...]:
    """One finding for each thing missing; capability-level findings point at `/capabilities/<index>`."""
    return (*_service_gaps(service), *_capability_gaps(service))


def _service_gaps(service: Service) -> Iterator[Finding]:
    if not service.name:
        yield Finding(Reason.SERVICE_UNNAMED, "/name")
    if not service.description:
        yield Finding(Reason.SERVICE_UNDESCRIBED, "/description")
    if not service.capabilities:
        yield Finding(Reason.SERVICE_WITHOUT_CAPABILITIES, "/capabilities")
    if not service.auth.schemes and service.auth.required is None and not _auth_per_call(service):
        yield Finding(Reason.SERVICE_AUTH_UNKNOWN, "/auth")
    if service.pricing.model == "unknown":
        yield Finding(Reason.SERVICE_PRICING_UNKNOWN, "/pricing")
    if not _limits_told(service):
        yield Finding(Reason.SERVICE_RATE_LIMIT_UNKNOWN, "/policies/rate_limit")
    if not (service.version or service.protocols):
        yield Finding(Reason.SERVICE_UNVERSIONED, "/version")
    if not (service.policies.terms_url or service.policies.privacy_url):
        yield Finding(Reason.SERVICE_WITHOUT_TERMS, "/policies")
    provider = service.provider
    if provider is None or not provider.name:
        yield Finding(Reason.SERVICE_PROVIDER_UNKNOWN, "/provider")
    if not (provider and provider.contact) and not service.docs_url:
        yield Finding(Reason.SERVICE_WITHOUT_CONTACT, "/provider/contact")
    if service.synthetic:
        yield Finding(Reason.SERVICE_SYNTHETIC, "/synthetic")


def _auth_per_call(service: Service) -> bool:
    return any(call.auth is not None for one in service.capabilities for call in one.invocations)


def _limits_told(service: Service) -> bool:
    return service.policies.rate_limit is not None or any(
        call.rate_limit is not None for one in service.capabilities for call in one.invocations
    )


def _capability_gaps(service: Service) -> Iterator[Finding]:
    for reason, missing in _PER_CAPABILITY:
        for index, capability in enumerate(service.capabilities):
            if missing(capability):
                yield Finding(reason, f"/capabilities/{index}", capability.id[:60])


def _plannable(capability: Capability) -> bool:
    return any(call.kind in _DESCRIBED_CALLS for call in capability.invocations)


def _unreachable(capability: Capability) -> bool:
    return not capability.detail_url and not any(
        call.endpoint or call.kind in ("instructions", "navigation") for call in capability.invocations
    )


def _unconfirmed(capability: Capability) -> bool:
    """A call that deletes says nothing about asking a human first."""
    deletes = any(call.method == "DELETE" for call in capability.invocations)
    return deletes and capability.confirmation is None


_PER_CAPABILITY: tuple[tuple[Reason, Callable[[Capability], bool]], ...] = (
    (Reason.CAPABILITY_UNDESCRIBED, lambda one: not one.description),
    (Reason.CAPABILITY_WITHOUT_PARAMS, lambda one: _plannable(one) and one.params is None),
    (Reason.CAPABILITY_WITHOUT_RESULT, lambda one: _plannable(one) and one.result is None),
    (Reason.CAPABILITY_UNREACHABLE, _unreachable),
    (Reason.CAPABILITY_SIDE_EFFECTS_UNKNOWN, lambda one: _plannable(one) and one.side_effects is None),
    (Reason.CAPABILITY_UNCONFIRMED, _unconfirmed),
)
