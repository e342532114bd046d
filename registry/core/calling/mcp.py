"""How a tool or a whole server of the Model Context Protocol is called (revisions 2024-11-05 to 2026-07-28)."""

from typing import Any, Final

from registry.core.calling.credentials import Credentials, credentials_of, input_value
from registry.core.calling.http import Missing, Source, add_credentials, add_variables, make_http_call
from registry.core.calling.packages import client_configuration, installations
from registry.core.calling.request import JSON, ExampleRequest
from registry.core.calling.template import address_of, template
from registry.core.model.services import Capability, Input, Invocation, Protocol, Service
from registry.core.reading.plain_text import line

STATELESS: Final = "2026-07-28"
"""From this revision on, requests carry in `_meta` the facts that `initialize` used to agree on."""
HANDSHAKE: Final = "2025-11-25"
"""The newest revision with a handshake: offered where no document names one; the server answers with its own."""

_CLIENT: Final = {"name": "YOUR_CLIENT", "version": "1.0.0"}
_ACCEPT: Final = f"{JSON}, text/event-stream"
_META: Final = "io.modelcontextprotocol"


def tool_call(service: Service, capability: Capability, call: Invocation, source: Source) -> dict[str, Any]:
    """Return the `tools/call` request of a tool, over streamable HTTP or, without an address, over standard input."""
    arguments = source(capability.params, {})
    name = call.name or capability.id
    parameters = {"name": name, "arguments": arguments.values}
    return _make_call("mcp_tool", service, call, ("tools/call", parameters), arguments.derived, list(arguments.missing))


def server_call(service: Service, call: Invocation) -> dict[str, Any]:
    """Return the first request to a server whose tools no document lists: it asks for them."""
    return _make_call("mcp_server", service, call, ("tools/list", {}), (), [])


def _make_call(
    kind: str,
    service: Service,
    call: Invocation,
    message: tuple[str, dict[str, Any]],
    derived: tuple[str, ...],
    missing: list[Missing],
) -> dict[str, Any]:
    protocol = _make_protocol(service, call.endpoint)
    version = protocol.version if protocol is not None else None
    method, parameters = message
    stateless = version is not None and version >= STATELESS
    if stateless:
        parameters = {**parameters, "_meta": _make_meta(version or STATELESS)}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    credentials, headers = credentials_of(service, call), protocol.headers if protocol is not None else ()
    url = call.endpoint if (call.endpoint or "").startswith("https://") else None
    setup = {
        **({} if stateless else {"initialize": _make_initialize(version)}),
        "client_configuration": _make_configuration(service, url, credentials, headers),
        "packages": installations(service) or None,
    }
    extra = {key: value for key, value in setup.items() if value is not None}
    if url is None:
        missing_parts = [part.to_json() for part in missing]
        return {
            "kind": kind, "transport": "stdio", "request": {"body": body}, "example": {"body": body},
            "derived": list(derived), "missing": missing_parts, **extra,
        }  # fmt: skip
    request = ExampleRequest("POST", address_of(url), body=body, content_type=JSON)
    request.add_header("Accept", _ACCEPT)
    if version is not None:
        request.add_header("MCP-Protocol-Version", version)
    if stateless:
        request.add_header("Mcp-Method", method)
        if "name" in parameters:
            request.add_header("Mcp-Name", parameters["name"])
    described = {"method": "POST", "url": template(request.address, ()), "headers": dict(request.headers)}
    for item in headers:
        if item.required is not False and (item.required or item.value):
            request.add_header(item.name, input_value(item))
    missing += add_credentials(request, credentials)
    add_variables(request)
    described |= {"content_type": JSON}
    return make_http_call(kind, described, credentials, request, derived, missing) | extra


def _make_protocol(service: Service, endpoint: str | None) -> Protocol | None:
    """Return the protocol entry of the endpoint, else the only one of MCP."""
    entries = [protocol for protocol in service.protocols if protocol.id == "mcp"]
    exact = next((protocol for protocol in entries if protocol.endpoint == endpoint), None)
    return exact or (entries[0] if len(entries) == 1 else None)


def _make_meta(version: str) -> dict[str, Any]:
    return {f"{_META}/protocolVersion": version, f"{_META}/clientInfo": _CLIENT, f"{_META}/clientCapabilities": {}}


def _make_initialize(version: str | None) -> dict[str, Any]:
    """Return the handshake: it comes first on each connection, then the notification, then calls."""
    parameters = {"protocolVersion": version or HANDSHAKE, "capabilities": {}, "clientInfo": _CLIENT}
    return {
        "note": "Send `body`, then `then`; later requests repeat the header Mcp-Session-Id of the answer, if any.",
        "body": {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": parameters},
        "then": {"jsonrpc": "2.0", "method": "notifications/initialized"},
    }


def _make_configuration(
    service: Service, url: str | None, credentials: Credentials, headers: tuple[Input, ...]
) -> dict[str, Any] | None:
    name = line(service.name or "", 100) or "server"
    target = None
    if url is not None:
        request = ExampleRequest("POST", address_of(url))
        for credential in credentials.chosen:
            if credential.place in ("query", "path"):
                request.add(credential)
        add_variables(request)
        target = request.url
    return client_configuration(service, name, target, credentials, headers)
