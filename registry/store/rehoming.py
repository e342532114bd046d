"""Moving everything that is stored of a host below another domain. Both domains are locked by the caller.

Where the new domain has the same row already (somebody with another list seeded or visited the host meanwhile), the
fresher of the two stays.
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.optout import is_covered
from registry.store.bulk import columns_of
from registry.store.tables import DomainRow, HostRow, OptOutRow

Key = tuple[str, str]

MOVED: Final = {
    "hosts": ((), "last_visit_at"),
    "documents": (("url_hash",), "seen_at"),
    "document_history": (("url_hash", "changed_at"), None),
    "visits": (("started_at",), None),
    "services": ((), "seen_at"),
    "capabilities": (("name",), None),
    "findings": (("ordinal",), None),
    "scores": (("scored_at",), None),
    "candidates": (("referrer", "rel"), None),
    "opt_out_requests": ((), "asked_at"),
}
"""By table: the key behind domain and host, and the column that says which of two rows is fresher."""

# Only what the host refers to; what nobody below the old domain refers to any more is pruned.
_BODIES = text("""
INSERT INTO bodies (domain, sha256, body)
SELECT :there, b.sha256, b.body FROM bodies b
WHERE b.domain = :here AND b.sha256 IN (
    SELECT sha256 FROM documents WHERE domain = :there AND host = :host
    UNION SELECT sha256 FROM document_history WHERE domain = :there AND host = :host)
ON CONFLICT DO NOTHING
""")

_CHANGES = text("UPDATE changes SET domain = :there WHERE domain = :here AND host = :host")

# A note keeps the domain that it was written with, by which the drain looks the service up.
_NOTES = text("""
UPDATE search_dirty n SET domain = :there FROM search_target t WHERE n.target = t.target AND n.host = :host
""")

_NOBODY_LEFT = text("""
UPDATE domains d SET next_visit_at = NULL
WHERE d.domain = :here AND NOT EXISTS (SELECT FROM hosts h WHERE h.domain = d.domain)
""")


class Rehoming:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def hosts(self, after: Key, *, limit: int) -> list[Key]:
        """Hosts by (domain, host), those behind `after`; ("", "") to begin with."""
        return await self._page(HostRow, after, limit)

    async def opt_outs(self, after: Key, *, limit: int) -> list[Key]:
        return await self._page(OptOutRow, after, limit)

    async def leases(self, domains: Collection[str]) -> dict[str, UUID]:
        """The leases of locked domains, expired ones included: who holds one may still complete it."""
        row = DomainRow
        statement = select(row.domain, row.lease_token).where(
            row.domain.in_(list(domains)), row.lease_token.is_not(None)
        )
        return {domain: token for domain, token in await self._connection.execute(statement) if token}

    async def move(self, host: str, *, here: str, there: str) -> None:
        """Everything of the host; the service's listing still names the old domain, until it is computed anew."""
        bound = {"host": host, "here": here, "there": there}
        moves = [text(one) for table, (key, fresher) in MOVED.items() for one in _statements(table, key, fresher)]
        for statement in (*moves, _BODIES, _CHANGES, _NOTES):
            await self._connection.execute(statement, bound)

    async def copy_opt_outs(self, host: str, *, here: str, there: str, opted_out: Collection[str]) -> None:
        """Who was left alone stays so: whatever covered the host below the old domain covers it below the new one."""
        for covering in sorted(opted_out):
            below = is_covered(covering, {there})
            if below or is_covered(host, {covering}):
                await self._copy_opt_out(covering, covering if below else host, here, there)

    async def copy_opt_out(self, host: str, *, here: str, there: str) -> None:
        await self._copy_opt_out(host, host, here, there)

    async def settle(self, here: str) -> None:
        """A domain without hosts is never due; it stays known."""
        await self._connection.execute(_NOBODY_LEFT, {"here": here})

    async def _copy_opt_out(self, covering: str, covered: str, here: str, there: str) -> None:
        others = columns_of(OptOutRow, "domain", "host")
        statement = (
            f"INSERT INTO opt_outs (domain, host, {', '.join(others)}) SELECT :there, :covered, {', '.join(others)}"  # noqa: S608  (names of our own)
            " FROM opt_outs WHERE domain = :here AND host = :covering ON CONFLICT DO NOTHING"
        )
        bound = {"there": there, "covered": covered, "here": here, "covering": covering}
        await self._connection.execute(text(statement), bound)

    async def _page(self, table: type[HostRow] | type[OptOutRow], after: Key, limit: int) -> list[Key]:
        statement = text(
            f"SELECT domain, host FROM {table.__tablename__} WHERE (domain, host) > (:domain, :host)"  # noqa: S608  (names of our own)
            " ORDER BY domain, host LIMIT :limit"
        )
        found = await self._connection.execute(statement, {"domain": after[0], "host": after[1], "limit": limit})
        return [(domain, host) for domain, host in found]


def _statements(table: str, key: tuple[str, ...], fresher: str | None) -> list[str]:
    """Of two rows with the same key the fresher stays: first the staler one there goes, then those here."""
    same = "".join(f" AND o.{column} = r.{column}" for column in key)
    mine, theirs = "r.domain = :here AND r.host = :host", f"o.domain = :there AND o.host = :host{same}"
    statements = [
        f"UPDATE {table} r SET domain = :there WHERE {mine} AND NOT EXISTS (SELECT FROM {table} o WHERE {theirs})",  # noqa: S608  (names of our own)
        f"DELETE FROM {table} r WHERE {mine}",  # noqa: S608  (names of our own)
    ]
    if fresher is not None:
        known = f"coalesce(r.{fresher}, '-infinity') > coalesce(o.{fresher}, '-infinity')"
        statements.insert(0, f"DELETE FROM {table} o USING {table} r WHERE {theirs} AND {mine} AND {known}")  # noqa: S608  (names of our own)
    return statements
