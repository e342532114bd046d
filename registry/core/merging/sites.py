"""Endpoints on other sites: a host speaks only for itself, so a call to another site is a finding."""

from dataclasses import replace
from typing import Final

from registry.core.merging import rules
from registry.core.merging.held import finding
from registry.core.model.findings import Finding
from registry.core.model.services import Invocation, Service
from registry.core.names.domains import host_of, registrable_domain

MAX_NAMED: Final = 5


def mark_off_site(service: Service, domain: str) -> tuple[Service, list[Finding]]:
    """Mark the endpoints on another registrable domain. Return a finding for each of the first MAX_NAMED domains."""
    host_by_domain: dict[str, str] = {}

    def marked(call: Invocation) -> Invocation:
        host = host_of(call.endpoint) if call.endpoint else None
        if host is None or registrable_domain(host) == domain:
            return call
        host_by_domain.setdefault(registrable_domain(host), host)
        return replace(call, off_site=True)

    capabilities = tuple(
        replace(capability, invocations=tuple(marked(call) for call in capability.invocations))
        for capability in service.capabilities
    )
    findings = [finding(rules.ENDPOINT_OFF_SITE, "", host) for host in list(host_by_domain.values())[:MAX_NAMED]]
    return replace(service, capabilities=capabilities), findings
