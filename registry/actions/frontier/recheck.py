"""Visits on request of known hosts, and upkeep of the queue.

Anyone may request a visit within small budgets; the owner of a host gets one at once. It is queued like a submission
and charged to the site's daily budgets like any visit, so no request can exceed these, not even the owner's.

Upkeep covers candidates, orphaned leases, overdue hosts and opt-outs newer than a restored backup. It is a job for
registries with scheduled crawls; workers do the first two every few seconds.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.frontier.lease import apply_opt_out, recover
from registry.actions.frontier.seed import fold_candidates
from registry.actions.frontier.submit import (
    MAX_REPEAT_AFTER,
    REMEMBERED,
    Refused,
    SubmissionRefusal,
    bring_forward,
    comes_sooner,
    is_waiting,
    place_of,
    turn_of,
)
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.core.model.documents import Outcome
from registry.core.names.domains import canonical_host
from registry.core.scheduling.policy import DueReason
from registry.store.records import HostRecord
from registry.store.unit_of_work import Store, UnitOfWork

AGAIN_AFTER: Final = timedelta(minutes=1)
"""Minimum time between the last visit of a host and a visit requested by a stranger."""

MOST_OF_DOMAIN: Final = 8
"""Visits in REMEMBERED that strangers can request on all hosts of a domain."""

MOST_OF_CLIENT_AND_DOMAIN: Final = 4
"""Visits in REMEMBERED that one client can request on a domain, so that no client takes them all."""

MOST_OF_CLIENT: Final = 40
"""Visits in REMEMBERED that one client can request on all domains."""

_MAY_ASK_FOR_TIME: Final = frozenset({Outcome.RATE_LIMITED, Outcome.SERVER_ERROR})

RecheckState = Literal[
    "queued", "unknown", "opted_out", "blocked", "too_soon", "asked_for_time", "client_budget", "domain_budget"
] | Refused  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recheck:
    """Answer to a request. `state`: queued (`next_visit_at` is never in the past), unknown (never submitted here),
    opted_out, blocked; or refused until `retry_at`: too_soon (visited just now), asked_for_time (the host sent
    Retry-After), client_budget, domain_budget, or a submission's refusal if the host was never reached."""

    state: RecheckState
    domain: str
    host: str
    next_visit_at: datetime | None = None
    retry_at: datetime | None = None


async def recheck(
    store: Store,
    name: str,
    *,
    now: datetime,
    client: str | None = None,
    by_owner: bool = False,
    whole_plan: bool = True,
    exempt: Collection[str] = (),
) -> Recheck:
    """Queue a visit of a known host. Raise InvalidName and DecidedAtOrigin.

    `client`: the requester; None: this registry's operator, or the owner. `by_owner`: ignore the budgets of strangers.
    `whole_plan`: request all paths and robots.txt again, not only known documents.
    """
    named = canonical_host(name, exempt=exempt)
    async with store.begin() as uow:
        return await recheck_in(
            uow, named.domain, named.host, now=now, client=client, by_owner=by_owner, whole_plan=whole_plan
        )


async def recheck_in(
    uow: UnitOfWork,
    domain: str,
    host: str,
    *,
    now: datetime,
    client: str | None = None,
    by_owner: bool = False,
    whole_plan: bool = True,
) -> Recheck:
    """Do what `recheck` does, in the caller's transaction."""
    await refuse_in_mirror(uow, host)
    limits = (await uow.holds.limits([domain]))[domain]
    if not limits.may_be_visited(host):  # guard: opt-out-recheck
        return Recheck("opted_out" if limits.has_opted_out(host) else "blocked", domain, host)
    for is_locked in (False, True):
        if is_locked:
            await uow.domains.lock([domain])
        known = await uow.hosts.get(domain, host)
        if known is None:
            return Recheck("unknown", domain, host)
        if is_waiting(known, now):
            if not await comes_sooner(uow, known, client, now):
                return Recheck("queued", domain, host, known.next_visit_at and max(known.next_visit_at, now))
            if is_locked:
                return Recheck("queued", domain, host, max(now, await bring_forward(uow, known, client, now)))
        elif (refusal := await _refusal(uow, known, client, by_owner=by_owner, now=now)) is not None:
            return Recheck(refusal[0], domain, host, retry_at=refusal[1])
        elif is_locked:
            await _queue(uow, known, client, whole_plan=whole_plan, now=now)
    return Recheck("queued", domain, host, now)


