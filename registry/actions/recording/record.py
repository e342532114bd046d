"""Records finished visits: documents, history, the merged service, its score, changes and the next visit.

One transaction per batch: lock the domains that the lease still owns, drop those it lost, write everything, release the
domains. A batch that fails is retried in halves, so one bad domain does not lose the others.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID, uuid4

from registry.actions import Clock, call_of
from registry.actions.frontier.lease import apply_opt_out, make_jobs, recover
from registry.actions.recording.conclude import StoredDomains, VisitComparison, Writes, compare, conclude
from registry.actions.recording.mcp_servers import write_mcp_servers
from registry.actions.recording.present import has_versions, needs_body
from registry.core.access.audit import AuditEvent, system_actor
from registry.core.merging.speaking import NOTHING_KNOWN, OWNER_MARK, SITE_MARK, Known
from registry.core.model.documents import Outcome
from registry.core.names.domains import registrable_domain
from registry.core.scheduling.bisection import Bisection
from registry.core.visiting.call_checks import CallChecks
from registry.core.visiting.visits import FinishedDomain, Lease
from registry.store.domains import UNSTORABLE_FOR
from registry.store.engine import StoreUnavailable, Unstorable
from registry.store.holder import HeldLock, hold_leases
from registry.store.records import ServiceRecord, VisitRecord
from registry.store.repository import Key
from registry.store.unit_of_work import Store, UnitOfWork

_log = logging.getLogger(__name__)

_VISIT: Final = system_actor("visit")


Leased: TypeAlias = tuple[UUID, FinishedDomain]
"""A finished domain with the token of the lease under which it was visited."""


@dataclass(slots=True)
class RecordCounts:
    """`hosts`: hosts written. `lost`: domains dropped because their lease was lost. `failed`: domains that could not be
    written, with the reason; they are set aside and visited again later. `listed`, `delisted`: hosts."""

    hosts: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    delisted: list[str] = field(default_factory=list)


def _needed(comparisons: Sequence[VisitComparison], before: StoredDomains) -> tuple[set[tuple[str, bytes]], set[Key]]:
    """Return the stored bodies to load: of documents that this visit did not fetch, for hosts that are merged again,
    and the previous versions of compared documents. Also return the services whose capabilities are compared."""
    bodies: set[tuple[str, bytes]] = set()
    services: set[Key] = set()
    for compared in comparisons:
        domain, host, current = compared.host.domain, compared.host.host, compared.documents.current
        replaced = compared.documents.replaced.items()
        bodies |= {(domain, sha256) for url, sha256 in replaced if has_versions(current[url].record.format)}
        if compared.is_merged_again:
            bodies |= {(one.record.domain, one.record.sha256) for one in current.values() if needs_body(one)}
            previous = before.services.get(host)
            if not compared.is_hidden and previous is not None and not previous.hidden:
                services.add((domain, host))
    return bodies, services


async def write(uow: UnitOfWork, writes: Writes, now: datetime) -> None:
    await uow.hosts.add(writes.new_hosts)
    await uow.hosts.put(writes.hosts)
    await uow.documents.add_bodies(writes.bodies)
    await uow.documents.put(writes.documents)
    await uow.documents.add_history(writes.history)
    await uow.documents.stamp(writes.stamped)
    await uow.ledger.add_visits(writes.visits)
    await uow.call_checks.add(writes.calls)
    await uow.submissions.settle(writes.resolved)  # guard: unresolved-charged
    await write_mcp_servers(uow, writes.mcp_servers, now)
    if writes.delisted:
        await uow.services.remove(writes.delisted)
    await uow.services.put(writes.services)
    await uow.services.stamp(writes.seen)
    await uow.services.replace_capabilities(writes.capabilities, now=now)
    await uow.services.replace_findings(writes.findings)
    await uow.services.add_scores(writes.scores)
    await uow.candidates.add(writes.candidates)
    await uow.opt_outs.add(writes.opt_outs)
    for opt_out in writes.opt_outs:
        await apply_opt_out(uow, opt_out.domain, opt_out.host, now=opt_out.created_at)
    await uow.ledger.add_changes(writes.changes)
    for change in writes.changes:
        if change.kind == "host.opted_out":
            entry = AuditEvent(_VISIT, change.kind, change.domain, change.host, "", {"how": change.data["how"]})
            await uow.audit.add(entry, now=now)


async def compute_with_known(
    uow: UnitOfWork, before: Mapping[str, ServiceRecord], compute: Callable[[Known], Writes]
) -> Writes:
    """Return what `compute` makes, in a thread, of the stored facts on which its services depend. These are known only
    afterwards: it runs with the facts that the services needed `before`, and again if they need others now."""
    names = {name for service in before.values() for name in service.trust_depends_on}
    writes = await asyncio.to_thread(compute, await _known_of(uow, names))
    needed = {name for service in writes.services for name in service.trust_depends_on}
    if not needed <= names:
        writes = await asyncio.to_thread(compute, await _known_of(uow, needed))
    return writes


async def _known_of(uow: UnitOfWork, names: Collection[str]) -> Known:
    """Return the stored facts about names outside a service's own documents (`speaking.depends_on`)."""
    if not names:
        return NOTHING_KNOWN
    sites = {name.removeprefix(SITE_MARK) for name in names if name.startswith(SITE_MARK)}
    owned = {name.removeprefix(OWNER_MARK) for name in names if name.startswith(OWNER_MARK)}
    hosts = [name for name in names if not name.startswith((SITE_MARK, OWNER_MARK))]
    owners: dict[str, str] = {}
    for domain in owned:
        claims = await uow.claims.owners(domain)
        for host in hosts if claims else ():
            if registrable_domain(host) == domain:
                # its own claim before its domain's, the latest of several
                covering = [(claim.host == host, claim.proven_at, claim.id) for claim in claims if claim.covers(host)]
                owners |= {host: max(covering)[-1]} if covering else {}
    return Known(
        await uow.services.listed({registrable_domain(host) for host in hosts}, hosts),
        await uow.services.listed_sites(sites),
        owners,
    )


