"""Visits on request of known hosts.

Anyone may request a visit within small budgets; the owner of a host gets one at once. It is queued like a submission
and charged to the site's daily budgets like any visit, so no request can exceed these, not even the owner's. A
submission of a host that was visited before is such a request: its operator may have mended it.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.frontier import submit
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.core.access.holds import Limits
from registry.core.model.documents import Outcome
from registry.core.names.domains import Host
from registry.core.scheduling.policy import DueReason
from registry.store.records import HostRecord
from registry.store.unit_of_work import UnitOfWork

AGAIN_AFTER: Final = timedelta(minutes=1)
"""Minimum time between the last visit of a host and a visit requested by a stranger."""

MOST_OF_DOMAIN: Final = 8  # visits in REMEMBERED that strangers can request on all hosts of a domain
MOST_OF_CLIENT_AND_DOMAIN: Final = 4
"""Visits in REMEMBERED that one client can request on a domain, so that no client takes them all."""

MOST_OF_CLIENT: Final = 40  # visits in REMEMBERED that one client can request on all domains
_MAY_ASK_FOR_TIME: Final = frozenset({Outcome.RATE_LIMITED, Outcome.SERVER_ERROR})

RecheckState = Literal[
    "queued", "unknown", "opted_out", "blocked", "too_soon", "asked_for_time", "client_budget", "domain_budget"
] | submit.Refused  # fmt: skip


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
    """Queue a visit in the caller's transaction; return what was decided."""
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
        if submit.is_waiting(known, now):
            if not await submit.comes_sooner(uow, known, client, now):
                return Recheck("queued", domain, host, known.next_visit_at and max(known.next_visit_at, now))
            if is_locked:
                return Recheck("queued", domain, host, max(now, await submit.bring_forward(uow, known, client, now)))
        elif (refusal := await _refusal(uow, known, client, by_owner=by_owner, now=now)) is not None:
            return Recheck(refusal[0], domain, host, retry_at=refusal[1])
        elif is_locked:
            await _queue(uow, known, client, whole_plan=whole_plan, now=now)
    return Recheck("queued", domain, host, now)


async def submit_host(uow: UnitOfWork, host: Host, client: str | None, now: datetime) -> submit.Result:
    """Queue a submitted host of a locked domain. A host that was visited before is queued within the bounds of
    rechecks."""
    result = await submit.queue_host(uow, host, client, now)
    is_known = isinstance(result, tuple) and result[0] == "known"
    known = await uow.hosts.get(host.domain, host.host) if is_known else None
    if known is None:
        return result
    refusal = await _refusal(uow, known, client, by_owner=False, now=now)
    if refusal is not None:  # guard: submitted-again
        return submit.KnownHost(known.next_visit_at, *refusal)
    return "queued", await _queue(uow, known, client, whole_plan=True, now=now)


async def bound_of_all(
    uow: UnitOfWork, known: HostRecord, limits: Limits, now: datetime
) -> tuple[RecheckState, datetime | None] | None:
    """Return why only the owner can request a visit now, and until when; None if everyone can. The
    budgets of single clients are not considered."""
    if not limits.may_be_visited(known.host):
        return ("opted_out" if limits.has_opted_out(known.host) else "blocked"), None
    refusal = await _refusal(uow, known, None, by_owner=False, now=now)
    return refusal or await _budget_refusal(uow, known.domain, None, now)


async def _queue(
    uow: UnitOfWork, known: HostRecord, client: str | None, *, whole_plan: bool, now: datetime
) -> datetime:
    """Queue the visit of a host of a locked domain; return when it is due."""
    due = await submit.place_of(uow, client, now)
    asked = replace(known, next_visit_at=due, next_visit_why=DueReason.ASKED, submitted_at=now)
    await uow.hosts.put([replace(asked, whole_plan_at=None, robots_at=None) if whole_plan else asked])
    await uow.submissions.add_recheck(known.domain, known.host, client, now=now)
    await uow.domains.due_by([known.domain], due=due, now=now)
    return due


async def _refusal(
    uow: UnitOfWork, known: HostRecord, client: str | None, *, by_owner: bool, now: datetime
) -> tuple[RecheckState, datetime] | None:
    """Return why the visit is refused, and until when; None if it is allowed."""
    if known.last_visit_at is not None and known.outcome in _MAY_ASK_FOR_TIME:
        until = min(known.next_visit_at or now, known.last_visit_at + submit.MAX_REPEAT_AFTER)
        if now < until:  # guard: recheck-retry-after
            return "asked_for_time", until
    if by_owner:  # guard: recheck-owner
        return None
    if known.last_visit_at is not None and now < known.last_visit_at + AGAIN_AFTER:  # guard: recheck-too-soon
        return "too_soon", known.last_visit_at + AGAIN_AFTER
    if isinstance(
        verdict := await submit.turn_of(uow, known, client, now), submit.SubmissionRefusal
    ):  # guard: recheck-unknown
        return verdict.state, verdict.retry_at
    return None if client is None else await _budget_refusal(uow, known.domain, client, now)


async def _budget_refusal(
    uow: UnitOfWork, domain: str, client: str | None, now: datetime
) -> tuple[RecheckState, datetime] | None:
    """Return the budget that is used up, and until when. None as `client`: only the budget of all clients together."""
    of_client = ((MOST_OF_CLIENT, client, None), (MOST_OF_CLIENT_AND_DOMAIN, client, domain))
    for bound, asking, asked in (*(of_client if client is not None else ()), (MOST_OF_DOMAIN, None, domain)):
        counted = await uow.submissions.rechecks(asking, asked, since=now - submit.REMEMBERED)
        if counted.since is not None and counted.number >= bound:  # guard: recheck-budgets
            return ("domain_budget" if asking is None else "client_budget"), counted.since + submit.REMEMBERED
    return None
