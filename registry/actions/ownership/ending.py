"""Ends an ownership with everything that the owner has set: hidden hosts, notes, pinned hosts and webhooks."""

from dataclasses import replace
from datetime import datetime

from registry.actions import feed
from registry.actions.maintenance.forget import release_locked
from registry.core.access.audit import AuditEvent, owner_actor
from registry.core.access.claims import EndReason
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import UnitOfWork


async def lock(uow: UnitOfWork, domain: str) -> None:
    """Lock out all other writers of the domain, in the order in which holds lock. A domain may be claimed before it has
    a row to lock."""
    if await uow.mirroring.get() is not None:
        await uow.mirroring.lock()
    await uow.domains.lock([domain])
    await uow.claims.serialize(domain)


async def end(uow: UnitOfWork, claim: ClaimRecord, reason: EndReason, *, actor: str, now: datetime) -> None:
    """End a proven ownership. The caller has locked the domain and its claims."""
    own = owner_actor(claim.id)
    limits = (await uow.holds.limits([claim.domain]))[claim.domain]
    for held in limits.holds:
        if held.kind == "hidden" and held.actor == own:  # guard: owner-end-shows
            await release_locked(uow, held.host, "hidden", actor=actor, reason="the ownership ended", now=now)
    await uow.owner_settings.remove_of(claim.id, claim.domain)
    ended = replace(claim, ended_at=now, end_reason=reason, due_at=None, claimed_until=None, owner_digest=None)
    await uow.claims.put(ended)
    changes = feed.repinned(claim.domain, await uow.owner_settings.settle_pins(claim.domain, now=now), now)
    await uow.ledger.add_changes([feed.ended(claim, reason, now), *changes])
    detail = {"claim": claim.id, "scope": claim.scope, "reason": reason}
    await uow.audit.add(AuditEvent(actor, "ownership.ended", claim.domain, claim.host, "", detail), now=now)
