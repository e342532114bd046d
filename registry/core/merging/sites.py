"""Endpoints on other sites: the host can only speak for itself (safety.md section 7)."""

from dataclasses import replace
from typing import Final

from registry.core.domains import host_of, registrable_domain
from registry.core.findings import Finding, Reason
from registry.core.merging.held import finding
from registry.core.services import Invocation, Service

MAX_NAMED: Final = 5


def mark_off_site(service: Service, domain: str) -> tuple[Service, list[Finding]]:
    """Endpoints on another registrable domain stay, marked."""
    strangers: dict[str, str] = {}

    def marked(call: Invocation) -> Invocation:
        host = host_of(call.endpoint) if call.endpoint else None
        if host is None or registrable_domain(host) == domain:
            return call
        strangers.setdefault(registrable_domain(host), host)
        return replace(call, off_site=True)

    capabilities = tuple(
        replace(one, invocations=tuple(marked(call) for call in one.invocations)) for one in service.capabilities
    )
    findings = [finding(Reason.ENDPOINT_OFF_SITE, "", host) for host in list(strangers.values())[:MAX_NAMED]]
    return replace(service, capabilities=capabilities), findings
