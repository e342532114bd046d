"""MCP over standard input and output, for a host that starts this program.

The first call of a tool opens the source, unless that was done before. A host asks for the list of tools when it
starts, and only the protocol's messages may delay the answer.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from mcp.server.stdio import stdio_server

from registry.mcp.server import make_server
from registry.mcp.source import ApiAnswer, ApiSource, Caller
from registry.mcp.tools import Profile

T = TypeVar("T")


class LazySource:
    """A source that opens at the first request, and again at the next request if that failed.

    `make` raises Refused when the source cannot be opened. A dedicated task holds the source, because a source opened
    in the task of one request could not be closed in another.
    """

    def __init__(self, url: str, make: Callable[[], AbstractAsyncContextManager[ApiSource]]) -> None:
        self.url = url
        self._make = make
        self._closing = asyncio.Event()
        self._holder: asyncio.Task[None] | None = None
        self._source: asyncio.Future[ApiSource] | None = None

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> ApiAnswer:
        return await (await self._opened()).ask(caller, path, query, body=body)

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        return await (await self._opened()).worked(caller, size, function, *arguments)

    async def close(self) -> None:
        self._closing.set()
        if self._holder is not None:
            await asyncio.gather(self._holder, return_exceptions=True)

    def open(self) -> "asyncio.Future[ApiSource]":
        """Begin to open the source unless it is open. After a failure, the next request tries again."""
        if self._source is None or (self._source.done() and self._source.exception() is not None):
            self._source = asyncio.get_running_loop().create_future()
            self._source.add_done_callback(lambda source: source.cancelled() or source.exception())
            self._holder = asyncio.create_task(self._hold(self._source))
        return self._source

    async def _opened(self) -> ApiSource:
        return await asyncio.shield(self.open())

    async def _hold(self, source: "asyncio.Future[ApiSource]") -> None:
        try:
            async with self._make() as opened:
                source.set_result(opened)
                await self._closing.wait()
        except Exception as error:
            if source.done():
                raise
            source.set_exception(error)


async def serve(source: LazySource, *, is_remote: bool, profile: Profile = "lean") -> None:
    """Answer until standard input ends. The source stays open."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it would log each request, with what clients send
    server = make_server(source, source.url, is_remote=is_remote, profile=profile)
    async with stdio_server() as (requests, answers):
        await server.run(requests, answers, server.create_initialization_options())
