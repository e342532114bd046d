"""The registry describes itself: as an agent service in the ADP format, its OpenAPI document, its problem types."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from fastapi import Path, Request, Response

from registry.api.documents import errors, not_modified
from registry.api.schemas.about import OneProblemType, ProblemTypes
from registry.api.schemas.base import example_of
from registry.api.schemas.discovery import Discovered, ServiceList
from registry.api.schemas.service import CapabilityDetail, Manifest
from registry.api.schemas.submission import DomainSubmission, HostStatus, Submitted
from registry.edge import problems
from registry.edge.problems import NOT_FOUND, UNKNOWN_CAPABILITY, Problem
from registry.edge.requests import base_url
from registry.edge.responses import json_response
from registry.edge.routing import strict_router

NAME: Final = "waypost"
DESCRIPTION: Final = (
    "Open discovery registry for the agent web: finds services that agents can use, by a sentence, with scores and the "
    "reasons behind them."
)
_HOUR: Final = "public, max-age=3600"

router = strict_router(tags=["about"])


def _parameter(
    name: str, kind: str, location: str, description: str, example: Any, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "in": location,
        "description": description,
        "required": required,
        "example": example,
    }


_CAPABILITIES: Final[Mapping[str, dict[str, Any]]] = {
    "discover_services": {
        "description": "Find the services that can do what a sentence describes, best first.",
        "endpoint": "/api/discover",
        "method": "GET",
        "parameters": [
            _parameter("q", "string", "query", "What you need, in plain words.", "send a parcel", required=True),
            _parameter("limit", "number", "query", "Rows, at most 50.", 10),
            _parameter("cursor", "string", "query", "`next_cursor` of the previous answer.", "eyJ..."),
            _parameter("include_unverified", "boolean", "query", "Include services of trust level unverified.", True),
            _parameter(
                "format", "string", "query", "Only hosts that serve one of these formats, comma separated.", "adp,a2a"
            ),
            _parameter("auth_type", "string", "query", "none, api_key, oauth2 or unknown, comma separated.", "none"),
            _parameter("pricing_type", "string", "query", "free, freemium, paid or unknown, comma separated.", "free"),
            _parameter("protocol", "string", "query", "Only services with one of these protocols.", "mcp"),
            _parameter("min_score", "number", "query", "Minimum score, 0 to 100.", 60),
        ],
        "request_path": "/api/discover?q=send%20a%20parcel",
        "response_example": {"status": 200, "body": example_of(Discovered)},
    },
    "list_services": {
        "description": "Page through all listed services, filtered and sorted.",
        "endpoint": "/api/services",
        "method": "GET",
        "parameters": [
            _parameter("search", "string", "query", "Text in the name or description.", "parcel"),
            _parameter("category", "string", "query", "A category, as in the rows; all does not filter.", "payments"),
            _parameter("sort", "string", "query", "newest, name, capabilities, score or updated.", "newest"),
            _parameter("limit", "number", "query", "Rows, at most 100.", 50),
            _parameter("offset", "number", "query", "Rows to skip.", 0),
            _parameter("include_unverified", "boolean", "query", "Include services of trust level unverified.", True),
        ],
        "request_path": "/api/services?limit=1",
        "response_example": {"status": 200, "body": example_of(ServiceList)},
    },
    "submit_service": {
        "description": "Submit a host: the registry visits it and lists what it serves.",
        "endpoint": "/api/services",
        "method": "POST",
        "parameters": [
            _parameter("domain", "string", "body", "The host to visit.", "api.pigeonpost.example", required=True),
            _parameter("wait", "number", "query", "Seconds to wait for the visit, at most 20.", 8),
        ],
        "request_path": "/api/services",
        "request_body": example_of(DomainSubmission),
        "response_example": {"status": 201, "body": example_of(Submitted)},
    },
    "verify_service": {
        "description": "Get the status of a host: listed or why not, and when it is visited next.",
        "endpoint": "/api/services/{domain}/status",
        "method": "GET",
        "parameters": [_parameter("domain", "string", "path", "The host.", "api.pigeonpost.example", required=True)],
        "request_path": "/api/services/api.pigeonpost.example/status",
        "response_example": {"status": 200, "body": example_of(HostStatus)},
    },
}


@router.get(
    "/.well-known/agent",
    response_model=Manifest,
    response_model_exclude_none=True,
    responses={**errors(), **not_modified()},
    summary="This registry as an agent service",
    description="An Agent Discovery Protocol manifest with four capabilities.",
)
async def manifest(request: Request) -> Response:
    content: Manifest = {
        "spec_version": "1.0",
        "name": NAME,
        "description": DESCRIPTION,
        "base_url": base_url(request),
        "auth": {"type": "none"},
        "pricing": {"type": "free"},
        "capabilities": [
            {
                "id": name,
                "name": name,
                "description": capability["description"],
                "detail_url": f"/api/capabilities/{name}",
            }
            for name, capability in _CAPABILITIES.items()
        ],
    }
    return json_response(request, content, cache=_HOUR)


OwnCapability = Annotated[str, Path(description="One of the capabilities.", examples=["discover_services"])]
ProblemSlug = Annotated[str, Path(description="The last part of a `type`.", examples=["unknown-parameter"])]


@router.get(
    "/api/capabilities/{name}",
    response_model=CapabilityDetail,
    responses={**errors(UNKNOWN_CAPABILITY), **not_modified()},
    summary="How to call a capability of this registry",
    description="An Agent Discovery Protocol capability detail, without an envelope.",
)
async def own_capability(request: Request, name: OwnCapability) -> Response:
    capability = _CAPABILITIES.get(name)
    if capability is None:
        raise Problem(UNKNOWN_CAPABILITY, "This registry has no capability of this name.", accepted=[*_CAPABILITIES])
    example = {"method": capability["method"], "url": base_url(request) + capability["request_path"], "headers": {}}
    if "request_body" in capability:
        example |= {"headers": {"Content-Type": "application/json"}, "body": capability["request_body"]}
    members = {key: capability[key] for key in ("description", "endpoint", "method", "parameters", "response_example")}
    content = {"name": name, **members, "request_example": example, "auth_scopes": [], "derived": []}
    return json_response(request, content, cache=_HOUR)


@router.get("/openapi.json", include_in_schema=False)
async def openapi_document(request: Request) -> Response:
    """Return the document that is also in docs/openapi.json."""
    return json_response(request, request.app.openapi(), cache=_HOUR)


@router.get(
    "/api/problems",
    response_model=ProblemTypes,
    responses={**errors(), **not_modified()},
    summary="List the problem types",
    description="What the `type` of an error means and what to do about it.",
)
async def problem_types(request: Request) -> Response:
    content: ProblemTypes = {"success": True, "data": problems.PROBLEM_TYPES}
    return json_response(request, content, cache=_HOUR)


@router.get(
    "/api/problems/{slug}",
    response_model=OneProblemType,
    responses={**errors(NOT_FOUND), **not_modified()},
    summary="One problem type",
    description="The page that the `type` of an error links to.",
)
async def problem_type(request: Request, slug: ProblemSlug) -> Response:
    kind = next((kind for kind in problems.PROBLEM_TYPES if kind.slug == slug), None)
    if kind is None:
        raise Problem(NOT_FOUND, "There is no such problem type.")
    content: OneProblemType = {"success": True, "data": kind}
    return json_response(request, content, cache=_HOUR)
