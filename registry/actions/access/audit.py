"""Reads the audit log: whole for operators, and for everybody which decisions concern a host."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from registry.actions.access.paging import BadCursor as BadCursor  # interfaces name it
from registry.actions.access.paging import before, page_of
from registry.core.access.audit import is_public, shown_reason
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import names_above
from registry.store.audit import AuditRecord as AuditRecord  # interfaces name it
from registry.store.unit_of_work import Store

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


async def decisions(store: Store, host: str) -> Sequence[AuditRecord]:
    """Return what was decided about a host, by whom as far as that is public, the latest first; MOST_PUBLIC at most.

    Those of hosts above it are among them, when they concern those below. Their reasons are as `shown_reason` says.
    """
    found = (await page(store, limit=2 * MOST_PUBLIC, host=host)).entries
    public = [
        entry
        for entry in found
        if is_public(entry.action)  # guard: audit-public
        and (entry.host == host or entry.detail.get("covers_below", True))
    ]
    return [_public(entry) for entry in public[:MOST_PUBLIC]]


def _public(entry: AuditRecord) -> AuditRecord:
    return AuditRecord(
        entry.id, entry.at, entry.actor.partition(":")[0], entry.action, entry.domain, entry.host,
        shown_reason(entry.action, entry.reason), {},
    )  # fmt: skip
