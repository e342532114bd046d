"""Repository of nothing: takes away what was stored of a host, of all hosts below it, or of a whole domain."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Executable, delete, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.tables import (
    Base,
    CandidateRow,
    CapabilityRow,
    ChangeRow,
    DocumentHistoryRow,
    DocumentRow,
    DomainRow,
    FindingRow,
    HostRow,
    ScoreRow,
    ServiceRow,
    VisitRow,
)

_OF_A_HOST: Final[tuple[type[Base], ...]] = (
    ServiceRow, CapabilityRow, FindingRow, ScoreRow, DocumentRow, DocumentHistoryRow, HostRow,
)  # fmt: skip

# Of the domain's bodies those that neither a document nor the history of its other hosts needs.
_UNUSED_BODIES = text("""
DELETE FROM bodies b WHERE domain = :domain
    AND NOT EXISTS (SELECT FROM documents d WHERE d.domain = b.domain AND d.sha256 = b.sha256)
    AND NOT EXISTS (SELECT FROM document_history h WHERE h.domain = b.domain AND h.sha256 = b.sha256)
""")

# Nobody has this token: what is visited right now is dropped when it comes. The lease lasts as long as it would have,
# so that nobody begins to visit the domain while the first visit is still going on.
_FENCE = text("UPDATE domains SET lease_token = gen_random_uuid() WHERE domain = :domain AND lease_token IS NOT NULL")


class Forgetting:
    """`host` covers itself and every host below it; the domain itself covers all. The caller has locked the domain."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def shown(self, domain: str, host: str) -> list[str]:
        """Hosts of services that are in answers until now."""
        statement = select(ServiceRow.host).where(_covered(ServiceRow, domain, host), ~ServiceRow.hidden)
        return sorted((await self._connection.execute(statement)).scalars())

    async def rows(self, domain: str, host: str, *, today: datetime) -> dict[str, int]:
        """Deletes everything but candidates; gives the number of rows by table.

        The feed of changes keeps that something happened, not what was said. Of visits since `today` the number of
        requests stays: without it the day's budget of the domain would begin anew.
        """
        taken = {
            one.__tablename__: await self._run(delete(one).where(_covered(one, domain, host))) for one in _OF_A_HOST
        }
        taken["bodies"] = await self._run(_UNUSED_BODIES, domain=domain)
        visits = _covered(VisitRow, domain, host)
        taken["visits"] = await self._run(delete(VisitRow).where(visits, VisitRow.started_at < today))
        taken["visits"] += await self._run(update(VisitRow).where(visits).values(vector=b"[]", address=None))
        await self._run(update(ChangeRow).where(_covered(ChangeRow, domain, host)).values(data={}))
        return taken

    async def domain(self, domain: str) -> None:
        """Drops the visit that may be going on, and the domain itself where no host of it is left."""
        await self._run(_FENCE, domain=domain)
        has_host = select(HostRow.host).where(HostRow.domain == domain).exists()
        free = DomainRow.lease_token.is_(None)
        await self._run(delete(DomainRow).where(DomainRow.domain == domain, free, ~has_host))

    async def candidates(self, domain: str, host: str) -> int:
        """Who named these hosts, and whom they named; gives their number.

        For a transaction of its own, without any lock of a domain: `record` and `fold_candidates` hold those while
        they wait for candidates.
        """
        named = _covered(CandidateRow, domain, host)
        return await self._run(delete(CandidateRow).where(or_(named, _is_or_below(CandidateRow.referrer, host))))

    async def _run(self, statement: Executable, **bound: Any) -> int:
        return (await self._connection.execute(statement, bound)).rowcount


def _covered(table: Any, domain: str, host: str) -> ColumnElement[bool]:
    of_domain: ColumnElement[bool] = table.domain == domain
    return of_domain if host == domain else of_domain & _is_or_below(table.host, host)


def _is_or_below(column: Any, host: str) -> ColumnElement[bool]:
    return or_(column == host, column.endswith("." + host, autoescape=True))
