"""Strict routes: unknown and repeated query parameters are refused, bodies are read strictly.

FastAPI ignores unknown parameters, and its JSON reader accepts NaN, lone surrogates, UTF-16 and duplicate keys, which
then break the response. `app.router.route_class` does not apply to included routers, so every router of the API is
made by `strict_router`.
"""

import re
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from difflib import get_close_matches
from json import JSONDecodeError
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.telemetry import TelemetryConfig
from starlette.datastructures import QueryParams

from registry.core.model.documents import Json
from registry.core.reading.reader import Unreadable, read_json
from registry.edge.problems import UNKNOWN_PARAMETER, UNREADABLE_BODY, Problem

Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]

NO_TELEMETRY: Final[TelemetryConfig] = {
    "tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False,
}  # fmt: skip
"""For every FastAPI application: its own traces and logs hold queries, addresses and texts of errors. The middleware's
(`registry.edge.tracing`) do not."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_MAX_NAMED: Final = 5
_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "query": ("q", "search"), "question": ("q",), "text": ("q", "search"), "search": ("q",), "q": ("search",),
    "page": ("cursor", "offset"), "offset": ("cursor",), "skip": ("offset", "cursor"), "after": ("cursor",),
    "page_size": ("limit",), "per_page": ("limit",), "size": ("limit",), "count": ("limit",),
    "order": ("sort",), "order_by": ("sort",), "sort_by": ("sort",), "auth": ("auth_type",), "host": ("domain",),
    "pricing": ("pricing_type",), "price": ("pricing_type",), "trust": ("trust_level",), "lang": ("language",),
}  # fmt: skip
"""Names that other APIs use -> parameters of this one, the likeliest first."""


class StrictRequest(Request):
    """A request whose `json()` uses the strict reader of crawled documents."""

    async def json(self) -> Any:
        """Return the body as one JSON value. Raise JSONDecodeError, as FastAPI's body parsing expects."""
        try:
            return read_json(await self.body())
        except Unreadable as error:
            raise JSONDecodeError(error.rule.code, "", 0) from None


class StrictRoute(APIRoute):
    def get_route_handler(self) -> Endpoint:
        handle = super().get_route_handler()
        known_names = _query_names(self.dependant)

        async def checked(request: Request) -> Response:
            _refuse_unknown(request, known_names)
            return await handle(StrictRequest(request.scope, request.receive))

        return checked


class QueryRoute(StrictRoute):
    """A fast path for an operation with query parameters only, whose endpoint returns a Response.

    FastAPI processes all twenty parameters of /api/discover for each request. Here parameters are declared as for any
    other route and validated by FastAPI's fields, but only the parameters in the request are processed.
    """

    def get_route_handler(self) -> Endpoint:
        known_names = _query_names(self.dependant)
        arguments = _Arguments(self.dependant)

        async def handle(request: Request) -> Response:
            _refuse_unknown(request, known_names)
            faults: list[Any] = []
            values = await arguments.of(request, faults)
            if faults:
                raise RequestValidationError(faults)
            response: Response = await self.endpoint(**values)
            return response

        return handle


class _Arguments:
    """Reads the arguments of a function that takes only query parameters, and of its dependencies of the same kind."""

    def __init__(self, dependant: Dependant) -> None:
        if dependant.path_params or dependant.header_params or dependant.cookie_params or dependant.body_params:
            raise TypeError(f"{dependant.call} takes more than query parameters")
        self._request = dependant.request_param_name
        self._fields = {field.alias: field for field in dependant.query_params}
        self._defaults, _ = request_params_to_args(dependant.query_params, QueryParams())
        self._required = [alias for alias, field in self._fields.items() if field.name not in self._defaults]
        self._dependencies = [
            (dependency.name, dependency.call, _Arguments(dependency)) for dependency in dependant.dependencies
        ]

    async def of(self, request: Request, faults: list[Any]) -> dict[str, Any]:
        """Return the arguments by name; add errors to `faults` in the framework's form."""
        values = dict(self._defaults)
        for name, call, arguments in self._dependencies:
            fault_count = len(faults)
            dependency_values = await arguments.of(request, faults)
            if len(faults) == fault_count and call is not None and name is not None:
                values[name] = await call(**dependency_values)
        faults += self._read(request.query_params, values)
        if self._request is not None:
            values[self._request] = request
        return values

    def _read(self, query_params: QueryParams, values: dict[str, Any]) -> list[Any]:
        """Add the validated values to `values` and return the faults, in the order of declaration. `_refuse_unknown`
        has ensured that each parameter is given at most once."""
        faults_by_alias: dict[str, list[Any]] = {}
        for alias, text in query_params.items():
            if (field := self._fields.get(alias)) is not None:
                values[field.name], faults_by_alias[alias] = field.validate(text, loc=("query", alias))
        for alias in self._required:
            if alias not in faults_by_alias:
                _, faults_by_alias[alias] = request_params_to_args([self._fields[alias]], QueryParams())
        if not any(faults_by_alias.values()):
            return []
        return [fault for alias in self._fields for fault in faults_by_alias.get(alias, ())]


def strict_router(route_class: type[StrictRoute] = StrictRoute, **options: Any) -> APIRouter:
    return APIRouter(route_class=route_class, **options)


def parse_body(raw: bytes) -> Json:
    """Return the one JSON value of a body. Raise Problem."""
    try:
        return read_json(raw)
    except Unreadable as error:
        raise Problem(UNREADABLE_BODY, explain(error), reason=error.rule.code) from None


def explain(error: Unreadable) -> str:
    """Return why a body cannot be read, with line and column, without repeating its content."""
    message = error.rule.says
    return f"{message} (line {error.line}, column {error.column})" if error.line is not None else message


def _query_names(dependant: Dependant) -> frozenset[str]:
    """Return the query parameters of an operation and of its dependencies."""
    own = frozenset(field.alias for field in dependant.query_params)
    return own.union(*map(_query_names, dependant.dependencies))


def _refuse_unknown(request: Request, known_names: frozenset[str]) -> None:
    names = [name for name, _ in request.query_params.multi_items()]
    if known_names.issuperset(names) and len(set(names)) == len(names):
        return
    accepted = sorted(known_names)
    unknown = [name for name in dict.fromkeys(names) if name not in known_names]
    if unknown:
        allowed = ", ".join(accepted) if accepted else "none"
        faults = [_named(name, accepted) for name in unknown[:_MAX_NAMED]]
        detail = f"Unknown query parameter{'s' if len(faults) > 1 else ''} {', '.join(faults)}. Accepted: {allowed}."
        raise Problem(UNKNOWN_PARAMETER, detail, accepted=accepted)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    raise Problem(UNKNOWN_PARAMETER, f"Given more than once: {', '.join(repeated)}.", accepted=accepted)


def _named(name: str, accepted: Sequence[str]) -> str:
    """Return a parameter's name, with the accepted name that was probably meant. Names with unusual characters are not
    echoed."""
    if not _PLAIN_NAME.fullmatch(name):
        return "(not a plain name)"
    similar = [other for other in _SYNONYMS.get(name.lower(), ()) if other in accepted]
    similar += get_close_matches(name.lower(), accepted, n=1, cutoff=0.7)
    return f"{name} (did you mean {similar[0]}?)" if similar else name
