"""Somebody asks for a host to be visited. Ten thousand askers cause no more requests than one."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.frontier.seed import SUBMISSION_HEAD_START
from registry.core.documents import Outcome
from registry.core.domains import canonical_host
from registry.core.next_visit import Why
from registry.core.optout import is_covered
from registry.store.records import HostRecord
from registry.store.unit_of_work import Store, UnitOfWork

REPEAT_AFTER: Final = timedelta(hours=1)
REPEAT_MOST: Final = timedelta(days=1)
"""A host where nothing was found may be asked for again after so long: its operator may just have added a manifest.
Twice as long after each visit that ended like the one before, up to a day: a submission must not be a way to have
somebody asked a hundred times a day."""

MAX_WAITING: Final = 20
"""Never-visited hosts of one domain: more of them wait for the next submission after these were visited."""

_MAY_ASK_FOR_TIME: Final = frozenset({Outcome.RATE_LIMITED, Outcome.SERVER_ERROR})  # Retry-After, up to a day

State = Literal["new", "queued", "known", "opted_out", "too_many"]


@dataclass(frozen=True, slots=True)
class Submission:
    """`state`: new (first heard of), queued (due at once), known (visited already, not visited again because of this),
    opted_out, too_many (of its domain's hosts wait already). `next_visit_at` is never in the past."""

    state: State
    domain: str
    host: str
    next_visit_at: datetime | None
    confusable: bool


async def submit(store: Store, name: str, *, now: datetime, exempt: Collection[str] = ()) -> Submission:
    """Queues the host before everything else that is due. Raises InvalidName."""
    asked = canonical_host(name, exempt=exempt)
    async with store.begin() as uow:
        state, due = await _queue(uow, asked.domain, asked.host, now)
    return Submission(state, asked.domain, asked.host, due and max(due, now), asked.confusable)


async def _queue(uow: UnitOfWork, domain: str, host: str, now: datetime) -> tuple[State, datetime | None]:
    """Whoever asks for what is queued already, or cannot be, writes nothing: no lock, no commit to wait for."""
    if is_covered(host, (await uow.opt_outs.of([domain])).get(domain, ())):
        return "opted_out", None
    known = await uow.hosts.get(domain, host)
    if known is not None and _is_waiting(known, now):
        return "queued", known.next_visit_at
    if known is None and await _is_full(uow, domain):
        return "too_many", None
    soon = now - SUBMISSION_HEAD_START
    await uow.domains.add([domain], source="submission", now=now, due=soon)
    await uow.domains.lock([domain])
    known = await uow.hosts.get(domain, host)
    if known is None:
        if await _is_full(uow, domain):
            return "too_many", None
        await uow.hosts.add(
            [HostRecord(domain, host, "submission", now, soon, submitted_at=now, next_visit_why=Why.ASKED)]
        )
    elif not await _may_repeat(uow, known, now):
        return "known", known.next_visit_at
    else:
        again = replace(
            known,
            next_visit_at=soon,
            next_visit_why=Why.ASKED,
            submitted_at=now,
            whole_plan_at=None,
            robots_at=None,
        )
        await uow.hosts.put([again])
    await uow.domains.sooner([domain], soon=soon, now=now)
    return ("new" if known is None else "queued"), soon


def _is_waiting(known: HostRecord, now: datetime) -> bool:
    """Somebody asked already, and no visit has answered yet."""
    if known.submitted_at is None or known.next_visit_at is None or known.next_visit_at > now:
        return False
    return known.last_visit_at is None or known.submitted_at > known.last_visit_at


async def _is_full(uow: UnitOfWork, domain: str) -> bool:
    return (await uow.hosts.waiting([domain])).get(domain, 0) >= MAX_WAITING


async def _may_repeat(uow: UnitOfWork, known: HostRecord, now: datetime) -> bool:
    """Never visited, or visited a while ago for nothing; the time that a host may have asked for is kept to."""
    if known.last_visit_at is None:
        return True
    if known.outcome in _MAY_ASK_FOR_TIME:
        by_itself = known.next_visit_at or now
        return now >= min(by_itself, known.last_visit_at + REPEAT_MOST)
    if now - known.last_visit_at < min(REPEAT_AFTER * 2 ** min(max(known.streak - 1, 0), 8), REPEAT_MOST):
        return False
    return known.host not in await uow.services.of([known.domain])
