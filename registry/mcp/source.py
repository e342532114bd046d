"""Where the tools read: the registry's HTTP API, that of this process or that of a remote registry.

The tools are a translation of the public API, so that an answer over MCP and one over HTTP cannot differ, whichever
registry it comes from. In one process the API is called as an ASGI application, without a connection and without the
middleware in front of it: the request that brought the tool call has paid there already, and each further request to
the API pays here.
"""

import ssl
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote, urlencode, urlsplit
from uuid import uuid4

import httpx2
import orjson
from fastapi import Request
from starlette.types import ASGIApp, Message, Scope

from registry.edge import problems
from registry.edge.computing import SHOWN_HERE, computed
from registry.edge.costs import Spending
from registry.edge.problems import Problem
from registry.edge.requests import provide
from registry.settings import Settings
from registry.wiring import Waypost

T = TypeVar("T")

SECONDS: Final = 40.0
"""For one request to a remote registry, which may wait for 20 s itself when a host is submitted."""
MOST_BYTES: Final = 16_000_000
"""Of an answer of a remote registry."""

_LOCAL_CLIENT: Final = "local"


class Refused(Exception):
    """The API refused a request. `slug`: type of the problem. `detail` is safe to show, `members` as in the API."""

    def __init__(self, slug: str, detail: str, members: Mapping[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.slug = slug
        self.detail = detail
        self.members = members or {}


@dataclass(slots=True)
class Caller:
    """Who calls a tool. `scope`: the HTTP request that brought the call; None over stdio."""

    scope: Scope | None = None
    asked: int = 0

    @property
    def spending(self) -> Spending | None:
        return None if self.scope is None else self.scope.get("waypost.spending")

    def let_others_go(self) -> None:
        """Give the client's turn back before a wait: others of its requests may be worked on meanwhile."""
        if self.scope is not None and (turn := self.scope.get("waypost.turn")):
            turn.close()


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is JSON."""

    status: int
    body: bytes

    def content(self) -> dict[str, Any]:
        """Raise Refused when the request was refused."""
        content = _object(self.body)
        if self.status >= 400:
            raise refusal(content)
        return content


def refusal(problem: Mapping[str, Any]) -> Refused:
    slug = str(problem.get("type", "")).rpartition("/")[2]
    return Refused(slug, str(problem.get("detail", "The registry refused the request.")), problem)


def _object(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise Refused("unavailable", "The registry answered with something else than a JSON object.")
    return content


class Source(Protocol):
    """`url`: address of the registry without a trailing slash."""

    url: str

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> Answer:
        """Return the answer to a GET, or with a body to a POST. `path` is not encoded yet."""

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """Return `function(*arguments)`, elsewhere when `size` bytes are too many for this process."""


@dataclass
class OwnApi:
    """The API of this process. `make_api` returns the application, called with the first request: it takes a second to
    build. `submissions`: its paths whose POST takes from the limit of submissions."""

    make_api: Callable[[], ASGIApp]
    submissions: Set[str]
    waypost: Waypost
    settings: Settings
    url: str = field(init=False)

    def __post_init__(self) -> None:
        self.url = self.settings.public_url.rstrip("/")
        self._state = SimpleNamespace()
        provide(self._state, self.waypost, self.settings)

    @cached_property
    def _api(self) -> ASGIApp:
        return self.make_api()

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> Answer:
        try:
            self._pay(caller, is_submission=body is not None and path in self.submissions)
        except Problem as problem:
            return Answer(problem.kind.status, _encoded(problem))
        reply = _Reply()
        await self._api(self._scope(caller, path, query, body), _once(body or b""), reply.take)
        return Answer(reply.status, bytes(reply.body))

    def _pay(self, caller: Caller, *, is_submission: bool) -> None:
        """Raise Problem. The call itself has paid for the first request to the API."""
        caller.asked += 1
        if caller.spending is not None:
            if is_submission:
                caller.spending.take_submission()  # guard: mcp-submissions
            elif caller.asked > 1:
                caller.spending.charge(1)  # guard: mcp-further-requests

    def _scope(self, caller: Caller, path: str, query: Mapping[str, str] | None, body: bytes | None) -> Scope:
        outer = caller.scope or {"waypost.client": _LOCAL_CLIENT, "waypost.request_id": str(uuid4())}
        headers = [(b"host", b"registry.internal")]
        if body is not None:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        return {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "http",
            "method": "GET" if body is None else "POST", "path": path, "raw_path": quote(path).encode(),
            "root_path": "", "query_string": urlencode(query or {}).encode(), "headers": headers, "client": None,
            "server": None, "extensions": outer.get("extensions", {}),
            **{key: value for key, value in outer.items() if key.startswith("waypost.")},
        }  # fmt: skip

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        if size <= SHOWN_HERE:
            return function(*arguments)
        scope = {"type": "http", "waypost.client": _LOCAL_CLIENT, **(caller.scope or {})}
        request = Request({**scope, "app": SimpleNamespace(state=self._state)})
        try:
            return await computed(request, size, SHOWN_HERE, function, *arguments)
        except Problem as problem:
            raise refusal(_object(_encoded(problem))) from None


class RemoteApi:
    """The API of another registry, over HTTPS. No redirect is followed, and every answer is bounded."""

    def __init__(self, url: str) -> None:
        """Raise ValueError for an address that is none, or that is neither https nor on this machine."""
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
    ) -> Answer:
        url = f"{self.url}{quote(path)}" + (f"?{urlencode(query)}" if query else "")
        headers = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
        received = bytearray()
        try:
            method = "GET" if body is None else "POST"
            async with self._client.stream(method, url, content=body, headers=headers) as response:
                async for chunk in response.aiter_bytes():
                    received += chunk
                    if len(received) > MOST_BYTES:
                        raise Refused("unavailable", "The registry's answer is too large.")
        except httpx2.HTTPError:
            raise Refused("unavailable", "The registry does not answer.") from None
        if response.is_redirect:
            raise Refused("unavailable", "The registry is at another address now.")
        return Answer(response.status_code, bytes(received))

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


@dataclass(slots=True)
class _Reply:
    status: int = 0
    body: bytearray = field(default_factory=bytearray)

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")


def _once(body: bytes) -> Callable[[], Any]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _encoded(problem: Problem) -> bytes:
    return orjson.dumps(problems.body(problem.kind, problem.detail, "", problem.members))
