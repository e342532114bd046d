"""How an agent or an operation of the Web of Agents is called by REST (draft-00 sections 5.1 and 5.2)."""

from typing import Any

from registry.core.calling.arguments import Source
from registry.core.calling.credentials import credentials_of
from registry.core.calling.http import add_credentials, add_variables, finished
from registry.core.calling.request import JSON, Request
from registry.core.calling.template import address_of, template
from registry.core.model.services import Capability, Invocation, Service


def envelope_call(
    service: Service, capability: Capability, call: Invocation, agent: str, operation: str | None, source: Source
) -> dict[str, Any]:
    """Return the request with its whole invocation envelope: agent, operation where there are any, and input."""
    arguments = source(capability.params, {})
    named = {"agent": agent} if operation is None else {"agent": agent, "operation": operation}
    request = Request("POST", address_of(call.endpoint or ""), content_type=JSON)
    request.body = {**named, "input": arguments.values}
    members = {name: {"type": "string", "const": value} for name, value in named.items()}
    described = {
        "method": "POST",
        "url": template(request.address, ()),
        "content_type": JSON,
        "body_schema": {
            "type": "object",
            "properties": {**members, "input": capability.params or {"type": "object"}},
            "required": [*named, "input"],
        },
    }
    credentials = credentials_of(service, call)
    missing = [*arguments.missing, *add_credentials(request, credentials)]
    add_variables(request)
    return finished("woa_operation", described, credentials, request, arguments.derived, missing)
