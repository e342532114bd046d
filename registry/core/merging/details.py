"""Join the details of capabilities: ADP's detail documents (sections 5 and 7), and the tools of MCP servers.

A detail document that did not answer is a finding. Tools count only if another document of the host names the server.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from registry.core.formats import adp, mcp_tools_list
from registry.core.formats.adp import rules as adp_rules
from registry.core.merging.capabilities import origin_of, overlaid, sources
from registry.core.merging.held import DETAIL, HeldDocument, LocatedFinding, finding
from registry.core.model.documents import Outcome, Via
from registry.core.model.services import Capability
from registry.core.names.domains import parse_https

_REL: Final = "detail_url"
_NOT_ASKED: Final = frozenset({Outcome.SKIPPED, Outcome.DISALLOWED})


def details_of(host_documents: Iterable[HeldDocument]) -> dict[Via, HeldDocument]:
    """Return the details by the reference that requested them; `host_documents` in order of precedence."""
    details: dict[Via, HeldDocument] = {}
    for document in host_documents:
        if document.via is not None and document.via.rel == _REL:
            details.setdefault(document.via, document)
    return details


def with_details(
    documents: Sequence[HeldDocument], details: Mapping[Via, HeldDocument]
) -> tuple[list[HeldDocument], list[LocatedFinding]]:
    """Join details to the capability whose `detail_url` requested them, never by name. This happens before documents
    are united, so that a capability is identified by the call that its detail describes."""
    findings: list[LocatedFinding] = []
    result = []
    for document in documents:
        service = document.assessment.service
        if service is None or document.assessment.format != adp.FORMAT.slug:
            result.append(document)
            continue
        capabilities = []
        for capability in service.capabilities:
            via = _reference(capability)
            if via is not None and (detail := details.get(via)) is not None:
                findings += _findings(capability, detail, via)
                if _is_read(detail):
                    capability = _detailed(capability, detail, service.base_url)
            capabilities.append(capability)
        result.append(document.with_service(replace(service, capabilities=tuple(capabilities))))
    return result, findings


def _reference(capability: Capability) -> Via | None:
    """Return the reference under which the plan requested the capability's detail."""
    origin = next((call.origin for call in capability.invocations if call.kind == "pointer"), None)
    return Via(origin.document, f"{origin.pointer}/detail_url", _REL, DETAIL) if origin else None


def _is_read(detail: HeldDocument) -> bool:
    return detail.assessment.outcome is Outcome.FOUND and detail.assessment.format == DETAIL


def _findings(capability: Capability, detail: HeldDocument, via: Via) -> list[LocatedFinding]:
    assessment = detail.assessment
    if _is_read(detail):
        return [LocatedFinding(one, detail.url) for one in assessment.findings]
    if assessment.outcome in _NOT_ASKED:
        return []
    evidence = f"{capability.detail_url} {assessment.outcome} {assessment.reason}".strip()
    return [LocatedFinding(finding(adp_rules.DETAIL_UNANSWERED, via.pointer, evidence), via.document)]


def _detailed(capability: Capability, document: HeldDocument, base_url: str | None) -> Capability:
    """Return the capability with its detail, whose description replaces the manifest's: that one is a teaser."""
    capabilities = document.assessment.service.capabilities if document.assessment.service else ()
    if not capabilities:
        return capability
    detail = capabilities[0]
    calls = tuple(
        replace(call, endpoint=endpoint, templated="{" in endpoint)
        for call in detail.invocations
        if (endpoint := adp.endpoint(base_url, call.endpoint)) is not None
    )
    own_calls = tuple(call for call in capability.invocations if call.kind != "pointer" or not calls)
    combined = overlaid(replace(capability, origin=origin_of(capability)), detail)
    field_names = ("detail", "description") if detail.description else ("detail",)
    return replace(
        combined,
        detail=detail.detail,
        description=detail.description or capability.description,
        invocations=(*own_calls, *calls),
        provenance={**combined.provenance, **sources(detail, field_names)},
    )


_SLUG = mcp_tools_list.FORMAT.slug


def with_tool_lists(documents: Sequence[HeldDocument]) -> list[HeldDocument]:
    """Return the documents without tool lists of servers that no document names any more. A capability that stands for
    a whole server is left out if its tools are known."""
    named = _endpoints(document for document in documents if document.assessment.format != _SLUG)
    kept = [document for document in documents if document.assessment.format != _SLUG or document.requested in named]
    listed = {document.requested for document in kept if _has_tools(document)}
    return [_without_servers(document, listed) for document in kept] if listed else kept


def _endpoints(documents: Iterable[HeldDocument]) -> set[str]:
    services = (document.assessment.service for document in documents)
    return {
        url
        for service in services
        if service is not None
        for protocol in service.protocols
        if protocol.id == "mcp" and protocol.endpoint and (url := parse_https(protocol.endpoint))
    }


def _has_tools(document: HeldDocument) -> bool:
    service = document.assessment.service
    return document.assessment.format == _SLUG and service is not None and bool(service.capabilities)


def _without_servers(document: HeldDocument, listed: set[str]) -> HeldDocument:
    service = document.assessment.service
    if service is None or not any(_is_server(capability, listed) for capability in service.capabilities):
        return document
    capabilities = tuple(capability for capability in service.capabilities if not _is_server(capability, listed))
    return document.with_service(replace(service, capabilities=capabilities))


def _is_server(capability: Capability, listed: set[str]) -> bool:
    """Return whether the capability stands for a server whose tools are listed."""
    return capability.whole_server and any(
        call.kind == "rpc" and call.endpoint is not None and parse_https(call.endpoint) in listed
        for call in capability.invocations
    )
