"""Join the details of capabilities: ADP's detail documents (sections 5 and 7), and the tools of MCP servers.

A detail document that did not answer is a finding. Tools count only if another document of the host names the server.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from registry.core.formats import adp, mcp_tools_list
from registry.core.formats.adp import rules as adp_rules
from registry.core.merging.capabilities import origin_of, overlaid, sources
from registry.core.merging.held import DETAIL, HeldDocument, LocatedFinding, finding
from registry.core.model.documents import Outcome, Via
from registry.core.model.services import Capability, Service
from registry.core.names.domains import parse_https

RELATION: Final = "detail_url"
_NOT_ASKED: Final = frozenset({Outcome.SKIPPED, Outcome.DISALLOWED})


def with_details(
    documents: Sequence[HeldDocument], host_documents: Sequence[HeldDocument]
) -> tuple[list[HeldDocument], list[LocatedFinding]]:
    """Join details to the capability whose `detail_url` requested them, never by name. This happens before documents
    are united, so that a capability is identified by the call that its detail describes. `host_documents`: all of the
    host, in order of precedence: of several details for one reference the first counts."""
    details = {one.via: one for one in reversed(host_documents) if one.via is not None and one.via.rel == RELATION}
    findings: list[LocatedFinding] = []
    result = []
    for document in documents:
        service = document.assessment.service
        if service is None or document.assessment.format != adp.FORMAT.slug:
            result.append(document)
            continue
        capabilities = []
        for capability in service.capabilities:
            via = detail_reference(capability)
            if via is not None and (detail := details.get(via)) is not None:
                assessment = detail.assessment
                if assessment.outcome is Outcome.FOUND and assessment.format == DETAIL:
                    findings += [LocatedFinding(one, detail.url) for one in assessment.findings]
                    capability = _detailed(capability, detail, service.base_url)
                elif assessment.outcome not in _NOT_ASKED:
                    evidence = f"{capability.detail_url} {assessment.outcome} {assessment.reason}".strip()
                    unanswered = finding(adp_rules.DETAIL_UNANSWERED, via.pointer, evidence)
                    findings.append(LocatedFinding(unanswered, via.document))
            capabilities.append(capability)
        result.append(document.with_service(replace(service, capabilities=tuple(capabilities))))
    return result, findings


def detail_reference(capability: Capability) -> Via | None:
    """Return the place that names the detail of an ADP capability, as a request for the detail states it; None for a
    capability without one, and for one whose detail was joined."""
    origin = next((call.origin for call in capability.invocations if call.kind == "pointer"), None)
    return Via(origin.document, f"{origin.pointer}/{RELATION}", RELATION, DETAIL) if origin else None


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
    assessments = [document.assessment for document in documents if document.assessment.format != _SLUG]
    protocols = [protocol for one in assessments if one.service is not None for protocol in one.service.protocols]
    named = {parse_https(protocol.endpoint) for protocol in protocols if protocol.id == "mcp" and protocol.endpoint}
    kept: list[HeldDocument] = []
    listed: set[str] = set()
    for document in documents:
        if document.assessment.format != _SLUG:
            kept.append(document)
        elif document.requested in named:
            kept.append(document)
            if document.assessment.service is not None and document.assessment.service.capabilities:
                listed.add(document.requested)
    if not listed:
        return kept
    result = []
    for document in kept:
        service = document.assessment.service or Service()
        capabilities = tuple(one for one in service.capabilities if not _is_server(one, listed))
        is_changed = len(capabilities) < len(service.capabilities)
        result.append(document.with_service(replace(service, capabilities=capabilities)) if is_changed else document)
    return result


def _is_server(capability: Capability, listed: set[str]) -> bool:
    """Return whether the capability stands for a server whose tools are listed."""
    endpoints = (call.endpoint for call in capability.invocations if call.kind == "rpc" and call.endpoint is not None)
    return capability.whole_server and any(parse_https(endpoint) in listed for endpoint in endpoints)
