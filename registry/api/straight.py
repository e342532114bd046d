"""The busiest operation past the framework's router and its stacks of middleware, which cost more than its answer.

Which routes these are is decided in `app.py`; they are declared, documented and tested like all others, and what they
raise becomes the same problems.
"""

from collections.abc import Iterable

from fastapi import FastAPI, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from registry.api.problems import as_problem, instance_of, render
from registry.api.strict import QueryRoute


class Straight:
    """GETs of `routes` are found by their path alone; everything else goes to `app`."""

    def __init__(self, app: FastAPI, routes: Iterable[QueryRoute]) -> None:
        self._app: ASGIApp = app
        self._handlers = {route.path: route.get_route_handler() for route in routes}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._handlers.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        scope["app"] = self._app
        request = Request(scope, receive)
        try:
            response = await handler(request)
        except Exception as error:
            problem = as_problem(request, error)
            if problem is None:
                raise
            response = render(problem, instance_of(request))
        await response(scope, receive, send)
