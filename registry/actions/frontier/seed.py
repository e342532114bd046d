"""Names become domains and hosts of the frontier: from lists of seeds, and from what documents name.

Everything is canonicalised first and added in chunks, new rows only: seeding the same list twice, or by two processes
at once, changes nothing, and a list that was interrupted is simply given again.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from registry.core.domains import InvalidName, canonical_host
from registry.core.optout import is_covered
from registry.core.seeds import Refusal, Seed, Seeds
from registry.store.loading import Named
from registry.store.records import CandidateRecord, HostRecord
from registry.store.unit_of_work import Store, UnitOfWork

CHUNK: Final = 20_000
"""Names in one transaction: some 10 MB here, and about a second during which others may wait for one of its rows."""

FOLD: Final = 1_000

KEPT: Final = 100
"""Refusals of one kind that a report keeps; it counts them all."""

MAX_HOSTS_NAMED: Final = 10
"""Never-visited hosts of one domain that documents may queue: who names thousands of his own gets ten at a time."""

# Being due earlier is the priority: a name nobody has looked at comes before every overdue revisit, and what somebody
# waits for comes before that. The doors show `now` instead of these times.
SEED_HEAD_START: Final = timedelta(days=365)
SUBMISSION_HEAD_START: Final = timedelta(days=730)


SUB_HOST: Final = "sub-host"
"""Relation and source of hosts that are looked at only because their domain had a hit (probe-plan.md section 4)."""

OPTED_OUT: Final = "the site asked to be left alone"


@dataclass(slots=True)
class SeedReport:
    """What became of the names: new domains, new hosts, hosts known before (or named twice), refusals.

    `refusals` counts them by code; `refused` has the first KEPT of each.
    """

    domains: int = 0
    hosts: int = 0
    known: int = 0
    refused: list[Refusal] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def names(self) -> int:
        """How many were looked at."""
        return self.hosts + self.known + self.refusals.total()

    def add(self, other: "SeedReport") -> None:
        self.domains += other.domains
        self.hosts += other.hosts
        self.known += other.known
        kept = Counter(one.code for one in self.refused)
        for one in other.refused:
            if kept[one.code] < KEPT:
                kept[one.code] += 1
                self.refused.append(one)
        self.refusals += other.refusals

    def refuse(self, one: Refusal) -> None:
        self.refusals[one.code] += 1
        if self.refusals[one.code] <= KEPT:
            self.refused.append(one)


async def seed(
    store: Store,
    seeds: Seeds,
    *,
    source: str,
    now: datetime,
    exempt: Collection[str] = (),
    on_refusal: Callable[[Refusal], None] = lambda _: None,
    progress: Callable[[SeedReport], None] = lambda _: None,
) -> SeedReport:
    """Adds hosts by name, due in the order in which they are given; bad names are reported, never raised.

    One transaction per CHUNK names, so that what was reported as done is kept whatever happens then. `exempt`: names
    of the connect-to table, which may be special-use names. `on_refusal` is told each, `progress` after every chunk.
    """
    report, due = SeedReport(), now - SEED_HEAD_START
    async for chunk in _chunks(seeds):
        named, refused = await asyncio.to_thread(_canonical, chunk, exempt, report.names)
        async with store.begin() as uow:
            loaded = await uow.loading.load(named, source=source, now=now, due=due)
        refused += (Refusal(host, "opted_out", OPTED_OUT, referrer) for host, referrer in loaded.opted_out)
        for one in refused:
            report.refuse(one)
            on_refusal(one)
        report.domains += loaded.domains
        report.hosts += loaded.hosts
        report.known += len(chunk) - len(refused) - loaded.hosts
        progress(report)
    return report


async def fold_candidates(
    store: Store,
    *,
    now: datetime,
    exempt: Collection[str] = (),
    limit: int = FOLD,
    on_refusal: Callable[[Refusal], None] = lambda _: None,
) -> SeedReport:
    """The oldest `limit` hosts that documents name become hosts, behind everything that is due now.

    What a document says is no submission: it jumps no queue, and one domain gets MAX_HOSTS_NAMED at a time.
    """
    report = SeedReport()
    async with store.begin() as uow:
        named = await uow.candidates.open(limit=limit)
        opted_out = await uow.opt_outs.of({one.domain for one in named})
        refusals = [_refusal(one, opted_out.get(one.domain, frozenset()), exempt) for one in named]
        domains = {one.domain for one, why in zip(named, refusals, strict=True) if why is None}
        report.domains = await _add_domains(uow, domains, now)
        waiting = Counter(await uow.hosts.waiting(domains))
        hosts: dict[str, HostRecord] = {}
        for number, one in enumerate(named):
            if refusals[number] is None and one.host not in hosts:
                if waiting[one.domain] < MAX_HOSTS_NAMED:
                    waiting[one.domain] += 1
                    hosts[one.host] = _named_host(one, now)
                else:
                    refusals[number] = "too_many_hosts"
        report.hosts = await uow.hosts.add(hosts.values())
        report.known = len(hosts) - report.hosts
        await uow.domains.from_hosts(domains, now=now)
        await uow.candidates.fold(list(zip(named, refusals, strict=True)), now=now)
    for one, why in zip(named, refusals, strict=True):
        if why is not None:
            refused = Refusal(one.host, why, "named by a document of " + one.referrer, one.referrer)
            report.refuse(refused)
            on_refusal(refused)
    return report


async def make_due(store: Store, names: Iterable[str], *, now: datetime, exempt: Collection[str] = ()) -> int:
    """Known hosts become due at once, with the whole plan, as if they were new; gives their number.

    For an operator's own rerun (`waypost crawl`, the demo). Opted-out hosts stay out, running leases are left alone.
    """
    hosts = [canonical_host(name, exempt=exempt) for name in names]
    async with store.begin() as uow:
        domains = {one.domain for one in hosts}
        await uow.domains.lock(domains)
        opted_out = await uow.opt_outs.of(domains)
        keys = [(one.domain, one.host) for one in hosts if not is_covered(one.host, opted_out.get(one.domain, ()))]
        due = await uow.hosts.make_due(keys, due=now - SUBMISSION_HEAD_START)
        named = {domain for domain, _ in keys}
        await uow.domains.forgive(named)
        await uow.domains.sooner(named, soon=now - SUBMISSION_HEAD_START, now=now)
    return due


async def _chunks(seeds: Seeds) -> AsyncIterator[list[str | Seed | Refusal]]:
    """Lists of at most CHUNK. Files and pipes are read in a thread: the loop has others to serve."""
    if isinstance(seeds, AsyncIterable):
        chunk: list[str | Seed | Refusal] = []
        async for one in seeds:
            chunk.append(one)
            if len(chunk) == CHUNK:
                yield chunk
                chunk = []
        if chunk:
            yield chunk
        return
    items = iter(seeds)
    while chunk := await asyncio.to_thread(lambda: list(islice(items, CHUNK))):
        yield chunk


def _canonical(
    chunk: Sequence[str | Seed | Refusal], exempt: Collection[str], place: int
) -> tuple[Iterable[Named], list[Refusal]]:
    """The hosts that the names mean, each once, and those that are none. `place`: of the first name."""
    named: dict[str, Named] = {}
    refused: list[Refusal] = []
    for number, one in enumerate(chunk, place):
        if isinstance(one, Refusal):
            refused.append(one)
            continue
        name, referrer, line = (one, None, 0) if isinstance(one, str) else one
        try:
            found = canonical_host(name.strip(), exempt=exempt)
        except InvalidName as refusal:
            refused.append(Refusal(name, refusal.code, str(refusal), referrer, line))
            continue
        if found.host not in named:
            named[found.host] = Named(found.domain, found.host, number, referrer)
    return named.values(), refused


def _refusal(one: CandidateRecord, opted_out: Collection[str], exempt: Collection[str]) -> str | None:
    try:
        canonical_host(one.host, exempt=exempt)
    except InvalidName as refusal:
        return refusal.code
    return "opted_out" if is_covered(one.host, opted_out) else None


def _named_host(one: CandidateRecord, now: datetime) -> HostRecord:
    source = SUB_HOST if one.rel == SUB_HOST else "document"
    return HostRecord(one.domain, one.host, source, now, now, one.referrer)


async def _add_domains(uow: UnitOfWork, domains: Collection[str], now: datetime) -> int:
    """Added, then locked: the order of every writer (`store.loading`), before anything is said of their hosts."""
    added = await uow.domains.add(domains, source="document", now=now, due=now)
    await uow.domains.lock(domains)
    return added
