"""Reference data in force: what `refresh` has stored becomes what this process goes by.

At the start, and within a minute where it changes later: a process that cut hosts by an older suffix list than the
others would not find them under their new domains.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

import structlog

from registry.actions.keeping.refresh import believed
from registry.core.addresses import Row, refuse_also
from registry.core.domains import use_suffixes
from registry.core.suffixes import SHIPPED, BadReference, SuffixList
from registry.store.errors import StoreUnavailable
from registry.store.unit_of_work import Store

LOOK_SECONDS: Final = 60.0

log = structlog.get_logger(__name__)


class Reference:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._versions: dict[str, bytes] | None = None

    async def adopt(self) -> bool:
        """Whether anything was new. What is stored and not believed (by a later program, say) leaves what we ship."""
        async with self._store.begin() as uow:
            versions = await uow.references.versions()
            if versions == self._versions:
                return False
            stored = {name: await uow.references.get(name) for name in versions}
        suffixes, rows = SHIPPED, list[Row]()
        for name, record in stored.items():
            if record is None:
                continue
            try:
                data = await asyncio.to_thread(believed, name, record.body)
            except BadReference as error:
                log.warning("reference.not_adopted", name=name, reason=str(error))
                continue
            if isinstance(data, SuffixList):
                suffixes = data
            else:
                rows += data
        use_suffixes(suffixes)
        refuse_also(rows)
        self._versions = versions
        if versions:
            log.info("reference.in_force", suffixes=suffixes.version, also_refused=[row.prefix for row in rows])
        return True


@contextlib.asynccontextmanager
async def reference_in_force(store: Store) -> AsyncIterator[Reference]:
    """While the block runs; behind it what we are shipped with is in force again. Raises StoreUnavailable."""
    reference = Reference(store)
    await reference.adopt()
    looking = asyncio.create_task(_look(reference))
    try:
        yield reference
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        use_suffixes(SHIPPED)
        refuse_also(())


async def _look(reference: Reference) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        with contextlib.suppress(StoreUnavailable):
            await reference.adopt()
