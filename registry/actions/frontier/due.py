"""Leases: which domains are to be visited now, by whom, and what happens when nobody comes back."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final
from uuid import UUID, uuid4

from registry.actions.frontier.pending import probes_from_json
from registry.actions.frontier.seed import SUB_HOST
from registry.core.documents import Outcome
from registry.core.domains import registrable_domain
from registry.core.optout import is_covered
from registry.core.visits import DomainJob, HostJob, KnownDocument, Lease, RobotsRecord
from registry.store.domains import MAX_ATTEMPTS, SUSPECT_FOR
from registry.store.records import DocumentRecord, HostRecord
from registry.store.unit_of_work import Store, UnitOfWork

WHOLE_PLAN_EVERY: Final = timedelta(days=14)
ROBOTS_FOR: Final = timedelta(hours=24)
BUDGET_WINDOW: Final = timedelta(days=1)

_KNOWN: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})


async def due(
    store: Store,
    *,
    limit: int,
    now: datetime,
    lease_for: timedelta,
    holder: int,
    only: Collection[str] | None = None,
) -> Lease | None:
    """Leases at most `limit` domains, the longest overdue first (new ones are made to be); None when nothing is due.

    `holder`: the id of the worker's `hold_leases`, by which `recover` sees that it is gone. `only`: hosts whose
    domains alone may be taken.
    """
    token, until = uuid4(), now + lease_for
    domains = None if only is None else {registrable_domain(host) for host in only}
    async with store.begin() as uow:
        taken = await uow.domains.take(limit=limit, now=now, until=until, token=token, holder=holder, only=domains)
        jobs = await _jobs(uow, taken, now) if taken else ()
        if idle := set(taken) - {job.domain for job in jobs}:
            await uow.domains.give_back(idle, forgiven=1)
    return Lease(token, until, jobs) if jobs else None


async def release(
    store: Store,
    token: UUID,
    domains: Sequence[str] | None = None,
    *,
    now: datetime,
    later: timedelta | None = None,
) -> int:
    """Gives back domains that were not visited (None: all that the lease still holds); gives their number.

    They are due again at once, or after `later`. A lease that is given back counts as none.
    """
    async with store.begin() as uow:
        wanted = await uow.domains.leased(token) if domains is None else domains
        held = await uow.domains.hold([(token, domain) for domain in wanted])
        await uow.domains.give_back(held, forgiven=1, not_before=None if later is None else now + later)
    return len(held)


async def recover(store: Store, *, now: datetime) -> int:
    """Frees the leases of workers that are gone, without waiting for their expiry; gives their number.

    A domain that has outlived several workers is set aside: it may be what killed them.
    """
    async with store.begin() as uow:
        orphans = await uow.domains.orphans()
        killers = [domain for domain, attempts in orphans if attempts >= MAX_ATTEMPTS]
        await uow.domains.give_back([domain for domain, attempts in orphans if attempts < MAX_ATTEMPTS], forgiven=0)
        await uow.domains.set_aside(killers, now=now, step=SUSPECT_FOR)
    return len(orphans)


async def next_due(store: Store) -> datetime | None:
    """When the next domain that nobody holds is due; may be long past. None: never, unless something is added."""
    async with store.begin() as uow:
        return await uow.domains.next_due()


async def _jobs(uow: UnitOfWork, domains: Sequence[str], now: datetime) -> tuple[DomainJob, ...]:
    opted_out = await uow.opt_outs.of(domains)
    hosts = []
    for host in await uow.hosts.due(domains, now=now):
        if is_covered(host.host, opted_out.get(host.domain, ())):
            await uow.hosts.never_again(host.domain, host.host)  # or its domain would be due for ever, for nothing
        else:
            hosts.append(host)
    spent = await uow.ledger.spent(domains, since=now - BUDGET_WINDOW)
    known: dict[str, list[DocumentRecord]] = {}
    for document in await uow.documents.of(domains):
        known.setdefault(document.host, []).append(document)
    return tuple(
        DomainJob(
            domain,
            tuple(host_job(one, known.get(one.host, ()), now, closed=opted_out.get(domain, ())) for one in of_domain),
            spent.get(domain, 0),
        )
        for domain, of_domain in groupby(hosts, key=lambda one: one.domain)
    )


def host_job(
    host: HostRecord, documents: Iterable[DocumentRecord], now: datetime, *, closed: Iterable[str] = ()
) -> HostJob:
    """Only the known documents are asked for, except every WHOLE_PLAN_EVERY and where nothing was found.

    `documents`: all current ones of the host. `closed`: hosts of the domain that opted out.
    """
    known = [one for one in documents if one.outcome in _KNOWN and one.alias_of is None]
    has_any = any(document.outcome is Outcome.FOUND for document in known)
    whole = host.whole_plan_at is None or not has_any or now - host.whole_plan_at >= WHOLE_PLAN_EVERY
    return HostJob(
        host.host,
        whole,
        tuple(_known_document(one) for one in known),
        probes_from_json(host.pending),
        _robots(host, now),
        short=host.source == SUB_HOST and host.submitted_at is None and not has_any,
        closed=tuple(sorted(closed)),
    )


def _known_document(one: DocumentRecord) -> KnownDocument:
    """Validators only of what could be read: a 304 to them means it still is so. What was missed is read anew."""
    fresh = one.outcome is not Outcome.MALFORMED and one.missed_at is None
    etag, last_modified = (one.etag, one.last_modified) if fresh else (None, None)
    return KnownDocument(one.url, one.format, one.outcome, one.sha256, etag, last_modified, one.via, one.reason)


def _robots(host: HostRecord, now: datetime) -> RobotsRecord | None:
    if host.robots_at is None or now - host.robots_at >= ROBOTS_FOR:
        return None
    return RobotsRecord(host.robots_status, host.robots_body or b"", host.robots_at)
