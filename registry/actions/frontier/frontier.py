"""The frontier: hosts to visit, by seeds, submissions and requests; and the upkeep of its queue.

Names of seeds are canonicalised and added in chunks, new rows only. Seeding a list twice, or in two processes at once,
changes nothing, so an interrupted list is simply seeded again. A source of pages continues from its last checkpoint.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from registry.actions import Clock
from registry.actions.frontier import submit as submitting
from registry.actions.frontier.lease import apply_opt_out, recover
from registry.actions.frontier.recheck import Recheck, recheck_in, submit_host
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.core.access.audit import AuditEvent
from registry.core.access.holds import Limits
from registry.core.names.domains import Host, InvalidName, canonical_host
from registry.core.names.seeds import Checkpoint, Refusal, Seed, Seeds
from registry.core.visiting.shares import is_main, is_named_by_others
from registry.store.domains import NamedHost
from registry.store.records import CandidateRecord, HostRecord
from registry.store.submissions import SubmissionListRecord, SubmittedHostRecord
from registry.store.unit_of_work import Store

CHUNK: Final = 20_000
"""Names per transaction: some 10 MB here, and about a second during which others may wait for one of its rows."""

FOLD: Final = 1_000

MAX_HOSTS_NAMED: Final = 10
"""Never-visited hosts of one domain that its own documents may queue, and that documents of others may: a site that
names thousands gets ten at a time."""

_REFUSED_AS: Final = {"opted_out": "the site opted out", "blocked": "an operator of this registry blocked it"}

KEPT: Final = 100  # refusals per code that a report keeps; it counts them all
ROWS_AT_ONCE: Final = 1_000
MAX_FOLDS: Final = 100

FORGOTTEN_AFTER: Final = timedelta(days=2)
"""How long a host must be due before its domain is made due as well: longer than any delay put on a domain."""


@dataclass(slots=True)
class SeedReport:
    """Result of seeding: new domains, new hosts, hosts known before (or named twice), refusals. `refusals` counts them
    by code; `refused` has the first KEPT of each."""

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


@dataclass(frozen=True, slots=True)
class RecrawlCounts:
    """Counts: candidates made hosts, leases freed from dead workers, domains made due for overdue hosts, services
    hidden by an opt-out, domains due now, running crawl processes."""

    folded: int
    recovered: int
    brought: int
    hidden: int
    due: int
    crawlers: int


@dataclass(eq=False)
class FrontierActions:
    """Hosts to visit: seeded, submitted, requested again. `_exempt`: names of the connect-to table, which may be
    special-use names."""

    _store: Store
    _clock: Clock
    _exempt: Collection[str] = ()

    async def seed(
        self,
        names: Seeds,
        *,
        source: str,
        on_refusal: Callable[[Refusal], None] = lambda _: None,
        progress: Callable[[SeedReport], None] = lambda _: None,
        on_checkpoint: Callable[[Checkpoint], None] = lambda _: None,
    ) -> SeedReport:
        """Add hosts by name, due in the order of the names; report invalid names, never raise for them.

        There is one transaction per CHUNK names, and one before each checkpoint of the source, so that reported
        progress is committed. `on_refusal` is called for each refusal, `progress` after every chunk, `on_checkpoint`
        when all names before the checkpoint are committed.
        """
        now = self._clock()
        report, due = SeedReport(), now - submitting.SEED_HEAD_START
        async for chunk in _chunks(names):
            if isinstance(chunk, Checkpoint):
                on_checkpoint(chunk)
                continue
            hosts, refusals = await asyncio.to_thread(canonical_hosts, chunk, self._exempt, report.names)
            async with self._store.begin() as uow:
                loaded = await uow.domains.load(hosts, source=source, now=now, due=due)
            refusals += (Refusal(host, code, _REFUSED_AS[code], referrer) for host, referrer, code in loaded.closed)
            for refusal in refusals:
                report.refuse(refusal)
                on_refusal(refusal)
            report.domains += loaded.domains
            report.hosts += loaded.hosts
            report.known += len(chunk) - len(refusals) - loaded.hosts
            progress(report)
        return report

    async def fold_candidates(
        self, on_refusal: Callable[[Refusal], None] = lambda _: None, *, limit: int = FOLD
    ) -> SeedReport:
        """Turn the oldest `limit` candidates into hosts that are due now, after all overdue ones. Candidates have no
        priority, unlike submissions, and a domain gets at most MAX_HOSTS_NAMED at a time."""
        now = self._clock()
        report = SeedReport()
        async with self._store.begin() as uow:
            candidates = await uow.candidates.open(limit=limit)
            limits = await uow.holds.limits({candidate.domain for candidate in candidates})
            refusals = [
                _candidate_refusal(candidate, limits[candidate.domain], self._exempt) for candidate in candidates
            ]
            domains = {candidate.domain for candidate, code in zip(candidates, refusals, strict=True) if code is None}
            # every writer adds domains, then locks them, before it writes hosts (store/domains.py)
            report.domains = await uow.domains.add(domains, source="document", now=now, due=now)
            await uow.domains.lock(domains)
            waiting = Counter(await uow.hosts.waiting_named(domains))
            hosts: dict[str, HostRecord] = {}
            for number, candidate in enumerate(candidates):
                if refusals[number] is None and candidate.host not in hosts:
                    source = submitting.SUB_HOST if candidate.rel == submitting.SUB_HOST else "document"
                    host = HostRecord(candidate.domain, candidate.host, source, now, now, candidate.referrer)
                    who = candidate.domain, is_named_by_others(host.domain, host.source, host.referrer)
                    if waiting[who] < MAX_HOSTS_NAMED or is_main(host.domain, host.host):  # guard: named-hosts
                        waiting[who] += 1
                        hosts[host.host] = host
                    else:
                        refusals[number] = "too_many_hosts"
            report.hosts = await uow.hosts.add(hosts.values())
            report.known = len(hosts) - report.hosts
            await uow.domains.due_with_hosts(domains, now=now)
            await uow.candidates.fold(list(zip(candidates, refusals, strict=True)), now=now)
        for candidate, code in zip(candidates, refusals, strict=True):
            if code is not None:
                said = "named by a document of " + candidate.referrer
                refusal = Refusal(candidate.host, code, said, candidate.referrer)
                report.refuse(refusal)
                on_refusal(refusal)
        return report

    async def make_due(self, names: Iterable[str]) -> int:
        """Make known hosts due at once, with the whole plan, as if they were new; return their number. For an
        operator's own rerun (`waypost crawl`, the demo). Hosts that opted out or are blocked, and running leases, are
        left unchanged."""
        now = self._clock()
        hosts = self.hosts_of(names)
        async with self._store.begin() as uow:
            domains = {host.domain for host in hosts}
            await uow.domains.lock(domains)
            limits = await uow.holds.limits(domains)
            keys = [(host.domain, host.host) for host in hosts if limits[host.domain].may_be_visited(host.host)]
            due = await uow.hosts.make_due(keys, due=now - submitting.SUBMISSION_HEAD_START)
            due_domains = {domain for domain, _ in keys}
            await uow.domains.reset_attempts(due_domains)
            await uow.domains.due_by(due_domains, due=now - submitting.SUBMISSION_HEAD_START, now=now)
        return due

    async def submit(self, name: str, *, client: str | None = None) -> submitting.Submission:
        """Queue the host before everything else that is due. `client`: the submitter; None: this registry's operator,
        who has no client bounds. Raise InvalidName and DecidedAtOrigin."""
        (submission,) = await self._submit_all([canonical_host(name, exempt=self._exempt)], client, self._clock())
        return submission

    async def _submit_all(
        self, hosts: Sequence[Host], client: str | None, now: datetime
    ) -> list[submitting.Submission]:
        """Queue different hosts in this order, each as `submit` does, in one transaction. Hosts that already wait at
        the client's place, or cannot be queued, are neither locked nor written. The domains of the others are locked
        together until the end, in the order in which every writer locks. Raise DecidedAtOrigin."""
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow, hosts[0].host)
            limits = await uow.holds.limits({host.domain for host in hosts})
            results = {
                host: await submitting.without_queueing(uow, host, limits[host.domain], client, now) for host in hosts
            }
            if queued := [host for host, result in results.items() if result is None]:
                domains = {host.domain for host in queued}
                await uow.domains.add(domains, source="submission", now=now, due=None)
                await uow.domains.lock(domains)
                for host in queued:
                    results[host] = await submit_host(uow, host, client, now)
                await uow.submissions.erase(before=now - submitting.REMEMBERED)  # guard: client-erased
        return [submitting.as_submission(host, result, now) for host, result in results.items() if result is not None]

    async def submit_list(
        self, names: Sequence[str], *, body_sha256: bytes, client: str, key: str | None
    ) -> submitting.SubmissionList:
        """Queue the hosts, each as `submit` does, and store each result. Raise ReusedKey, ListInProgress and
        DecidedAtOrigin."""
        now = self._clock()
        list_id = UUID(bytes=secrets.token_bytes(16), version=4)  # hard to guess
        record = SubmissionListRecord(list_id, now, None, body_sha256, [])
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow)
            before = None if key is None else await uow.submissions.list_of_key(client, key)
            if before is not None and now - before.asked_at < submitting.KEYS_KEPT:
                if before.body_sha256 != body_sha256:  # guard: idempotency-body
                    raise submitting.ReusedKey
                if before.done_at is not None:  # guard: idempotency-repeat
                    return submitting.SubmissionList(before.id, before.asked_at, before.refused, is_repeated=True)
                if not await uow.submissions.take_over_list(
                    before.id, asked_before=now - submitting.ABANDONED_AFTER, now=now
                ):
                    raise submitting.ListInProgress  # guard: idempotency-in-flight
                record = before
            else:
                if before is not None:
                    await uow.submissions.erase_list_clients(before=before.asked_at)
                if not await uow.submissions.add_list(record, client=None if key is None else client, key=key):
                    raise submitting.ListInProgress
        accepted, refused = await self._submitted(names, record.id, client, now)
        async with self._store.begin() as uow:
            await uow.submissions.finish_list(record.id, accepted, refused, now=now)
            await uow.submissions.prune_lists(before=now - submitting.LISTS_KEPT)
        return submitting.SubmissionList(record.id, record.asked_at, refused)

    async def _submitted(
        self, names: Sequence[str], list_id: UUID, client: str, now: datetime
    ) -> tuple[list[SubmittedHostRecord], list[dict[str, Any]]]:
        """Submit the hosts, BATCH per transaction; return the accepted ones and the refusals, in the order of the
        list."""
        places: dict[Host, int] = {}
        refused: list[dict[str, Any]] = []
        for index, name in enumerate(names):
            try:
                host = canonical_host(name, exempt=self._exempt)
            except InvalidName as error:
                refused.append({"index": index, "code": error.code})
                continue
            if places.setdefault(host, index) != index:
                refused.append({"index": index, "code": "repeated"})
        accepted: list[SubmittedHostRecord] = []
        hosts = list(places)
        for start in range(0, len(hosts), submitting.BATCH):
            batch = hosts[start : start + submitting.BATCH]
            for host, submission in zip(batch, await self._submit_all(batch, client, now), strict=True):
                if submission.state in submitting.ACCEPTED:
                    accepted.append(
                        SubmittedHostRecord(host.domain, host.host, list_id, places[host], submission.state)
                    )
                    continue
                refusal: dict[str, Any] = {"index": places[host], "code": submission.state}
                if submission.retry_at is not None:
                    refusal["retry_at"] = submission.retry_at.isoformat()
                refused.append(refusal)
        return accepted, sorted(refused, key=itemgetter("index"))

    async def recheck(
        self, name: str, *, client: str | None = None, by_owner: bool = False, whole_plan: bool = True
    ) -> Recheck:
        """Queue a visit of a known host. Raise InvalidName and DecidedAtOrigin. `client`: the requester; None: this
        registry's operator, or the owner. `by_owner`: ignore the budgets of strangers. `whole_plan`: request all paths
        and robots.txt again, not only known documents."""
        named = canonical_host(name, exempt=self._exempt)
        async with self._store.begin() as uow:
            return await recheck_in(
                uow, named.domain, named.host, now=self._clock(), client=client, by_owner=by_owner,
                whole_plan=whole_plan,
            )  # fmt: skip

    async def recheck_for_operator(self, name: str, *, actor: str, reason: str) -> Recheck:
        """Queue a visit of a known host before all others, as its owner can, and log who wanted it and why. Raise
        InvalidName and DecidedAtOrigin."""
        named, now = canonical_host(name, exempt=self._exempt), self._clock()
        async with self._store.begin() as uow:
            asked = await recheck_in(uow, named.domain, named.host, now=now, by_owner=True)
            if asked.state == "queued":
                event = AuditEvent(actor, "host.recheck_asked", named.domain, named.host, reason)
                await uow.audit.add(event, now=now)
            return asked

    async def erase_clients(self) -> int:
        """Delete the clients of submissions, claims, reports and feedback older than REMEMBERED, a bounded number of
        rows, and expired checks of sites; return how many."""
        before = self._clock() - submitting.REMEMBERED
        async with self._store.begin() as uow:
            number = await uow.submissions.erase_clients(before=before)
            number += await uow.claims.erase_clients(before=before)  # guard: client-of-claim-erased
            number += await uow.reports.erase_clients(before=before)  # guard: client-of-report-erased
            number += await uow.feedback.erase_clients(before=before)  # guard: client-of-feedback-erased
            number += await uow.site_checks.remove_expired(now=self._clock())
            return number

    async def recrawl(self) -> RecrawlCounts:
        """Run all steps once. Safe to repeat. Raise StoreUnavailable."""
        now = self._clock()
        hidden = await self._apply_restored_opt_outs(now)
        folded = 0
        for _ in range(MAX_FOLDS):
            report = await self.fold_candidates()
            folded += report.hosts
            if not report.hosts and not report.known and not report.refused:
                break
        async with self._store.begin() as uow:
            recovered = await recover(uow, now=now)
        made_due, after = 0, ""
        while True:  # page by page: there may be millions of domains, and locks must stay short
            async with self._store.begin() as uow:
                domains = await uow.jobs.domains(after, limit=ROWS_AT_ONCE)
                if not domains:
                    break
                made_due += await uow.jobs.bring(domains, before=now - FORGOTTEN_AFTER, now=now)
            after = domains[-1]
        async with self._store.begin() as uow:
            counts, crawlers = await uow.domains.counts(now), await uow.jobs.crawlers()
        return RecrawlCounts(folded, recovered, made_due, hidden, counts["due"], crawlers)

    async def _apply_restored_opt_outs(self, now: datetime) -> int:
        """Apply opt-outs that were restored over an older backup, where the hosts they cover are still shown and
        due."""
        hidden = 0
        while True:
            async with self._store.begin() as uow:
                opt_outs = await uow.jobs.opted_out_but_shown(limit=ROWS_AT_ONCE)
            if not opt_outs:
                return hidden
            for domain, host in opt_outs:
                async with self._store.begin() as uow:
                    await uow.domains.lock([domain])
                    hidden += await apply_opt_out(uow, domain, host, now=now)

    def hosts_of(self, names: Iterable[str]) -> list[Host]:
        """Return the canonical hosts of the names. Raise InvalidName."""
        return [canonical_host(name, exempt=self._exempt) for name in names]

    async def waiting(self, hosts: Collection[Host]) -> int:
        """Return how many of the hosts are due and not recorded yet, including those being visited."""
        async with self._store.begin() as uow:
            return await uow.hosts.count_due([(host.domain, host.host) for host in hosts], now=self._clock())


async def _chunks(seeds: Seeds) -> AsyncIterator[list[str | Seed | Refusal] | Checkpoint]:
    """Yield lists of at most CHUNK names, and each checkpoint after the names before it. Files and pipes are read in a
    thread, so that they do not block the event loop."""
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


def _candidate_refusal(candidate: CandidateRecord, limits: Limits, exempt: Collection[str]) -> str | None:
    try:
        canonical_host(candidate.host, exempt=exempt)
    except InvalidName as error:
        return error.code
    if limits.may_be_visited(candidate.host):
        return None
    return "opted_out" if limits.has_opted_out(candidate.host) else "blocked"
