"""Names become domains and hosts of the frontier: from lists of seeds, and from what documents name.

Everything is canonicalised first and inserted in sorted batches, new rows only: seeding the same list twice, or by two
processes at once, changes nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from registry.core.domains import Host, InvalidName, canonical_host
from registry.store.candidates import is_covered
from registry.store.records import CandidateRecord, HostRecord
from registry.store.unit_of_work import Store, UnitOfWork

BATCH: Final = 1_000
MAX_HOSTS_NAMED: Final = 10
"""Never-visited hosts of one domain that documents may queue: who names thousands of his own gets ten at a time."""

# Being due earlier is the priority: a name nobody has looked at comes before every overdue revisit, and what somebody
# waits for comes before that. The doors show `now` instead of these times.
SEED_HEAD_START: Final = timedelta(days=365)
SUBMISSION_HEAD_START: Final = timedelta(days=730)


SUB_HOST: Final = "sub-host"
"""Relation and source of hosts that are looked at only because their domain had a hit (probe-plan.md section 4)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A name that was not taken. `code`: InvalidName.code, or "opted_out"."""

    name: str
    code: str
    message: str


@dataclass(slots=True)
class SeedReport:
    """What became of the names: new domains, new hosts, hosts known before (or named twice), refusals."""

    domains: int = 0
    hosts: int = 0
    known: int = 0
    refused: list[Refusal] = field(default_factory=list)


async def seed(
    store: Store, names: Iterable[str], *, source: str, now: datetime, exempt: Collection[str] = ()
) -> SeedReport:
    """Adds hosts by name; bad names are reported, never raised. One transaction per BATCH names.

    `exempt`: names of the connect-to table, which may be special-use names.
    """
    report = SeedReport()
    for batch in _batches(names):
        hosts = _accepted(batch, exempt, report)
        async with store.begin() as uow:
            allowed = await _without_opted_out(uow, hosts, report)
            await _add(uow, [_new_host(one, source, now) for one in allowed], source, now, report)
    return report


async def fold_candidates(
    store: Store, *, now: datetime, exempt: Collection[str] = (), limit: int = BATCH
) -> SeedReport:
    """The oldest `limit` hosts that documents name become hosts, behind everything that is due now.

    What a document says is no submission: it jumps no queue, and one domain gets MAX_HOSTS_NAMED at a time.
    """
    report = SeedReport()
    async with store.begin() as uow:
        named = await uow.candidates.open(limit=limit)
        verdicts: list[tuple[CandidateRecord, str | None]] = []
        domains = {one.domain for one in named}
        await uow.domains.lock(domains)
        opted_out = await uow.opt_outs.of(domains)
        waiting = Counter(await uow.hosts.waiting(domains))
        hosts: dict[str, HostRecord] = {}
        for one in named:
            verdict = _verdict(one, opted_out.get(one.domain, frozenset()), exempt, waiting, hosts)
            verdicts.append((one, verdict))
            if verdict is None and one.host not in hosts:
                waiting[one.domain] += 1
                source = SUB_HOST if one.rel == SUB_HOST else "document"
                hosts[one.host] = HostRecord(one.domain, one.host, source, now, now, one.referrer)
            elif verdict is not None:
                report.refused.append(Refusal(one.host, verdict, "named by a document of " + one.referrer))
        await _add(uow, list(hosts.values()), "document", now, report)
        await uow.candidates.fold(verdicts, now=now)
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


def _batches(names: Iterable[str]) -> Iterator[Sequence[str]]:
    names = iter(names)
    while batch := list(islice(names, BATCH)):
        yield batch


def _accepted(names: Sequence[str], exempt: Collection[str], report: SeedReport) -> dict[str, Host]:
    hosts: dict[str, Host] = {}
    for name in names:
        try:
            one = canonical_host(name.strip(), exempt=exempt)
        except InvalidName as refusal:
            report.refused.append(Refusal(name, refusal.code, str(refusal)))
            continue
        report.known += one.host in hosts
        hosts[one.host] = one
    return hosts


async def _without_opted_out(uow: UnitOfWork, hosts: dict[str, Host], report: SeedReport) -> list[Host]:
    opted_out = await uow.opt_outs.of({one.domain for one in hosts.values()})
    allowed = []
    for one in hosts.values():
        if is_covered(one.host, opted_out.get(one.domain, ())):
            report.refused.append(Refusal(one.host, "opted_out", "the site asked to be left alone"))
        else:
            allowed.append(one)
    return allowed


def _new_host(one: Host, source: str, now: datetime) -> HostRecord:
    return HostRecord(one.domain, one.host, source, now, now - SEED_HEAD_START)


async def _add(uow: UnitOfWork, hosts: Sequence[HostRecord], source: str, now: datetime, report: SeedReport) -> None:
    """The domains first, then locked, then the hosts, then sooner: the order that every writer keeps."""
    domains = {one.domain for one in hosts}
    if not domains:
        return
    due = min(one.next_visit_at for one in hosts if one.next_visit_at is not None)
    report.domains += await uow.domains.add(domains, source=source, now=now, due=due)
    await uow.domains.lock(domains)
    added = await uow.hosts.add(hosts)
    report.hosts += added
    report.known += len(hosts) - added
    await uow.domains.from_hosts(domains, now=now)


def _verdict(
    one: CandidateRecord,
    opted_out: Collection[str],
    exempt: Collection[str],
    waiting: Mapping[str, int],
    accepted: Collection[str],
) -> str | None:
    try:
        canonical_host(one.host, exempt=exempt)
    except InvalidName as refusal:
        return refusal.code
    if is_covered(one.host, opted_out):
        return "opted_out"
    if one.host not in accepted and waiting[one.domain] >= MAX_HOSTS_NAMED:
        return "too_many_hosts"
    return None
