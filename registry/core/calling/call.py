"""Make the call of one capability in its own protocol, complete and ready to send."""

from collections.abc import Iterator, Mapping
from typing import Any

from registry.core.calling.a2a import message_call
from registry.core.calling.effort import SERVICE_EFFORT, Effort
from registry.core.calling.http import NOT_MADE, Arguments, Source, arguments_of, envelope_call, http_call, no_arguments
from registry.core.calling.mcp import server_call, tool_call
from registry.core.calling.template import address_of, template
from registry.core.format_support.writing.calls import agent_and_operation
from registry.core.formats.adp.detail_view import method_of, preferred_call
from registry.core.model.services import Capability, Invocation, Origin, Service


def example_of(service: Service, capability: Capability, effort: Effort) -> Arguments | None:
    """Return the arguments of the capability's call, made from its schema; None where its call has none. This is the
    expensive part of a call: it is done once, when a service is recorded."""
    return _make(service, capability, effort)[0]


def calls_made(service: Service) -> Iterator[tuple[Arguments | None, dict[str, Any] | None]]:
    """Yield the arguments of the call of each capability and the call, within the budget of the service. They are made
    when a service is recorded and nowhere else: no request computes anything from a site's schema."""
    whole = Effort(SERVICE_EFFORT)
    for capability in service.capabilities:
        yield _make(service, capability, Effort(whole=whole))


def _make(service: Service, capability: Capability, effort: Effort) -> tuple[Arguments | None, dict[str, Any] | None]:
    made: list[Arguments] = []

    def make(params: Mapping[str, Any] | None, given: Mapping[str, Any]) -> Arguments:
        made.append(arguments_of(params, effort, given))
        return made[-1]

    call = _call_with(service, capability, make)
    return made[-1] if made else None, call


def call_of(service: Service, capability: Capability, example: Arguments | None) -> dict[str, Any] | None:
    """Return how the capability is called, or None if its documents do not suffice for a call. `service` may be without
    its other capabilities. `example`: what `example_of` returned; nothing is computed from a schema here."""
    return _call_with(service, capability, lambda params, given: example or no_arguments(NOT_MADE))


def _call_with(service: Service, capability: Capability, source: Source) -> dict[str, Any] | None:
    preferred = preferred_call(capability)
    for call in (*((preferred,) if preferred else ()), *capability.invocations):
        found = _make_call(service, capability, call, source)
        if found is not None:
            return found if call.origin is None else {**found, "source": source_of(call.origin)}
    return None


def source_of(origin: Origin) -> dict[str, str]:
    """Return where a document describes a call."""
    return {"document": origin.document, "pointer": origin.pointer, "format": origin.format}


def _make_call(service: Service, capability: Capability, call: Invocation, source: Source) -> dict[str, Any] | None:
    method = method_of(call)
    if method is None or not (call.endpoint or "").startswith("https://"):
        # without an address: a server that is started on the caller's machine, or a URI to open
        if call.kind == "navigation" and call.name:
            return {"kind": "navigation", "open": call.name}
        if call.endpoint is not None or not service.packages:
            return None
        if call.kind == "mcp_tool":
            return tool_call(service, capability, call, source)
        return server_call(service, call) if capability.whole_server else None
    if call.kind == "http":
        return http_call(service, capability, call, method, source)
    if call.kind == "mcp_tool":
        return tool_call(service, capability, call, source)
    # an address that speaks a protocol as a whole; the messages of others are not known
    spoken = {protocol.id for protocol in service.protocols if protocol.endpoint == call.endpoint}
    if call.kind == "a2a_skill":  # an interface of a card may have the binding of MCP (A2A 1.0 section 5.8)
        return server_call(service, call) if spoken == {"mcp"} else message_call(service, capability, call)
    if call.kind == "navigation":
        return {"kind": "navigation", "open": template(address_of(call.endpoint or ""), ())}  # a page for people
    if call.kind != "rpc":
        return None
    ids = agent_and_operation(capability, call)
    if ids is not None:
        return envelope_call(service, capability, call, *ids, source)
    if capability.whole_server or spoken == {"mcp"}:
        return server_call(service, call)
    return message_call(service, capability, call) if spoken == {"a2a"} else None
