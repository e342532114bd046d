"""Keeps stored data current, small and consistent with this program: the work of the recurring jobs.

Every job works in short transactions, beside workers, and may be interrupted and repeated.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Final, Protocol, TypeVar

from registry.actions import Clock
from registry.actions.feed import sequence
from registry.actions.maintenance.reach import fill_reach
from registry.actions.recording.present import state_changed
from registry.actions.recording.rescore import BATCH as HOSTS_AT_ONCE
from registry.actions.recording.rescore import rescore_hosts
from registry.core.changes.kinds import state_of
from registry.core.model.documents import FetchResult
from registry.core.names import addresses, suffixes
from registry.core.names.addresses import REGISTRY_V4, REGISTRY_V6, RegistryRow
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.core.names.suffixes import BadReference, SuffixList
from registry.core.scheduling.bisection import Bisection
from registry.core.scheduling.jobs import CLIENTS_FORGOTTEN_AFTER, INDEX_FORGOTTEN_AFTER, Retention
from registry.core.scheduling.policy import STALE_AFTER
from registry.core.scoring.rubric import VERSION
from registry.store import migrate
from registry.store.engine import StoreUnavailable
from registry.store.jobs import LAST_RUNS
from registry.store.pruning import MAX_ROWS, OF_DOMAINS
from registry.store.reference import ReferenceRecord
from registry.store.repository import Key as HostKey
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.visit_months import Month

_log = logging.getLogger(__name__)

K = TypeVar("K", str, HostKey)

CAUSES: Final = 500  # changes that are worked on together: each service that depends on several is judged once
KEYS_AT_ONCE: Final = 2_000
SERVICES_AT_ONCE: Final = 1_000

DOMAINS_AT_ONCE: Final = 200  # domains per transaction
LOCKED: Final = 20  # domains locked at once: a worker that records one of them has to wait


SUFFIXES: Final = "public-suffix-list"

CAPS: Final[Mapping[str, int]] = {SUFFIXES: 2 * 1024 * 1024, REGISTRY_V4: 256 * 1024, REGISTRY_V6: 256 * 1024}
"""Maximum size in bytes by name, about eight times today's; its keys are all the names."""


class Fetch(Protocol):
    """Fetches an https URL with the crawler's guarded transport. Returns failures, never raises them."""

    def __call__(
        self, url: str, *, cap: int, etag: str | None, last_modified: str | None
    ) -> Awaitable[FetchResult]: ...


class RefreshError(Exception):
    """Some data could not be fetched or was refused; the rest was stored. `refreshed.refused` has the reasons."""

    def __init__(self, refreshed: "RefreshResult") -> None:
        super().__init__("; ".join(f"{name}: {reason}" for name, reason in refreshed.refused.items()))
        self.refreshed = refreshed


@dataclass(slots=True)
class RefreshResult:
    """Results by name: `changed` (stored), `unchanged`, and `refused` with the reason."""

    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def checked_data(name: str, body: bytes) -> SuffixList | tuple[RegistryRow, ...]:
    """Return the suffix list, or the address blocks to refuse beside the shipped ones. Raise BadReference."""
    if name == SUFFIXES:
        newer = suffixes.require_plausible(suffixes.parse_suffixes(body), suffixes.SHIPPED)
        if newer.version < suffixes.SHIPPED.version:
            raise BadReference(f"the list is of {newer.version or 'no date'}, the shipped one newer")
        return newer
    return addresses.require_plausible(addresses.parse_registry(body, name), name)


@dataclass(slots=True)
class RehomeCounts:
    """Numbers of hosts: checked, moved, not moved because a domain is leased, not moved because of an error."""

    hosts: int = 0
    moved: list[str] = field(default_factory=list)
    leased: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


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


@dataclass(slots=True)
class RescoreCounts:
    """Hosts processed, services that changed (removed ones included), hosts that failed."""

    hosts: int = 0
    changed: int = 0
    failed: list[str] = field(default_factory=list)


