"""The configured or embedded database of a data folder; the embedded one is started and kept running.

Also raises this process's limit of open files.
"""

import asyncio
import contextlib
import resource
import sys
from collections.abc import AsyncIterator, Callable

from registry.outages import Outage
from registry.settings import POSTGRES_FOLDER as POSTGRES_FOLDER  # others name it
from registry.settings import Settings
from registry.store.embedded_postgres import server as embedded
from registry.wiring.space import shortage

CHECK_SECONDS = 1.0  # checking a running server takes 2 ms


def database_url(settings: Settings) -> tuple[str, Callable[[], None]]:
    """Return the URL of the database and a callable that releases it. Start the embedded one if necessary."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value(), lambda: None
    server = embedded.start(settings.data / POSTGRES_FOLDER)
    return server.dsn, server.release


@contextlib.asynccontextmanager
async def kept_running(settings: Settings) -> AsyncIterator[None]:
    """Restart a killed embedded server while the block runs; until then its users get StoreUnavailable."""

    outage = Outage("postgres.not_restarted", "postgres.restarted")
    restarting: asyncio.Task[None] | None = None
    server: embedded.EmbeddedServer | None = None

    def start() -> None:
        """Acquire the new server before releasing the old one: a recreated folder has another server."""
        nonlocal server
        older, server = server, embedded.start(settings.data / POSTGRES_FOLDER)
        if older is not None:
            older.release()

    async def check_forever() -> None:
        nonlocal restarting
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                restarting = asyncio.create_task(asyncio.to_thread(start))
                await asyncio.shield(restarting)
            except (embedded.EmbeddedUnavailable, OSError) as error:
                short = shortage(settings)
                outage.failed(str(error) if short is None else f"{short}; {error}")
            else:
                outage.worked()

    checking = asyncio.create_task(check_forever())
    try:
        yield
    finally:
        checking.cancel()
        # A thread cannot be cancelled. If it finished after this process released the server, it would acquire or even
        # start it again without a release.
        await asyncio.gather(checking, *([restarting] if restarting else []), return_exceptions=True)
        if server is not None:
            await asyncio.to_thread(server.release)


def raise_open_files(wanted: int) -> int:
    """Raise the soft limit of open files to `wanted`, as far as allowed. Return how many files may be open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
