"""How a skill of an agent is called (Agent2Agent protocol, 0.1 to 1.0): one message to the agent."""

import re
from typing import Any, Final

from registry.core.calling.credentials import credentials_of
from registry.core.calling.http import add_credentials, add_variables, make_http_call
from registry.core.calling.request import JSON, ExampleRequest
from registry.core.calling.template import address_of, template
from registry.core.model.services import Capability, Invocation, Protocol, Service
from registry.core.reading.plain_text import line

TEXT_CHARS: Final = 500

_RPC: Final = "JSONRPC"
_HTTP: Final = ("HTTP+JSON", "REST")
_MESSAGE_ID: Final = "123e4567-e89b-42d3-a456-426614174000"


def message_call(service: Service, capability: Capability, call: Invocation) -> dict[str, Any] | None:
    """Return the request that sends the agent a message for this skill, in the version and binding of its card.

    None where the agent has only other bindings, such as gRPC. A card without a version is called as 0.3. Skills have
    no input schema: the text is the skill's first example, else derived from its name.
    """
    protocol = _make_protocol(service, call.endpoint)
    version, binding = _make_version(protocol), _make_binding(protocol)
    if binding not in (_RPC, *_HTTP):
        return None
    is_http = binding in _HTTP
    endpoint = (protocol.endpoint if protocol is not None else None) or call.endpoint or ""
    request = ExampleRequest("POST", address_of(_make_address(endpoint, version, is_http)), content_type=JSON)
    if version >= (1, 0):
        request.add_header("A2A-Version", f"{version[0]}.{version[1]}")
    headers = dict(request.headers)
    text, derived = _text(capability)
    request.body = _make_body(text, version, is_http)
    credentials = credentials_of(service, call)
    missing = add_credentials(request, credentials)
    add_variables(request)
    described = {
        "method": "POST",
        "url": template(request.address, ()),
        "headers": headers or None,
        "content_type": JSON,
        "binding": _HTTP[0] if is_http else _RPC,
        "version": ".".join(map(str, version)),
    }
    return make_http_call("a2a_skill", described, credentials, request, derived, missing)


def _make_protocol(service: Service, endpoint: str | None) -> Protocol | None:
    """Return the interface of the endpoint if it is called over HTTP, else the first that is, else any."""
    entries = [protocol for protocol in service.protocols if protocol.id == "a2a" and protocol.endpoint]
    entries.sort(key=lambda protocol: protocol.endpoint != endpoint)
    usable = (protocol for protocol in entries if _make_binding(protocol) in (_RPC, *_HTTP))
    return next(usable, next(iter(entries), None))


def _make_binding(protocol: Protocol | None) -> str:
    return ((protocol.transport if protocol is not None else None) or _RPC).upper()


def _make_version(protocol: Protocol | None) -> tuple[int, int]:
    match = re.match(r"(\d{1,3})\.(\d{1,3})", (protocol.version or "") if protocol is not None else "")
    return (int(match[1]), int(match[2])) if match else (0, 3)


def _make_address(endpoint: str, version: tuple[int, int], is_http: bool) -> str:
    """Return where the message is sent: HTTP+JSON appends a path (0.3 section 3.5.3, 1.0 section 11.3)."""
    if not is_http:
        return endpoint
    base, _, query = endpoint.partition("?")
    path = "/message:send" if version >= (1, 0) or base.rstrip("/").endswith("/v1") else "/v1/message:send"
    return base.rstrip("/") + path + (f"?{query}" if query else "")


def _text(capability: Capability) -> tuple[str, tuple[str, ...]]:
    if capability.examples:
        return line(capability.examples[0], TEXT_CHARS), ()
    return line(f"Please use your skill: {capability.title or capability.name}", TEXT_CHARS), ("text",)


def _make_body(text: str, version: tuple[int, int], is_http: bool) -> dict[str, Any]:
    if version >= (1, 0):  # protobuf JSON in both bindings
        parameters: dict[str, Any] = {
            "message": {"messageId": _MESSAGE_ID, "role": "ROLE_USER", "parts": [{"text": text}]}
        }
        return parameters if is_http else _make_rpc("SendMessage", parameters)
    if is_http:
        return {"message": {"messageId": _MESSAGE_ID, "role": "ROLE_USER", "content": [{"text": text}]}}
    if version < (0, 2):
        return _make_rpc(
            "tasks/send",
            {"id": _MESSAGE_ID, "message": {"role": "user", "parts": [{"type": "text", "text": text}]}},
        )
    parts = [{"kind": "text", "text": text}]
    return _make_rpc(
        "message/send", {"message": {"kind": "message", "messageId": _MESSAGE_ID, "role": "user", "parts": parts}}
    )


def _make_rpc(method: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
