"""Opt-outs and their end, declared by the site itself. Anyone may request a check; only the site can declare it.

A client makes a request, a worker claims it, checks the site (`core/names/opt_out.py`) and settles the request with the
result. Clients take turns, so the requests of one do not delay those of another. An opt-out deletes what is stored;
it ends on request if the site no longer declares it in robots.txt, file or TXT record. An operator's opt-out is ended
by operators only. `replay` applies a file of opt-outs to an older database.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal, get_args

from registry.actions import Clock
from registry.actions.frontier.lease import apply_opt_out
from registry.actions.frontier.submit import SUBMISSION_HEAD_START
from registry.actions.maintenance.forget import ForgetResult, How, forget_candidates, forget_locked
from registry.core.access.audit import OPERATOR, AuditEvent, system_actor
from registry.core.names.domains import canonical_host, host_syntax, registrable_domain
from registry.core.names.opt_out import covered_host, is_covered
from registry.core.scheduling.policy import DueReason
from registry.store.opt_out_file import OptOutFile, OptOutLine
from registry.store.opt_out_file import encoded as encoded  # the command line prints lines
from registry.store.opt_outs import REPORTED
from registry.store.records import ChangeRecord, HostRecord, OptOutRecord
from registry.store.records import OptOutRequestRecord as OptOutRequestRecord  # interfaces name it
from registry.store.unit_of_work import Store, UnitOfWork

Wish = Literal["out", "in"]
Verdict = Literal[
    "opted_out",  # declared by the site, now in effect
    "no_proof",  # declared neither by file nor by TXT record: nothing changed
    "served_elsewhere",  # the file was read from another host after a redirect: nothing changed
    "unanswered",  # a file or record that decides could not be read: nothing changed
    "readmitted",  # no longer declared: the site may be visited again
    "still_says_so",  # undo was requested, but the site still declares its opt-out
    "by_operator",  # an operator of this registry made the opt-out
    "by_owner",  # an owner made the opt-out with a token, and can end it so
    "not_opted_out",  # there is no opt-out to end
]

SITE: Final = system_actor("opt-out-check")
"""The actor of the site's declarations, read by a worker."""

AGAIN_AFTER: Final[dict[Wish, timedelta]] = {"out": timedelta(hours=2), "in": timedelta(days=1)}
"""Minimum time between two checks of a host; a day for a host that opted out, because it wants no visits."""

MAX_HOSTS: Final = 3
"""Unvisited hosts of one domain checked per day: a check costs requests, and invented host names must not multiply
them. The apex, `www.` and visited hosts are not counted, so invented names cannot use up their checks."""

MAX_OPEN: Final = 50  # open requests of one client
MAX_CLAIMED: Final = 3  # requests of one client that are checked at once, over all workers
CLAIM_FOR: Final = timedelta(seconds=20)
"""Time after which another worker may check a claimed request, because its worker may have died: longer than a check
and its settlement take."""

RETRY_AFTER: Final = timedelta(minutes=1)
"""When a client with MAX_OPEN requests may try again: as many are checked in less than two minutes."""


class TooManyRequests(Exception):
    """The client has MAX_OPEN open requests. `retry_after`: when it may try again."""

    retry_after = RETRY_AFTER


