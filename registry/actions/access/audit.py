"""Reads the audit log: whole for operators, and the decisions about hosts for everybody."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from registry.actions.access.paging import BadCursor as BadCursor  # interfaces name it
from registry.actions.access.paging import before, page_of
from registry.core.access.audit import PUBLIC_SUBJECTS, concerns_below, shown_reason
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import names_above
from registry.store.audit import AuditRecord as AuditRecord  # interfaces name it
from registry.store.unit_of_work import Store, UnitOfWork

MOST_PUBLIC: Final = 100
"""Decisions of a host that are shown; older ones are in the log."""


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, the latest first. `cursor`: of the page after it; None: there is none."""

    entries: Sequence[AuditRecord]
    cursor: str | None


async def page(store: Store, *, limit: int, cursor: str | None = None, host: str | None = None) -> AuditPage:
    """Return at most `limit` entries, of a host and those above it in its domain if given. Raise BadCursor."""
    hosts = None if host is None else names_above(host, registrable_domain(host))
    async with store.begin() as uow:
        entries = await uow.audit.latest(limit=limit + 1, before=before(cursor), hosts=hosts)
    return AuditPage(*page_of(entries, limit))


async def public_page(store: Store, *, limit: int, cursor: str | None = None) -> AuditPage:
    """Return at most `limit` of the entries that everybody may know of, as `_shown` says. Raise BadCursor."""
    async with store.begin() as uow:
        entries, following = page_of(await _public(uow, limit=limit + 1, before=before(cursor)), limit)
    return AuditPage([_shown(entry) for entry in entries], following)


async def decisions(store: Store, host: str) -> Sequence[AuditRecord]:
    """Return what was decided about a host, as `_shown` says, the latest first; MOST_PUBLIC at most.

    Decisions about hosts above it are among them, when they concern those below.
    """
    async with store.begin() as uow:
        found = await _public(uow, limit=2 * MOST_PUBLIC, hosts=names_above(host, registrable_domain(host)))
    concerning = [entry for entry in found if entry.host == host or concerns_below(entry.action, entry.detail)]
    return [_shown(entry) for entry in concerning[:MOST_PUBLIC]]


async def _public(
    uow: UnitOfWork, *, limit: int, before: UUID | None = None, hosts: Collection[str] | None = None
) -> Sequence[AuditRecord]:
    # guard: audit-public
    return await uow.audit.latest(limit=limit, before=before, hosts=hosts, subjects=PUBLIC_SUBJECTS)


def _shown(entry: AuditRecord) -> AuditRecord:
    """Return what everybody may know of an entry: of the actor its kind, no details, and the reason of some actions."""
    return AuditRecord(
        entry.id, entry.at, entry.actor.partition(":")[0], entry.action, entry.domain, entry.host,
        shown_reason(entry.action, entry.reason), {},
    )  # fmt: skip
