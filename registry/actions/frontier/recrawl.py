"""Maintains the queue: candidates, orphaned leases, overdue hosts, and opt-outs newer than a restored backup.

No host is visited here. Workers do the first two every few seconds; this job is for registries whose crawls are
scheduled, and for what no worker does.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.actions.frontier.apply_opt_out import apply_opt_out
from registry.actions.frontier.lease import recover
from registry.actions.frontier.seed import fold_candidates
from registry.store.unit_of_work import Store

FORGOTTEN_AFTER: Final = timedelta(days=2)
"""How long a host must be due before its domain is made due as well: longer than any delay put on a domain."""

_PAGE: Final = 1_000
_FOLDS: Final = 100


@dataclass(frozen=True, slots=True)
class Recrawled:
    """Counts: candidates that became hosts; leases of dead workers that were freed; domains made due for their overdue
    hosts; services hidden because of an opt-out; domains that are due now; processes that are crawling."""

    folded: int
    recovered: int
    brought: int
    hidden: int
    due: int
    crawlers: int


async def recrawl(store: Store, *, now: datetime, exempt: Collection[str] = ()) -> Recrawled:
    """Run all steps once. Raise StoreUnavailable; can be repeated."""
    hidden = await _apply_restored_opt_outs(store, now)
    folded = await _fold(store, now, exempt)
    recovered = await recover(store, now=now)
    made_due = await _make_overdue_due(store, now)
    async with store.begin() as uow:
        counts, crawlers = await uow.domains.counts(now), await uow.jobs.crawlers()
    return Recrawled(folded, recovered, made_due, hidden, counts["due"], crawlers)


async def _apply_restored_opt_outs(store: Store, now: datetime) -> int:
    """Apply opt-outs that were restored over an older backup, in which the hosts they cover are shown and due."""
    hidden = 0
    while True:
        async with store.begin() as uow:
            opt_outs = await uow.jobs.opted_out_but_shown(limit=_PAGE)
        if not opt_outs:
            return hidden
        for domain, host in opt_outs:
            async with store.begin() as uow:
                await uow.domains.lock([domain])
                hidden += await apply_opt_out(uow, domain, host, now=now)


async def _fold(store: Store, now: datetime, exempt: Collection[str]) -> int:
    hosts = 0
    for _ in range(_FOLDS):
        report = await fold_candidates(store, now=now, exempt=exempt)
        hosts += report.hosts
        if not report.hosts and not report.known and not report.refused:
            break
    return hosts


async def _make_overdue_due(store: Store, now: datetime) -> int:
    """Make domains with overdue hosts due, page by page: there may be millions, and no lock may last long."""
    count, after = 0, ""
    while True:
        async with store.begin() as uow:
            domains = await uow.jobs.domains(after, limit=_PAGE)
            if not domains:
                return count
            count += await uow.jobs.bring(domains, before=now - FORGOTTEN_AFTER, now=now)
        after = domains[-1]