@dataclass(eq=False)
class MaintenanceActions:
    """The recurring jobs on stored data. `_adopt` puts stored reference data in force in this process."""

    _store: Store
    _clock: Clock
    _adopt: Callable[[], Awaitable[object]]

    async def check_schema(self) -> None:
        """Raise OutdatedSchema unless the database has the schema of this program or a newer one: migrations only add
        (expand and contract), so running processes go on until an upgrade replaces them."""
        try:
            await migrate.check_schema(self._store.engine)
        except migrate.OutdatedSchema as error:
            if not error.is_newer:
                raise

    async def rescore(
        self, progress: Callable[[int, int], None] | None = None, *, only_outdated: bool = False
    ) -> RescoreCounts:
        """Rescore all hosts. `progress` gets the hosts done and the hosts in all. Safe to repeat. Raise
        StoreUnavailable. `only_outdated`: only hosts with something judged by another version of the rubric. A mirror
        keeps the scores of its origin, because it has no bodies to judge."""
        now = self._clock()
        result, current_version = RescoreCounts(), VERSION if only_outdated else None
        async with self._store.begin() as uow:
            if await uow.mirroring.get() is not None:  # guard: mirror-not-rescored
                return result
            total = await uow.documents.count_hosts(but_version=current_version)
        async for keys in self._pages(
            lambda uow, after: uow.documents.hosts(after, limit=HOSTS_AT_ONCE, but_version=current_version), ("", "")
        ):
            await self._rescore_all(keys, now, result)
            result.hosts += len(keys)
            if progress is not None:
                progress(result.hosts, max(total, result.hosts))
        return result

    async def _rescore_all(self, keys: Sequence[HostKey], now: datetime, result: RescoreCounts) -> None:
        """Rescore a batch, in halves if it fails: one host that cannot be scored must not block the others."""
        batches = Bisection(keys)
        for batch in batches:
            try:
                async with self._store.begin() as uow:
                    await uow.domains.lock({domain for domain, _ in batch})
                    result.changed += await rescore_hosts(uow, batch, now)
            except StoreUnavailable:
                raise
            except Exception as error:
                if not batches.split(batch):
                    _log.error("%s cannot be rescored", batch[0][1], exc_info=error)
                    result.failed.append(batch[0][1])

    async def rejudge(self) -> int:
        """Rescore the services that depend on noted changes; return how many were judged. If interrupted, start again.
        Two processes may do it at once: the second changes nothing. Raise StoreUnavailable."""
        now = self._clock()
        async with self._store.read() as uow:
            causes = await uow.services.causes(limit=CAUSES)
        if not causes:
            return 0
        names = {name for cause in causes for name in cause.names}
        judged, after = 0, ("", "")
        while True:
            async with self._store.begin() as uow:
                keys = await uow.services.dependents(names, after, limit=HOSTS_AT_ONCE)  # guard: rejudge
                await uow.domains.lock({domain for domain, _ in keys})
                await rescore_hosts(uow, keys, now)
                if not keys:
                    await uow.services.settle_causes(causes)
                    return judged
            judged, after = judged + len(keys), keys[-1]

    async def fill_reach(self) -> int:
        """Store the reach of capabilities that an earlier program recorded; return the number of services."""
        return await fill_reach(self._store)

    async def tell_stale(self) -> int:
        """Add an event for each service that became stale; return their number. Repeating it adds nothing."""
        now = self._clock()
        count = 0
        async for keys in self._pages(
            lambda uow, after: uow.services.unseen(after, before=now - STALE_AFTER, limit=SERVICES_AT_ONCE), ("", "")
        ):
            for domain, group in groupby(keys, key=lambda key: key[0]):
                hosts = [host for _, host in group]
                async with self._store.begin() as uow:
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
        return count

    async def prune(self, retention: Retention) -> Mapping[str, int]:
        """Delete what is too old; return the deleted rows by table. Safe to repeat. Raise StoreUnavailable."""
        now = self._clock()
        horizon, unseen_since = retention.horizon(now), now - INDEX_FORGOTTEN_AFTER
        deleted: Counter[str] = Counter()

        async def repeat(change: Callable[..., Awaitable[int]], *bound: object) -> int:
            """Change rows in transactions of MAX_ROWS until no row is left; return their number."""
            total, number = 0, MAX_ROWS
            while number >= MAX_ROWS:
                async with self._store.begin() as uow:
                    number = await change(uow, *bound)
                total += number
            return total

        async def delete_all(table: str, delete: Callable[..., Awaitable[int]], *bound: object) -> None:
            deleted[table] += await repeat(delete, *bound)

        async def delete_orphans(uow: UnitOfWork, table: str, domains: Sequence[str]) -> int:
            """Delete orphaned rows under the lock that every writer of these domains takes first: a visit being
            recorded may refer to an unused body that it found and therefore does not write again."""
            await uow.domains.lock(domains)
            return await uow.pruning.idle(table, domains, horizon)

        async def keep(uow: UnitOfWork, month: Month, domains: Sequence[str]) -> int:
            """Move under the lock: a process that forgets a host at the same time would fail on rows that move away."""
            await uow.domains.lock(domains)
            return await uow.visit_months.keep(month, domains, horizon, most=MAX_ROWS)

        async with self._store.begin() as uow:
            await uow.visit_months.make(now=now)
            old_months = [month for month in await uow.visit_months.all() if month.until <= horizon.visits]
        async for domains in self._pages(lambda uow, after: uow.jobs.domains(after, limit=DOMAINS_AT_ONCE), ""):
            for month in old_months:
                async with self._store.begin() as uow:
                    concerned = await uow.visit_months.with_latest(month, domains, horizon)
                for start in range(0, len(concerned), LOCKED):
                    await repeat(keep, month, concerned[start : start + LOCKED])
            for table, statement in OF_DOMAINS:
                await delete_all(table, lambda uow, *of: uow.pruning.old(*of, horizon), statement, domains)
            async with self._store.begin() as uow:
                suspects = await uow.pruning.with_orphans(domains, horizon)
            for table, of_table in suspects.items():
                for start in range(0, len(of_table), LOCKED):
                    await delete_all(table, delete_orphans, table, of_table[start : start + LOCKED])
        for month in old_months:
            async with self._store.begin() as uow:
                removed = await uow.visit_months.remove(month, archive=retention.archive_visits)
            if removed is None:
                _log.warning("%s stays until the next run: a reader holds it", month.name)
            deleted["visits"] += removed or 0
        await sequence(self._store)  # only events with a place are deleted, in its order
        await delete_all("changes", lambda uow: uow.feed.prune(horizon.changes, most=MAX_ROWS))
        await delete_all("mcp_servers", lambda uow: uow.mcp_servers.prune(horizon.changes, most=MAX_ROWS))
        await delete_all(
            "claims", lambda uow: uow.claims.prune(expired=unseen_since, ended=horizon.changes, most=MAX_ROWS)
        )
        await delete_all("job_runs", lambda uow: uow.pruning.job_runs(horizon.job_runs, keep=LAST_RUNS))
        async with self._store.begin() as uow:
            deleted["search_target"] += len(await uow.search.forget(unseen_since=unseen_since))
        async with self._store.begin() as uow:
            # guard: opt-out-clients
            await uow.opt_out_requests.erase_clients(before=now - CLIENTS_FORGOTTEN_AFTER)
        return {table: number for table, number in deleted.items() if number}

    async def refresh(self, urls: Mapping[str, str], fetch: Fetch) -> RefreshResult:
        """Fetch and store all reference data. It is in force in this process when this returns or raises. `urls`: by
        name of CAPS, empty ones are skipped. Try all, then raise RefreshError if any failed."""
        now = self._clock()
        result = RefreshResult()
        try:
            for name, url in urls.items():
                if not url:
                    continue
                try:
                    has_changed = await self._refresh_one(name, url, fetch, now)
                except BadReference as error:
                    result.refused[name] = str(error)
                else:
                    (result.changed if has_changed else result.unchanged).append(name)
        finally:
            await self._adopt()
        if result.refused:
            raise RefreshError(result)
        return result

    async def _refresh_one(self, name: str, url: str, fetch: Fetch, now: datetime) -> bool:
        """Refresh one; return whether it changed. Raise BadReference."""
        async with self._store.begin() as uow:
            known = await uow.references.get(name)
        same_url = known is not None and known.url == url
        fetched = await fetch(
            url,
            cap=CAPS[name],
            etag=known.etag if known and same_url else None,
            last_modified=known.last_modified if known and same_url else None,
        )
        if fetched.status == 304 and known is not None:
            async with self._store.begin() as uow:
                await uow.references.checked(name, now=now)
            return False
        if fetched.failure is not None:
            raise BadReference(f"{fetched.failure.value} ({fetched.reason})")
        if fetched.status != 200 or fetched.truncated:
            raise BadReference(f"answered with status {fetched.status}")
        body, headers = fetched.body, fetched.headers
        checked_data(name, body)
        if name == SUFFIXES and known is not None:  # a lagging mirror or a replayed list must not move hosts back
            newer, stored = suffixes.parse_suffixes(body), suffixes.parse_suffixes(known.body)
            if newer.version < stored.version:
                raise BadReference(f"the list is of {newer.version or 'no date'}, the stored one of {stored.version}")
        digest = hashlib.sha256(body).digest()
        record = ReferenceRecord(name, body, digest, url, headers.get("etag"), headers.get("last-modified"), now, now)
        async with self._store.begin() as uow:
            await uow.references.put(record)
        return known is None or known.sha256 != record.sha256

    async def rehome(self) -> RehomeCounts:
        """Move hosts according to this process's suffix list. May be interrupted and repeated. Raise
        StoreUnavailable."""
        now = self._clock()
        result = RehomeCounts()
        async for old_domain, opted_out_host in self._keys_of(
            lambda uow, after: uow.rehoming.opt_outs(after, limit=KEYS_AT_ONCE)
        ):
            if (new_domain := registrable_domain(opted_out_host)) != old_domain:
                async with self._store.begin() as uow:  # opt-outs outlive their hosts, so they move separately
                    await uow.rehoming.copy_opt_outs(
                        opted_out_host, old_domain=old_domain, new_domain=new_domain, opted_out=[opted_out_host]
                    )
        async for old_domain, held_host in self._keys_of(lambda uow, after: uow.holds.keys(after, limit=KEYS_AT_ONCE)):
            if (new_domain := registrable_domain(held_host)) != old_domain:
                async with self._store.begin() as uow:
                    await uow.rehoming.copy_holds(held_host, held_host, old_domain=old_domain, new_domain=new_domain)
        async for old_domain, host in self._keys_of(lambda uow, after: uow.rehoming.hosts(after, limit=KEYS_AT_ONCE)):
            result.hosts += 1
            new_domain = registrable_domain(host)
            if new_domain == old_domain:
                continue
            try:
                moved = await self._move(host, old_domain, new_domain, now)
            except StoreUnavailable:
                raise
            except Exception as error:  # an unreadable host must not block the others
                _log.error("%s cannot be moved to %s", host, new_domain, exc_info=error)
                result.failed.append(host)
                continue
            (result.moved if moved else result.leased).append(host)
        return result

    async def _move(self, host: str, old_domain: str, new_domain: str, now: datetime) -> bool:
        """Move a host; return False if one of the domains is leased."""
        async with self._store.begin() as uow:
            known = await uow.hosts.get(old_domain, host)
            if known is None:
                return True
            await uow.domains.add([new_domain], source=known.source, now=now, due=known.next_visit_at or now)
            await uow.domains.lock([old_domain, new_domain])
            if await uow.rehoming.leases([old_domain, new_domain]):
                return False
            await _move_locked(uow, host, old_domain, new_domain, now)
        return True

    async def _keys_of(
        self, read: Callable[[UnitOfWork, HostKey], Awaitable[Sequence[HostKey]]]
    ) -> AsyncIterator[HostKey]:
        async for page in self._pages(read, ("", "")):
            for key in page:
                yield key

    async def _pages(
        self, read: Callable[[UnitOfWork, K], Awaitable[Sequence[K]]], first: K
    ) -> AsyncIterator[Sequence[K]]:
        """Yield pages of keys; each is read in a separate transaction, after the last key of the page before."""
        after = first
        while True:
            async with self._store.begin() as uow:
                page = await read(uow, after)
            if not page:
                return
            yield page
            after = page[-1]
