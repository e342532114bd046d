"""Repositories of API keys and of the audit log, whose entries are added and read, never changed."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import Executable, func, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from registry.core.access.audit import AuditEvent
from registry.core.access.tokens import ApiKey
from registry.store.engine import decode
from registry.store.repository import Repository, selected
from registry.store.tables import ApiKeyRow, AuditRow
from registry.store.values import clean, clean_json, ordered_id

_COLUMNS: Final = selected(ApiKeyRow, ApiKey)


class ApiKeys(Repository):
    async def add(self, key: ApiKey) -> None:
        row = asdict(key) | {"name": clean(key.name), "scopes": list(key.scopes)}
        await self._execute(insert(ApiKeyRow).values(row))

    async def get(self, key: str) -> ApiKey | None:
        return next(iter(await self._keys_of(select(*_COLUMNS).where(ApiKeyRow.id == key))), None)

    async def has_valid(self, *, now: datetime) -> bool:
        """Return whether there is a key that is neither revoked nor expired."""
        row = ApiKeyRow
        is_valid = (row.revoked_at.is_(None), or_(row.expires_at.is_(None), row.expires_at > now))
        return (await self._execute(select(row.id).where(*is_valid).limit(1))).first() is not None

    async def names(self, keys: Collection[str]) -> dict[str, str]:
        """Return the names of keys by id, also of revoked ones; leave out unknown ids."""
        statement = select(ApiKeyRow.id, ApiKeyRow.name).where(ApiKeyRow.id.in_(list(keys)))
        return dict((await self._execute(statement)).all()) if keys else {}

    async def page(self, after: tuple[datetime, str] | None, *, limit: int) -> Sequence[ApiKey]:
        """Return keys, the latest first; only those made before `after`, if given."""
        order = (ApiKeyRow.created_at, ApiKeyRow.id)
        statement = select(*_COLUMNS).order_by(*(column.desc() for column in order)).limit(limit)
        return await self._keys_of(statement if after is None else statement.where(tuple_(*order) < tuple_(*after)))

    async def all(self) -> Sequence[ApiKey]:
        """Return all keys, also revoked ones, the oldest first."""
        return await self._keys_of(select(*_COLUMNS).order_by(ApiKeyRow.created_at, ApiKeyRow.id))

    async def revoke(self, key: str, *, now: datetime) -> ApiKey | None:
        """Revoke a key and return it; None if it is unknown or already revoked."""
        row = ApiKeyRow
        statement = update(row).where(row.id == key, row.revoked_at.is_(None)).values(revoked_at=now)
        return next(iter(await self._keys_of(statement.returning(*_COLUMNS))), None)

    async def used(self, key: str, *, today: date) -> None:
        """Note the day of the last use, so a row is written once a day at most."""
        row = ApiKeyRow
        is_news = or_(row.last_used_on.is_(None), row.last_used_on < today)
        await self._execute(update(row).where(row.id == key, is_news).values(last_used_on=today))

    async def _keys_of(self, statement: Executable) -> list[ApiKey]:
        rows = (await self._execute(statement)).mappings()
        return [ApiKey(**{**row, "scopes": tuple(row["scopes"])}) for row in rows]


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


class Audit(Repository):
    _added = 0

    async def add(self, entry: AuditEvent, *, now: datetime) -> None:
        """Add an entry to the log, in the transaction of the logged change."""
        row = {
            "id": ordered_id(now, self._added), "at": now, "actor": clean(entry.actor), "action": entry.action,
            "domain": entry.domain, "host": entry.host, "reason": clean(entry.reason),
            "detail": clean_json(entry.detail),
        }  # fmt: skip
        await self._execute(insert(AuditRow).values(row))
        self._added += 1  # entries of one transaction have the same time

    async def last(self, host: str, action: str) -> datetime | None:
        """Return when this was last done to exactly this host, or None."""
        statement = select(func.max(AuditRow.at)).where(AuditRow.host == host, AuditRow.action == action)
        return (await self._execute(statement)).scalar_one()

    async def latest(
        self,
        *,
        limit: int,
        before: UUID | None = None,
        host: str | None = None,
        hosts: Collection[str] | None = None,
        subjects: Collection[str] | None = None,
        actor: str | None = None,
    ) -> Sequence[AuditRecord]:
        """Return entries, the latest first. `subjects`: first words of their actions. `actor`: a kind of actor, or
        one, such as `key:<id>`."""
        statement = select(*_AUDIT_COLUMNS).order_by(AuditRow.id.desc()).limit(limit)
        if before is not None:
            statement = statement.where(AuditRow.id < before)
        if host is not None:
            statement = statement.where(AuditRow.host == host)
        if hosts is not None:
            statement = statement.where(AuditRow.host.in_(list(hosts)))
        if subjects is not None:
            statement = statement.where(func.split_part(AuditRow.action, ".", 1).in_(list(subjects)))
        if actor is not None:
            statement = statement.where(
                or_(AuditRow.actor == actor, AuditRow.actor.startswith(actor + ":", autoescape=True))
            )
        rows = (await self._execute(statement)).mappings()
        return [AuditRecord(**{**row, "detail": decode(row["detail"])}) for row in rows]


_AUDIT_COLUMNS: Final = selected(AuditRow, AuditRecord)
