"""Errors of ARD (v0.91, appendix B): problem details that also carry `errorCode` and `message`."""

from collections.abc import Mapping
from typing import Final

from fastapi import FastAPI, Request, Response

from registry.edge import problems
from registry.edge.problems import Problem

INVALID_ARGUMENT: Final = "INVALID_ARGUMENT"
NOT_FOUND: Final = "NOT_FOUND"

_CODES: Final[Mapping[int, str]] = {
    401: "UNAUTHENTICATED",
    404: NOT_FOUND,
    429: "RATE_LIMIT_EXCEEDED",
    503: "UNAVAILABLE",
}
"""Status -> code. The specification has no 503; every other status below 500 is a wrong argument."""


def members(problem: Problem) -> Mapping[str, str]:
    """Return ARD's members of a problem."""
    status = problem.kind.status
    code = _CODES.get(status, INVALID_ARGUMENT if status < 500 else "INTERNAL_ERROR")
    return {"errorCode": code, "message": problem.detail}


def install(app: FastAPI) -> None:
    """Answer every error of `app`, including the framework's, with problem details that have ARD's members."""
    problems.install(app)
    for kind in list(app.exception_handlers):
        app.add_exception_handler(kind, _on_error)


async def _on_error(request: Request, error: Exception) -> Response:
    problem = problems.as_problem(request, error) or problems.fault()
    problem.members |= members(problem)
    return problems.render(problem, problems.instance_of(request))


def invalid(detail: str) -> Problem:
    """Return the problem of a body with a wrong member. `detail` has no text of the client."""
    return Problem(problems.INVALID_BODY, detail, errors=[detail])


def refused(detail: str) -> Problem:
    """Return the problem of a wrong parameter. `detail` has no text of the client."""
    return Problem(problems.INVALID_PARAMETER, detail, errors=[detail])
