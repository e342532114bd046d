"""What an HTTP interface declares about itself, and the one application that the interfaces make together.

Interfaces do not know each other: each is an ASGI application with the paths that it answers. What holds for all of
them is in `registry.edge.middleware`, in front of them.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from registry.edge.middleware import RequestMiddleware, Rules
from registry.settings import Settings


@dataclass(frozen=True, slots=True)
class Interface:
    """An ASGI application, the paths that it answers, and the rules for them.

    `roots`: first segments, such as `/ard`: it answers `/ard` and everything below. `paths`: single paths. An interface
    with neither answers what no other one does. `running`: a context that the server enters before it listens, for an
    application that needs tasks of its own (the server sends no lifespan events).
    """

    app: ASGIApp
    rules: Rules
    roots: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    running: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext


def compose(interfaces: Sequence[Interface], settings: Settings) -> ASGIApp:
    """Return one application of all interfaces behind the middleware. Raise ValueError when two answer the same path.

    Run it without the server's own proxy handling: X-Forwarded-For is trusted from `trusted_proxies` only.
    """
    # Outside the framework, because its own middleware layers cost more than a cached response.
    return RequestMiddleware(
        _Dispatcher(interfaces),
        Rules.of_all(interface.rules for interface in interfaces),
        read_rate=settings.read_rate,
        submit_rate=settings.submit_rate,
        trusted_proxies=settings.trusted_proxies,
    )


@contextlib.asynccontextmanager
async def running(interfaces: Iterable[Interface]) -> AsyncIterator[None]:
    """Keep the contexts of all interfaces entered while the block runs."""
    async with AsyncExitStack() as stack:
        for interface in interfaces:
            await stack.enter_async_context(interface.running())
        yield


class _Dispatcher:
    """Calls the interface that answers a path."""

    def __init__(self, interfaces: Sequence[Interface]) -> None:
        self._by_path: dict[str, ASGIApp] = {}
        self._by_root: dict[str, ASGIApp] = {}
        rest = [interface.app for interface in interfaces if not interface.roots and not interface.paths]
        if len(rest) != 1:
            raise ValueError(f"{len(rest)} interfaces answer all other paths, not one")
        self._rest = rest[0]
        for interface in interfaces:
            _add(self._by_path, interface.paths, interface.app)
            _add(self._by_root, interface.roots, interface.app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        app = self._by_path.get(path)
        if app is None:
            end = path.find("/", 1)
            app = self._by_root.get(path if end < 0 else path[:end], self._rest)
        await app(scope, receive, send)


def _add(apps: dict[str, ASGIApp], paths: Iterable[str], app: ASGIApp) -> None:
    for path in paths:
        if path in apps:
            raise ValueError(f"two interfaces answer {path}")
        apps[path] = app
