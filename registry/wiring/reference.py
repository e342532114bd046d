"""Puts the reference data that `refresh` has stored in force in this process.

It does so at the start, and within a minute of later changes: a process with an older suffix list than the others
would not find hosts under their new domains.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

import structlog

from registry.actions.maintenance.maintenance import checked_data
from registry.core.names.addresses import RegistryRow, set_extra_refused
from registry.core.names.domains import use_suffixes
from registry.core.names.suffixes import SHIPPED, BadReference, SuffixList
from registry.store.engine import StoreUnavailable
from registry.store.unit_of_work import Store
from registry.tasks import running_beside

LOOK_SECONDS: Final = 60.0

log = structlog.get_logger(__name__)


class Reference:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: dict[str, bytes] | None = None

    async def adopt(self) -> bool:
        """Adopt stored data; return whether it changed. Refused data (for example older) is not adopted."""
        async with self._store.begin() as uow:
            versions = await uow.references.versions()
            if versions == self._versions:
                return False
            stored = {name: await uow.references.get(name) for name in versions}
        suffixes, rows = SHIPPED, list[RegistryRow]()
        for name, record in stored.items():
            if record is None:
                continue
            try:
                data = await asyncio.to_thread(checked_data, name, record.body)
            except BadReference as error:
                log.warning("reference.rejected", name=name, reason=str(error))
                continue
            if isinstance(data, SuffixList):
                suffixes = data
            else:
                rows += data
        use_suffixes(suffixes)
        set_extra_refused(rows)
        self._versions = versions
        if versions:
            log.info("reference.adopted", suffixes=suffixes.version, also_refused=[row.prefix for row in rows])
        return True


@contextlib.asynccontextmanager
async def reference_in_force(store: Store) -> AsyncIterator[Reference]:
    """Keep stored data in force while the block runs; then restore the shipped data. Raise StoreUnavailable."""
    reference = Reference(store)
    await reference.adopt()
    try:
        async with running_beside(_poll(reference)):
            yield reference
    finally:
        use_suffixes(SHIPPED)
        set_extra_refused(())


async def _poll(reference: Reference) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        with contextlib.suppress(StoreUnavailable):
            await reference.adopt()
