"""Maintenance: reads go on, writes are refused, workers and the schedule pause.

The message is a row of the database, so that all processes of all machines follow, or WAYPOST_MAINTENANCE, for a
database that is being replaced. Opt-outs are still accepted: they are in the file of opt-outs, which a new database
replays, and a site that wants to opt out must not be refused.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

import structlog

from registry.store.engine import StoreUnavailable
from registry.store.unit_of_work import Store
from registry.tasks import running_beside

LOOK_SECONDS: Final = 3.0

log = structlog.get_logger(__name__)


class UnderMaintenance(StoreUnavailable):
    """Work that writes has to wait until the maintenance ends."""


class MaintenanceMode:
    """`message`: for clients; None without maintenance."""

    def __init__(self, store: Store, setting: str | None) -> None:
        self.message = setting
        self._setting = setting
        self._store = store

    async def look(self) -> None:
        """Read the message of the database. Raise StoreUnavailable."""
        async with self._store.read() as uow:
            message = self._setting or await uow.jobs.maintenance()
        if message != self.message:
            log.info("maintenance.changed", message=message)
        self.message = message

    def require_off(self) -> None:
        """Raise UnderMaintenance, which is logged when it begins."""
        if self.message is not None:
            raise UnderMaintenance(f"the registry is in maintenance: {self.message}", is_outage=True)

    @contextlib.asynccontextmanager
    async def followed(self) -> AsyncIterator[None]:
        """Keep the message current while the block runs. Raise StoreUnavailable."""
        await self.look()
        async with running_beside(self._poll()):
            yield

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with contextlib.suppress(StoreUnavailable):
                await self.look()
