"""Somebody asks for a host to be visited. Ten thousand askers cause no more requests than one."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.seed import SUBMISSION_HEAD_START
from registry.core.documents import Outcome
from registry.core.domains import canonical_host
from registry.core.next_visit import Why
from registry.core.optout import is_covered
from registry.store.records import HostRecord
from registry.store.unit_of_work import Store, UnitOfWork

REPEAT_AFTER: Final = timedelta(hours=1)
"""A host where nothing was found may be asked for again after so long: its operator may just have added a manifest."""

MAX_WAITING: Final = 20
"""Never-visited hosts of one domain: more of them wait for the next submission after these were visited."""

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
    if is_covered(host, (await uow.opt_outs.of([domain])).get(domain, ())):
        return "opted_out", None
    soon = now - SUBMISSION_HEAD_START
    await uow.domains.add([domain], source="submission", now=now, due=soon)
    await uow.domains.lock([domain])
    known = await uow.hosts.get(domain, host)
    if known is None:
        if (await uow.hosts.waiting([domain])).get(domain, 0) >= MAX_WAITING:
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


async def _may_repeat(uow: UnitOfWork, known: HostRecord, now: datetime) -> bool:
    """Never visited, or visited a while ago for nothing; what a host asked for by 429 is kept to."""
    if known.last_visit_at is None:
        return True
    if known.outcome is Outcome.RATE_LIMITED or now - known.last_visit_at < REPEAT_AFTER:
        return False
    return known.host not in await uow.services.of([known.domain])
