"""Repository of what happened: visits and changes are written once and never touched again."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.documents import Outcome
from registry.store.bulk import many
from registry.store.engine import decode
from registry.store.records import ChangeRecord, VisitRecord
from registry.store.tables import ChangeRow, VisitRow
from registry.store.values import REASON_CHARS, clean, clean_json, ordered_id


class Ledger:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add_visits(self, visits: Iterable[VisitRecord]) -> None:
        rows = [_row(visit) for visit in visits]
        await many(self._connection, insert(VisitRow).on_conflict_do_nothing(), rows)

    async def visits(self, domain: str, host: str, *, limit: int) -> list[VisitRecord]:
        """The latest first."""
        statement = (
            select(VisitRow.__table__)
            .where(VisitRow.domain == domain, VisitRow.host == host)
            .order_by(VisitRow.started_at.desc())
            .limit(limit)
        )
        return [_record(row) for row in (await self._connection.execute(statement)).mappings()]

    async def spent(self, domains: Collection[str], *, since: datetime) -> dict[str, int]:
        """Requests made of each domain since then, over all its hosts; domains without any are left out."""
        statement = (
            select(VisitRow.domain, func.sum(VisitRow.requests))
            .where(VisitRow.domain.in_(list(domains)), VisitRow.started_at >= since)
            .group_by(VisitRow.domain)
        )
        return {domain: int(requests) for domain, requests in await self._connection.execute(statement)}

    async def add_changes(self, changes: Iterable[ChangeRecord]) -> None:
        rows = [asdict(change) | {"id": ordered_id(change.at)} for change in changes]
        await many(self._connection, insert(ChangeRow), rows)

    async def changes(self, domain: str, host: str) -> list[ChangeRecord]:
        """All that changed about a host, oldest first."""
        row = ChangeRow
        statement = (
            select(row.domain, row.host, row.kind, row.at, row.data)
            .where(row.domain == domain, row.host == host)
            .order_by(row.id)
        )
        return [
            ChangeRecord(d, h, kind, at, decode(data))
            for d, h, kind, at, data in await self._connection.execute(statement)
        ]

    async def announce(self, hosts: Collection[str]) -> None:
        """Tells who listens that these hosts were recorded, as soon as the transaction is committed."""
        await self._connection.execute(_ANNOUNCE, {"channel": RECORDED, "hosts": sorted(hosts)})


RECORDED = "waypost_recorded"
"""The channel on which `record` names each host that it has written."""

_ANNOUNCE = text("SELECT pg_notify(:channel, host) FROM unnest(CAST(:hosts AS text[])) AS host")


def _row(visit: VisitRecord) -> dict[str, Any]:
    row = {name: getattr(visit, name) for name in _FIELDS}
    return row | {"reason": clean(visit.reason, REASON_CHARS), "vector": clean_json(visit.vector)}


def _record(row: RowMapping) -> VisitRecord:
    return VisitRecord(**{**row, "outcome": Outcome(row["outcome"]), "vector": decode(row["vector"])})


_FIELDS = tuple(VisitRecord.__dataclass_fields__)
