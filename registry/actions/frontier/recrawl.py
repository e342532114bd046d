"""What keeps the queue moving and honest when nobody else looks after it: candidates, orphans, opt-outs of a backup.

No host is visited here. Workers do the first two every few seconds; this is for registries that are crawled by the
clock, and for what no worker looks for.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.actions.frontier.due import recover
from registry.actions.frontier.seed import fold_candidates
from registry.actions.frontier.uphold import uphold
from registry.store.unit_of_work import Store

FORGOTTEN_AFTER: Final = timedelta(days=2)
"""A host has been due for so long while its domain was not: longer than any wait that is put on a domain."""

_PAGE: Final = 1_000
_FOLDS: Final = 100


@dataclass(frozen=True, slots=True)
class Recrawled:
    """Hosts that documents named and that are in the queue now; leases of dead workers that were freed; domains that
    were made due for their overdue hosts; services that an opt-out covers and that were shown until now; domains that
    wait for a visit now; processes that crawl at this moment."""

    folded: int
    recovered: int
    brought: int
    hidden: int
    due: int
    crawlers: int


async def recrawl(store: Store, *, now: datetime, exempt: Collection[str] = ()) -> Recrawled:
    """Raises StoreUnavailable; can be repeated."""
    hidden = await _uphold(store, now)
    folded = await _fold(store, now, exempt)
    recovered = await recover(store, now=now)
    brought = await _bring(store, now)
    async with store.begin() as uow:
        counts, crawlers = await uow.domains.counts(now), await uow.jobs.crawlers()
    return Recrawled(folded, recovered, brought, hidden, counts["due"], crawlers)


async def _uphold(store: Store, now: datetime) -> int:
    """Opt-outs that were laid over an older backup: what they cover is shown and due there as if nobody had asked."""
    hidden = 0
    while True:
        async with store.begin() as uow:
            covering = await uow.jobs.shown_all_the_same(limit=_PAGE)
        if not covering:
            return hidden
        for domain, host in covering:
            async with store.begin() as uow:
                await uow.domains.lock([domain])
                hidden += await uphold(uow, domain, host, now=now)


async def _fold(store: Store, now: datetime, exempt: Collection[str]) -> int:
    hosts = 0
    for _ in range(_FOLDS):
        report = await fold_candidates(store, now=now, exempt=exempt)
        hosts += report.hosts
        if not report.hosts and not report.known and not report.refused:
            break
    return hosts


async def _bring(store: Store, now: datetime) -> int:
    """By pages of domains: the frontier may have millions, and nothing of it is locked for long."""
    brought, after = 0, ""
    while True:
        async with store.begin() as uow:
            domains = await uow.jobs.domains(after, limit=_PAGE)
            if not domains:
                return brought
            brought += await uow.jobs.bring(domains, before=now - FORGOTTEN_AFTER, now=now)
        after = domains[-1]
