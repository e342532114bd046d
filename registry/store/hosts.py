"""Repository of hosts: what is visited, and what is known of each between two visits."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final, LiteralString

from sqlalchemy import func, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.documents import Outcome
from registry.core.next_visit import Why
from registry.store.bulk import many
from registry.store.driver import Driver, Row, listed, recordset
from registry.store.engine import decode
from registry.store.records import HostRecord
from registry.store.tables import HostRow
from registry.store.values import REASON_CHARS, clean, clean_json

_FIELDS = tuple(HostRecord.__dataclass_fields__)
_COLUMNS: Final[LiteralString] = ", ".join(_FIELDS)
_KEPT = frozenset({"domain", "host", "source", "referrer", "created_at"})
_STATE: Final[LiteralString] = ", ".join(f"{name} = excluded.{name}" for name in _FIELDS if name not in _KEPT)

# All rows of a batch in one statement and one parameter: a fifth of what `executemany` costs (benchmarks/record).
_PUT: Final[LiteralString] = f"""
INSERT INTO hosts ({_COLUMNS}) SELECT {_COLUMNS} FROM json_populate_recordset(NULL::hosts, %(hosts)s)
ON CONFLICT (domain, host) DO UPDATE SET {_STATE}
"""  # noqa: S608  # our own columns
_OF: Final[LiteralString] = f"""
SELECT {_COLUMNS} FROM hosts WHERE domain = ANY(string_to_array(%(domains)s, ' ')) ORDER BY domain, host
"""  # noqa: S608  # our own columns
_ONE: Final[LiteralString] = f"SELECT {_COLUMNS} FROM hosts WHERE domain = %(domain)s AND host = %(host)s"  # noqa: S608  # our own columns
_DUE: Final[LiteralString] = f"""
SELECT {_COLUMNS} FROM hosts
WHERE domain = ANY(string_to_array(%(domains)s, ' ')) AND next_visit_at <= %(now)s ORDER BY domain, host
"""  # noqa: S608  # our own columns

_DUE_AS_NEW = text(
    "UPDATE hosts SET next_visit_at = :due, next_visit_why = 'asked', whole_plan_at = NULL, robots_at = NULL"
    " WHERE domain = :domain AND host = :host"
)


class Hosts:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._driver = Driver(connection)

    async def add(self, hosts: Iterable[HostRecord]) -> int:
        """New ones only; gives their number. Sorted, so that two writers cannot deadlock."""
        rows = [_row(host) for host in sorted(hosts, key=lambda one: (one.domain, one.host))]
        return await many(self._connection, insert(HostRow).on_conflict_do_nothing(), rows)

    async def put(self, hosts: Iterable[HostRecord]) -> None:
        """The state after a visit; who named a host, and when, stays as it was."""
        rows = {(host.domain, host.host): _storable(host) for host in hosts}
        if rows:
            await self._driver.run(_PUT, {"hosts": recordset(list(rows.values()))})

    async def get(self, domain: str, host: str) -> HostRecord | None:
        found = await self._driver.rows(_ONE, {"domain": domain, "host": host})
        return _read(found[0]) if found else None

    async def of(self, domains: Collection[str]) -> list[HostRecord]:
        return [_read(row) for row in await self._driver.rows(_OF, {"domains": listed(domains)})]

    async def due(self, domains: Collection[str], *, now: datetime) -> list[HostRecord]:
        return [_read(row) for row in await self._driver.rows(_DUE, {"domains": listed(domains), "now": now})]

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


def _row(host: HostRecord) -> dict[str, Any]:
    return asdict(_storable(host))


def _storable(host: HostRecord) -> HostRecord:
    """As it is, nearly always: a copy costs more than everything else about a row."""
    reason = clean(host.reason, REASON_CHARS)
    if reason == host.reason and not host.pending:
        return host
    return replace(host, reason=reason, pending=clean_json(host.pending))


def _read(row: Row) -> HostRecord:
    """What is pending is a convenience: where it cannot be read, the next whole plan finds it again."""
    values = list(row)
    if values[_OUTCOME]:
        values[_OUTCOME] = Outcome(values[_OUTCOME])
    values[_WHY] = Why(values[_WHY])
    try:
        values[_PENDING] = decode(values[_PENDING])
    except ValueError:
        values[_PENDING] = []
    return HostRecord(*values)


_OUTCOME, _WHY, _PENDING = map(_FIELDS.index, ("outcome", "next_visit_why", "pending"))
