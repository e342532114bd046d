"""The command `mcp`: the MCP server over standard input and output."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

from registry.cli.common import BadTarget, has_registry, print_error
from registry.cli.shutdown import exit_after_deadline, stop_on_signals
from registry.mcp.source import ApiRefusal, ApiSource, OwnApi, RemoteApi, checked_url
from registry.mcp.stdio import LazySource, serve
from registry.mcp.tools import Profile

if TYPE_CHECKING:
    from registry.settings import Settings


WARM_UP_SECONDS: Final = 0.5
"""The local registry is opened this long after the start: the handshake of the host comes first."""


async def run_mcp(settings: "Settings", url: str | None, profile: Profile) -> None:
    """Serve until standard input ends, or until SIGINT or SIGTERM. Raise BadTarget for an invalid address."""
    if url is None:
        source = LazySource(settings.public_url.rstrip("/"), lambda: _local(settings))
    else:
        try:
            source = LazySource(checked_url(url), lambda: _remote(url))
        except ValueError as error:
            raise BadTarget(f"--url: {error}") from None
    with stop_on_signals() as stop:
        async with exit_after_deadline(stop):
            serving = asyncio.create_task(serve(source, is_remote=url is not None, profile=profile))
            stopping = asyncio.create_task(stop.wait())
            if url is None and not has_registry(settings):  # an MCP server creates none, because it would be empty
                _print_remedy(settings)
            elif url is None:
                asyncio.get_running_loop().call_later(WARM_UP_SECONDS, source.open)
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await source.close()
            if serving.done():
                await serving
            # A thread may still wait for standard input and cannot be interrupted, so the caller ends the process.


def _print_remedy(settings: "Settings") -> None:
    from registry.cli.show import empty_registry_lines

    for line in empty_registry_lines(settings):
        print_error(line)


@contextlib.asynccontextmanager
async def _local(settings: "Settings") -> AsyncIterator[ApiSource]:
    """Open the registry of the settings. Raise ApiRefusal when it is missing or not ready; say when it is empty."""
    from registry.cli.show import empty_registry_lines, is_empty

    if not has_registry(settings):
        raise ApiRefusal(
            "unavailable", ". ".join(line[0].upper() + line[1:] for line in empty_registry_lines(settings))
        )
    await asyncio.to_thread(import_module, "registry.api.app")  # takes a second; other messages are answered meanwhile
    from registry.api import app
    from registry.wiring import NOT_READY, BadDatabaseUrl, open_waypost

    async with contextlib.AsyncExitStack() as stack:
        try:
            waypost = await stack.enter_async_context(open_waypost(settings))
            await waypost.open_search()
            if not waypost.index_is_fed():
                await waypost.search.drain()  # no worker runs, so pending changes are indexed now
            if await is_empty(waypost):
                _print_remedy(settings)
        except (*NOT_READY, BadDatabaseUrl, OSError) as error:
            print_error(f"the local registry is not ready: {error}")
            raise ApiRefusal("unavailable", f"The local registry is not ready: {error}") from None
        api = app.interface(waypost, settings)
        yield OwnApi(api.app, api.rules.submissions, waypost, settings)


@contextlib.asynccontextmanager
async def _remote(url: str) -> AsyncIterator[ApiSource]:
    source = RemoteApi(url)
    try:
        yield source
    finally:
        await source.close()
