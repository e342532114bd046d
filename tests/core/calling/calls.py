"""A capability to call, for the tests of this folder."""

import json
from typing import Any

from registry.core.calling.call import call_of, example_of
from registry.core.calling.effort import Effort
from registry.core.calling.record import capability_record
from registry.core.model.services import AuthScheme, Capability, Invocation, Service

HOST = "https://api.ferry.example"
KEY = AuthScheme("api_key", "header", "X-Ferry-Key")
PARAMS = {
    "type": "object",
    "properties": {
        "id": {"type": "integer", "minimum": 7},
        "lang": {"enum": ["nb", "en"]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "X-Trace": {"type": "string", "examples": ["abc"]},
        "tenant": {"type": "string", "default": "north"},
        "seats": {"type": "integer"},
    },
    "required": ["id", "lang", "tags", "seats"],
}
TOOL = Invocation("mcp_tool", f"{HOST}/mcp", "POST", "get_trip")
ARGUMENTS = {"type": "object", "properties": {"id": {"const": 7}}, "required": ["id"]}


def made_call(service: Service, capability: Capability) -> dict[str, Any] | None:
    return call_of(service, capability, example_of(service, capability, Effort()))


def made_record(service: Service, capability: Capability) -> dict[str, Any]:
    return capability_record(service, capability, example_of(service, capability, Effort()))


def called(*calls: Invocation, service: Service | None = None, **members: Any) -> dict[str, Any]:
    capability = Capability("trip", "trip", **{"params": PARAMS, **members}, invocations=calls)
    call = made_call(service or Service(), capability)
    assert call is not None
    parsed: dict[str, Any] = json.loads(json.dumps(call))
    return parsed
