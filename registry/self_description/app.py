"""The registry's documents about itself, and the calls that they advertise, as an HTTP interface."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NotRequired
from urllib.parse import quote

import jsonschema_rs
import orjson
from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp

from registry.edge import inside, problems
from registry.edge.bodies import ClosedBody, read_as
from registry.edge.interfaces import Interface
from registry.edge.middleware import Rules
from registry.edge.problems import INVALID_BODY, NOT_FOUND, Problem
from registry.edge.responses import PAGE, encoded_response
from registry.edge.routing import NO_TELEMETRY, strict_router
from registry.self_description.capabilities import CAPABILITIES, OwnCapability
from registry.self_description.documents import API_CATALOG, SelfDocuments, start_links
from registry.self_description.service import McpServer
from registry.settings import Settings

_ROOT: Final = "/woa"
_OPEN: Final = (
    "/.well-known/", "/agent.json", "/llms.txt", "/robots.txt", "/openapi.json", "/mcp/server-card", "/woa/",
)  # fmt: skip


def interface(
    settings: Settings,
    version: str,
    api: ASGIApp,
    openapi: Callable[[], Mapping[str, Any]],
    mcp: McpServer | None = None,
    ard: str | None = None,
) -> Interface:
    """Return the interface. `api` answers the calls that the documents describe; `openapi` returns its description.

    `mcp` and `ard` are other interfaces of this process; None is not advertised.
    """
    documents = SelfDocuments(settings, version, openapi, mcp, ard)
    rules = Rules(  # an invocation has the bounds of the call that it stands for
        open=_OPEN,
        # guard: invocation-limits
        submissions=frozenset(one.woa_path for one in CAPABILITIES if one.limit == "submissions"),
        searches=frozenset(one.woa_path for one in CAPABILITIES if one.method == "GET"),
    )
    return Interface(_application(documents, api), rules, roots=(_ROOT,), paths=documents.paths)


def _application(documents: SelfDocuments, api: ASGIApp) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=NO_TELEMETRY)
    problems.install(app)
    links = {"/": start_links(documents.base), API_CATALOG: f'<{documents.base}{API_CATALOG}>; rel="api-catalog"'}

    async def document(request: Request) -> Response:
        """Return a document. Query parameters are ignored, as for a file: some clients add some."""
        path = request.scope["path"]
        text, media_type = documents.by_path[path]
        headers = {"Link": links[path]} if path in links else {}
        return encoded_response(request, text.encode(), cache=PAGE, media_type=media_type, headers=headers)

    async def invoke(request: Request, agent_id: str) -> Response:
        return await _invoked(api, request, agent_id)

    for path in documents.paths:
        app.add_api_route(path, document, methods=["GET"])
    operations = strict_router()
    operations.add_api_route(f"{_ROOT}/{{agent_id}}", invoke, methods=["POST"])
    app.include_router(operations)
    return app


# --- invocations over the REST transport of the Web of Agents (draft-gaikwad-woa-00 sections 5.1 and 5.2)

DEFAULT_OPERATION: Final = "default"
"""The implied operation (section 5.1); our agents have no other."""

_BY_ID: Final = {capability.id: capability for capability in CAPABILITIES}
_VALIDATORS: Final = {one.id: jsonschema_rs.Draft202012Validator(one.schema("")) for one in CAPABILITIES}
_KEPT: Final = (b"content-type", b"retry-after", b"link")


async def _invoked(api: ASGIApp, request: Request, agent_id: str) -> Response:
    """Return the API's answer, problem details included, to the call of it that the other documents describe.

    Raise Problem: 404 for an unknown agent, 400 for a wrong envelope or input.
    """
    capability = _BY_ID.get(agent_id)
    if capability is None:
        raise Problem(NOT_FOUND, "There is no agent with this id.", accepted=[*_BY_ID])
    arguments = await _arguments(request, agent_id)
    faults = sorted({_fault(error) for error in _VALIDATORS[agent_id].iter_errors(arguments)})
    if faults:  # guard: invocation-input
        errors = [f"input: {fault}" for fault in faults]
        accepted = [parameter.name for parameter in capability.parameters]
        raise Problem(INVALID_BODY, errors[0], errors=errors, accepted=accepted)
    path, raw_path, query, body = _as_request(capability, arguments)
    answer = await inside.call(
        api, request.scope, path, query, raw_path=raw_path, method=capability.method, body=body, rest=request.receive
    )
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
