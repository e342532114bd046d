"""MCP over streamable HTTP: `POST /mcp`, stateless, answered with JSON, in both eras of the protocol.

Requests are checked before they reach the SDK's transport: only POST (a GET of the older era would hold its connection
open for ever), only known addresses and origins, and only bodies that are one JSON object for the strict reader. So the
SDK's own messages, which repeat unreadable input, are never sent, and batches are refused in every era.
"""

import contextlib
import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import check_accept_headers
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import JSONRPCRequest, jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from registry.core.reading.reader import Unreadable, read_json
from registry.edge import problems
from registry.edge.interfaces import Interface
from registry.edge.middleware import Rules
from registry.edge.problems import Problem
from registry.edge.routing import explain
from registry.mcp.server import PROFILE, make_server
from registry.mcp.source import OwnApi
from registry.mcp.tools import TOOLS_BY_PROFILE
from registry.settings import Settings
from registry.wiring import Waypost

PATHS: Final = ("/mcp", "/mcp/")
MAX_BYTES: Final = 256 * 1024
"""Of a request: what a manifest of 100,000 characters needs in a JSON string, where some characters take two bytes."""

PARSE_ERROR, INVALID_REQUEST = -32700, -32600

ANY_ORIGIN: Final = "*"
"""As an entry of the setting `mcp_origins`."""

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_AUTHORITY: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


def interface(api: Interface, waypost: Waypost, settings: Settings) -> Interface:
    """Return MCP as an interface over the application of the API."""
    source = OwnApi(api.app, api.rules.submissions, waypost, settings)
    app = McpApp(make_server(source, source.url, is_remote=False), Callers.of(settings))
    return Interface(app, Rules(open=PATHS, searches=frozenset(PATHS)), roots=("/mcp",), running=app.running)


@dataclass(frozen=True, slots=True)
class Callers:
    """`hosts`: accepted values of Host; `origins`: web pages that may call. Loopback always may.

    A page that reaches loopback through its own name (DNS rebinding) has that name in both fields.
    """

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, settings: Settings) -> "Callers":
        public = urlsplit(settings.public_url.lower())
        own_hosts = {public.netloc, public.netloc.removesuffix(f":{_DEFAULT_PORTS[public.scheme]}")}
        own_origins = {f"{public.scheme}://{host}" for host in own_hosts}
        own_hosts |= {f"{host}:{_DEFAULT_PORTS[public.scheme]}" for host in own_hosts if ":" not in host}
        return cls(frozenset(own_hosts | set(settings.mcp_hosts)), frozenset(own_origins | set(settings.mcp_origins)))

    def check(self, headers: Headers) -> None:
        """Raise Problem for a Host or an Origin that is not allowed."""
        host = headers.get("host", "").lower()
        if host not in self.hosts and not _is_loopback(host):  # guard: mcp-host
            raise Problem(problems.MISDIRECTED, "This registry is not reached by the name in the field Host.")
        origin = headers.get("origin")
        if origin is None or ANY_ORIGIN in self.origins:
            return
        scheme, _, authority = origin.lower().partition("://")
        is_local = scheme in _DEFAULT_PORTS and _is_loopback(authority)
        if origin.lower() not in self.origins and not is_local:  # guard: mcp-origin
            raise Problem(problems.FOREIGN_ORIGIN, "Web pages of other origins may not call this registry over MCP.")


def _is_loopback(authority: str) -> bool:
    match = _AUTHORITY.fullmatch(authority)
    return match is not None and match[1] in _LOOPBACK


class McpApp:
    """The ASGI application. It answers only while `running` is entered."""

    def __init__(self, server: Server[Any], callers: Callers) -> None:
        self._server = server
        self._callers = callers
        self._sessions: StreamableHTTPSessionManager | None = None
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it would log each request, with what clients send

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        sessions = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=MAX_BYTES
        )
        async with sessions.run():
            self._sessions = sessions
            try:
                yield
            finally:
                self._sessions = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        _check_request(scope, headers)
        _check_profile(scope)
        self._callers.check(headers)
        if self._sessions is None:
            raise Problem(problems.UNAVAILABLE, "MCP is not served at the moment.", headers={"Retry-After": "5"})
        body = await _body(receive)
        if (fault := _fault(body)) is not None:
            await fault(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await self._sessions.handle_request(scope, replay, send)


def _check_request(scope: Scope, headers: Headers) -> None:
    """Raise Problem when method or headers do not fit an MCP message."""
    if scope["path"] not in PATHS:
        raise Problem(problems.NOT_FOUND, "There is nothing at this address.")
    if scope["method"] != "POST":  # guard: mcp-post
        raise Problem(problems.METHOD_NOT_ALLOWED, "MCP is served by POST only.", headers={"Allow": "OPTIONS, POST"})
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(problems.UNSUPPORTED_MEDIA_TYPE, "The body of the request must be application/json.")
    accepts_json, _ = check_accept_headers(Request(scope))
    if not accepts_json:
        raise Problem(problems.NOT_ACCEPTABLE, "Answers are application/json, which the field Accept has to allow.")


def _check_profile(scope: Scope) -> None:
    """Raise Problem for an unknown profile. Other parameters of the address are ignored, as hosts may add some."""
    profiles = QueryParams(scope["query_string"]).getlist(PROFILE)
    if len(profiles) > 1 or not set(profiles) <= TOOLS_BY_PROFILE.keys():
        allowed = f"{PROFILE}: must be {' or '.join(TOOLS_BY_PROFILE)}"
        raise Problem(problems.INVALID_PARAMETER, allowed, errors=[allowed])


async def _body(receive: Receive) -> bytes:
    """Return the whole body. Raise Problem when it is larger than MAX_BYTES, and ClientDisconnect."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > MAX_BYTES:  # guard: mcp-bytes
            raise Problem(
                problems.BODY_TOO_LARGE,
                f"A message may have at most {MAX_BYTES} bytes.",
                headers={"Connection": "close"},
            )
        if not message.get("more_body", False):
            return bytes(body)


def _fault(body: bytes) -> Response | None:
    """Return the error answer for a body that is not one JSON-RPC message, else None."""
    try:
        message = read_json(body)
    except Unreadable as error:
        return _error(PARSE_ERROR, f"Parse error: {explain(error)}")
    if isinstance(message, list):
        return _error(INVALID_REQUEST, "Invalid request: batches are not accepted.")
    try:
        if isinstance(message, dict) and "method" in message and "id" in message:
            JSONRPCRequest.model_validate(message, by_name=False)  # the adapter would take a bad id for a notification
        else:
            jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return _error(INVALID_REQUEST, "Invalid request: the body must be one JSON-RPC 2.0 message.")
    return None


def _error(code: int, said: str) -> Response:
    content = orjson.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": said}})
    return Response(content, 400, {"Cache-Control": "no-store"}, "application/json")
