"""Decide whether the documents of a host make it a service that is listed, and say why if they do not."""

from collections.abc import Sequence
from typing import Final

from registry.core.format_support.format import Role
from registry.core.merging import rules
from registry.core.merging.held import Held, role_of
from registry.core.model.findings import Rule
from registry.core.model.services import Capability, Service

_USABLE: Final = frozenset({"instructions", "navigation"})
"""Kinds of calls that need no address: a text to follow, a page to operate."""


def describes_service(document: Held) -> bool:
    """Return whether the document by itself says that its host is a service. A list of other servers does not."""
    service = document.assessment.service
    if role_of(document) is not Role.SERVICE or service is None:
        return False
    return bool(service.capabilities or service.protocols or service.packages or service.name)


def reason_not_to_list(documents: Sequence[Held], service: Service) -> Rule | None:
    """Return why a host is not listed; None for a service.

    `documents` are those found, without entries of catalogues that belong to other sites; `service` unites them. A
    catalogue whose entries are the host's own makes it a service, too.
    """
    roles = {role_of(document) for document in documents}
    is_described = any(describes_service(document) for document in documents)
    has_entries = any(role_of(document) is Role.POINTERS and _entries(document) for document in documents)
    if not is_described and not has_entries:
        return rules.ONLY_ELSEWHERE if Role.POINTERS in roles else rules.ONLY_TEXTS
    return None if is_callable(service) else rules.NOTHING_CALLABLE


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