@dataclass(eq=False)
class CrawlActions:
    """What a crawler does with the store: it leases domains and records their visits. `_lease_for`: how long a lease
    lasts. `_call_checks`: which hosts have their addresses for calls checked. `_max_skew`: of the clock."""

    _store: Store
    _clock: Clock
    _lease_for: timedelta
    _call_checks: CallChecks = "owned"
    _max_skew: timedelta | None = None

    next_due = call_of(lambda uow: uow.domains.next_due)

    def hold(self) -> contextlib.AbstractAsyncContextManager[HeldLock]:
        """Hold the lock by which other processes notice that this crawler has died."""
        return hold_leases(self._store.engine)

    async def lease(self, *, limit: int, holder: int, only: Collection[str] | None = None) -> Lease | None:
        """Lease at most `limit` domains, new ones first, then the longest overdue; None if nothing is due or this is a
        mirror. `holder`: id of the worker's `hold_leases`, by which `recover` notices that the worker died. `only`:
        lease only the domains of these hosts. Raise WrongClock: leases of others would seem to have ended."""
        now = self._clock()
        token, until = uuid4(), now + self._lease_for
        domains = None if only is None else {registrable_domain(host) for host in only}
        async with self._store.begin() as uow:
            if await uow.mirroring.get() is not None:  # guard: mirror-visits-nothing
                return None
            await self._check_clock(uow)
            leased = await uow.domains.take(limit=limit, now=now, until=until, token=token, holder=holder, only=domains)
            jobs = await make_jobs(uow, leased, now, self._call_checks) if leased else ()
            if idle := set(leased) - {job.domain for job in jobs}:
                await uow.domains.end_lease(idle, forgiven=1)
        return Lease(token, until, jobs) if jobs else None

    async def release(
        self, token: UUID, domains: Sequence[str] | None = None, *, later: timedelta | None = None
    ) -> int:
        """Return unvisited domains to the queue (None: all that the lease still holds); return their number. They are
        due at once, or after `later`. A released lease does not count as an attempt."""
        async with self._store.begin() as uow:
            requested = await uow.domains.leased(token) if domains is None else domains
            leased = await uow.domains.lock_leased([(token, domain) for domain in requested])
            await uow.domains.end_lease(leased, forgiven=1, not_before=None if later is None else self._clock() + later)
        return len(leased)

    async def lost_leases(self, holder: int, tokens: Collection[UUID]) -> list[str]:
        """Return domains that the worker's session holds but none of these leases does. They were removed or opted out
        since, so the results of their visits will be discarded. Raise WrongClock."""
        if not tokens:
            return []
        async with self._store.read() as uow:
            await self._check_clock(uow)
            return await uow.domains.fenced(holder, tokens)

    async def _check_clock(self, uow: UnitOfWork) -> None:
        if self._max_skew is not None:  # guard: wrong-clock
            await uow.domains.check_clock(self._clock, self._max_skew)

    async def recover(self) -> int:
        """Free the leases of dead workers; return their number."""
        async with self._store.begin() as uow:
            return await recover(uow, now=self._clock())

    async def record_all(self, finished: Sequence[Leased]) -> RecordCounts:
        """Write the visits of finished domains, each with the token of its lease, and release the domains.

        Leases may be mixed: all domains share the cost of a transaction, and with thousands in flight the domains of a
        batch come from many leases. Recording the same visits twice changes nothing.

        Raise StoreUnavailable; then all or part of the call may be missing in the store, and the call can be repeated.
        """
        now = self._clock()
        recorded = RecordCounts()
        batches = Bisection(finished)
        for batch in batches:
            try:
                part = await self._record_together(batch, now)
            except StoreUnavailable:
                raise
            # Of one domain: a value that the database refuses, or a document that breaks a rule.
            except Exception as error:
                if not batches.split(batch):  # guard: batch-halved
                    recorded.failed[batch[0][1].domain] = await self._set_aside(batch[0], error, now)
                continue
            recorded.hosts += part.hosts
            recorded.lost += part.lost
            recorded.listed += part.listed
            recorded.delisted += part.delisted
        return recorded

    async def _record_together(self, finished: Sequence[Leased], now: datetime) -> RecordCounts:
        async with self._store.begin() as uow:
            leases = await uow.domains.lock_leased([(token, domain.domain) for token, domain in finished])
            still_leased = [domain for token, domain in finished if leases.get(domain.domain) == token]
            before = StoredDomains(
                hosts={(host.domain, host.host): host for host in await uow.hosts.of(leases)},
                documents=await uow.documents.of(leases),
                services=await uow.services.of(leases),
                limits=await uow.holds.limits(leases),
            )
            comparisons = await asyncio.to_thread(compare, still_leased, before, now)
            needed_bodies, compared = _needed(comparisons, before)
            bodies = await uow.documents.bodies(needed_bodies)
            before.capabilities = await uow.services.capabilities(compared)
            concluding = partial(conclude, comparisons, before, bodies, now)
            writes = await compute_with_known(uow, before.services, concluding)
            await write(uow, writes, now)
            await uow.domains.end_lease(leases)
            await uow.ledger.announce(writes.awaited)
        return RecordCounts(
            hosts=[visit.host for visit in writes.visits],
            lost=sorted(domain.domain for token, domain in finished if leases.get(domain.domain) != token),
            listed=[change.host for change in writes.changes if change.kind == "service.listed"],
            delisted=[change.host for change in writes.changes if change.kind == "service.delisted"],
        )

    async def _set_aside(self, leased: Leased, error: Exception, now: datetime) -> str:
        """Set aside a domain that cannot be written, longer each time, and note that in the ledger; return the
        reason."""
        token, finished = leased
        reason = f"unrecordable: {type(error).__name__}"
        if isinstance(error, Unstorable):
            _log.error("the visit of %s cannot be recorded: %s", finished.domain, error)
        else:
            _log.error("the visit of %s cannot be recorded", finished.domain, exc_info=error)
        async with self._store.begin() as uow:
            if leases := await uow.domains.lock_leased([(token, finished.domain)]):
                await uow.domains.set_aside(leases, now=now, step=UNSTORABLE_FOR)
                visit = VisitRecord(finished.domain, finished.domain, now, now, Outcome.SKIPPED, reason, False, 0, None)
                await uow.ledger.add_visits([visit])
        return reason

    async def spend(self, requests: Mapping[str, int], blocks: Collection[str]) -> dict[str, int]:
        """Add `requests`, by block, to today's counts (UTC); return today's counts of these blocks and of `blocks`.
        Uses a separate transaction, so recording never waits for it. Raise StoreUnavailable: nothing was counted, or
        only the answer was lost and a retry counts twice."""
        day = self._clock().astimezone(UTC).date()
        async with self._store.begin() as uow:
            sums = await uow.blocks.of(day, blocks) if blocks else {}
            if requests:
                sums |= await uow.blocks.add(day, requests)
                await uow.blocks.forget(day)
        return sums
