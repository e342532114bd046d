"""Visits on request of known hosts.

Anyone may request a visit within small budgets; the owner of a host gets one at once. It is queued like a submission
and charged to the site's daily budgets like any visit, so no request can exceed these, not even the owner's.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.frontier import submit
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.core.model.documents import Outcome
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
            due = await submit.place_of(uow, client, now)
            asked = replace(known, next_visit_at=due, next_visit_why=DueReason.ASKED, submitted_at=now)
            await uow.hosts.put([replace(asked, whole_plan_at=None, robots_at=None) if whole_plan else asked])
            await uow.submissions.add_recheck(domain, host, client, now=now)
            await uow.domains.due_by([domain], due=due, now=now)
    return Recheck("queued", domain, host, now)


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
    if client is None:
        return None
    since = now - submit.REMEMBERED
    for bound, counted, state in (
        (MOST_OF_CLIENT, await uow.submissions.rechecks(client, None, since=since), "client_budget"),
        (MOST_OF_CLIENT_AND_DOMAIN, await uow.submissions.rechecks(client, known.domain, since=since), "client_budget"),
        (MOST_OF_DOMAIN, await uow.submissions.rechecks(None, known.domain, since=since), "domain_budget"),
    ):
        if counted.since is not None and counted.number >= bound:  # guard: recheck-budgets
            return ("client_budget" if state == "client_budget" else "domain_budget"), counted.since + submit.REMEMBERED
    return None
