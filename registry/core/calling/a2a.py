"""How a skill of an agent is called (Agent2Agent protocol, 0.1 to 1.0): one message to the agent."""

import re
from typing import Any, Final

from registry.core.calling.credentials import credentials_of
from registry.core.calling.http import add_credentials, add_variables, make_http_call
from registry.core.calling.request import JSON, ExampleRequest
from registry.core.calling.template import address_of, template
from registry.core.formats.a2a.addresses import without_operation
from registry.core.model.services import Capability, Invocation, Service
from registry.core.reading.plain_text import line

TEXT_CHARS: Final = 500

_RPC: Final = "JSONRPC"
_HTTP: Final = ("HTTP+JSON", "REST")
_ASK: Final = "Please use your skill: "
_MESSAGE_ID: Final = "123e4567-e89b-42d3-a456-426614174000"


def message_call(service: Service, capability: Capability, call: Invocation) -> dict[str, Any] | None:
    """Return the request that sends the agent a message for this skill, in the version and binding of its card. None
    where the agent has only other bindings, such as gRPC. A card without a version is called as 0.3. Skills have no
    input schema: the text is the skill's first example, else derived from its name."""
    endpoint, stated_version, binding = _find_interface(service, call)
    if binding not in (_RPC, *_HTTP):
        return None
    is_http = binding in _HTTP
    if not is_http and without_operation(endpoint, stated_version)[1]:
        return None  # another document than an agent card names an operation as the agent's address
    match = re.match(r"(\d{1,3})\.(\d{1,3})", stated_version or "")
    version = (int(match[1]), int(match[2])) if match else (0, 3)
    if is_http:  # HTTP+JSON appends a path (0.3 section 3.5.3, 1.0 section 11.3)
        base, _, query = endpoint.partition("?")
        base = base.rstrip("/")
        path = "/message:send" if version >= (1, 0) or base.endswith("/v1") else "/v1/message:send"
        endpoint = base + path + (f"?{query}" if query else "")
    request = ExampleRequest("POST", address_of(endpoint), content_type=JSON)
    if version >= (1, 0):
        request.add_header("A2A-Version", f"{version[0]}.{version[1]}")
    headers = dict(request.headers)
    text = capability.examples[0] if capability.examples else _ASK + (capability.title or capability.name)
    derived = () if capability.examples else ("text",)
    request.body = _make_body(line(text, TEXT_CHARS), version, is_http)
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


def _find_interface(service: Service, call: Invocation) -> tuple[str, str | None, str]:
    """Return address, version and binding of the call's interface if it is used over HTTP, else of the first one that
    is, else of any."""
    found = [
        (protocol.endpoint, protocol.version, (protocol.transport or _RPC).upper())
        for protocol in service.protocols
        if protocol.id == "a2a" and protocol.endpoint
    ]
    found.sort(key=lambda interface: interface[0] != call.endpoint)
    usable = (interface for interface in found if interface[2] in (_RPC, *_HTTP))
    return next(usable, found[0] if found else (call.endpoint or "", None, _RPC))


def _make_body(text: str, version: tuple[int, int], is_http: bool) -> dict[str, Any]:
    method, message = "message/send", dict[str, Any](messageId=_MESSAGE_ID)
    if version >= (1, 0):  # protobuf JSON in both bindings
        method = "SendMessage"
        message |= {"role": "ROLE_USER", "parts": [{"text": text}]}
    elif is_http:
        message |= {"role": "ROLE_USER", "content": [{"text": text}]}
    elif version >= (0, 2):
        message = {"kind": "message", **message, "role": "user", "parts": [{"kind": "text", "text": text}]}
    else:
        method, message = "tasks/send", {"role": "user", "parts": [{"type": "text", "text": text}]}
    if is_http:
        return {"message": message}
    parameters = {"id": _MESSAGE_ID, "message": message} if method == "tasks/send" else {"message": message}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
