"""Deletes everything stored about a host or domain, and sets and ends holds (blocks, quarantines, hidden services).

Interfaces answer from the database, so the commit takes effect at once, even if an index lags; the trigger on services
notes the change for every index. Every writer checks opt-outs and `Limits` (core/access/holds.py), so visits,
submissions, seeds, rescoring and mirrors do not undo it. A hold deletes nothing, and each change is logged in the audit
log in the same transaction. A site deleted without an opt-out may be submitted again.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal

from registry.actions import feed
from registry.actions.frontier.lease import BUDGET_WINDOW
from registry.actions.frontier.submit import SUBMISSION_HEAD_START
from registry.actions.recording.rescore import BATCH, rescore_hosts
from registry.core.access.audit import AuditEvent
from registry.core.access.holds import Hold, HoldKind
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.core.scheduling.policy import DueReason
from registry.store.records import ChangeRecord, OptOutRecord
from registry.store.unit_of_work import Store, UnitOfWork

How = Literal["operator", "file", "dns", "owner"]


@dataclass(frozen=True, slots=True)
class ForgetResult:
    """`host`: it and all hosts below it were deleted. `services`: hosts that were shown. `rows`: deleted rows by table.
    `stays_out`: an opt-out or a block covers the host, made now or before."""

    domain: str
    host: str
    services: tuple[str, ...]
    rows: Mapping[str, int]
    stays_out: bool


async def forget_candidates(store: Store, forgotten: ForgetResult) -> ForgetResult:
    """Delete the candidates too, in a separate transaction (see `Forgetting.candidates`)."""
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
) -> ForgetResult:
    """Delete everything stored about the host, except candidates, in the caller's transaction."""
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
    changes += [feed.ended(claim, "forgotten", now) for claim in owners]
    repinned = await uow.owner_settings.settle_pins(domain, now=now, gone=host)  # guard: pin-gone
    changes += feed.repinned(domain, repinned, now)
    if opt_out is not None and not was_out:
        kind = "host.blocked" if opt_out == "operator" else "host.opted_out"
        changes.append(ChangeRecord(domain, host, kind, now, {"state": facts["state"], "how": opt_out}))
    data = {**facts, "note": reason, "stays_out": stays_out, "rows": rows}
    await uow.ledger.add_changes([*changes, ChangeRecord(domain, host, "host.forgotten", now, data)])
    action = "host.forgotten" if opt_out is None else "host.opted_out"
    detail = {"services": len(services), "how": opt_out}
    await uow.audit.add(AuditEvent(actor, action, domain, host, reason, detail), now=now)
    return ForgetResult(domain, host, tuple(services), rows, stays_out)


_SET: Final[Mapping[HoldKind, str]] = MappingProxyType(
    {"blocked": "host.blocked", "quarantined": "host.quarantined", "hidden": "host.hidden"}
)
_ENDED: Final[Mapping[HoldKind, str]] = MappingProxyType(
    {"blocked": "host.unblocked", "quarantined": "host.released", "hidden": "host.shown"}
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HoldResult:
    """`changed`: the hold is new, or was ended now. `services`: hosts that it hides, or that are shown again."""

    domain: str
    host: str
    kind: HoldKind
    changed: bool
    services: tuple[str, ...] = ()


async def hold_locked(uow: UnitOfWork, new: Hold, *, now: datetime) -> HoldResult:
    """Set a hold in the caller's transaction, which has written nothing before."""
    domain, host = new.domain, new.host
    await _lock(uow, domain)
    if not await uow.holds.put(new):
        return HoldResult(domain, host, new.kind, changed=False)
    hidden = await uow.services.hide(domain, [host], below=new.covers_below)
    await uow.feed.redact(domain, host, below=new.covers_below)  # guard: hold-feed-redacted
    state = (await uow.holds.limits([domain]))[domain].state(host) or "blocked"
    changes = [ChangeRecord(domain, name, "service.hidden", now, {"state": state}) for name in hidden]
    if new.kind == "blocked":
        await uow.hosts.unschedule(domain, host, DueReason.BLOCKED)
        await uow.forgetting.fence(domain)  # guard: hold-blocked-fence
        changes.append(ChangeRecord(domain, host, "host.blocked", now, {"state": state, "how": "operator"}))
    await uow.ledger.add_changes(changes)
    detail = {"covers_below": new.covers_below, "services": len(hidden)}
    await uow.audit.add(AuditEvent(new.actor, _SET[new.kind], domain, host, new.reason, detail), now=now)
    return HoldResult(domain, host, new.kind, True, tuple(hidden))


async def release_locked(
    uow: UnitOfWork, host: str, kind: HoldKind, *, actor: str, reason: str, now: datetime
) -> HoldResult:
    """End a hold in the caller's transaction, which has written nothing before. `host`: in canonical spelling."""
    domain = registrable_domain(host)
    await _lock(uow, domain)
    ended = await uow.holds.remove(domain, host, kind)
    if ended is None:
        return HoldResult(domain, host, kind, changed=False)
    limits = (await uow.holds.limits([domain]))[domain]
    if kind == "blocked":
        await _visit_again(uow, ended, now)
    hidden = [name for name in await uow.services.hidden(domain) if ended.covers(name) and limits.may_be_listed(name)]
    shown = await _show(uow, domain, hidden, now)
    await uow.audit.add(AuditEvent(actor, _ENDED[kind], domain, host, reason, {"services": len(shown)}), now=now)
    return HoldResult(domain, host, kind, True, tuple(shown))


async def _lock(uow: UnitOfWork, domain: str) -> None:
    """Lock out writers until the hold has taken effect: recording locks the domain, a mirror has a separate lock."""
    if await uow.mirroring.get() is not None:
        await uow.mirroring.lock()
    await uow.domains.lock([domain])


async def _visit_again(uow: UnitOfWork, ended: Hold, now: datetime) -> None:
    limits = (await uow.holds.limits([ended.domain]))[ended.domain]
    known = [host.host for host in await uow.hosts.of([ended.domain]) if ended.covers(host.host)]
    due = now - SUBMISSION_HEAD_START
    await uow.hosts.make_due([(ended.domain, host) for host in known if limits.may_be_visited(host)], due=due)
    await uow.domains.due_by([ended.domain], due=due, now=now)
    data = {"state": limits.state(ended.host) or "never_validated", "how": "operator"}
    await uow.ledger.add_changes([ChangeRecord(ended.domain, ended.host, "host.readmitted", now, data)])


async def _show(uow: UnitOfWork, domain: str, hosts: Collection[str], now: datetime) -> list[str]:
    """Show hidden services that are no longer covered; return their hosts. They are judged again, because rules may
    have changed meanwhile; that also makes their events. A mirror has no bodies to judge. A service that cannot be
    judged stays hidden until its next visit."""
    if await uow.mirroring.get() is not None:
        await uow.services.show(domain, hosts)
        return sorted(hosts)
    try:
        keys = [(domain, host) for host in sorted(hosts)]
        for first in range(0, len(keys), BATCH):
            await rescore_hosts(uow, keys[first : first + BATCH], now)
    except (ValueError, TypeError) as error:
        _log.error("services of %s cannot be judged again before their next visit", domain, exc_info=error)
    still_hidden = set(await uow.services.hidden(domain))
    return [host for host in sorted(hosts) if host not in still_hidden]
