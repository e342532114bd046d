"""Repository of API keys."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from typing import Final

from sqlalchemy import RowMapping, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.access.keys import ApiKey
from registry.store.tables import ApiKeyRow
from registry.store.values import clean


class ApiKeys:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, key: ApiKey) -> None:
        row = asdict(key) | {"name": clean(key.name), "scopes": list(key.scopes)}
        await self._connection.execute(insert(ApiKeyRow).values(row))

    async def get(self, key: str) -> ApiKey | None:
        rows = await self._connection.execute(select(*_COLUMNS).where(ApiKeyRow.id == key))
        row = rows.mappings().first()
        return None if row is None else _key(row)

    async def all(self) -> Sequence[ApiKey]:
        """Return all keys, revoked ones too, the oldest first."""
        rows = await self._connection.execute(select(*_COLUMNS).order_by(ApiKeyRow.created_at, ApiKeyRow.id))
        return [_key(row) for row in rows.mappings()]

    async def revoke(self, key: str, *, now: datetime) -> ApiKey | None:
        """Revoke a key and return it; None when it is unknown or revoked already."""
        row = ApiKeyRow
        statement = update(row).where(row.id == key, row.revoked_at.is_(None)).values(revoked_at=now)
        found = (await self._connection.execute(statement.returning(*_COLUMNS))).mappings().first()
        return None if found is None else _key(found)

    async def used(self, key: str, *, today: date) -> None:
        """Note the day of the last use: a row is written once a day, however often its key is used."""
        row = ApiKeyRow
        is_news = or_(row.last_used_on.is_(None), row.last_used_on < today)
        await self._connection.execute(update(row).where(row.id == key, is_news).values(last_used_on=today))


def _key(row: RowMapping) -> ApiKey:
    return ApiKey(**{**row, "scopes": tuple(row["scopes"])})


_COLUMNS: Final = tuple(getattr(ApiKeyRow, name) for name in ApiKey.__dataclass_fields__)
