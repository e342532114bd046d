"""The registry describes itself: as an agent service in ADP's own format, its problem types, and an index of doors."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import Request, Response

from registry.api import examples, problems
from registry.api.answers import answer
from registry.api.documents import errors, not_modified
from registry.api.params import CapabilityPath, base_url
from registry.api.problems import NOT_FOUND, UNKNOWN_CAPABILITY, Problem
from registry.api.schemas import CapabilityDetail, Manifest, OneProblemType, ProblemTypes
from registry.api.strict import strict_router

NAME: Final = "waypost"
DESCRIPTION: Final = (
    "Open discovery registry for the agent web: finds services that agents can use, by a sentence, with scores and the "
    "reasons behind them."
)
_HOUR: Final = "public, max-age=3600"

router = strict_router(tags=["about"])


def _parameter(
    name: str, kind: str, where: str, description: str, example: Any, required: bool = False
) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "in": where,
        "description": description,
        "required": required,
        "example": example,
    }


_CAPABILITIES: Final[Mapping[str, dict[str, Any]]] = {
    "discover_services": {
        "description": "Find the services that can do what a sentence asks for, best first.",
        "endpoint": "/api/discover",
        "method": "GET",
        "parameters": [
            _parameter("q", "string", "query", "What you need, in plain words.", "send a parcel", required=True),
            _parameter("limit", "number", "query", "Rows, at most 50.", 10),
            _parameter("cursor", "string", "query", "`next_cursor` of the answer before.", "eyJ..."),
            _parameter("include_unverified", "boolean", "query", "Also services of trust level unverified.", True),
            _parameter("format", "string", "query", "Only hosts that speak one of these, comma separated.", "adp,a2a"),
            _parameter("auth_type", "string", "query", "none, api_key or oauth2, comma separated.", "none"),
            _parameter("pricing_type", "string", "query", "free, freemium or paid, comma separated.", "free"),
            _parameter("protocol", "string", "query", "Only services with one of these protocols.", "mcp"),
            _parameter("min_score", "number", "query", "Least score, 0 to 100.", 60),
        ],
        "request_path": "/api/discover?q=send%20a%20parcel",
        "response_example": {"status": 200, "body": examples.DISCOVERED},
    },
    "list_services": {
        "description": "Page through all listed services, filtered and sorted.",
        "endpoint": "/api/services",
        "method": "GET",
        "parameters": [
            _parameter("search", "string", "query", "Text in the name or description.", "parcel"),
            _parameter("sort", "string", "query", "newest, name, capabilities, score or updated.", "newest"),
            _parameter("limit", "number", "query", "Rows, at most 100.", 50),
            _parameter("offset", "number", "query", "Rows to skip.", 0),
            _parameter("include_unverified", "boolean", "query", "Also services of trust level unverified.", True),
        ],
        "request_path": "/api/services?limit=1",
        "response_example": {"status": 200, "body": examples.LISTED},
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
        "request_body": examples.SUBMISSION,
        "response_example": {"status": 201, "body": examples.SUBMITTED},
    },
    "verify_service": {
        "description": "Ask how a host fares: listed or why not, and when it is visited next.",
        "endpoint": "/api/services/{domain}/status",
        "method": "GET",
        "parameters": [_parameter("domain", "string", "path", "The host.", "api.pigeonpost.example", required=True)],
        "request_path": "/api/services/api.pigeonpost.example/status",
        "response_example": {"status": 200, "body": examples.STATUS},
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
    content = {
        "spec_version": "1.0",
        "name": NAME,
        "description": DESCRIPTION,
        "base_url": base_url(request),
        "auth": {"type": "none"},
        "pricing": {"type": "free"},
        "capabilities": [
            {"name": name, "description": one["description"], "detail_url": f"/api/capabilities/{name}"}
            for name, one in _CAPABILITIES.items()
        ],
    }
    return answer(request, content, cache=_HOUR)


@router.get(
    "/api/capabilities/{name}",
    response_model=CapabilityDetail,
    responses={**errors(UNKNOWN_CAPABILITY), **not_modified()},
    summary="How to call a capability of this registry",
    description="An Agent Discovery Protocol capability detail, without an envelope.",
)
async def own_capability(request: Request, name: CapabilityPath) -> Response:
    one = _CAPABILITIES.get(name)
    if one is None:
        raise Problem(UNKNOWN_CAPABILITY, "This registry has no capability of this name.", accepted=[*_CAPABILITIES])
    example = {"method": one["method"], "url": base_url(request) + one["request_path"], "headers": {}}
    if "request_body" in one:
        example |= {"headers": {"Content-Type": "application/json"}, "body": one["request_body"]}
    known = {key: one[key] for key in ("description", "endpoint", "method", "parameters", "response_example")}
    content = {"name": name, **known, "request_example": example, "auth_scopes": [], "derived": []}
    return answer(request, content, cache=_HOUR)


@router.get("/openapi.json", include_in_schema=False)
async def openapi_document(request: Request) -> Response:
    """The document that is also kept in docs/."""
    return answer(request, request.app.openapi(), cache=_HOUR)


@router.get(
    "/api/problems",
    response_model=ProblemTypes,
    responses={**errors(), **not_modified()},
    summary="Every kind of error",
    description="What the `type` of an error means and what to do about it.",
)
async def problem_types(request: Request) -> Response:
    return answer(request, {"success": True, "data": [_told(kind) for kind in problems.KINDS]}, cache=_HOUR)


@router.get(
    "/api/problems/{slug}",
    response_model=OneProblemType,
    responses={**errors(NOT_FOUND), **not_modified()},
    summary="One kind of error",
    description="Where the `type` of an error leads.",
)
async def problem_type(request: Request, slug: CapabilityPath) -> Response:
    kind = next((kind for kind in problems.KINDS if kind.slug == slug), None)
    if kind is None:
        raise Problem(NOT_FOUND, "There is no such kind of error.")
    return answer(request, {"success": True, "data": _told(kind)}, cache=_HOUR)


def _told(kind: problems.Kind) -> dict[str, Any]:
    return {"slug": kind.slug, "status": kind.status, "title": kind.title, "means": kind.means}