@dataclass(frozen=True, slots=True)
class Declaration:
    """Where the site declares its opt-out: a URL or the name of a TXT record."""

    how: Literal["robots", "file", "dns"]
    evidence: str


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a check. `unanswered`: URLs and records that could not be read. `elsewhere`: URLs on other hosts to
    which redirects led; declarations there do not count."""

    declarations: tuple[Declaration, ...] = ()
    unanswered: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OptOutStatus:
    """The current request, queued while it has no verdict. `opt_out`: the stored opt-out that covers the host, or
    None."""

    domain: str
    host: str
    request: OptOutRequestRecord | None
    opt_out: OptOutRecord | None


async def end_opt_out(uow: UnitOfWork, row: OptOutRecord, *, actor: str, now: datetime) -> None:
    """End an opt-out and make its known hosts due with the whole plan, as if new. The caller has locked the domain;
    hosts come after it, as in every writer."""
    due = now - SUBMISSION_HEAD_START
    await uow.opt_outs.remove(row.domain, row.host, how=row.how, now=now)
    await uow.domains.add([row.domain], source="opt-in", now=now, due=due)
    await uow.domains.lock([row.domain])
    new_host = HostRecord(row.domain, row.host, "opt-in", now, due, submitted_at=now, next_visit_why=DueReason.ASKED)
    await uow.hosts.add([new_host])
    limits = (await uow.holds.limits([row.domain]))[row.domain]
    hosts = [known.host for known in await uow.hosts.of([row.domain]) if is_covered(known.host, [row.host])]
    await uow.hosts.make_due([(row.domain, host) for host in hosts if limits.may_be_visited(host)], due=due)
    await uow.domains.due_by([row.domain], due=due, now=now)
    data = {"state": limits.state(row.host) or "never_validated", "how": row.how}
    await uow.ledger.add_changes([ChangeRecord(row.domain, row.host, "host.readmitted", now, data)])
    await uow.audit.add(AuditEvent(actor, "host.readmitted", row.domain, row.host, "", {"how": row.how}), now=now)


async def _covering(uow: UnitOfWork, domain: str, host: str) -> OptOutRecord | None:
    """Return the opt-out that covers the host, the widest if there are several."""
    rows = [row for row in await uow.opt_outs.rows(domain) if is_covered(host, [row.host])]
    return min(rows, key=lambda row: len(row.host), default=None)


def _has_purpose(wish: Wish, opt_out: OptOutRecord | None) -> bool:
    """Return whether a check can change anything. Strangers must not use up the checks that a site needs. An opt-out by
    robots.txt only hides; an opt-out by file or record also deletes."""
    if wish == "in":
        return opt_out is not None
    return opt_out is None or opt_out.how == "robots"  # guard: opt-out-purpose


def _is_certain(domain: str, host: str, opt_out: OptOutRecord | None) -> bool:
    """Return whether the host cannot be invented: it is the apex, `www.`, or has opted out itself."""
    return host in (domain, f"www.{domain}") or (opt_out is not None and opt_out.host == host)  # guard: opt-out-apex


async def _has_room(uow: UnitOfWork, domain: str, host: str, now: datetime) -> bool:
    """Return whether the host was visited, or fits beside today's requests for hosts that may be invented."""
    known = await uow.hosts.get(domain, host)
    if known is not None and known.last_visit_at is not None:  # guard: opt-out-visited
        return True
    # guard: opt-out-invented-hosts
    return await uow.opt_out_requests.invented(domain, but=host, since=now - timedelta(days=1)) < MAX_HOSTS


ACTOR: Final = system_actor("replay")

_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """`opted_out`, `readmitted`: hosts for which this was new to the database. `lines`: number of lines read."""

    lines: int
    opted_out: tuple[str, ...] = ()
    readmitted: tuple[str, ...] = ()


