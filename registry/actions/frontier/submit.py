"""Submissions: requests to visit a host. Ten thousand submissions of one host cause no more requests than one."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.frontier.seed import SUBMISSION_HEAD_START
from registry.core.model.documents import Outcome
from registry.core.names.domains import canonical_host
from registry.core.names.opt_out import is_covered
from registry.core.scheduling.reasons import DueReason
from registry.store.records import HostRecord
from registry.store.unit_of_work import Store, UnitOfWork

REPEAT_AFTER: Final = timedelta(hours=1)
REPEAT_MOST: Final = timedelta(days=1)
"""Minimum and maximum time before a host where nothing was found may be submitted again: its operator may just have
added a manifest. The time doubles after each visit that ended like the one before, so that submissions cannot make the
crawler visit a host a hundred times a day."""

MAX_WAITING: Final = 20
"""Never-visited hosts that one domain may have: further ones are refused until some of these were visited."""

_MAY_ASK_FOR_TIME: Final = frozenset({Outcome.RATE_LIMITED, Outcome.SERVER_ERROR})  # Retry-After, up to a day

State = Literal["new", "queued", "known", "opted_out", "too_many"]


@dataclass(frozen=True, slots=True)
class Submission:
    """`state`: new (not known before), queued (due at once), known (visited already, schedule unchanged), opted_out,
    too_many (of its domain's hosts wait already). `next_visit_at` is never in the past."""

    state: State
    domain: str
    host: str
    next_visit_at: datetime | None
    confusable: bool


async def submit(store: Store, name: str, *, now: datetime, exempt: Collection[str] = ()) -> Submission:
    """Queue the host before everything else that is due. Raise InvalidName."""
    host = canonical_host(name, exempt=exempt)
    async with store.begin() as uow:
        state, due = await _queue(uow, host.domain, host.host, now)
    return Submission(state, host.domain, host.host, due and max(due, now), host.confusable)


async def _queue(uow: UnitOfWork, domain: str, host: str, now: datetime) -> tuple[State, datetime | None]:
    """Queue the host. Nothing is locked or written when it is queued already, or cannot be."""
    if is_covered(host, (await uow.opt_outs.of([domain])).get(domain, ())):  # guard: opt-out-submission
        return "opted_out", None
    known = await uow.hosts.get(domain, host)
    if known is not None and _is_waiting(known, now):
        return "queued", known.next_visit_at
    if known is None and await _is_full(uow, domain):
        return "too_many", None
    due = now - SUBMISSION_HEAD_START
    await uow.domains.add([domain], source="submission", now=now, due=due)
    await uow.domains.lock([domain])
    known = await uow.hosts.get(domain, host)
    if known is None:
        if await _is_full(uow, domain):
            return "too_many", None
        await uow.hosts.add(
            [HostRecord(domain, host, "submission", now, due, submitted_at=now, next_visit_why=DueReason.ASKED)]
        )
    elif not await _may_repeat(uow, known, now):  # guard: submitted-once
        return "known", known.next_visit_at
    else:
        resubmitted = replace(
            known,
            next_visit_at=due,
            next_visit_why=DueReason.ASKED,
            submitted_at=now,
            whole_plan_at=None,
            robots_at=None,
        )
        await uow.hosts.put([resubmitted])
    await uow.domains.due_by([domain], due=due, now=now)
    return ("new" if known is None else "queued"), due


def _is_waiting(known: HostRecord, now: datetime) -> bool:
    """Return whether an earlier submission is due and has not been visited since."""
    if known.submitted_at is None or known.next_visit_at is None or known.next_visit_at > now:
        return False
    return known.last_visit_at is None or known.submitted_at > known.last_visit_at


async def _is_full(uow: UnitOfWork, domain: str) -> bool:
    return (await uow.hosts.waiting([domain])).get(domain, 0) >= MAX_WAITING  # guard: submitted-hosts


async def _may_repeat(uow: UnitOfWork, known: HostRecord, now: datetime) -> bool:
    """Return whether the host was never visited, or without result a while ago. A Retry-After of the host is obeyed."""
    if known.last_visit_at is None:
        return True
    if known.outcome in _MAY_ASK_FOR_TIME:
        scheduled_at = known.next_visit_at or now
        return now >= min(scheduled_at, known.last_visit_at + REPEAT_MOST)
    if now - known.last_visit_at < min(REPEAT_AFTER * 2 ** min(max(known.streak - 1, 0), 8), REPEAT_MOST):
        return False
    return known.host not in await uow.services.of([known.domain])
