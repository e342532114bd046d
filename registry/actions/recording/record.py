"""Finished visits become stored facts: documents, history, the merged service, its score, what changed, the next visit.

One transaction per call: lock what the lease still owns, drop what it lost, write everything, give the domains back.
Whatever one domain does to it, the others of the batch are kept: a batch that fails is tried again in halves.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from registry.actions.frontier.uphold import uphold
from registry.actions.recording.conclude import Before, Looked, Writes, conclude, look
from registry.actions.recording.present import needs_body
from registry.core.documents import Outcome
from registry.core.visits import FinishedDomain
from registry.store.domains import UNSTORABLE_FOR
from registry.store.errors import StoreUnavailable, Unstorable
from registry.store.records import VisitRecord
from registry.store.unit_of_work import Store, UnitOfWork

_log = logging.getLogger(__name__)


Leased: TypeAlias = tuple[UUID, FinishedDomain]
"""A finished domain with the token of the lease that it was visited under."""


@dataclass(slots=True)
class Recorded:
    """`hosts`: what was written. `lost`: domains whose lease is no longer ours, dropped. `failed`: domains that could
    not be written, with the reason; they are set aside and visited again later. `listed`, `delisted`: hosts."""

    hosts: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    delisted: list[str] = field(default_factory=list)


async def record(store: Store, token: UUID, finished: Sequence[FinishedDomain], *, now: datetime) -> Recorded:
    """`record_all` for the domains of one lease."""
    return await record_all(store, [(token, one) for one in finished], now=now)


async def record_all(store: Store, finished: Sequence[Leased], *, now: datetime) -> Recorded:
    """Writes the visits of finished domains, each with the token of its lease, and gives the domains back.

    Leases may be mixed: what a transaction costs is shared by all its domains, and with thousands in flight those
    that finish at the same time come from many leases. Recording the same twice changes nothing.

    Raises StoreUnavailable; then nothing of the call may have been kept, and the same call can be made again.
    """
    recorded = Recorded()
    await _record_or_halve(store, finished, now, recorded)
    return recorded


async def _record_or_halve(store: Store, finished: Sequence[Leased], now: datetime, recorded: Recorded) -> None:
    if not finished:
        return
    try:
        part = await _record_together(store, finished, now)
    except StoreUnavailable:
        raise
    except Exception as error:  # a value that the database refuses, a document that breaks a rule's code: one domain's
        if len(finished) == 1:
            recorded.failed[finished[0][1].domain] = await _set_aside(store, finished[0], error, now)
            return
        middle = len(finished) // 2
        for half in (finished[:middle], finished[middle:]):
            await _record_or_halve(store, half, now, recorded)
        return
    recorded.hosts += part.hosts
    recorded.lost += part.lost
    recorded.listed += part.listed
    recorded.delisted += part.delisted


async def _record_together(store: Store, finished: Sequence[Leased], now: datetime) -> Recorded:
    async with store.begin() as uow:
        held = await uow.domains.hold([(token, one.domain) for token, one in finished])
        ours = [one for token, one in finished if held.get(one.domain) == token]
        before = await _read(uow, held)
        looked = await asyncio.to_thread(look, ours, before, now)
        stored = await uow.documents.bodies(_bodies_needed(looked))
        writes = await asyncio.to_thread(conclude, looked, before, stored, now)
        await _write(uow, writes)
        await uow.domains.give_back(held)
        await uow.ledger.announce(writes.awaited)
    return Recorded(
        hosts=[visit.host for visit in writes.visits],
        lost=sorted(one.domain for token, one in finished if held.get(one.domain) != token),
        listed=[change.host for change in writes.changes if change.kind == "service.listed"],
        delisted=[change.host for change in writes.changes if change.kind == "service.delisted"],
    )


async def _read(uow: UnitOfWork, domains: Collection[str]) -> Before:
    return Before(
        hosts={(one.domain, one.host): one for one in await uow.hosts.of(domains)},
        documents=await uow.documents.of(domains),
        services=await uow.services.of(domains),
        opted_out=await uow.opt_outs.of(domains),
    )


def _bodies_needed(looked: Sequence[Looked]) -> set[tuple[str, bytes]]:
    """Only hosts with news are merged again; of those, the documents that this visit did not bring."""
    return {
        (current.record.domain, current.record.sha256)
        for one in looked
        if one.is_merged_again
        for current in one.documents.current.values()
        if needs_body(current)
    }


async def _write(uow: UnitOfWork, writes: Writes) -> None:
    await uow.hosts.add(writes.new_hosts)
    await uow.hosts.put(writes.hosts)
    await uow.documents.add_bodies(writes.bodies)
    await uow.documents.put(writes.documents)
    await uow.documents.add_history(writes.history)
    await uow.documents.stamp(writes.stamped)
    await uow.ledger.add_visits(writes.visits)
    if writes.delisted:
        await uow.services.remove(writes.delisted)
    await uow.services.put(writes.services)
    await uow.services.stamp(writes.seen)
    await uow.services.replace_capabilities(writes.capabilities)
    await uow.services.replace_findings(writes.findings)
    await uow.services.add_scores(writes.scores)
    await uow.candidates.add(writes.candidates)
    await uow.opt_outs.add(writes.opt_outs)
    for opt_out in writes.opt_outs:
        await uphold(uow, opt_out.domain, opt_out.host, now=opt_out.created_at)
    await uow.ledger.add_changes(writes.changes)


async def _set_aside(store: Store, leased: Leased, error: Exception, now: datetime) -> str:
    """The domain that cannot be written leaves a trace in the ledger and waits, longer each time."""
    token, finished = leased
    reason = f"unrecordable: {type(error).__name__}"
    if isinstance(error, Unstorable):
        _log.error("the visit of %s cannot be recorded: %s", finished.domain, error)
    else:
        _log.error("the visit of %s cannot be recorded", finished.domain, exc_info=error)
    async with store.begin() as uow:
        if held := await uow.domains.hold([(token, finished.domain)]):
            await uow.domains.set_aside(held, now=now, step=UNSTORABLE_FOR)
            trace = VisitRecord(finished.domain, finished.domain, now, now, Outcome.SKIPPED, reason, False, 0, None)
            await uow.ledger.add_visits([trace])
    return reason
