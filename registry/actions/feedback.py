"""Feedback of clients about answers: giving it, and reading it as the owner of the host or as an operator.

It is a signal for people: nothing that finds, orders or shows services reads it. The latest MAX_OF_HOST rows of a host
are kept, one for each client, capability and day, so neither a flood nor a busy host fills the storage.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final, Literal

from registry.actions import Clock
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.core.model.feedback import Verdict
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.feedback import FeedbackFigure, FeedbackRecord, HostFeedback
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.values import ordered_id

MAX_OF_CLIENT: Final = 100  # in a day
MAX_OF_HOST: Final = 1_000
MAX_FIGURES: Final = 200
MAX_TEXTS: Final = 50

Refusal = Literal["unknown", "unknown_capability", "opted_out", "client_budget"]


@dataclass(frozen=True, slots=True)
class GivenFeedback:
    """`replaced`: it takes the place of what the client said earlier that day."""

    record: FeedbackRecord
    replaced: bool


@dataclass(frozen=True, slots=True)
class FeedbackRefusal:
    """`retry_at`: when a spent budget is renewed."""

    why: Refusal
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FeedbackOverview:
    """Feedback about a host: in figures, and the latest with texts."""

    figures: Sequence[FeedbackFigure] = ()
    texts: Sequence[FeedbackRecord] = ()


async def feedback_about(uow: UnitOfWork, domain: str, host: str) -> FeedbackOverview:
    return FeedbackOverview(
        await uow.feedback.figures(domain, host, limit=MAX_FIGURES),
        await uow.feedback.with_texts(domain, host, limit=MAX_TEXTS),
    )


def _client_of_day(client: str, now: datetime) -> str:
    """Return what stands for a client during one day. The address itself is never stored."""
    return hashlib.sha256(f"feedback {now.date()} {client}".encode()).hexdigest()


@dataclass(eq=False)
class FeedbackActions:
    """Feedback about answers: giving and reading it."""

    _store: Store
    _clock: Clock

    async def give(
        self, host: str, verdict: Verdict, *, client: str, capability: str | None = None, status: int | None = None,
        q: str = "", note: str = "",
    ) -> GivenFeedback | FeedbackRefusal:  # fmt: skip
        """Store feedback about a listed service in canonical spelling, or about one of its capabilities, by name or id.
        Raise DecidedAtOrigin."""
        now = self._clock().astimezone(UTC)
        domain, of_day = registrable_domain(host), _client_of_day(client, now)
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow, host)
            await uow.domains.lock([domain])  # otherwise an opt-out that is being applied would leave the row
            if is_covered(host, (await uow.opt_outs.of([domain])).get(domain, ())):  # guard: feedback-opt-out
                return FeedbackRefusal("opted_out")
            if await uow.catalogue.name(domain, host) is None:
                return FeedbackRefusal("unknown")
            name = "" if capability is None else await uow.catalogue.capability_name(domain, host, capability)
            if name is None:
                return FeedbackRefusal("unknown_capability")
            if await uow.feedback.count_of(of_day) >= MAX_OF_CLIENT:  # guard: feedback-of-client
                tomorrow = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
                return FeedbackRefusal("client_budget", tomorrow)
            record = FeedbackRecord(domain, host, ordered_id(now), name, verdict, status, q, note, now)
            return GivenFeedback(record, await uow.feedback.put(record, client=of_day, keep=MAX_OF_HOST))

    async def about(self, host: str) -> FeedbackOverview:
        """Return the feedback about a host in canonical spelling."""
        async with self._store.begin() as uow:
            return await feedback_about(uow, registrable_domain(host), host)

    async def of_hosts(self, *, limit: int) -> Sequence[HostFeedback]:
        """Return the hosts with feedback, the most complaints first."""
        async with self._store.begin() as uow:
            return await uow.feedback.of_hosts(limit=limit)
