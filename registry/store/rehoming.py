"""Move the stored rows of a host to another registrable domain.

The caller has locked both domains. If the new domain already has the same row (a process with another public suffix
list seeded or visited the host), the fresher one is kept.
"""

from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from sqlalchemy import select, text

from registry.core.names.opt_out import is_covered
from registry.store.repository import Key, Repository, columns_of
from registry.store.tables import DomainRow, HostRow, ListingHoldRow, OptOutRow

MOVED: Final = {
    "hosts": ((), "last_visit_at"),
    "documents": (("url_hash",), "seen_at"),
    "document_history": (("url_hash", "changed_at"), None),
    "call_checks": (("url_hash", "checked_at"), None),
    "visits": (("started_at",), None),
    "mcp_servers": (("name", "version"), "updated_at"),  # before services, because deleting these deletes the records
    "mcp_left_out": ((), None),
    "services": ((), "seen_at"),
    "capabilities": (("name",), None),
    "findings": (("ordinal",), None),
    "scores": (("scored_at",), None),
    "candidates": (("referrer", "rel"), None),
    "opt_out_requests": ((), "asked_at"),
    "submissions": (("asked_at",), None),
    "submitted_hosts": (("list",), None),
    "rechecks": (("asked_at",), None),
    "reports": (("id",), "updated_at"),
    "report_filings": (("id",), None),
    "feedback": (("id",), None),
    "mirrored": ((), None),
    "claims": (("id",), None),
    "owner_settings": ((), "changed_at"),
}
"""By table: the key after domain and host, and the column that tells which of two rows is fresher."""

# Only bodies that the host refers to. Pruning deletes those no longer used in the old domain.
_BODIES = text("""
INSERT INTO bodies (domain, sha256, body)
SELECT :there, b.sha256, b.body FROM bodies b
WHERE b.domain = :here AND b.sha256 IN (
    SELECT sha256 FROM documents WHERE domain = :there AND host = :host
    UNION SELECT sha256 FROM document_history WHERE domain = :there AND host = :host)
ON CONFLICT DO NOTHING
""")

# Rows are locked in the order in which the sequencer of the feed locks them (store/feed.py).
_CHANGES = text("""
WITH held AS MATERIALIZED (
    SELECT id FROM changes WHERE domain = :here AND host = :host ORDER BY arrival, id FOR UPDATE
)
UPDATE changes c SET domain = :there FROM held WHERE c.id = held.id
""")

# The drain looks a service up by the domain in its note, so the note must change too.
_NOTES = text("""
UPDATE search_dirty n SET domain = :there FROM search_target t WHERE n.target = t.target AND n.host = :host
""")

_UNSCHEDULE_EMPTY = text("""
UPDATE domains d SET next_visit_at = NULL
WHERE d.domain = :here AND NOT EXISTS (SELECT FROM hosts h WHERE h.domain = d.domain)
""")


class Rehoming(Repository):
    async def hosts(self, after: Key, *, limit: int) -> list[Key]:
        """Return hosts after `after`, ordered by (domain, host); begin with ("", "") as `after`."""
        return await self._page(HostRow, after, limit)

    async def opt_outs(self, after: Key, *, limit: int) -> list[Key]:
        return await self._page(OptOutRow, after, limit)

    async def leases(self, domains: Collection[str]) -> dict[str, UUID]:
        """Return the leases of locked domains, also expired ones: their holders may still complete them."""
        row = DomainRow
        is_leased = (row.domain.in_(list(domains)), row.lease_token.is_not(None))
        statement = select(row.domain, row.lease_token).where(*is_leased)
        return {domain: token for domain, token in await self._execute(statement) if token}

    async def move(self, host: str, *, old_domain: str, new_domain: str) -> None:
        """Move all rows of the host. The service's listing names the old domain until it is recomputed."""
        bound = {"host": host, "here": old_domain, "there": new_domain}
        moves = (text(sql) for table, (key, column) in MOVED.items() for sql in _statements(table, key, column))
        for statement in (*moves, _BODIES, _CHANGES, _NOTES):
            await self._execute(statement, bound)

    async def copy_opt_outs(self, host: str, *, old_domain: str, new_domain: str, opted_out: Collection[str]) -> None:
        """Copy opt-outs to the new domain: for hosts below it each, for the host itself any that covers it."""
        for covering in sorted(opted_out):
            below = is_covered(covering, {new_domain})
            if below or is_covered(host, {covering}):
                covered, columns = covering if below else host, columns_of(OptOutRow, "domain", "host")
                await self._copy("opt_outs", columns, covering, covered, old_domain, new_domain)

    async def copy_holds(self, host: str, covered: str, *, old_domain: str, new_domain: str) -> None:
        """Copy the holds of exactly this host to the new domain, where they apply to `covered`."""
        columns = columns_of(ListingHoldRow, "domain", "host")
        await self._copy("listing_holds", columns, host, covered, old_domain, new_domain)

    async def settle(self, old_domain: str) -> None:
        """Unschedule the domain if it has no hosts left; keep its row."""
        await self._execute(_UNSCHEDULE_EMPTY, {"here": old_domain})

    async def _copy(
        self, table: str, columns: Sequence[str], covering: str, covered: str, old_domain: str, new_domain: str
    ) -> None:
        statement = (
            f"INSERT INTO {table} (domain, host, {', '.join(columns)}) SELECT :there, :covered, {', '.join(columns)}"  # noqa: S608  (only our own names)
            f" FROM {table} WHERE domain = :here AND host = :covering ON CONFLICT DO NOTHING"
        )
        bound = {"there": new_domain, "covered": covered, "here": old_domain, "covering": covering}
        await self._execute(text(statement), bound)

    async def _page(self, table: type[HostRow] | type[OptOutRow], after: Key, limit: int) -> list[Key]:
        statement = text(
            f"SELECT domain, host FROM {table.__tablename__} WHERE (domain, host) > (:domain, :host)"  # noqa: S608  (only our own names)
            " ORDER BY domain, host LIMIT :limit"
        )
        return await self._keys(statement, {"domain": after[0], "host": after[1], "limit": limit})


def _statements(table: str, key: tuple[str, ...], freshness_column: str | None) -> list[str]:
    """Return the statements that move a table's rows: delete staler rows at the target, move, delete the rest."""
    same_key = "".join(f" AND o.{column} = r.{column}" for column in key)
    old_row, new_row = "r.domain = :here AND r.host = :host", f"o.domain = :there AND o.host = :host{same_key}"
    statements = [
        f"UPDATE {table} r SET domain = :there WHERE {old_row} AND NOT EXISTS (SELECT FROM {table} o WHERE {new_row})",  # noqa: S608  (only our own names)
        f"DELETE FROM {table} r WHERE {old_row}",  # noqa: S608  (only our own names)
    ]
    if freshness_column is not None:
        is_fresher = f"coalesce(r.{freshness_column}, '-infinity') > coalesce(o.{freshness_column}, '-infinity')"
        statements.insert(0, f"DELETE FROM {table} o USING {table} r WHERE {new_row} AND {old_row} AND {is_fresher}")  # noqa: S608  (only our own names)
    return statements
