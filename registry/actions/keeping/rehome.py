"""The public suffix list has changed: hosts whose registrable domain is another one now move there, with all they have.

One host per transaction, under the locks of both domains in the order of names, as every writer locks. A domain that
somebody has leased is left for the next run: who visits it will want to record it. Nothing is asked of any site.
"""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from registry.actions.recording.rescore import rescore_hosts
from registry.core.domains import registrable_domain
from registry.store.errors import StoreUnavailable
from registry.store.rehoming import Key
from registry.store.unit_of_work import Store, UnitOfWork

PAGE: Final = 2_000

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Rehomed:
    """Hosts looked at; hosts moved; hosts left where they are because a domain is leased, or could not be written."""

    hosts: int = 0
    moved: list[str] = field(default_factory=list)
    leased: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


async def rehome(store: Store, *, now: datetime) -> Rehomed:
    """By the list that this process has. Raises StoreUnavailable; may be ended at any moment and repeated."""
    result = Rehomed()
    async for here, covered in _pages(store, of="opt_outs"):
        if (there := registrable_domain(covered)) != here:
            async with store.begin() as uow:  # opt-outs outlive their hosts: they move on their own
                await uow.rehoming.copy_opt_out(covered, here=here, there=there)
    async for here, host in _pages(store, of="hosts"):
        result.hosts += 1
        there = registrable_domain(host)
        if there == here:
            continue
        try:
            moved = await _move(store, host, here, there, now)
        except StoreUnavailable:
            raise
        except Exception as error:  # one host that cannot be read must not keep the others where they are
            _log.error("%s cannot be moved to %s", host, there, exc_info=error)
            result.failed.append(host)
            continue
        (result.moved if moved else result.leased).append(host)
    return result


async def _pages(store: Store, *, of: str) -> AsyncIterator[Key]:
    after: Key = ("", "")
    while True:
        async with store.begin() as uow:
            page = await (uow.rehoming.hosts if of == "hosts" else uow.rehoming.opt_outs)(after, limit=PAGE)
        if not page:
            return
        for key in page:
            yield key
        after = page[-1]


async def _move(store: Store, host: str, here: str, there: str, now: datetime) -> bool:
    """False: one of the domains is leased."""
    async with store.begin() as uow:
        known = await uow.hosts.get(here, host)
        if known is None:
            return True
        await uow.domains.add([there], source=known.source, now=now, due=known.next_visit_at or now)
        await uow.domains.lock([here, there])
        if await uow.rehoming.leases([here, there]):
            return False
        await _move_locked(uow, host, here, there, now)
    return True


async def _move_locked(uow: UnitOfWork, host: str, here: str, there: str, now: datetime) -> None:
    opted_out = (await uow.opt_outs.of([here])).get(here, frozenset())
    await uow.rehoming.copy_opt_outs(host, here=here, there=there, opted_out=opted_out)
    await uow.rehoming.move(host, here=here, there=there)
    await uow.domains.from_hosts([there], now=now)
    await uow.rehoming.settle(here)
    await rescore_hosts(uow, [(there, host)], now)
