"""What an HTTP interface declares about itself, and the one application that the interfaces form together.

Interfaces do not know each other: each is an ASGI application with its paths. What applies to all of them is in
`registry.edge.middleware`, in front of them.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from registry.edge.metrics import INTERFACE, OTHER, ROOT, Figure, RequestMetrics
from registry.edge.middleware import ErrorPage, RequestMiddleware, Rules
from registry.edge.problems import MEDIA_TYPE
from registry.edge.responses import prefers_html, varying
from registry.settings import Settings

if TYPE_CHECKING:
    from registry.edge.tracing import RequestSpans

_PROBLEM: Final = MEDIA_TYPE.encode()
_KEPT: Final = (b"retry-after", b"allow", b"connection", b"www-authenticate")


@dataclass(frozen=True, slots=True)
class Interface:
    """An ASGI application, the paths that it answers, and the rules for them.

    `roots`: first segments, such as `/ard`, which stands for `/ard` and everything below. `paths`: single paths. One
    interface has neither and answers all other paths. `running`: a context that the server enters before it listens,
    for an application that runs tasks (the server sends no lifespan events). `pages`: paths that other interfaces
    answer too; this one answers clients that prefer HTML. `name`: for metrics and traces; by default the first root or
    path. `figures`: further metrics, called from another thread.
    """

    app: ASGIApp
    rules: Rules
    roots: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    running: Callable[[], contextlib.AbstractAsyncContextManager[object]] = contextlib.nullcontext
    name: str = ""
    figures: Callable[[], Iterable[Figure]] = tuple

    @property
    def label(self) -> str:
        return self.name or next(iter((*self.roots, *self.paths)), OTHER).strip("/")


def compose(
    interfaces: Sequence[Interface], settings: Settings, *, metrics: RequestMetrics | None = None,
    spans: "RequestSpans | None" = None,
) -> ASGIApp:  # fmt: skip
    """Return one application of all interfaces behind the middleware. Raise ValueError when two answer the same path.

    `metrics` counts the requests, `spans` traces them. Run it without the server's own proxy handling: X-Forwarded-For
    is trusted from `trusted_proxies` only.
    """
    rules = Rules.of_all(interface.rules for interface in interfaces)
    # Outside the framework, because its own middleware layers cost more than a cached response.
    return RequestMiddleware(_Dispatcher(interfaces, rules), rules, settings, metrics, spans)


@contextlib.asynccontextmanager
async def running(interfaces: Iterable[Interface]) -> AsyncIterator[None]:
    """Keep the contexts of all interfaces entered while the block runs."""
    async with contextlib.AsyncExitStack() as stack:
        for interface in interfaces:
            await stack.enter_async_context(interface.running())
        yield


class _Dispatcher:
    """Calls the interface that answers a path."""

    def __init__(self, interfaces: Sequence[Interface], rules: Rules) -> None:
        self._error_page = rules.error_page
        self._by_page: dict[str, _Answering] = {}
        self._by_path: dict[str, _Answering] = {}
        self._by_root: dict[str, _Answering] = {}
        rest = [interface for interface in interfaces if not interface.roots and not interface.paths]
        if len(rest) != 1:
            raise ValueError(f"{len(rest)} interfaces answer all other paths, not one")
        self._rest = _Answering(rest[0].app, rest[0].label, "")
        for interface in interfaces:
            _add(self._by_path, interface.paths, interface)
            _add(self._by_root, interface.roots, interface)
            _add(self._by_page, interface.pages, interface)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        answering = self._by_path.get(path)
        if answering is None:
            end = path.find("/", 1)
            answering = self._by_root.get(path if end < 0 else path[:end], self._rest)
        if (page := self._by_page.get(path)) is not None:
            send = varying(send)
            if prefers_html(scope):
                answering = page
        elif answering is self._rest and self._error_page is not None and not scope.get("waypost.open"):
            send = _with_error_pages(send, scope, self._error_page)
        scope[INTERFACE], scope[ROOT] = answering.label, answering.root
        await answering.app(scope, receive, send)


class _Answering(NamedTuple):
    """The application for a path or root, with the label of its interface. `root` is empty for all other paths."""

    app: ASGIApp
    label: str
    root: str


def _add(answering: dict[str, _Answering], roots: Iterable[str], interface: Interface) -> None:
    for root in roots:
        if root in answering:
            raise ValueError(f"two interfaces answer {root}")
        answering[root] = _Answering(interface.app, interface.label, root)


def _with_error_pages(send: Send, scope: Scope, page: ErrorPage) -> Send:
    """Return a `send` that replaces a problem document by its page if the client prefers HTML."""
    if not prefers_html(scope):
        return send
    start: Message | None = None
    body = bytearray()

    async def send_page(message: Message) -> None:
        nonlocal start
        if message["type"] == "http.response.start":
            if (b"content-type", _PROBLEM) in message.get("headers", ()):
                start = message
                return
        elif start is not None:
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                fields = (field for field in start["headers"] if field[0] in _KEPT)
                kept = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
                await page(scope, orjson.loads(bytes(body)), kept)(scope, _nothing, varying(send))
            return
        await send(message)

    return send_page


async def _nothing() -> Message:
    raise RuntimeError("a response reads no request")
