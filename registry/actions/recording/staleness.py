"""Tells in the change feed which services became stale: that happens by time alone, so no visit tells it."""

from datetime import datetime
from itertools import groupby
from typing import Final

from registry.actions.recording.events import state_changed
from registry.core.changes.states import state_of
from registry.core.scheduling.policy import STALE_AFTER
from registry.store.unit_of_work import Store

_PAGE: Final = 1_000


async def tell_stale(store: Store, *, now: datetime) -> int:
    """Add an event for each service that became stale; return their number. Repeating it adds nothing."""
    count, after = 0, ("", "")
    while True:
        async with store.begin() as uow:
            keys = await uow.services.unseen(after, before=now - STALE_AFTER, limit=_PAGE)
        if not keys:
            return count
        for domain, group in groupby(keys, key=lambda key: key[0]):
            hosts = [host for _, host in group]
            async with store.begin() as uow:
                await uow.domains.lock([domain])
                services = await uow.services.of([domain])  # as they are now, under the lock
                stale = [
                    service
                    for host in hosts
                    if (service := services.get(host)) is not None
                    and not service.hidden
                    and state_of(service.trust_level, service.seen_at, now) == "stale"
                ]
                await uow.ledger.add_changes([state_changed(service, "fresh", now) for service in stale])
            count += len(stale)
        after = keys[-1]
