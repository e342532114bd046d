"""Repository of the audit log: entries are added and read, never changed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.access.audit import AuditEntry
from registry.store.engine import decode
from registry.store.tables import AuditRow
from registry.store.values import clean, clean_json, ordered_id


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """A row of `audit`."""

    id: UUID
    at: datetime
    actor: str
    action: str
    domain: str
    host: str
    reason: str
    detail: dict[str, Any]


class Audit:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._added = 0

    async def add(self, entry: AuditEntry, *, now: datetime) -> None:
        """Add an entry to the log, in the transaction of what it tells."""
        row = {
            "id": ordered_id(now, self._added), "at": now, "actor": clean(entry.actor), "action": entry.action,
            "domain": entry.domain, "host": entry.host, "reason": clean(entry.reason),
            "detail": clean_json(entry.detail),
        }  # fmt: skip
        await self._connection.execute(insert(AuditRow).values(row))
        self._added += 1  # entries of one transaction have one time

    async def last(self, host: str, action: str) -> datetime | None:
        """Return when this was last done to exactly this host; None: never."""
        statement = select(func.max(AuditRow.at)).where(AuditRow.host == host, AuditRow.action == action)
        return (await self._connection.execute(statement)).scalar_one()

    async def latest(
        self,
        *,
        limit: int,
        before: UUID | None = None,
        host: str | None = None,
        hosts: Collection[str] | None = None,
        subjects: Collection[str] | None = None,
    ) -> Sequence[AuditRecord]:
        """Return entries, the latest first: those before an entry, those of a host, those of any of `hosts`, those
        whose actions have one of `subjects`."""
        statement = select(*_COLUMNS).order_by(AuditRow.id.desc()).limit(limit)
        if before is not None:
            statement = statement.where(AuditRow.id < before)
        if host is not None:
            statement = statement.where(AuditRow.host == host)
        if hosts is not None:
            statement = statement.where(AuditRow.host.in_(list(hosts)))
        if subjects is not None:
            statement = statement.where(func.split_part(AuditRow.action, ".", 1).in_(list(subjects)))
        rows = (await self._connection.execute(statement)).mappings()
        return [AuditRecord(**{**row, "detail": decode(row["detail"])}) for row in rows]


_COLUMNS: Final = tuple(getattr(AuditRow, name) for name in AuditRecord.__dataclass_fields__)
