"""The source of the tools' answers: the HTTP API of this process (`OwnApi`) or of a remote registry (`RemoteApi`).

The tools translate the public API, so answers over MCP and over HTTP cannot differ. This module, and all that a stdio
server loads before its first answer, avoids the web framework and the database driver, which take a second to import.
OwnApi calls an ASGI application without connection and middleware: the request that brought the tool call has paid for
the first request to the API, and each further one pays here. RemoteApi uses HTTPS and bounds every answer.
"""

import re
import ssl
from collections.abc import Callable, Mapping, MutableMapping, Set
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

import httpx2
import orjson
from fastapi import Request
from starlette.types import ASGIApp

from registry.core.reading.foreign_lists import count_values
from registry.edge import inside, problems
from registry.edge.problems import Problem
from registry.edge.requests import MAX_INLINE_SERVICE, computed, provide
from registry.settings import Settings
from registry.wiring import Waypost

if TYPE_CHECKING:
    from registry.edge.limiter import Spending


T = TypeVar("T")


class ApiRefusal(Exception):
    """The API refused a request. `slug`: type of the problem. `detail` is safe to show, `members` as in the API."""

    def __init__(self, slug: str, detail: str, members: Mapping[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.slug = slug
        self.detail = detail
        self.members = members or {}


@dataclass(slots=True)
class Caller:
    """The caller of a tool. `scope`: the HTTP request that brought the call; None over stdio."""

    scope: MutableMapping[str, Any] | None = None
    asked: int = 0

    @property
    def spending(self) -> "Spending | None":
        return None if self.scope is None else self.scope.get("waypost.spending")

    def let_others_go(self) -> None:
        """Release the client's turn before a wait, so that its other requests can proceed."""
        if self.scope is not None and (turn := self.scope.get("waypost.turn")):
            turn.close()


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """`body` is JSON."""

    status: int
    body: bytes

    def content(self) -> dict[str, Any]:
        """Return the content. Raise Refused when the request was refused."""
        content = content_of(self.body)
        if self.status >= 400:
            raise refusal(content)
        return content


def refusal(problem: Mapping[str, Any]) -> ApiRefusal:
    slug = str(problem.get("type", "")).rpartition("/")[2]
    return ApiRefusal(slug, str(problem.get("detail", "The registry refused the request.")), problem)


def content_of(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise ApiRefusal("unavailable", "The registry did not answer with a JSON object. Its address may be wrong.")
    return content


class ApiSource(Protocol):
    """`url`: address of the registry without a trailing slash."""

    url: str

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> ApiAnswer:
        """Return the answer to a GET, or to a POST if there is a body. `path` is not encoded yet."""

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """Return `function(*arguments)`, called elsewhere when `size` bytes are too many for this process."""


_DOT_SEGMENT: Final = re.compile(r"(?<=/)\.{1,2}(?=/|$)")
LOCAL_CLIENT: Final = "local"
"""The client over stdio, in place of an address."""


@dataclass
class OwnApi:
    """The API of this process. `submissions`: its paths whose POST takes from the limit of submissions."""

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
    ) -> ApiAnswer:
        caller.asked += 1
        try:
            if caller.spending is None:
                pass  # over stdio there is no limit
            elif body is not None and path in self.submissions:
                caller.spending.take_submission()  # guard: mcp-submissions
            elif caller.asked > 1:  # the call itself has paid for the first request
                caller.spending.charge(1)  # guard: mcp-further-requests
        except Problem as problem:
            return ApiAnswer(problem.kind.status, _encoded(problem))
        outer = caller.scope or {"waypost.client": LOCAL_CLIENT, "waypost.request_id": str(uuid4())}
        reply = await inside.call(self.api, outer, path, query, method="GET" if body is None else "POST", body=body)
        return ApiAnswer(reply.status, bytes(reply.body))

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        if size <= MAX_INLINE_SERVICE:
            return function(*arguments)
        scope = {"type": "http", "waypost.client": LOCAL_CLIENT, **(caller.scope or {})}
        request = Request({**scope, "app": SimpleNamespace(state=self._state)})
        try:
            return await computed(request, size, MAX_INLINE_SERVICE, function, *arguments)
        except Problem as problem:
            raise refusal(content_of(_encoded(problem))) from None


def _encoded(problem: Problem) -> bytes:
    return orjson.dumps(problems.body(problem.kind, problem.detail, "", problem.members))


SECONDS: Final = 40.0
"""For one request to a remote registry, which may wait for 20 s itself when a host is submitted."""
MAX_ANSWER_BYTES: Final = 16_000_000
MAX_ANSWER_VALUES: Final = 500_000
"""Of an answer of a remote registry, before it is parsed."""


class RemoteApi:
    """The API of another registry, over HTTPS. No redirect is followed, and every answer is bounded."""

    def __init__(self, url: str) -> None:
        """Raise ValueError for an invalid address, and for one without https that is not on this machine."""
        self.url = checked_url(url)
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(SECONDS, connect=10),
            limits=httpx2.Limits(max_connections=8),
            follow_redirects=False,
            verify=ssl.create_default_context(),
            trust_env=True,
        )

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> ApiAnswer:
        # `..` in the name of a capability is not a way to other operations of the registry
        encoded = _DOT_SEGMENT.sub(lambda dots: "%2E" * len(dots[0]), quote(path))
        url = f"{self.url}{encoded}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
        received = bytearray()
        try:
            method = "GET" if body is None else "POST"
            async with self._client.stream(method, url, content=body, headers=headers) as response:
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > MAX_ANSWER_BYTES:
                        raise ApiRefusal("unavailable", "The registry's answer is too large.")
        except httpx2.HTTPError:
            raise ApiRefusal("unavailable", "The registry does not answer.") from None
        if response.is_redirect:
            raise ApiRefusal("moved", "The registry is at another address now. Start `waypost mcp` with that one.")
        if count_values(received) > MAX_ANSWER_VALUES:
            raise ApiRefusal("unavailable", "The registry's answer has too many values.")
        return ApiAnswer(response.status_code, bytes(received))

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        return function(*arguments)

    async def close(self) -> None:
        await self._client.aclose()


def checked_url(url: str) -> str:
    """Return the address of a registry without a trailing slash. Raise ValueError."""
    parts = urlsplit(url)
    is_local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ValueError("the address of a registry looks like https://registry.example")
    if parts.scheme == "http" and not is_local:
        raise ValueError("a registry on another machine is asked over https only")
    return url.rstrip("/")
