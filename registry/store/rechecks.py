"""Repository of repeated visits that were asked for in the last day."""

from datetime import datetime
from typing import Final

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.submissions import Counted
from registry.store.tables import RecheckRow

_AT_ONCE: Final = 1_000

_OF_DOMAIN = text("""
SELECT count(*), min(asked_at) FROM rechecks WHERE domain = :domain AND client IS NOT NULL AND asked_at > :since
""")
_OF_CLIENT = text("SELECT count(*), min(asked_at) FROM rechecks WHERE client = :client AND asked_at > :since")
_OF_BOTH = text("""
SELECT count(*), min(asked_at) FROM rechecks WHERE domain = :domain AND client = :client AND asked_at > :since
""")
_ERASE = text("""
DELETE FROM rechecks WHERE (domain, host, asked_at) IN (
    SELECT domain, host, asked_at FROM rechecks WHERE asked_at <= :before ORDER BY asked_at
    LIMIT :most FOR UPDATE SKIP LOCKED)
""")


class Rechecks:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, domain: str, host: str, client: str | None, *, now: datetime) -> None:
        """Store that a client asked for a visit, or the host's owner (None)."""
        row = {"domain": domain, "host": host, "client": client, "asked_at": now}
        await self._connection.execute(insert(RecheckRow).values(row).on_conflict_do_nothing())

    async def of_domain(self, domain: str, *, since: datetime) -> Counted:
        """Count what strangers asked for since then on all hosts of the domain."""
        return Counted(*(await self._connection.execute(_OF_DOMAIN, {"domain": domain, "since": since})).one())

    async def of_client(self, client: str, *, since: datetime, domain: str | None = None) -> Counted:
        """Count what the client asked for since then, on all domains or on one."""
        bound = {"client": client, "since": since}
        statement = _OF_CLIENT
        if domain is not None:
            statement, bound = _OF_BOTH, {**bound, "domain": domain}
        return Counted(*(await self._connection.execute(statement, bound)).one())

    async def erase(self, *, before: datetime) -> int:
        """Delete the oldest rows up to then, a bounded number of them; return how many."""
        return (await self._connection.execute(_ERASE, {"before": before, "most": _AT_ONCE})).rowcount
