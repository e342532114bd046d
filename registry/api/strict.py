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
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

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
        known = _query_names(self.dependant)

        async def checked(request: Request) -> Response:
            _refuse_strangers(request, known)
            return await handle(StrictRequest(request.scope, request.receive))

        return checked


class QueryRoute(StrictRoute):
    """An operation of query parameters alone, whose endpoint gives its Response: read at the cost of what was sent.

    FastAPI goes through all of the twenty parameters of /api/discover for each request. They are declared as for any
    other route, and read by FastAPI's own function, but only those that are there.
    """

    def get_route_handler(self) -> Endpoint:
        known = _query_names(self.dependant)
        arguments = _Arguments(self.dependant)

        async def handle(request: Request) -> Response:
            _refuse_strangers(request, known)
            faults: list[Any] = []
            taken = await arguments.of(request, faults)
            if faults:
                raise RequestValidationError(faults)
            response: Response = await self.endpoint(**taken)
            return response

        return handle


class _Arguments:
    """Of a function with query parameters, and with dependencies of the same kind."""

    def __init__(self, dependant: Dependant) -> None:
        if dependant.path_params or dependant.header_params or dependant.cookie_params or dependant.body_params:
            raise TypeError(f"{dependant.call} takes more than query parameters")
        self._request = dependant.request_param_name
        self._fields = {field.alias: field for field in dependant.query_params}
        self._absent, _ = request_params_to_args(dependant.query_params, QueryParams())
        self._required = [alias for alias, field in self._fields.items() if field.name not in self._absent]
        self._inner = [(one.name, one.call, _Arguments(one)) for one in dependant.dependencies]

    async def of(self, request: Request, faults: list[Any]) -> dict[str, Any]:
        """By name. What is wrong is added to `faults` as the framework tells it."""
        taken = dict(self._absent)
        for name, call, arguments in self._inner:
            before = len(faults)
            inner = await arguments.of(request, faults)
            if len(faults) == before and call is not None and name is not None:
                taken[name] = await call(**inner)
        faults += self._read(request.query_params, taken)
        if self._request is not None:
            taken[self._request] = request
        return taken

    def _read(self, given: QueryParams, taken: dict[str, Any]) -> list[Any]:
        """Each is given once at most (`_refuse_strangers`); faults come in the order of the declaration."""
        wrong: dict[str, list[Any]] = {}
        for alias, text in given.items():
            if (field := self._fields.get(alias)) is not None:
                taken[field.name], wrong[alias] = field.validate(text, loc=("query", alias))
        for alias in self._required:
            if alias not in wrong:
                _, wrong[alias] = request_params_to_args([self._fields[alias]], QueryParams())
        return [fault for alias in self._fields for fault in wrong.get(alias, ())] if any(wrong.values()) else []


def strict_router(route_class: type[StrictRoute] = StrictRoute, **options: Any) -> APIRouter:
    return APIRouter(route_class=route_class, **options)


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


def _query_names(dependant: Dependant) -> frozenset[str]:
    """Of the operation and of everything it depends on."""
    own = frozenset(field.alias for field in dependant.query_params)
    return own.union(*map(_query_names, dependant.dependencies))


def _refuse_strangers(request: Request, known: frozenset[str]) -> None:
    given = [name for name, _ in request.query_params.multi_items()]
    if known.issuperset(given) and len(set(given)) == len(given):
        return
    accepted = sorted(known)
    if not known.issuperset(given):
        allowed = ", ".join(accepted) if accepted else "none"
        raise Problem(UNKNOWN_PARAMETER, f"Unknown query parameter; accepted here: {allowed}.", accepted=accepted)
    twice = [name for name, count in Counter(given).items() if count > 1]
    raise Problem(UNKNOWN_PARAMETER, f"Given more than once: {', '.join(twice)}.", accepted=accepted)
