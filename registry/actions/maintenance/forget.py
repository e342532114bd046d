"""Removes a site from the registry: deletes everything stored about a domain, or a host and those below it.

Answers are read from the database, so the commit removes the site from them at once, whatever an index still holds;
the trigger on services notes it for every index. Every writer checks opt-outs, those made here included: reindexing,
visits, submissions, seeds and documents of others do not bring it back. Without an opt-out it may be named again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from registry.actions.feed import ownership_events
from registry.actions.frontier.lease import BUDGET_WINDOW
from registry.core.access.audit import OPERATOR, AuditEntry
from registry.core.names.domains import host_syntax, registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.records import ChangeRecord, OptOutRecord
from registry.store.unit_of_work import Store, UnitOfWork

How = Literal["operator", "file", "dns", "owner"]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`host` and all below it. `services`: hosts that were shown until now. `rows`: deleted rows, by table.

    `stays_out`: an opt-out or a block covers it, made now or before.
    """

    domain: str
    host: str
    services: tuple[str, ...]
    rows: Mapping[str, int]
    stays_out: bool


async def forget(
    store: Store,
    name: str,
    *,
    now: datetime,
    opt_out: How | None = None,
    evidence: str = "",
    reason: str = "",
    since: datetime | None = None,
    actor: str = OPERATOR,
) -> Forgotten:
    """Delete, and with `opt_out` store an opt-out too, with who declared it, the evidence and `since` when (None: now).

    Repeating it is harmless: it completes an interrupted attempt, and an opt-out keeps its first evidence. Raise
    InvalidName (syntax only: names stored under older rules must be deletable too) and StoreUnavailable.
    """
    host = host_syntax(name)
    async with store.begin() as uow:
        forgotten = await forget_locked(
            uow, host, now=now, opt_out=opt_out, evidence=evidence, reason=reason, since=since, actor=actor
        )
    return await forget_candidates(store, forgotten)


async def forget_candidates(store: Store, forgotten: Forgotten) -> Forgotten:
    """Delete the candidates too, in a transaction of its own (see `Forgetting.candidates`)."""
    async with store.begin() as uow:
        candidates = await uow.forgetting.candidates(forgotten.domain, forgotten.host)
    return replace(forgotten, rows={**forgotten.rows, "candidates": candidates})


async def forget_locked(
    uow: UnitOfWork,
    host: str,
    *,
    now: datetime,
    opt_out: How | None,
    evidence: str,
    reason: str,
    actor: str,
    since: datetime | None = None,
) -> Forgotten:
    """Do what `forget` does except for candidates, in a transaction of the caller."""
    domain = registrable_domain(host)
    await uow.domains.lock([domain])
    await uow.claims.serialize(domain)
    was_out = host in (await uow.holds.limits([domain]))[domain].opted_out
    if opt_out is not None:
        await uow.opt_outs.add([OptOutRecord(domain, host, opt_out, evidence, since or now)])
    services = await uow.forgetting.shown(domain, host)
    owners = [claim for claim in await uow.claims.owners(domain) if is_covered(claim.host, [host])]
    rows = await uow.forgetting.rows(domain, host, today=now - BUDGET_WINDOW)
    await uow.forgetting.domain(domain)
    limits = (await uow.holds.limits([domain]))[domain]
    stays_out = not limits.may_be_visited(host)
    await uow.feed.redact(domain, host)  # guard: feed-forgotten-redacted
    facts = {"state": limits.state(host) or "gone", "reason": "forgotten"}
    changes = [ChangeRecord(domain, shown_host, "service.delisted", now, facts) for shown_host in services]
    changes += [ownership_events.ended(claim, "forgotten", now) for claim in owners]
    repinned = await uow.owner_settings.settle_pins(domain, now=now, gone=host)  # guard: pin-gone
    changes += ownership_events.repinned(domain, repinned, now)
    if opt_out is not None and not was_out:
        kind = "host.blocked" if opt_out == "operator" else "host.opted_out"
        changes.append(ChangeRecord(domain, host, kind, now, {"state": facts["state"], "how": opt_out}))
    data = {**facts, "note": reason, "stays_out": stays_out, "rows": rows}
    await uow.ledger.add_changes([*changes, ChangeRecord(domain, host, "host.forgotten", now, data)])
    action = "host.forgotten" if opt_out is None else "host.opted_out"
    detail = {"services": len(services), "how": opt_out}
    await uow.audit.add(AuditEntry(actor, action, domain, host, reason, detail), now=now)
    return Forgotten(domain, host, tuple(services), rows, stays_out)
