"""The audit log keeps what was written."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from registry.core.access.audit import OPERATOR, AuditEvent
from registry.store.unit_of_work import Store

NOW = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
BLOCKED = AuditEvent(OPERATOR, "host.blocked", "bikes.example", "bikes.example", "spam\0", {"until": None})


async def test_entries_are_read_the_latest_first(store: Store) -> None:
    async with store.begin() as uow:
        await uow.audit.add(BLOCKED, now=NOW)
        await uow.audit.add(AuditEvent(OPERATOR, "key.made"), now=NOW + timedelta(seconds=1))
    async with store.read() as uow:
        latest, earliest = await uow.audit.latest(limit=5)
        assert (latest.action, earliest.action) == ("key.made", "host.blocked")
        assert (earliest.reason, earliest.detail, earliest.at) == ("spam\ufffd", {"until": None}, NOW)
        assert await uow.audit.latest(limit=5, before=latest.id) == [earliest]
        assert await uow.audit.latest(limit=5, host="bikes.example") == [earliest]


async def test_entries_of_one_transaction_stay_in_their_order(store: Store) -> None:
    async with store.begin() as uow:
        for number in range(20):
            await uow.audit.add(AuditEvent(OPERATOR, f"key.made{number}"), now=NOW)
    async with store.read() as uow:
        assert [entry.action for entry in await uow.audit.latest(limit=20)] == [
            f"key.made{number}" for number in reversed(range(20))
        ]


@pytest.mark.parametrize("change", ["UPDATE audit SET reason = ''", "DELETE FROM audit"])
async def test_entries_are_never_changed_or_deleted(store: Store, change: str) -> None:
    async with store.begin() as uow:
        await uow.audit.add(BLOCKED, now=NOW)
    with pytest.raises(DBAPIError, match="never changed"):
        async with store.engine.begin() as connection:
            await connection.execute(text(change))
