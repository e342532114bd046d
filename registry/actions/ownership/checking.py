"""Checks of claims by workers: of open ones when their claimants ask, of proven ones on a schedule.

A proof ends the older ownership of the same host and scope: the latest who can publish a value is the owner. Failed
verifications end an ownership by the rule of `core/access/claims.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from registry.actions.feed import ownership_events
from registry.actions.ownership.ending import end, lock
from registry.core.access.audit import AuditEntry, owner_actor, system_actor
from registry.core.access.claims import Answer, EndReason, Method, challenge
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import Store, UnitOfWork

TAKEN_FOR: Final = timedelta(seconds=20)
"""Time after which another worker may check a claim, because the first may have died: longer than a check takes."""

MOST_OF_NETWORK: Final = 3
"""Claims of the clients of one network that are checked at once, over all workers."""

REVERIFIED_AFTER: Final = timedelta(hours=1)
"""Least time between the last verification of a host and one because its domain was proven: repeated proofs of a
domain must not add up to the failures that end the ownerships of its hosts."""

CHECKER: Final = system_actor("claim-check")


@dataclass(frozen=True, slots=True)
class Check:
    """`may_fetch`: whether the host may be visited; else nothing is requested of it."""

    claim: str
    host: str
    method: Method
    value: str
    may_fetch: bool


async def take(store: Store, *, limit: int, now: datetime) -> Sequence[Check]:
    """Return at most `limit` due checks for the caller to make; no other worker gets them for TAKEN_FOR."""
    async with store.begin() as uow:
        claims = await uow.claims.take(limit=limit, per_network=MOST_OF_NETWORK, now=now, until=now + TAKEN_FOR)
        limits = await uow.holds.limits({claim.domain for claim in claims}) if claims else {}
    return [
        Check(
            claim.id,
            claim.host,
            claim.method,
            challenge(claim.id, claim.host, claim.scope, claim.digest),
            limits[claim.domain].may_be_visited(claim.host),
        )
        for claim in claims
    ]


async def settle(store: Store, claim_id: str, answer: Answer, *, every: timedelta, now: datetime) -> None:
    """Store the answer of a check, with what follows from it. `every`: time between verifications."""
    async with store.begin() as uow:
        found = await uow.claims.get(claim_id)
        if found is None:
            return
        await lock(uow, found.domain)
        claims = await uow.claims.owners(found.domain, lock=True)
        claim = await uow.claims.get(claim_id, lock=True)
        if claim is None or claim.due_at is None or claim.due_at > now:
            return  # it has ended, or another worker was faster
        checked = replace(claim, checked_at=now, answer=answer, due_at=None, claimed_until=None)
        if claim.proven_at is not None:
            await _verified(uow, checked, answer, every, now)
        elif answer == "published" and now < claim.expires_at:  # guard: claim-expiry
            await _proven(uow, checked, claims, every, now)
        else:
            await uow.claims.put(checked)


async def _proven(
    uow: UnitOfWork, claim: ClaimRecord, owners: Sequence[ClaimRecord], every: timedelta, now: datetime
) -> None:
    owned = replace(
        claim, proven_at=now, verified_at=now, due_at=now + every, client=None, network=None, used=0, hour_at=None
    )
    await uow.claims.put(owned)
    for older in owners:
        if (older.host, older.scope) == (claim.host, claim.scope):  # guard: claim-transfer
            await end(uow, older, "transferred", actor=owner_actor(claim.id), now=now)
        # guard: claim-verified-again
        elif claim.covers(older.host) and older.checked_at is not None and now - older.checked_at >= REVERIFIED_AFTER:
            await uow.claims.put(replace(older, due_at=now))  # the domain may have changed hands
    await uow.ledger.add_changes([ownership_events.proven(owned, now)])
    detail = {"claim": claim.id, "method": claim.method, "scope": claim.scope}
    entry = AuditEntry(owner_actor(claim.id), "ownership.proven", claim.domain, claim.host, "", detail)
    await uow.audit.add(entry, now=now)


async def _verified(uow: UnitOfWork, claim: ClaimRecord, answer: Answer, every: timedelta, now: datetime) -> None:
    standing = claim.standing.after(answer, now)
    checked = replace(
        claim,
        failures=standing.failures,
        unanswered_since=standing.unanswered_since,
        verified_at=now if answer == "published" else claim.verified_at,
        due_at=now + every,
    )
    if standing.is_over:  # guard: claim-failures
        reason: EndReason = "no_longer_published" if answer == "missing" else "unanswered"
        await end(uow, checked, reason, actor=CHECKER, now=now)
    else:
        await uow.claims.put(checked)
