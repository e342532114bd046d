"""Repository of a mirror: its progress, and the origin's records of hosts."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, Literal

from sqlalchemy import delete, func, or_, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from registry.store import tables
from registry.store.engine import decode
from registry.store.opt_outs import REPORTED
from registry.store.repository import Key, Repository, is_or_below, selected
from registry.store.tables import MirroredRow, MirrorRow
from registry.store.values import clean

Phase = Literal["loading", "following"]

ORIGIN, ORIGIN_BLOCK = REPORTED
"""How an opt-out was declared that the origin reports: a wish of the site, or a block by the origin's operator.
Opt-outs made here have other values, and stay."""

_OF_A_HOST: Final = (
    tables.ServiceRow,
    tables.CapabilityRow,
    tables.FindingRow,
    tables.ScoreRow,
    tables.DocumentRow,
    tables.HostRow,
)
_LOCK: Final = text("SELECT pg_advisory_xact_lock(hashtext('waypost mirror'))")


@dataclass(frozen=True, slots=True)
class MirrorRecord:
    """The row of `mirror`. `part` and `line`: how much of the dump is loaded."""

    origin: str
    phase: Phase
    manifest: dict[str, Any] | None = None
    part: int = 0
    line: int = 0
    cursor: str | None = None
    sequence: int = 0
    without_restricted: bool = False
    refused: int = 0
    behind_s: int | None = None
    contact_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MirroredRecord:
    """A row of `mirrored`."""

    domain: str
    host: str
    state: str
    sequence: int
    snapshot: str
    reason: str = ""
    robots: str | None = None


_PROGRESS: Final = selected(MirrorRow, MirrorRecord)
_MIRRORED: Final = selected(MirroredRow, MirroredRecord)


class Mirroring(Repository):
    async def lock(self) -> None:
        """Lock out other processes that apply records, until this transaction ends."""
        await self._execute(_LOCK)

    async def get(self) -> MirrorRecord | None:
        """Return the progress of this mirror; None if the database is not a mirror."""
        row = (await self._execute(select(*_PROGRESS))).mappings().first()
        return None if row is None else MirrorRecord(**{**row, "manifest": decode(row["manifest"])})

    async def put(self, mirror: MirrorRecord) -> None:
        await self._replace(MirrorRow, {**asdict(mirror), "id": 1})

    async def of(self, keys: Collection[Key]) -> dict[str, MirroredRecord]:
        """Return by host the origin's latest record."""
        key = tuple_(MirroredRow.domain, MirroredRow.host)
        found = await self._list(MirroredRecord, select(*_MIRRORED).where(key.in_(list(keys))))
        return {record.host: record for record in found}

    async def note(self, records: Iterable[MirroredRecord]) -> None:
        rows = [asdict(record) | {"reason": clean(record.reason, 200)} for record in records]
        statement = insert(MirroredRow)
        overwritten = {name: statement.excluded[name] for name in ("state", "reason", "sequence", "snapshot", "robots")}
        statement = statement.on_conflict_do_update(index_elements=["domain", "host"], set_=overwritten)
        await self._many(statement, sorted(rows, key=lambda row: (row["domain"], row["host"])))

    async def outdated(self, *, snapshot: str, until: int, limit: int) -> list[Key]:
        """Return hosts that are missing from the dump `snapshot` and have no record newer than `until`."""
        row = MirroredRow
        statement = select(row.domain, row.host).where(row.snapshot != snapshot, row.sequence <= until).limit(limit)
        return await self._keys(statement)

    async def drop(self, keys: Sequence[Key]) -> None:
        """Delete all stored rows of these hosts, also their mirror state and opt-outs reported by the origin."""
        await self.clear(keys)
        await self.end_opt_outs(keys)
        await self._delete((MirroredRow,), keys)

    async def clear(self, keys: Sequence[Key]) -> None:
        """Delete the services of these hosts with everything that belongs to them."""
        await self._delete(_OF_A_HOST, keys)

    async def clear_details(self, keys: Sequence[Key]) -> None:
        """Delete scores and documents of these hosts, which are going to be written again."""
        await self._delete((tables.ScoreRow, tables.DocumentRow), keys)

    async def below(self, domain: str, host: str) -> list[str]:
        """Return the hosts with services that are `host` or below it."""
        row = tables.ServiceRow
        return await self._scalars(select(row.host).where(row.domain == domain, is_or_below(row.host, host)))

    async def end_opt_outs(self, keys: Sequence[Key]) -> None:
        """Delete the opt-outs of exactly these hosts that the origin reported."""
        if keys:
            key = tuple_(tables.OptOutRow.domain, tables.OptOutRow.host)
            await self._execute(delete(tables.OptOutRow).where(key.in_(list(keys)), tables.OptOutRow.how.in_(REPORTED)))

    async def has_own_entries(self) -> bool:
        """Return whether there are services that no origin reported, or owners: then it is no mirror."""
        is_mirrored = select(MirroredRow.host).where(
            MirroredRow.domain == tables.ServiceRow.domain, MirroredRow.host == tables.ServiceRow.host
        )
        services = select(tables.ServiceRow.host).where(~is_mirrored.exists())
        owners = select(tables.ClaimRow.id).where(
            tables.ClaimRow.proven_at.is_not(None), tables.ClaimRow.ended_at.is_(None)
        )
        return bool((await self._execute(select(or_(services.exists(), owners.exists())))).scalar_one())

    async def counts(self) -> dict[str, int]:
        """Return the number of hosts by state."""
        statement = select(MirroredRow.state, func.count()).group_by(MirroredRow.state)
        return dict((await self._execute(statement)).all())

    async def refused(self, *, limit: int = 100) -> list[MirroredRecord]:
        """Return hosts whose record was refused, with the reason."""
        statement = select(*_MIRRORED).where(MirroredRow.state == "refused").order_by(MirroredRow.host).limit(limit)
        return await self._list(MirroredRecord, statement)
