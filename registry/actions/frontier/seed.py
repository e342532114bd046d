"""Adds names to the frontier as domains and hosts: from lists of seeds, and from candidates that documents name.

Names are canonicalised and added in chunks, new rows only. Seeding a list twice, or in two processes at once, changes
nothing, so an interrupted list is simply seeded again. A source of pages continues from its last checkpoint.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from registry.core.access.holds import Limits
from registry.core.names.domains import InvalidName, canonical_host
from registry.core.names.seeds import Checkpoint, Refusal, Seed, Seeds
from registry.store.loading import NamedHost
from registry.store.records import CandidateRecord, HostRecord
from registry.store.unit_of_work import UnitOfWork

CHUNK: Final = 20_000
"""Names per transaction: some 10 MB here, and about a second during which others may wait for one of its rows."""

FOLD: Final = 1_000

KEPT: Final = 100
"""Refusals per code that a report keeps; it counts them all."""

MAX_HOSTS_NAMED: Final = 10
"""Never-visited hosts of one domain that its own documents may queue, and that documents of others may: a site that
names thousands gets ten at a time."""

# An earlier due time is a higher priority: names never visited come before all overdue revisits, and submissions come
# before those. Interfaces show `now` instead of these times.
SEED_HEAD_START: Final = timedelta(days=365)
SUBMISSION_HEAD_START: Final = timedelta(days=730)


SUB_HOST: Final = "sub-host"
"""Relation and source of hosts queued because their domain served a document (docs/crawler.md, "Sub-hosts")."""

OPTED_OUT: Final = "the site opted out"
REFUSED_AS: Final = {"opted_out": OPTED_OUT, "blocked": "an operator of this registry blocked it"}


@dataclass(slots=True)
class SeedReport:
    """Result of seeding: new domains, new hosts, hosts known before (or named twice), refusals.

    `refusals` counts them by code; `refused` has the first KEPT of each.
    """

    domains: int = 0
    hosts: int = 0
    known: int = 0
    refused: list[Refusal] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def names(self) -> int:
        """Return the number of names processed."""
        return self.hosts + self.known + self.refusals.total()

    def add(self, other: "SeedReport") -> None:
        self.domains += other.domains
        self.hosts += other.hosts
        self.known += other.known
        count_by_code = Counter(refusal.code for refusal in self.refused)
        for refusal in other.refused:
            if count_by_code[refusal.code] < KEPT:
                count_by_code[refusal.code] += 1
                self.refused.append(refusal)
        self.refusals += other.refusals

    def refuse(self, refusal: Refusal) -> None:
        self.refusals[refusal.code] += 1
        if self.refusals[refusal.code] <= KEPT:
            self.refused.append(refusal)


async def chunks(seeds: Seeds) -> AsyncIterator[list[str | Seed | Refusal] | Checkpoint]:
    """Yield lists of at most CHUNK names, and each checkpoint after the names before it.

    Files and pipes are read in a thread, so that they do not block the event loop.
    """
    if isinstance(seeds, AsyncIterable):
        chunk: list[str | Seed | Refusal] = []
        async for entry in seeds:
            if not isinstance(entry, Checkpoint):
                chunk.append(entry)
            if chunk and (len(chunk) == CHUNK or isinstance(entry, Checkpoint)):
                yield chunk
                chunk = []
            if isinstance(entry, Checkpoint):
                yield entry
        if chunk:
            yield chunk
        return
    items = iter(seeds)
    while chunk := await asyncio.to_thread(lambda: list(islice(items, CHUNK))):
        yield chunk


def canonical_hosts(
    chunk: Sequence[str | Seed | Refusal], exempt: Collection[str], first_position: int
) -> tuple[Iterable[NamedHost], list[Refusal]]:
    """Return the canonical hosts of the names, each once, and the refusals. `first_position`: position of the first
    name."""
    hosts: dict[str, NamedHost] = {}
    refusals: list[Refusal] = []
    for position, entry in enumerate(chunk, first_position):
        if isinstance(entry, Refusal):
            refusals.append(entry)
            continue
        name, referrer, line = (entry, None, 0) if isinstance(entry, str) else entry
        try:
            host = canonical_host(name.strip(), exempt=exempt)
        except InvalidName as error:
            refusals.append(Refusal(name, error.code, str(error), referrer, line))
            continue
        if host.host not in hosts:
            hosts[host.host] = NamedHost(host.domain, host.host, position, referrer)
    return hosts.values(), refusals


def candidate_refusal(candidate: CandidateRecord, limits: Limits, exempt: Collection[str]) -> str | None:
    try:
        canonical_host(candidate.host, exempt=exempt)
    except InvalidName as error:
        return error.code
    if limits.may_be_visited(candidate.host):
        return None
    return "opted_out" if limits.has_opted_out(candidate.host) else "blocked"


def named_host(candidate: CandidateRecord, now: datetime) -> HostRecord:
    source = SUB_HOST if candidate.rel == SUB_HOST else "document"
    return HostRecord(candidate.domain, candidate.host, source, now, now, candidate.referrer)


async def add_domains(uow: UnitOfWork, domains: Collection[str], now: datetime) -> int:
    """Add domains, then lock them: every writer keeps this order (`store.loading`) before it writes hosts."""
    added = await uow.domains.add(domains, source="document", now=now, due=now)
    await uow.domains.lock(domains)
    return added
