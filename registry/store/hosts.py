"""Repository of hosts: what is visited, and what is known of each between two visits."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, func, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.documents import Outcome
from registry.core.next_visit import Why
from registry.store.bulk import columns_of, many, upsert
from registry.store.engine import decode
from registry.store.records import HostRecord
from registry.store.tables import HostRow
from registry.store.values import REASON_CHARS, clean, clean_json

_PUT = upsert(HostRow, columns_of(HostRow, "domain", "host", "source", "referrer", "created_at"))
_DUE_AS_NEW = text(
    "UPDATE hosts SET next_visit_at = :due, next_visit_why = 'asked', whole_plan_at = NULL, robots_at = NULL"
    " WHERE domain = :domain AND host = :host"
)


class Hosts:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, hosts: Iterable[HostRecord]) -> int:
        """New ones only; gives their number. Sorted, so that two writers cannot deadlock."""
        rows = [_row(host) for host in sorted(hosts, key=lambda one: (one.domain, one.host))]
        return await many(self._connection, insert(HostRow).on_conflict_do_nothing(), rows)

    async def put(self, hosts: Iterable[HostRecord]) -> None:
        """The state after a visit; who named a host, and when, stays as it was."""
        await many(self._connection, _PUT, [_row(host) for host in hosts])

    async def get(self, domain: str, host: str) -> HostRecord | None:
        found = await self._select(HostRow.domain == domain, HostRow.host == host)
        return found[0] if found else None

    async def of(self, domains: Collection[str]) -> list[HostRecord]:
        return await self._select(HostRow.domain.in_(list(domains)))

    async def due(self, domains: Collection[str], *, now: datetime) -> list[HostRecord]:
        return await self._select(HostRow.domain.in_(list(domains)), HostRow.next_visit_at <= now)

    async def never_again(self, domain: str, host: str) -> None:
        """No visit of the host, or of any below it, is due by itself any more."""
        below = or_(HostRow.host == host, HostRow.host.endswith("." + host, autoescape=True))
        await self._connection.execute(
            update(HostRow)
            .where(HostRow.domain == domain, below)
            .values(next_visit_at=None, next_visit_why=Why.OPTED_OUT)
        )

    async def make_due(self, keys: Sequence[tuple[str, str]], *, due: datetime) -> int:
        """Due at `due` with the whole plan, as if new; robots.txt is read again too."""
        rows = [{"due": due, "domain": domain, "host": host} for domain, host in sorted(keys)]
        return await many(self._connection, _DUE_AS_NEW, rows)

    async def waiting(self, domains: Collection[str]) -> dict[str, int]:
        """How many hosts of each domain were named and never visited; domains without any are left out."""
        statement = (
            select(HostRow.domain, func.count())
            .where(HostRow.domain.in_(list(domains)), HostRow.last_visit_at.is_(None))
            .group_by(HostRow.domain)
        )
        return dict((await self._connection.execute(statement)).all())

    async def count_due(self, keys: Collection[tuple[str, str]], *, now: datetime) -> int:
        """How many of these hosts are due, those of running leases included."""
        statement = select(func.count()).where(
            tuple_(HostRow.domain, HostRow.host).in_(list(keys)), HostRow.next_visit_at <= now
        )
        return (await self._connection.execute(statement)).scalar_one()

    async def outcomes(self) -> dict[str, int]:
        """Visited hosts by the outcome of their last visit."""
        statement = select(HostRow.outcome, func.count()).where(HostRow.outcome.is_not(None)).group_by(HostRow.outcome)
        return {outcome: number for outcome, number in await self._connection.execute(statement) if outcome}

    async def _select(self, *conditions: ColumnElement[bool]) -> list[HostRecord]:
        statement = select(HostRow.__table__).where(*conditions).order_by(HostRow.domain, HostRow.host)
        return [_record(row) for row in (await self._connection.execute(statement)).mappings()]


def _row(host: HostRecord) -> dict[str, Any]:
    return asdict(host) | {"reason": clean(host.reason, REASON_CHARS), "pending": clean_json(host.pending)}


def _record(row: RowMapping) -> HostRecord:
    """What is pending is a convenience: where it cannot be read, the next whole plan finds it again."""
    outcome = Outcome(row["outcome"]) if row["outcome"] else None
    try:
        pending = decode(row["pending"])
    except ValueError:
        pending = []
    why = Why(row["next_visit_why"])
    return HostRecord(**{**row, "outcome": outcome, "pending": pending, "next_visit_why": why})
