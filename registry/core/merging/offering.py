"""Decide whether the documents of a host make it a service that is listed, and say why if they do not."""

import re
from collections.abc import Sequence
from typing import Final

from registry.core.format_support import common_rules
from registry.core.format_support.format import Role
from registry.core.merging import rules
from registry.core.merging.held import Held, role_of
from registry.core.model.findings import Rule
from registry.core.model.services import Capability, Service
from registry.core.names.domains import host_of

_USABLE: Final = frozenset({"instructions", "navigation", "pointer"})
"""Kinds of calls that need no address: a text to follow, a page to operate, a value in a catalogue."""
_PLACEHOLDER: Final = re.compile(r"\{\{|<[A-Za-z][A-Za-z0-9 _-]*>|\bYOUR_[A-Z]")
_TO_AUTHOR: Final = re.compile(
    r"(?:describe|enter|insert|explain|write|replace|your|todo|a (?:short|brief))\b", re.IGNORECASE
)
_RESERVED: Final = frozenset({"example.com", "example.org", "example.net"})
"""RFC 2606 section 3: names that belong to nobody, and stand in every sample."""
_REFUSALS: Final = frozenset({
    common_rules.ENDPOINT_NOT_PUBLIC, common_rules.ENDPOINT_INVALID, common_rules.TEMPLATE,
})  # fmt: skip


def describes_service(document: Held) -> bool:
    """Return whether the document by itself says that its host is a service. A list of other servers does not."""
    service = document.assessment.service
    if role_of(document) is not Role.SERVICE or service is None:
        return False
    return bool(service.capabilities or service.protocols or service.packages or service.name)


def reason_not_to_list(documents: Sequence[Held], service: Service, host: str) -> Rule | None:
    """Return why a host is not listed; None for a service.

    `documents` are those found, without entries of catalogues that belong to other sites; `service` unites them. A
    catalogue whose entries are the host's own makes it a service, too. A service that names no address at all is one
    (its clients may know it); one whose every address is private, invalid or a template is not.
    """
    roles = {role_of(document) for document in documents}
    is_described = any(describes_service(document) for document in documents)
    has_entries = any(role_of(document) is Role.POINTERS and _entries(document) for document in documents)
    if not is_described and not has_entries:
        return rules.ONLY_ELSEWHERE if Role.POINTERS in roles else rules.ONLY_TEXTS
    if is_template(service, host):
        return rules.TEMPLATE
    is_empty = not (service.capabilities or service.protocols or service.groups)
    is_refused = any(one.rule in _REFUSALS for document in documents for one in document.assessment.findings)
    return rules.NOTHING_CALLABLE if not is_callable(service) and (is_empty or is_refused) else None


def is_template(service: Service, host: str) -> bool:
    """Return whether the name is still a placeholder, or a sample asks its author for the description.

    A sample claims a domain reserved for documentation; a description alone may ask its readers for something.
    """
    if service.name is not None and _PLACEHOLDER.search(service.name):
        return True
    claims = (service.claims.get(key) or "" for key in ("domain", "origin"))
    claimed_hosts = {host_of(claim if "://" in claim else f"https://{claim}") for claim in claims if claim}
    is_sample = bool(claimed_hosts & _RESERVED) and host not in claimed_hosts
    return is_sample and _TO_AUTHOR.match(service.description or "") is not None


def is_callable(service: Service) -> bool:
    """Return whether anything in the service can be called, run or followed by somebody else."""
    return bool(
        service.packages
        or service.relations.workflows
        or any(protocol.endpoint or protocol.card_url for protocol in service.protocols)
        or any(_can_be_used(capability) for capability in service.capabilities)
    )


def _can_be_used(capability: Capability) -> bool:
    if capability.detail_url or capability.detail or not capability.invocations:
        return True
    return any(call.endpoint or call.kind in _USABLE for call in capability.invocations)


def _entries(document: Held) -> bool:
    return document.assessment.service is not None and bool(document.assessment.service.capabilities)
