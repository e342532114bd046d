"""Move hosts whose registrable domain changed with the public suffix list.

Each host moves in a transaction of its own, under the locks of both domains; a leased domain waits for the next run.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from registry.actions.recording.rescore import rescore_hosts
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.engine import StoreUnavailable
from registry.store.rehoming import Key
from registry.store.unit_of_work import Store, UnitOfWork

_log = logging.getLogger(__name__)

PAGE: Final = 2_000


@dataclass(slots=True)
class RehomeCounts:
    """Numbers of hosts: checked, moved, not moved because a domain is leased, not moved because of an error."""

    hosts: int = 0
    moved: list[str] = field(default_factory=list)
    leased: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


async def rehome(store: Store, *, now: datetime) -> RehomeCounts:
    """Move hosts according to this process's suffix list. May be interrupted and repeated. Raise StoreUnavailable."""
    result = RehomeCounts()
    async for old_domain, opted_out_host in _pages(store, table="opt_outs"):
        if (new_domain := registrable_domain(opted_out_host)) != old_domain:
            async with store.begin() as uow:  # opt-outs outlive their hosts, so they move separately
                await uow.rehoming.copy_opt_outs(
                    opted_out_host, old_domain=old_domain, new_domain=new_domain, opted_out=[opted_out_host]
                )
    async for old_domain, held_host in _pages(store, table="listing_holds"):
        if (new_domain := registrable_domain(held_host)) != old_domain:
            async with store.begin() as uow:
                await uow.rehoming.copy_holds(held_host, held_host, old_domain=old_domain, new_domain=new_domain)
    async for old_domain, host in _pages(store, table="hosts"):
        result.hosts += 1
        new_domain = registrable_domain(host)
        if new_domain == old_domain:
            continue
        try:
            moved = await _move(store, host, old_domain, new_domain, now)
        except StoreUnavailable:
            raise
        except Exception as error:  # an unreadable host must not block the others
            _log.error("%s cannot be moved to %s", host, new_domain, exc_info=error)
            result.failed.append(host)
            continue
        (result.moved if moved else result.leased).append(host)
    return result


_READS: Final[Mapping[str, Callable[[UnitOfWork, Key], Awaitable[list[Key]]]]] = {
    "hosts": lambda uow, after: uow.rehoming.hosts(after, limit=PAGE),
    "opt_outs": lambda uow, after: uow.rehoming.opt_outs(after, limit=PAGE),
    "listing_holds": lambda uow, after: uow.holds.keys(after, limit=PAGE),
}


async def _pages(store: Store, *, table: str) -> AsyncIterator[Key]:
    after: Key = ("", "")
    while True:
        async with store.begin() as uow:
            page = await _READS[table](uow, after)
        if not page:
            return
        for key in page:
            yield key
        after = page[-1]


async def _move(store: Store, host: str, old_domain: str, new_domain: str, now: datetime) -> bool:
    """Move a host; return False if one of the domains is leased."""
    async with store.begin() as uow:
        known = await uow.hosts.get(old_domain, host)
        if known is None:
            return True
        await uow.domains.add([new_domain], source=known.source, now=now, due=known.next_visit_at or now)
        await uow.domains.lock([old_domain, new_domain])
        if await uow.rehoming.leases([old_domain, new_domain]):
            return False
        await _move_locked(uow, host, old_domain, new_domain, now)
    return True


async def _move_locked(uow: UnitOfWork, host: str, old_domain: str, new_domain: str, now: datetime) -> None:
    opted_out = (await uow.opt_outs.of([old_domain])).get(old_domain, frozenset())
    await uow.rehoming.copy_opt_outs(host, old_domain=old_domain, new_domain=new_domain, opted_out=opted_out)
    for hold in (await uow.holds.limits([old_domain]))[old_domain].holds:
        below = is_covered(hold.host, {new_domain})
        if below or hold.covers(host):
            covered = hold.host if below else host
            await uow.rehoming.copy_holds(hold.host, covered, old_domain=old_domain, new_domain=new_domain)
    await uow.rehoming.move(host, old_domain=old_domain, new_domain=new_domain)
    await uow.domains.due_with_hosts([new_domain], now=now)
    await uow.rehoming.settle(old_domain)
    await rescore_hosts(uow, [(new_domain, host)], now)
