"""Invocations over the REST transport of the Web of Agents (draft-gaikwad-woa-00 sections 5.1 and 5.2).

An invocation becomes the call of the API that the other documents describe, and the answer is the API's, problem
details included.
"""

from collections.abc import Mapping
from typing import Any, Final, NotRequired
from urllib.parse import quote

import jsonschema_rs
import orjson
from fastapi import Request, Response
from starlette.types import ASGIApp

from registry.edge import inside
from registry.edge.bodies import ClosedBody, read_as
from registry.edge.problems import INVALID_BODY, NOT_FOUND, Problem
from registry.self_description.capabilities import CAPABILITIES, OwnCapability

DEFAULT_OPERATION: Final = "default"
"""The implied operation (section 5.1); our agents have no other."""

_BY_ID: Final = {capability.id: capability for capability in CAPABILITIES}
_KEPT: Final = (b"content-type", b"retry-after", b"link")


class Invocations:
    """Answers `POST /woa/{agent_id}` by calls of `api`."""

    def __init__(self, api: ASGIApp) -> None:
        self._api = api
        self._validators = {
            agent: jsonschema_rs.Draft202012Validator(capability.schema("")) for agent, capability in _BY_ID.items()
        }

    async def __call__(self, request: Request, agent_id: str) -> Response:
        """Return the answer of the API. Raise Problem: 404 for an unknown agent, 400 for a wrong envelope or input."""
        capability = _BY_ID.get(agent_id)
        if capability is None:
            raise Problem(NOT_FOUND, "There is no agent with this id.", accepted=[*_BY_ID])
        arguments = await _arguments(request, agent_id)
        faults = sorted({_fault(error) for error in self._validators[agent_id].iter_errors(arguments)})
        if faults:  # guard: invocation-input
            raise Problem(
                INVALID_BODY,
                f"input: {faults[0]}",
                errors=[f"input: {fault}" for fault in faults],
                accepted=[parameter.name for parameter in capability.parameters],
            )
        return await self._call(request, capability, arguments)

    async def _call(self, request: Request, capability: OwnCapability, arguments: Mapping[str, Any]) -> Response:
        path, raw_path, query, body = _as_request(capability, arguments)
        answer = await inside.call(
            self._api, request.scope, path, query, raw_path=raw_path, method=capability.method, body=body,
            rest=request.receive,
        )  # fmt: skip
        kept = {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers if name in _KEPT}
        return Response(bytes(answer.body), answer.status, {**kept, "Cache-Control": "no-store"})


class Envelope(ClosedBody):
    agent: NotRequired[str]
    operation: NotRequired[str]
    input: dict[str, Any]


async def _arguments(request: Request, agent_id: str) -> dict[str, Any]:
    """Return the input in the envelope of an invocation. Raise Problem."""
    envelope = await read_as(request, Envelope)
    # section 5.2: the id must equal the id in the URL; an absent one may be taken from there
    if envelope.get("agent", agent_id) != agent_id:
        raise Problem(INVALID_BODY, "agent: is not the agent that the URL names")
    if envelope.get("operation", DEFAULT_OPERATION) != DEFAULT_OPERATION:
        raise Problem(INVALID_BODY, f"operation: this agent has none but `{DEFAULT_OPERATION}`")
    return envelope["input"]


def _fault(error: Any) -> str:
    """Return the broken rule and its place, without the value, which is the client's."""
    place = ".".join(str(step) for step in error.instance_path)
    keyword = next((step for step in reversed(error.schema_path) if isinstance(step, str)), "schema")
    return f"{place}: breaks the rule `{keyword}` of the agent's inputs" if place else f"breaks the rule `{keyword}`"


def _as_request(
    capability: OwnCapability, arguments: Mapping[str, Any]
) -> tuple[str, str, Mapping[str, str], bytes | None]:
    """Return path, encoded path, query and body of the API's request."""
    by_place: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}, "whole_body": {}}
    for parameter in capability.parameters:
        if parameter.name in arguments:
            by_place[parameter.place][parameter.name] = arguments[parameter.name]
    path, raw_path = capability.path, capability.path
    for name, value in by_place["path"].items():
        path = path.replace(f"{{{name}}}", str(value))
        raw_path = raw_path.replace(f"{{{name}}}", quote(str(value), safe=""))
    body = None if capability.method == "GET" else orjson.dumps(by_place["body"])
    for text in by_place["whole_body"].values():
        body = text.encode()
    query = {name: _text(value) for name, value in by_place["query"].items()}
    return path, raw_path, query, body


def _text(value: Any) -> str:
    """Return a value as a query writes it. JSON Schema takes 2.0 for an integer."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) else str(value)
