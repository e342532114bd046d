"""Submissions: requests to visit a host, one at a time or as a list.

Ten thousand submissions of a host cause no more requests than one. Anyone may submit any host, so bounds per
registrable domain protect the site, and bounds per client keep one client from using up what others need. Clients take
turns in the queue of visits: a submission delays that of another client by one visit at most (store/submissions.py).
Lists obey draft-ietf-httpapi-idempotency-key-header. Also reads the stored probes that exceeded a visit's budget.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from registry.core.access.holds import Limits
from registry.core.model.documents import Outcome, Probe, Purpose, Via
from registry.core.names.domains import Host
from registry.core.scheduling.policy import DueReason
from registry.core.visiting.shares import Standing
from registry.store.records import HostRecord
from registry.store.unit_of_work import UnitOfWork

# An earlier due time is a higher priority: names never visited come before all overdue revisits, and submissions come
# before those. Interfaces show `now` instead of these times.
SEED_HEAD_START: Final = timedelta(days=365)
SUBMISSION_HEAD_START: Final = timedelta(days=730)

SUB_HOST: Final = "sub-host"
"""Relation and source of hosts queued because their domain served a document (docs/crawler.md, "Sub-hosts")."""

REPEAT_AFTER: Final = timedelta(hours=1)
MAX_REPEAT_AFTER: Final = timedelta(days=1)
"""Minimum and maximum time before a host where nothing was found may be submitted again: its operator may just have
added a manifest. The time doubles after each visit that ended like the one before, so that submissions cannot make the
crawler visit a host a hundred times a day."""

MAX_WAITING: Final = 20
"""Submitted sub-hosts of one domain that wait for their first visit: further ones are refused until some of these were
visited. The apex, its www, and hosts that were reached before are never refused for this."""

MAX_PER_CLIENT: Final = 5  # sub-hosts of one domain, not reached before, that one client may submit in REMEMBERED
MAX_UNRESOLVED: Final = 20
"""Submissions of one client in REMEMBERED whose names had no address, after which it may submit no unknown host."""

REMEMBERED: Final = timedelta(days=1)  # how long it is stored which client submitted which host: it is personal data
FULL_FOR: Final = timedelta(hours=1)

_MAY_ASK_FOR_TIME: Final = frozenset({Outcome.RATE_LIMITED, Outcome.SERVER_ERROR})  # Retry-After, up to a day

Refused = Literal["too_many", "client_domain", "client_unresolved"]
State = Literal["new", "queued", "known", "opted_out", "blocked"] | Refused


@dataclass(frozen=True, slots=True)
class Submission:
    """Answer to a submission. `state`: new (not known before), queued (a visit waits), known (visited already, and the
    bounds of rechecks allow no visit now), opted_out, blocked (by this registry's operator); or refused: too_many
    (hosts of its domain wait already), client_domain (this client submitted too many of them), client_unresolved (too
    many names submitted by this client had no address).

    `next_visit_at`: never in the past, None if refused. `retry_at`: when a refused or known host may be submitted
    again. `bound`: the bound that keeps a known host from a visit, as `Recheck.state` has it.
    """

    state: State
    domain: str
    host: str
    next_visit_at: datetime | None
    confusable: bool
    retry_at: datetime | None = None
    bound: str | None = None


@dataclass(frozen=True, slots=True)
class SubmissionRefusal:
    """Why a host cannot be queued, and when it may be tried again."""

    state: Refused
    retry_at: datetime


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host that was visited, and is not visited again now: the bound that forbids it, and until when."""

    next_visit_at: datetime | None
    bound: str
    retry_at: datetime


Result = tuple[State, datetime | None] | SubmissionRefusal | KnownHost


def as_submission(host: Host, result: Result, now: datetime) -> Submission:
    if isinstance(result, SubmissionRefusal):
        return Submission(result.state, host.domain, host.host, None, host.confusable, result.retry_at)
    if isinstance(result, KnownHost):
        due = result.next_visit_at and max(result.next_visit_at, now)
        return Submission("known", host.domain, host.host, due, host.confusable, result.retry_at, result.bound)
    state, due = result
    return Submission(state, host.domain, host.host, due and max(due, now), host.confusable)


async def without_queueing(
    uow: UnitOfWork, host: Host, limits: Limits, client: str | None, now: datetime
) -> Result | None:
    """Return the result for a host that cannot or need not be queued; None if it must be."""
    if not limits.may_be_visited(host.host):  # guard: opt-out-submission
        return "opted_out" if limits.has_opted_out(host.host) else "blocked", None
    verdict = await _verdict(uow, host, await uow.hosts.get(host.domain, host.host), client, now)
    return None if isinstance(verdict, int) else verdict


async def _verdict(
    uow: UnitOfWork, host: Host, known: HostRecord | None, client: str | None, now: datetime
) -> Result | int:
    """Return the result for a host that cannot or need not be queued; else its turn, as `turn_of` does."""
    if known is None or not is_waiting(known, now):
        return await turn_of(uow, known or _new(host, now), client, now)
    return 0 if await comes_sooner(uow, known, client, now) else ("queued", known.next_visit_at)


def _new(host: Host, now: datetime) -> HostRecord:
    return HostRecord(host.domain, host.host, "submission", now, now, submitted_at=now, next_visit_why=DueReason.ASKED)


async def queue_host(uow: UnitOfWork, host: Host, client: str | None, now: datetime) -> Result:
    """Queue a host of a locked domain, or return why it cannot or need not be queued."""
    known, new = await uow.hosts.get(host.domain, host.host), _new(host, now)
    verdict = await _verdict(uow, host, known, client, now)
    if not isinstance(verdict, int):
        return verdict
    if known is None:
        if new.standing is Standing.SUBMITTED:
            await uow.hosts.drop_waiting(host.domain, but=MAX_WAITING - 1)  # guard: waiting-dropped
        due = await place_of(uow, client, now)
        await uow.hosts.add([replace(new, turn=verdict, next_visit_at=due)])
    elif is_waiting(known, now):
        return "queued", await bring_forward(uow, known, client, now)
    elif not await _may_repeat(uow, known, now):  # guard: submitted-once
        return "known", known.next_visit_at
    else:
        due = await place_of(uow, client, now)
        asked = replace(known, next_visit_at=due, next_visit_why=DueReason.ASKED, submitted_at=now)
        await uow.hosts.put([replace(asked, whole_plan_at=None, robots_at=None)])
    if client is not None and not (known or new).was_reached:
        await uow.submissions.add(client, host.domain, host.host, now=now)
    await uow.domains.due_by([host.domain], due=due, now=now)
    return ("new" if known is None else "queued"), due


async def place_of(uow: UnitOfWork, client: str | None, now: datetime) -> datetime:
    """Return the place in the queue of a visit that the client requests now; clients take turns. None: the operator or
    the host's owner, who has the next turn."""
    if client is None:
        return await uow.submissions.next_place(None, **_places(now))
    return await uow.submissions.take_place(client, **_places(now), now=now)  # guard: queue-turns


async def comes_sooner(uow: UnitOfWork, known: HostRecord, client: str | None, now: datetime) -> bool:
    """Return whether the client's next turn comes before the queued visit of a waiting host. A host at the end of
    another client's long list must not wait for all of it. Postponed visits keep their place."""
    if known.next_visit_at is None or known.next_visit_at > now:
        return False
    return await uow.submissions.next_place(client, **_places(now)) < known.next_visit_at


async def bring_forward(uow: UnitOfWork, known: HostRecord, client: str | None, now: datetime) -> datetime:
    """Give a waiting host of a locked domain the client's turn; return when it is due."""
    due = await place_of(uow, client, now)
    await uow.hosts.put([replace(known, next_visit_at=due)])
    await uow.domains.due_by([known.domain], due=due, now=now)
    return due


def _places(now: datetime) -> dict[str, datetime]:
    """Return the first and the last place of submissions in the queue, the last half-way to the names of seeds."""
    earliest = now - SUBMISSION_HEAD_START
    return {"earliest": earliest, "latest": earliest + (SUBMISSION_HEAD_START - SEED_HEAD_START) / 2}


def is_waiting(known: HostRecord, now: datetime) -> bool:
    """Return whether the visit requested by an earlier submission is due or postponed."""
    if known.submitted_at is None or known.next_visit_at is None:
        return False
    if known.last_visit_at is not None and known.submitted_at <= known.last_visit_at:
        return False
    return known.next_visit_at <= now or known.next_visit_why is DueReason.ASKED  # guard: postponed-once


async def turn_of(uow: UnitOfWork, host: HostRecord, client: str | None, now: datetime) -> int | SubmissionRefusal:
    """Return how many other unknown sub-hosts of the domain the client has submitted, or why this one is refused. Hosts
    that were reached before are never refused. The apex, its www, and hosts named by the site or the operator do not
    count as strange: only names without an address count against them."""
    if host.was_reached:
        return 0
    since, is_strange, turn = now - REMEMBERED, host.standing >= Standing.SUBMITTED, 0
    if client is not None:
        number, oldest = await uow.submissions.unresolved_of(client, since=since)
        if oldest is not None and number >= MAX_UNRESOLVED:  # guard: client-unresolved
            return SubmissionRefusal("client_unresolved", oldest + REMEMBERED)
        if is_strange:
            turn, oldest = await uow.submissions.hosts_of(client, host.domain, but=host.host, since=since)
            if oldest is not None and turn >= MAX_PER_CLIENT:  # guard: client-domain
                return SubmissionRefusal("client_domain", oldest + REMEMBERED)
    if is_strange and host.last_visit_at is None:
        number, last_turn = await uow.hosts.waiting_submitted(host.domain)
        # a client with fewer submissions may replace a host of another client
        if number >= MAX_WAITING and turn >= last_turn:  # guard: submitted-hosts
            return SubmissionRefusal("too_many", now + FULL_FOR)
    return turn


async def _may_repeat(uow: UnitOfWork, known: HostRecord, now: datetime) -> bool:
    """Return whether the host was never visited, or its visit failed long enough ago. Obey its Retry-After."""
    if known.last_visit_at is None:
        return True
    if known.outcome in _MAY_ASK_FOR_TIME:
        scheduled_at = known.next_visit_at or now
        return now >= min(scheduled_at, known.last_visit_at + MAX_REPEAT_AFTER)
    if now - known.last_visit_at < min(REPEAT_AFTER * 2 ** min(max(known.streak - 1, 0), 8), MAX_REPEAT_AFTER):
        return False
    return known.host not in await uow.services.of([known.domain])


MOST_HOSTS: Final = 1_000

BATCH: Final = 50  # hosts per transaction. Others that write about their domains wait for its end.
KEYS_KEPT: Final = REMEMBERED  # how long a key is remembered, with its client
LISTS_KEPT: Final = timedelta(days=30)

ABANDONED_AFTER: Final = timedelta(minutes=5)
"""After this time an unfinished list counts as abandoned by a dead process, and the next request with its key does the
rest. A list of MOST_HOSTS takes seconds."""

ACCEPTED: Final = frozenset({"new", "queued", "known"})


class ReusedKey(Exception):
    """The client used this Idempotency-Key for another body."""


class ListInProgress(Exception):
    """The first request with this Idempotency-Key is still being worked on."""


@dataclass(frozen=True, slots=True)
class SubmissionList:
    """Result of a list. `hosts`: accepted, in the order of the list. `refused`: {"index", "code"} of the others, with
    "retry_at" (ISO 8601) if they can be tried again. `is_repeated`: a request with the same key came before."""

    id: UUID
    asked_at: datetime
    refused: Sequence[dict[str, Any]]
    is_repeated: bool = False


def probe_to_json(probe: Probe) -> dict[str, Any]:
    return {**probe._asdict(), "via": asdict(probe.via) if probe.via else None}


def probes_from_json(values: Sequence[Any]) -> tuple[Probe, ...]:
    """Return the probes. Skip values written by another program version: a plan finds them again."""
    probes = []
    for value in values:
        with suppress(KeyError, TypeError, ValueError):
            via = Via(**value["via"]) if value["via"] else None
            probes.append(Probe(**{**value, "purpose": Purpose(value["purpose"]), "via": via}))
    return tuple(probes)
