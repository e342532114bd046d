"""A visit at once, asked for by the owner of a host."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

from registry.actions.frontier.seed import SUBMISSION_HEAD_START
from registry.actions.frontier.submit import is_waiting
from registry.actions.ownership.authorising import changing
from registry.core.access.tokens import Token
from registry.core.model.documents import Outcome
from registry.core.scheduling.reasons import DueReason
from registry.store.records import HostRecord
from registry.store.unit_of_work import Store

_MAY_ASK_FOR_TIME: Final = frozenset({Outcome.RATE_LIMITED, Outcome.SERVER_ERROR})

RecheckState = Literal["queued", "closed", "asked_for_time"]


@dataclass(frozen=True, slots=True)
class Recheck:
    """`state`: queued; closed (the host opted out, or is blocked); asked_for_time (it asks to be left alone until
    `retry_at`)."""

    state: RecheckState
    retry_at: datetime | None = None


async def recheck(store: Store, token: Token, host: str, *, now: datetime) -> Recheck:
    """Queue a visit of the host with the whole plan, before everything that is scheduled. Raise NotAnOwner, OtherHost
    and TooMany. The daily budgets of the site apply, as to every visit."""
    due = now - SUBMISSION_HEAD_START
    async with changing(store, token, host, now=now) as owner:
        uow, domain = owner.uow, owner.domain
        if not (await uow.holds.limits([domain]))[domain].may_be_visited(host):  # guard: owner-recheck-closed
            return Recheck("closed")
        await uow.domains.add([domain], source="submission", now=now, due=due)
        await uow.domains.lock([domain])
        known = await uow.hosts.get(domain, host)
        if known is None:
            new = HostRecord(domain, host, "submission", now, due, submitted_at=now, next_visit_why=DueReason.ASKED)
            await uow.hosts.add([new])
        elif is_waiting(known, now):
            return Recheck("queued")
        elif known.outcome in _MAY_ASK_FOR_TIME and known.next_visit_at is not None and now < known.next_visit_at:
            return Recheck("asked_for_time", known.next_visit_at)
        else:
            asked = replace(known, next_visit_at=due, next_visit_why=DueReason.ASKED, submitted_at=now)
            await uow.hosts.put([replace(asked, whole_plan_at=None, robots_at=None)])
        await uow.domains.due_by([domain], due=due, now=now)
        await owner.audit("host.recheck_asked")
    return Recheck("queued")
