"""Repositories of who may become a host, and of who wants to be left alone."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.bulk import many
from registry.store.driver import Driver, listed
from registry.store.records import CandidateRecord, OptOutRecord
from registry.store.tables import CandidateRow, OptOutRow
from registry.store.values import clean

MAX_REL_CHARS = 60

_FOLD = text("UPDATE candidates SET folded_at = :now, verdict = :verdict WHERE domain = :domain AND host = :host")


class Candidates:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, candidates: Iterable[CandidateRecord]) -> int:
        """New ones only: a host that is named again by the same host in the same way is no news."""
        ordered = sorted(candidates, key=lambda one: (one.domain, one.host, one.referrer, one.rel))
        rows = [
            asdict(one) | {"rel": clean(one.rel, MAX_REL_CHARS), "document": clean(one.document)} for one in ordered
        ]
        return await many(self._connection, insert(CandidateRow).on_conflict_do_nothing(), rows)

    async def open(self, *, limit: int) -> list[CandidateRecord]:
        """The oldest that were not looked at, locked; another process's are left out."""
        statement = (
            select(*(getattr(CandidateRow, name) for name in CandidateRecord.__dataclass_fields__))
            .where(CandidateRow.folded_at.is_(None))
            .order_by(CandidateRow.created_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        return [CandidateRecord(*row) for row in await self._connection.execute(statement)]

    async def fold(self, verdicts: Sequence[tuple[CandidateRecord, str | None]], *, now: datetime) -> None:
        """Looked at. `verdict`: None for a host now, else why not."""
        rows = [
            {"now": now, "verdict": verdict, "domain": one.domain, "host": one.host}
            for one, verdict in sorted(verdicts, key=lambda pair: (pair[0].domain, pair[0].host))
        ]
        await many(self._connection, _FOLD, rows)

    async def waiting(self) -> int:
        statement = select(func.count()).where(CandidateRow.folded_at.is_(None))
        return (await self._connection.execute(statement)).scalar_one()


_OPTED_OUT = "SELECT domain, host FROM opt_outs WHERE domain = ANY(string_to_array(%(domains)s, ' '))"


class OptOuts:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, opt_outs: Iterable[OptOutRecord]) -> None:
        """Sticks: the first one is kept with its evidence."""
        rows = [asdict(one) | {"evidence": clean(one.evidence)} for one in opt_outs]
        await many(self._connection, insert(OptOutRow).on_conflict_do_nothing(), rows)

    async def rows(self, domain: str) -> list[OptOutRecord]:
        """All of one domain, with how and where they said so."""
        columns = (getattr(OptOutRow, name) for name in OptOutRecord.__dataclass_fields__)
        found = await self._connection.execute(select(*columns).where(OptOutRow.domain == domain))
        return [OptOutRecord(*row) for row in found]

    async def remove(self, domain: str, host: str) -> None:
        """The opt-out of exactly this host."""
        await self._connection.execute(delete(OptOutRow).where(OptOutRow.domain == domain, OptOutRow.host == host))

    async def of(self, domains: Collection[str]) -> dict[str, frozenset[str]]:
        """The hosts that opted out, by domain; see `is_covered`."""
        found: dict[str, set[str]] = {}
        for domain, host in await Driver(self._connection).rows(_OPTED_OUT, {"domains": listed(domains)}):
            found.setdefault(domain, set()).add(host)
        return {domain: frozenset(hosts) for domain, hosts in found.items()}
