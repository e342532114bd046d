"""Sets and ends holds: blocks and quarantines of this registry's operators, and services that their owners hide.

What is stored stays. A hold takes effect with the commit, for every interface; every writer asks `Limits` about it
(core/access/holds.py), so visits, submissions, seeds, rescoring and mirrors do not undo it. Each change is an entry of
the audit log in the same transaction.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from registry.actions.frontier.seed import SUBMISSION_HEAD_START
from registry.actions.recording.rescore import BATCH, rescore_hosts
from registry.core.access.audit import AuditEntry
from registry.core.access.holds import Hold, HoldKind
from registry.core.names.domains import InvalidName, canonical_host, host_syntax, registrable_domain
from registry.core.scheduling.reasons import DueReason
from registry.store.records import ChangeRecord
from registry.store.unit_of_work import Store, UnitOfWork

_SET: Final[Mapping[HoldKind, str]] = MappingProxyType(
    {"blocked": "host.blocked", "quarantined": "host.quarantined", "hidden": "host.hidden"}
)
_ENDED: Final[Mapping[HoldKind, str]] = MappingProxyType(
    {"blocked": "host.unblocked", "quarantined": "host.released", "hidden": "host.shown"}
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Held:
    """`changed`: whether the hold is new, or was ended now. `services`: hosts that are hidden by it, or shown again."""

    domain: str
    host: str
    kind: HoldKind
    changed: bool
    services: tuple[str, ...] = ()


async def hold(
    store: Store,
    name: str,
    kind: HoldKind,
    *,
    actor: str,
    reason: str,
    now: datetime,
    covers_below: bool = True,
) -> Held:
    """Set a hold on a host, and with `covers_below` on all hosts below it; a block always covers those.

    One that is set already stays as it is. Special-use names may be held: a registry may have stored some under other
    settings. Raise InvalidName, also for public suffixes, and StoreUnavailable.
    """
    try:
        host = canonical_host(name)
    except InvalidName as refusal:
        if refusal.code != "special_use":
            raise
        host = canonical_host(name, exempt={host_syntax(name)})
    new = Hold(host.domain, host.host, kind, covers_below or kind == "blocked", actor, reason, now)
    async with store.begin() as uow:
        return await hold_locked(uow, new, now=now)


async def release(store: Store, name: str, kind: HoldKind, *, actor: str, reason: str, now: datetime) -> Held:
    """End the hold of exactly this host. What no other hold and no opt-out covers is shown again at once, as judged
    from its stored documents; the hosts of an ended block are visited next. Raise InvalidName and StoreUnavailable."""
    host = host_syntax(name)
    async with store.begin() as uow:
        return await release_locked(uow, host, kind, actor=actor, reason=reason, now=now)


async def holds(
    store: Store, after: tuple[str, str, str], kinds: Collection[HoldKind], *, limit: int
) -> Sequence[Hold]:
    """Return holds of these kinds after this domain, host and kind, in this order."""
    async with store.begin() as uow:
        return await uow.holds.page(after, kinds, limit=limit)


async def hold_locked(uow: UnitOfWork, new: Hold, *, now: datetime) -> Held:
    """Set a hold in a transaction of the caller, which has written nothing before."""
    domain, host = new.domain, new.host
    await _lock(uow, domain)
    if not await uow.holds.put(new):
        return Held(domain, host, new.kind, changed=False)
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
    await uow.audit.add(AuditEntry(new.actor, _SET[new.kind], domain, host, new.reason, detail), now=now)
    return Held(domain, host, new.kind, True, tuple(hidden))


async def release_locked(uow: UnitOfWork, host: str, kind: HoldKind, *, actor: str, reason: str, now: datetime) -> Held:
    """End a hold in a transaction of the caller, which has written nothing before. `host`: in canonical spelling."""
    domain = registrable_domain(host)
    await _lock(uow, domain)
    ended = await uow.holds.remove(domain, host, kind)
    if ended is None:
        return Held(domain, host, kind, changed=False)
    limits = (await uow.holds.limits([domain]))[domain]
    if kind == "blocked":
        await _visit_again(uow, ended, now)
    hidden = [name for name in await uow.services.hidden(domain) if ended.covers(name) and limits.may_be_listed(name)]
    shown = await _show(uow, domain, hidden, now)
    await uow.audit.add(AuditEntry(actor, _ENDED[kind], domain, host, reason, {"services": len(shown)}), now=now)
    return Held(domain, host, kind, True, tuple(shown))


async def _lock(uow: UnitOfWork, domain: str) -> None:
    """Have no writer between the hold and its effects: recording locks the domain, a mirror has a lock of its own."""
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
    """Show hidden services that nothing covers any more; return their hosts.

    They are judged again, because rules may have changed meanwhile; that also makes their events. A mirror has no
    bodies to judge. One that cannot be judged stays hidden until its next visit.
    """
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
