"""Ends an ownership. What the owner has set ends with it: hidden hosts, notes, pinned hosts and webhooks."""

from dataclasses import replace
from datetime import datetime

from registry.actions.feed import ownership_events
from registry.actions.maintenance.holds import release_locked
from registry.core.access.audit import AuditEntry, owner_actor
from registry.core.access.claims import EndReason
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import UnitOfWork


async def lock(uow: UnitOfWork, domain: str) -> None:
    """Keep all other writers of the domain out, in the order in which holds lock."""
    if await uow.mirroring.get() is not None:
        await uow.mirroring.lock()
    await uow.domains.lock([domain])


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
    changes = [ownership_events.ended(claim, reason, now)]
    remaining = [known for known in await uow.claims.of(claim.domain) if known.is_owner]
    for setting in await uow.owner_settings.of(claim.domain):
        pinned = setting.canonical
        if pinned is not None and not any(known.covers(pinned) for known in remaining):
            await uow.owner_settings.put(replace(setting, canonical=None, changed_at=now))
            changes.append(ownership_events.changed(setting.domain, setting.host, "canonical_host", now))
    await uow.ledger.add_changes(changes)
    detail = {"claim": claim.id, "scope": claim.scope, "reason": reason}
    await uow.audit.add(AuditEntry(actor, "ownership.ended", claim.domain, claim.host, "", detail), now=now)