@dataclass(eq=False)
class OptOutActions:
    """Requests not to be visited, their checks and consequences, and their file, which outlives the database.
    `_exempt`: names that may be special-use names."""

    _store: Store
    _clock: Clock
    _exempt: Collection[str] = ()

    async def hosts(self, domain: str) -> Collection[str]:
        """Return the hosts of a registrable domain that opted out; each also covers all hosts below it."""
        async with self._store.begin() as uow:
            return (await uow.opt_outs.of([domain])).get(domain, frozenset())

    async def lines(self, *, with_database: bool = False) -> tuple[Sequence[OptOutLine], int]:
        """Return the lines of this machine's file of opt-outs, and the number of unreadable ones. `with_database`: also
        a line for each opt-out that is in the database only, because another machine has its line."""
        file = self._store.opt_out_file
        lines, unreadable = ([], 0) if file is None else await asyncio.to_thread(file.read)
        if with_database:
            known = {(line.host, line.at) for line in lines}
            async with self._store.begin() as uow:
                stored = await uow.opt_outs.local()
            lines += [
                OptOutLine("out", one.host, one.how, one.evidence, one.created_at)
                for one in stored
                if (one.host, one.created_at) not in known
            ]
        return lines, unreadable

    async def replay_file(self, path: Path) -> tuple[ReplayResult, int]:
        """Apply another machine's file of opt-outs, and write new lines to the local one; also return the number of
        unreadable lines. Raise OSError."""
        lines, unreadable = await asyncio.to_thread(OptOutFile(path).read_existing)
        return await self.replay(lines), unreadable

    async def request(self, name: str, wish: Wish, *, client: str) -> OptOutStatus:
        """Queue a check for `client`, unless one is queued, recent or pointless, or MAX_HOSTS were requested today. A
        repeated request does not change the open one. Raise InvalidName and TooManyRequests."""
        now = self._clock()
        host = canonical_host(name, exempt=self._exempt).host
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            last = await uow.opt_out_requests.get(domain, host)
            opt_out = await _covering(uow, domain, host)
            since = None if last is None else last.checked_at
            may_ask_again = last is None or (since is not None and now - since >= AGAIN_AFTER[wish])
            is_due = _has_purpose(wish, opt_out) and may_ask_again
            if is_due and (_is_certain(domain, host, opt_out) or await _has_room(uow, domain, host, now)):
                if await uow.opt_out_requests.open_of(client) >= MAX_OPEN:  # guard: opt-out-open-requests
                    raise TooManyRequests
                await uow.opt_out_requests.add(OptOutRequestRecord(domain, host, wish, now), client=client)
                last = await uow.opt_out_requests.get(domain, host)
            return OptOutStatus(domain, host, last, opt_out)

    async def request_as_operator(self, name: str, wish: Wish) -> OptOutRequestRecord:
        """Store and claim a request of this registry's operator, without these limits. Raise InvalidName. The caller
        checks it now. If the caller dies, a worker does so before all other requests."""
        now = self._clock()
        host = canonical_host(name, exempt=self._exempt).host
        request = OptOutRequestRecord(registrable_domain(host), host, wish, now)
        async with self._store.begin() as uow:
            await uow.opt_out_requests.put_claimed(request, until=now + CLAIM_FOR)
        return request

    async def status(self, host: str) -> OptOutStatus:
        """Return the request and the opt-out of a host in canonical spelling; queue nothing."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            return OptOutStatus(
                domain, host, await uow.opt_out_requests.get(domain, host), await _covering(uow, domain, host)
            )

    async def claim(self, limit: int) -> Sequence[OptOutRequestRecord]:
        """Return at most `limit` requests for the caller to check and settle; other workers do not get them for
        CLAIM_FOR. Operators' requests come first. Then come clients with the fewest running checks, then by turn, then
        the oldest."""
        now = self._clock()
        async with self._store.begin() as uow:
            return await uow.opt_out_requests.claim(limit=limit, per_client=MAX_CLAIMED, now=now, until=now + CLAIM_FOR)

    async def settle(self, request: OptOutRequestRecord, proof: Proof) -> Verdict:
        """Apply the result of a check and store the verdict. Idempotent when two workers check at once."""
        now = self._clock()
        apply_proof = self._opt_out if request.wish == "out" else self._end_opt_out
        verdict = await apply_proof(request.host, proof, now)
        async with self._store.begin() as uow:
            await uow.opt_out_requests.settle(request, verdict, now=now)
        return verdict

    async def readmit(self, host: str) -> Verdict:
        """End the opt-out that covers the host, for an operator of this registry, even if the site still declares
        it."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            await uow.domains.lock([domain])
            row = await _covering(uow, domain, host)
            if row is None:
                return "not_opted_out"
            await end_opt_out(uow, row, actor=OPERATOR, now=self._clock())
            return "readmitted"

    async def replay(self, lines: Iterable[OptOutLine]) -> ReplayResult:
        """Apply the last line of each host that the database does not know yet. Safe to repeat, also in several
        processes. The audit log says when an opt-out ended, so the line of an opt-out that ended later on another
        machine does not bring it back. Raise StoreUnavailable."""
        now = self._clock()
        lines = sorted(lines, key=lambda line: line.at)
        last = list({line.host: line for line in lines}.values())
        opted_out, readmitted = [], []
        for first in range(0, len(last), _PAGE):
            for line in await self._unapplied(last[first : first + _PAGE]):
                if line.action == "in":
                    readmitted.append(line.host)
                    await self._end(line, now)
                else:
                    opted_out.append(line.host)
                    await self._replay_opt_out(line, now)
        return ReplayResult(len(lines), tuple(opted_out), tuple(readmitted))

    async def _opt_out(self, host: str, proof: Proof, now: datetime) -> Verdict:
        declaration = next((declared for declared in proof.declarations if declared.how != "robots"), None)
        if declaration is None or declaration.how == "robots":
            return "unanswered" if proof.unanswered else "served_elsewhere" if proof.elsewhere else "no_proof"
        covered = covered_host(host, registrable_domain(host))
        await self.forget(
            covered,
            opt_out=declaration.how,
            evidence=declaration.evidence,
            reason="the site asked for it",
            actor=SITE,
        )
        return "opted_out"

    async def _end_opt_out(self, host: str, proof: Proof, now: datetime) -> Verdict:
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            await uow.domains.lock([domain])
            row = await _covering(uow, domain, host)
            if row is None:
                return "not_opted_out"
            if row.how == "operator":
                return "by_operator"
            if row.how == "owner":  # guard: opt-out-by-owner
                return "by_owner"
            if covered_host(host, domain) != row.host:
                return "still_says_so"  # covered by a host above it, which must end the opt-out itself
            if proof.declarations:
                return "still_says_so"
            if proof.unanswered:
                return "unanswered"
            await end_opt_out(uow, row, actor=SITE, now=now)
            return "readmitted"

    async def _unapplied(self, lines: list[OptOutLine]) -> list[OptOutLine]:
        """Return the lines that are not applied in the database."""
        unknown = []
        async with self._store.begin() as uow:
            rows = {
                row.host: row
                for domain in sorted({registrable_domain(line.host) for line in lines})
                for row in await uow.opt_outs.rows(domain)
                if row.how not in REPORTED
            }
            for line in lines:
                row = rows.get(line.host)
                if line.action == "in":
                    if row is not None and row.created_at <= line.at:
                        unknown.append(line)
                elif row is None:
                    ended_at = await uow.audit.last(line.host, "host.readmitted")
                    if ended_at is None or ended_at < line.at:  # guard: replay-readmitted
                        unknown.append(line)
        return unknown

    async def _replay_opt_out(self, line: OptOutLine, now: datetime) -> None:
        how = next((how for how in get_args(How) if how == line.how), None)
        if how is not None:
            await self.forget(
                line.host, opt_out=how, evidence=line.evidence, since=line.at, actor=ACTOR,
                reason="replayed from the file of opt-outs",
            )  # fmt: skip
            return
        # Declared in robots.txt, or in a way that only a later version knows: hidden and not visited, but kept.
        domain = registrable_domain(line.host)
        async with self._store.begin() as uow:
            await uow.domains.lock([domain])
            await uow.opt_outs.add([OptOutRecord(domain, line.host, line.how, line.evidence, line.at)])
            await apply_opt_out(uow, domain, line.host, now=now)
            await uow.forgetting.fence(domain)
            data = {"state": "opted_out", "how": line.how}
            await uow.ledger.add_changes([ChangeRecord(domain, line.host, "host.opted_out", now, data)])
            await uow.audit.add(AuditEvent(ACTOR, "host.opted_out", domain, line.host, "", {"how": line.how}), now=now)

    async def _end(self, line: OptOutLine, now: datetime) -> None:
        domain = registrable_domain(line.host)
        async with self._store.begin() as uow:
            await uow.domains.lock([domain])
            row = next((row for row in await uow.opt_outs.rows(domain) if row.host == line.host), None)
            if row is not None:
                await end_opt_out(uow, row, actor=ACTOR, now=now)

    async def forget(
        self,
        name: str,
        *,
        opt_out: How | None = None,
        evidence: str = "",
        reason: str = "",
        since: datetime | None = None,
        actor: str = OPERATOR,
    ) -> ForgetResult:
        """Delete everything stored about the host; with `opt_out`, also store an opt-out, so that it is never visited
        again: who declared it, the evidence, `since` when (None: now).

        Safe to repeat: that completes an interrupted attempt, and an opt-out keeps its first evidence. Raise
        InvalidName (syntax only: names stored under older rules must be deletable too) and StoreUnavailable.
        """
        host = host_syntax(name)
        async with self._store.begin() as uow:
            forgotten = await forget_locked(
                uow, host, now=self._clock(), opt_out=opt_out, evidence=evidence, reason=reason, since=since,
                actor=actor,
            )  # fmt: skip
        return await forget_candidates(self._store, forgotten)
