"""Join the tools that MCP servers list themselves: only of servers that another document of the host names."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from registry.core.formats import mcp_tools_list
from registry.core.merging.held import Held
from registry.core.model.services import Capability, Service
from registry.core.names.domains import parse_https

_SLUG = mcp_tools_list.FORMAT.slug
_WHOLE_SERVER = "mcp:"


def with_tool_lists(documents: Sequence[Held]) -> list[Held]:
    """Return the documents without lists of servers that none of them names any more.

    A capability that stands for a whole server is left out where its tools are known.
    """
    named = _endpoints(document for document in documents if document.assessment.format != _SLUG)
    kept = [document for document in documents if document.assessment.format != _SLUG or document.requested in named]
    listed = {document.requested for document in kept if _has_tools(document)}
    return [_without_servers(document, listed) for document in kept] if listed else kept


def _endpoints(documents: Iterable[Held]) -> set[str]:
    services = (document.assessment.service for document in documents)
    return {
        url
        for service in services
        if service is not None
        for protocol in service.protocols
        if protocol.id == "mcp" and protocol.endpoint and (url := parse_https(protocol.endpoint))
    }


def _has_tools(document: Held) -> bool:
    service = document.assessment.service
    return document.assessment.format == _SLUG and service is not None and bool(service.capabilities)


def _without_servers(document: Held, listed: set[str]) -> Held:
    service = document.assessment.service
    if service is None or not any(_is_server(capability, listed) for capability in service.capabilities):
        return document
    capabilities = tuple(capability for capability in service.capabilities if not _is_server(capability, listed))
    reduced: Service = replace(service, capabilities=capabilities)
    return replace(document, assessment=replace(document.assessment, service=reduced))


def _is_server(capability: Capability, listed: set[str]) -> bool:
    """True for the capability that `mcp_parts.whole_server` makes of a server whose tools are listed."""
    return capability.id.startswith(_WHOLE_SERVER) and any(
        call.kind == "rpc" and call.endpoint is not None and parse_https(call.endpoint) in listed
        for call in capability.invocations
    )
