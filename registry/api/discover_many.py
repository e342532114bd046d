"""`POST /api/discover`: several needs in one request, each answered as `GET /api/discover` answers it."""

import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from inspect import Signature, signature
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from registry.api import discover
from registry.api.documents import describe_body, describe_write
from registry.api.schemas import discovery as schemas
from registry.edge.bodies import checked
from registry.edge.limiter import charge
from registry.edge.problems import (
    BODY_TOO_LARGE,
    INVALID_BODY,
    INVALID_PARAMETER,
    Problem,
    as_problem,
    body,
    instance_of,
)
from registry.edge.responses import json_response
from registry.edge.routing import QueryRoute, parse_body, strict_router

PATH: Final = "/api/discover"
MAX_BODY_BYTES: Final = 65_536

_OF_ONE: Final = ("q", "cursor")
"""Parameters that each need has for itself."""
_PLAIN_NAME: Final = re.compile("[a-z_]{1,40}")

router = strict_router(tags=["discovery"])


def _handler_of_get() -> Callable[[Request], Coroutine[Any, Any, Response]]:
    (route,) = (one for one in discover.router.routes if isinstance(one, QueryRoute) and one.path == PATH)
    return route.get_route_handler()


_answer: Final = _handler_of_get()
"""Checks the parameters of a GET request, and answers it."""


async def discover_many(request: Request, **shared: Any) -> Response:
    raw = await request.body()
    if len(raw) > MAX_BODY_BYTES:
        raise Problem(BODY_TOO_LARGE, f"The body of this operation may have at most {MAX_BODY_BYTES} bytes.")
    needs = checked(parse_body(raw), schemas.Needs)["needs"]
    charge(request, len(needs) - 1)  # each need costs what its own request would
    answers = [await _answer_need(request, need, f"needs.{number}") for number, need in enumerate(needs)]
    refusals = [answer for answer in answers if isinstance(answer, Problem)]
    if len(refusals) == len(answers):
        first = refusals[0]
        members = {**first.members, "errors": [problem.detail for problem in refusals]}
        raise Problem(first.kind, first.detail, headers=first.headers, **members)
    data = [_refused(request, answer) if isinstance(answer, Problem) else answer for answer in answers]
    return json_response(request, {"success": True, "data": data})


discover_many.__signature__ = Signature(  # type: ignore[attr-defined]  # FastAPI reads the parameters from it
    [parameter for name, parameter in signature(discover.discover).parameters.items() if name not in _OF_ONE]
)
router.post(
    PATH,
    **describe_write(
        schemas.DiscoveredMany,
        INVALID_PARAMETER,
        BODY_TOO_LARGE,
        body=describe_body(schemas.Needs),
        side_effects=False,
    ),
    summary="Find services for several needs at once",
    description="Up to ten needs, each answered as `GET /api/discover` answers it, in the order of the body. A "
    "parameter of the query string holds for every need that does not state its own. A need that cannot be answered "
    "has a problem in its place; if none can be, the answer is the problem of the first. Each need counts as a "
    "request.",
)(discover_many)


async def _answer_need(request: Request, need: Any, place: str) -> orjson.Fragment | Problem:
    """Return the answer to one need as JSON, or the problem that a GET for it meets."""
    try:
        given = dict(_parameters(need))
        shared = {name: text for name, text in request.query_params.items() if name not in given}
        query = urlencode({**shared, **given}).encode()
        # without headers: a condition of this request, such as If-None-Match, is not one of its parts
        scope = {**request.scope, "method": "GET", "query_string": query, "headers": []}
        response = await _answer(Request(scope))
    except (Problem, RequestValidationError) as error:
        problem = as_problem(request, error)
        assert problem is not None  # noqa: S101 - both kinds are one
        problem.detail = f"{place}: {problem.detail}"
        return problem
    return orjson.Fragment(response.body)


def _parameters(need: Any) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a need as the query of a GET has them. Raise Problem."""
    if not isinstance(need, str | Mapping):
        raise Problem(INVALID_BODY, "must be a text, or an object with the member q")
    for name, value in {"q": need}.items() if isinstance(need, str) else need.items():
        if value is None:
            continue  # as if it were absent
        texts = [_text(item) for item in value] if isinstance(value, list) else [_text(value)]
        is_ambiguous = isinstance(value, list) and any("," in str(text) for text in texts)
        if None in texts or is_ambiguous or (name == "q" and not isinstance(value, str)):
            shown = name if _PLAIN_NAME.fullmatch(name) else "a member"
            allowed = (
                "a text" if name == "q" else "a text, a whole number, true, false, or a list of texts without commas"
            )
            raise Problem(INVALID_PARAMETER, f"{shown}: must be {allowed}")
        yield name, ",".join(map(str, texts))


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


def _refused(request: Request, problem: Problem) -> dict[str, Any]:
    content = body(problem.kind, problem.detail, instance_of(request), problem.members)
    return {"success": False, "problem": content}
