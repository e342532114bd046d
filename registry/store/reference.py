"""Repository of reference data: fetched from its publishers, and newer than the copies shipped with the program."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update

from registry.store.repository import Repository
from registry.store.tables import ReferenceRow
from registry.store.values import clean_or_none


@dataclass(frozen=True, slots=True)
class ReferenceRecord:
    """A row of `reference_data`. `body` is stored as served, after it was checked."""

    name: str
    body: bytes
    sha256: bytes
    url: str
    etag: str | None
    last_modified: str | None
    fetched_at: datetime
    checked_at: datetime


class References(Repository):
    async def versions(self) -> dict[str, bytes]:
        """Return the sha256 of each stored body, by name."""
        rows = await self._execute(select(ReferenceRow.name, ReferenceRow.sha256))
        return dict(rows.all())

    async def get(self, name: str) -> ReferenceRecord | None:
        statement = select(ReferenceRow.__table__).where(ReferenceRow.name == name)
        row = (await self._execute(statement)).mappings().first()
        return ReferenceRecord(**row) if row else None

    async def put(self, record: ReferenceRecord) -> None:
        row = {name: getattr(record, name) for name in ReferenceRecord.__dataclass_fields__}
        row |= {"etag": clean_or_none(record.etag), "last_modified": clean_or_none(record.last_modified)}
        await self._replace(ReferenceRow, row)

    async def checked(self, name: str, *, now: datetime) -> None:
        """Record that the publisher confirmed the stored body as current."""
        await self._execute(update(ReferenceRow).where(ReferenceRow.name == name).values(checked_at=now))
