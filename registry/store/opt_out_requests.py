"""Repository of requests to check whether a host opts out, or no longer does."""

from datetime import datetime

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.records import OptOutRequestRecord
from registry.store.tables import DomainRow, OptOutRequestRow

_SETTLE = text("""
UPDATE opt_out_requests SET checked_at = :now, verdict = :verdict
WHERE domain = :domain AND host = :host AND asked_at = :asked_at
""")


class OptOutRequests:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, domain: str, host: str) -> OptOutRequestRecord | None:
        """Return the latest request of the host."""
        statement = select(*_COLUMNS).where(OptOutRequestRow.domain == domain, OptOutRequestRow.host == host)
        row = (await self._connection.execute(statement)).first()
        return None if row is None else OptOutRequestRecord(*row)

    async def of(self, domain: str, *, since: datetime) -> list[OptOutRequestRecord]:
        """Return the requests of a domain since then."""
        row = OptOutRequestRow
        rows = await self._connection.execute(select(*_COLUMNS).where(row.domain == domain, row.asked_at >= since))
        return [OptOutRequestRecord(*values) for values in rows]

    async def put(self, request: OptOutRequestRecord) -> None:
        """Store a request; it replaces an earlier one of the host."""
        values = {name: getattr(request, name) for name in OptOutRequestRecord.__dataclass_fields__}
        statement = insert(OptOutRequestRow).values(values)
        await self._connection.execute(statement.on_conflict_do_update(index_elements=["domain", "host"], set_=values))

    async def open(self, *, limit: int, now: datetime) -> list[OptOutRequestRecord]:
        """Return the oldest open requests, without those of leased domains: one process at a time visits a domain."""
        leased = (
            select(DomainRow.domain)
            .where(DomainRow.domain == OptOutRequestRow.domain, DomainRow.lease_token.is_not(None))
            .where(DomainRow.next_visit_at > now)
        )
        statement = (
            select(*_COLUMNS)
            .where(OptOutRequestRow.checked_at.is_(None), ~leased.exists())
            .order_by(OptOutRequestRow.asked_at)
            .limit(limit)
        )
        return [OptOutRequestRecord(*row) for row in await self._connection.execute(statement)]

    async def settle(self, request: OptOutRequestRecord, verdict: str, *, now: datetime) -> None:
        """Record the verdict, unless the request was replaced meanwhile."""
        bound = {"now": now, "verdict": verdict, "domain": request.domain, "host": request.host}
        await self._connection.execute(_SETTLE, {**bound, "asked_at": request.asked_at})


_COLUMNS = tuple(getattr(OptOutRequestRow, name) for name in OptOutRequestRecord.__dataclass_fields__)
