"""The API of this process as the source of the tools, called as an ASGI application.

There is no connection, and not the middleware that stands in front of the API: the request that brought the tool call
has paid there already, and each further request to the API pays here.
"""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, TypeVar
from uuid import uuid4

import orjson
from fastapi import Request
from starlette.types import ASGIApp

from registry.edge import inside, problems
from registry.edge.computing import SHOWN_HERE, computed
from registry.edge.problems import Problem
from registry.edge.requests import provide
from registry.mcp.source import Answer, Caller, content_of, refusal
from registry.settings import Settings
from registry.wiring import Waypost

T = TypeVar("T")

LOCAL_CLIENT: Final = "local"
"""Who asks over stdio, in place of an address."""


@dataclass
class OwnApi:
    """`api`: the application. `submissions`: its paths whose POST takes from the limit of submissions."""

    api: ASGIApp
    submissions: Set[str]
    waypost: Waypost
    settings: Settings
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = self.settings.public_url.rstrip("/")
        self._state = SimpleNamespace()
        provide(self._state, self.waypost, self.settings)

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> Answer:
        try:
            self._pay(caller, is_submission=body is not None and path in self.submissions)
        except Problem as problem:
            return Answer(problem.kind.status, _encoded(problem))
        outer = caller.scope or {"waypost.client": LOCAL_CLIENT, "waypost.request_id": str(uuid4())}
        reply = await inside.call(self.api, outer, path, query, method="GET" if body is None else "POST", body=body)
        return Answer(reply.status, bytes(reply.body))

    def _pay(self, caller: Caller, *, is_submission: bool) -> None:
        """Raise Problem. The call itself has paid for the first request to the API."""
        caller.asked += 1
        if caller.spending is not None:
            if is_submission:
                caller.spending.take_submission()  # guard: mcp-submissions
            elif caller.asked > 1:
                caller.spending.charge(1)  # guard: mcp-further-requests

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        if size <= SHOWN_HERE:
            return function(*arguments)
        scope = {"type": "http", "waypost.client": LOCAL_CLIENT, **(caller.scope or {})}
        request = Request({**scope, "app": SimpleNamespace(state=self._state)})
        try:
            return await computed(request, size, SHOWN_HERE, function, *arguments)
        except Problem as problem:
            raise refusal(content_of(_encoded(problem))) from None


def _encoded(problem: Problem) -> bytes:
    return orjson.dumps(problems.body(problem.kind, problem.detail, "", problem.members))
