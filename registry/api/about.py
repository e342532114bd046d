"""`GET /api/problems`: list the problem types that answers name."""

from typing import Annotated, Final

from fastapi import Path, Request, Response

from registry.api.documents import errors, not_modified
from registry.api.schemas.monitoring import OneProblemType, ProblemTypes
from registry.edge import problems
from registry.edge.problems import NOT_FOUND, Problem
from registry.edge.responses import json_response
from registry.edge.routing import strict_router

_HOUR: Final = "public, max-age=3600"

router = strict_router(tags=["about"])


ProblemSlug = Annotated[str, Path(description="The last part of a `type`.", examples=["unknown-parameter"])]


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