async def _queue(uow: UnitOfWork, known: HostRecord, client: str | None, *, whole_plan: bool, now: datetime) -> None:
    due = await place_of(uow, client, now)
    asked = replace(known, next_visit_at=due, next_visit_why=DueReason.ASKED, submitted_at=now)
    await uow.hosts.put([replace(asked, whole_plan_at=None, robots_at=None) if whole_plan else asked])
    await uow.rechecks.add(known.domain, known.host, client, now=now)
    await uow.domains.due_by([known.domain], due=due, now=now)


async def _refusal(
    uow: UnitOfWork, known: HostRecord, client: str | None, *, by_owner: bool, now: datetime
) -> tuple[RecheckState, datetime] | None:
    """Return why the visit is refused, and until when; None if it is allowed."""
    if known.last_visit_at is not None and known.outcome in _MAY_ASK_FOR_TIME:
        until = min(known.next_visit_at or now, known.last_visit_at + MAX_REPEAT_AFTER)
        if now < until:  # guard: recheck-retry-after
            return "asked_for_time", until
    if by_owner:  # guard: recheck-owner
        return None
    if known.last_visit_at is not None and now < known.last_visit_at + AGAIN_AFTER:  # guard: recheck-too-soon
        return "too_soon", known.last_visit_at + AGAIN_AFTER
    if isinstance(verdict := await turn_of(uow, known, client, now), SubmissionRefusal):  # guard: recheck-unknown
        return verdict.state, verdict.retry_at
    if client is None:
        return None
    since = now - REMEMBERED
    for bound, counted, state in (
        (MOST_OF_CLIENT, await uow.rechecks.of_client(client, since=since), "client_budget"),
        (
            MOST_OF_CLIENT_AND_DOMAIN,
            await uow.rechecks.of_client(client, since=since, domain=known.domain),
            "client_budget",
        ),
        (MOST_OF_DOMAIN, await uow.rechecks.of_domain(known.domain, since=since), "domain_budget"),
    ):
        if counted.since is not None and counted.number >= bound:  # guard: recheck-budgets
            return ("client_budget" if state == "client_budget" else "domain_budget"), counted.since + REMEMBERED
    return None


FORGOTTEN_AFTER: Final = timedelta(days=2)
"""How long a host must be due before its domain is made due as well: longer than any delay put on a domain."""

_PAGE: Final = 1_000
_FOLDS: Final = 100


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


async def recrawl(store: Store, *, now: datetime, exempt: Collection[str] = ()) -> RecrawlCounts:
    """Run all steps once. Safe to repeat. Raise StoreUnavailable."""
    hidden = await _apply_restored_opt_outs(store, now)
    folded = await _fold(store, now, exempt)
    recovered = await recover(store, now=now)
    made_due = await _make_overdue_due(store, now)
    async with store.begin() as uow:
        counts, crawlers = await uow.domains.counts(now), await uow.jobs.crawlers()
    return RecrawlCounts(folded, recovered, made_due, hidden, counts["due"], crawlers)


async def _apply_restored_opt_outs(store: Store, now: datetime) -> int:
    """Apply opt-outs that were restored over an older backup, where the hosts they cover are still shown and due."""
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
    """Make domains with overdue hosts due, page by page: there may be millions, and locks must stay short."""
    count, after = 0, ""
    while True:
        async with store.begin() as uow:
            domains = await uow.jobs.domains(after, limit=_PAGE)
            if not domains:
                return count
            count += await uow.jobs.bring(domains, before=now - FORGOTTEN_AFTER, now=now)
        after = domains[-1]
