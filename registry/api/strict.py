"""Routes that take nothing on trust: unknown and repeated query parameters are refused, bodies are read strictly.

FastAPI ignores parameters it does not know, and its JSON reader takes NaN, lone surrogates, UTF-16 and duplicate keys,
which then break the answer (safety.md section 9). `app.router.route_class` does not reach included routers, so every
router of this door is made by `strict_router`.
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from json import JSONDecodeError
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from registry.api.problems import UNKNOWN_PARAMETER, UNREADABLE_BODY, Problem
from registry.core.documents import Json
from registry.core.reader import Unreadable, read_json
from registry.core.scoring.rubric import RUBRIC

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRequest(Request):
    """A request whose `json()` is the reader that documents of the web go through."""

    async def json(self) -> Any:
        """The body as one JSON value. Raises JSONDecodeError, the one error that FastAPI's own body parsing knows."""
        try:
            return read_json(await self.body())
        except Unreadable as error:
            raise JSONDecodeError(error.reason.value, "", 0) from None


class StrictRoute(APIRoute):
    def get_route_handler(self) -> Endpoint:
        handle = super().get_route_handler()
        accepted = sorted(_query_names(self.dependant))

        async def checked(request: Request) -> Response:
            _refuse_strangers(request, accepted)
            return await handle(StrictRequest(request.scope, request.receive))

        return checked


def strict_router(**options: Any) -> APIRouter:
    return APIRouter(route_class=StrictRoute, **options)


async def read_body(request: Request) -> Json:
    """The request's body as one JSON value. Raises Problem."""
    try:
        return read_json(await request.body())
    except Unreadable as error:
        raise Problem(UNREADABLE_BODY, explain(error), reason=error.reason.value) from None


def explain(error: Unreadable) -> str:
    """Why a body was not read, in the rubric's words and with the place, without repeating what was sent."""
    says = RUBRIC[error.reason].says
    return f"{says} (line {error.line}, column {error.column})" if error.line is not None else says


def _query_names(dependant: Dependant) -> set[str]:
    """Of the operation and of everything it depends on."""
    return {field.alias for field in dependant.query_params}.union(*map(_query_names, dependant.dependencies))


def _refuse_strangers(request: Request, accepted: list[str]) -> None:
    given = Counter(name for name, _ in request.query_params.multi_items())
    if any(name not in accepted for name in given):
        allowed = ", ".join(accepted) if accepted else "none"
        raise Problem(UNKNOWN_PARAMETER, f"Unknown query parameter; accepted here: {allowed}.", accepted=accepted)
    twice = [name for name, count in given.items() if count > 1]
    if twice:
        raise Problem(UNKNOWN_PARAMETER, f"Given more than once: {', '.join(twice)}.", accepted=accepted)
