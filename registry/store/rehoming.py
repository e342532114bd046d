"""Moves the stored rows of a host to another registrable domain, prunes old rows, and deletes forgotten hosts.

For a move the caller has locked both domains. If the new domain already has the same row (a process with another public
suffix list seeded or visited the host), the fresher one is kept. Pruning deletes a bounded number of rows per
statement. Rows that a writer may be about to refer to (bodies), or that are written with their parent (capabilities,
findings), are deleted only under the lock of their domain, where the condition is checked again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Executable, TextClause, delete, or_, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.names.authority import is_covered
from registry.core.scheduling.jobs import Horizon
from registry.store.bulk import columns_of
from registry.store.tables import (
    Base,
    CandidateRow,
    CapabilityRow,
    ClaimRow,
    DocumentHistoryRow,
    DocumentRow,
    DomainRow,
    FilingRow,
    FindingRow,
    HostRow,
    ListingHoldRow,
    OptOutRow,
    OwnerSettingRow,
    RecheckRow,
    ReportRow,
    ScoreRow,
    ServiceRow,
    SubmissionRow,
    SubmittedHostRow,
    VisitRow,
    WebhookDeliveryRow,
    WebhookRow,
)

Key = tuple[str, str]

MOVED: Final = {
    "hosts": ((), "last_visit_at"),
    "documents": (("url_hash",), "seen_at"),
    "document_history": (("url_hash", "changed_at"), None),
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


class Rehoming:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def hosts(self, after: Key, *, limit: int) -> list[Key]:
        """Return hosts after `after`, ordered by (domain, host); begin with ("", "") as `after`."""
        return await self._page(HostRow, after, limit)

    async def opt_outs(self, after: Key, *, limit: int) -> list[Key]:
        return await self._page(OptOutRow, after, limit)

    async def leases(self, domains: Collection[str]) -> dict[str, UUID]:
        """Return the leases of locked domains, also expired ones: their holders may still complete them."""
        row = DomainRow
        statement = select(row.domain, row.lease_token).where(
            row.domain.in_(list(domains)), row.lease_token.is_not(None)
        )
        return {domain: token for domain, token in await self._connection.execute(statement) if token}

    async def move(self, host: str, *, old_domain: str, new_domain: str) -> None:
        """Move all rows of the host. The service's listing names the old domain until it is recomputed."""
        bound = {"host": host, "here": old_domain, "there": new_domain}
        moves = [
            text(sql)
            for table, (key, freshness_column) in MOVED.items()
            for sql in _statements(table, key, freshness_column)
        ]
        for statement in (*moves, _BODIES, _CHANGES, _NOTES):
            await self._connection.execute(statement, bound)

    async def copy_opt_outs(self, host: str, *, old_domain: str, new_domain: str, opted_out: Collection[str]) -> None:
        """Copy opt-outs to the new domain: for hosts below it each, for the host itself any that covers it."""
        for covering in sorted(opted_out):
            below = is_covered(covering, {new_domain})
            if below or is_covered(host, {covering}):
                covered, columns = covering if below else host, columns_of(OptOutRow, "domain", "host")
                await self._copy("opt_outs", columns, covering, covered, old_domain, new_domain)

    async def copy_holds(self, host: str, covered: str, *, old_domain: str, new_domain: str) -> None:
        """Copy the holds of exactly this host to the new domain, where they apply to `covered`."""
        await self._copy(
            "listing_holds", columns_of(ListingHoldRow, "domain", "host"), host, covered, old_domain, new_domain
        )

    async def settle(self, old_domain: str) -> None:
        """Unschedule the domain if it has no hosts left; keep its row."""
        await self._connection.execute(_UNSCHEDULE_EMPTY, {"here": old_domain})

    async def _copy(
        self, table: str, columns: Sequence[str], covering: str, covered: str, old_domain: str, new_domain: str
    ) -> None:
        statement = (
            f"INSERT INTO {table} (domain, host, {', '.join(columns)}) SELECT :there, :covered, {', '.join(columns)}"  # noqa: S608  (only our own names)
            f" FROM {table} WHERE domain = :here AND host = :covering ON CONFLICT DO NOTHING"
        )
        bound = {"there": new_domain, "covered": covered, "here": old_domain, "covering": covering}
        await self._connection.execute(text(statement), bound)

    async def _page(self, table: type[HostRow] | type[OptOutRow], after: Key, limit: int) -> list[Key]:
        statement = text(
            f"SELECT domain, host FROM {table.__tablename__} WHERE (domain, host) > (:domain, :host)"  # noqa: S608  (only our own names)
            " ORDER BY domain, host LIMIT :limit"
        )
        rows = await self._connection.execute(statement, {"domain": after[0], "host": after[1], "limit": limit})
        return [(domain, host) for domain, host in rows]


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


MAX_ROWS: Final = 5_000
"""Maximum number of rows that one statement deletes."""

_VISITS = text("""
DELETE FROM visits v USING (
    SELECT domain, host, started_at FROM (
        SELECT domain, host, started_at, row_number() OVER (PARTITION BY domain, host ORDER BY started_at DESC) AS place
        FROM visits WHERE domain = ANY(:domains)) AS numbered
    WHERE started_at < :visits AND place > :visits_per_host LIMIT :most) AS old
WHERE v.domain = old.domain AND v.host = old.host AND v.started_at = old.started_at
""")

_HISTORY = text("""
DELETE FROM document_history h USING (
    SELECT domain, host, url_hash, changed_at FROM (
        SELECT domain, host, url_hash, changed_at,
               row_number() OVER (PARTITION BY domain, host, url_hash ORDER BY changed_at DESC) AS place
        FROM document_history WHERE domain = ANY(:domains)) AS numbered
    WHERE changed_at < :history AND place > :versions LIMIT :most) AS old
WHERE h.domain = old.domain AND h.host = old.host AND h.url_hash = old.url_hash AND h.changed_at = old.changed_at
""")

# The latest score explains the shown one.
_SCORES = text("""
DELETE FROM scores s USING (
    SELECT domain, host, scored_at FROM (
        SELECT domain, host, scored_at, row_number() OVER (PARTITION BY domain, host ORDER BY scored_at DESC) AS place
        FROM scores WHERE domain = ANY(:domains)) AS numbered
    WHERE scored_at < :scores AND place > 1 LIMIT :most) AS old
WHERE s.domain = old.domain AND s.host = old.host AND s.scored_at = old.scored_at
""")

# A host that is named again becomes a candidate again, so that refused ones get a second chance.
_CANDIDATES = text("""
DELETE FROM candidates c USING (
    SELECT domain, host, referrer, rel FROM candidates
    WHERE domain = ANY(:domains) AND folded_at < :candidates LIMIT :most) AS old
WHERE c.domain = old.domain AND c.host = old.host AND c.referrer = old.referrer AND c.rel = old.rel
  AND c.folded_at IS NOT NULL
""")

# Lock first, so that a report that is opened again meanwhile keeps its filings.
_REPORTS = text("""
WITH old AS MATERIALIZED (
    SELECT domain, host, id FROM reports
    WHERE domain = ANY(:domains) AND state IN ('accepted', 'rejected') AND updated_at < :reports
    LIMIT :most FOR UPDATE),
filings AS (
    DELETE FROM report_filings f USING old WHERE f.domain = old.domain AND f.host = old.host AND f.report = old.id)
DELETE FROM reports r USING old WHERE r.domain = old.domain AND r.host = old.host AND r.id = old.id
""")

OF_DOMAINS: Final[Mapping[str, TextClause]] = {
    "visits": _VISITS,
    "document_history": _HISTORY,
    "scores": _SCORES,
    "candidates": _CANDIDATES,
    "reports": _REPORTS,
}
"""Statements by table, for some domains at a time; no lock is needed."""

# A body is needed by a current document, and by any version that was current at some time since :bodies.
_IDLE_BODIES = """
FROM bodies b WHERE b.domain = ANY(:domains)
  AND NOT EXISTS (SELECT FROM documents d WHERE d.domain = b.domain AND d.sha256 = b.sha256 AND d.has_body)
  AND NOT EXISTS (
    SELECT FROM (
        SELECT domain, sha256, changed_at,
               lead(changed_at) OVER (PARTITION BY domain, host, url_hash ORDER BY changed_at) AS replaced_at
        FROM document_history WHERE domain = ANY(:domains)) AS version
    WHERE version.domain = b.domain AND version.sha256 = b.sha256
      AND coalesce(version.replaced_at, version.changed_at) >= :bodies)
"""
_LONE_CAPABILITIES = """
FROM capabilities c WHERE c.domain = ANY(:domains)
  AND NOT EXISTS (SELECT FROM services s WHERE s.domain = c.domain AND s.host = c.host)
"""
_LONE_FINDINGS = """
FROM findings f WHERE f.domain = ANY(:domains)
  AND NOT EXISTS (SELECT FROM hosts h WHERE h.domain = f.domain AND h.host = f.host)
"""
_UNDER_LOCK: Final = {
    "bodies": ("b", "domain, sha256", _IDLE_BODIES),
    "capabilities": ("c", "domain, host, name", _LONE_CAPABILITIES),
    "findings": ("f", "domain, host, ordinal", _LONE_FINDINGS),
}

# The latest runs of each job decide when it runs next.
_JOB_RUNS = text("""
DELETE FROM job_runs r USING (
    SELECT job, started_at FROM (
        SELECT job, started_at, row_number() OVER (PARTITION BY job ORDER BY started_at DESC) AS place
        FROM job_runs) AS numbered
    WHERE started_at < :before AND place > :keep LIMIT :most) AS old
WHERE r.job = old.job AND r.started_at = old.started_at
""")


class Pruning:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def old(self, table: str, domains: Collection[str], horizon: Horizon) -> int:
        """Delete at most MAX_ROWS rows of one table of OF_DOMAINS; return their number."""
        return await self._run(OF_DOMAINS[table], _bound(domains, horizon))

    async def with_orphans(self, domains: Collection[str], horizon: Horizon) -> dict[str, list[str]]:
        """Return by table the domains that seem to have orphaned rows. Check without a lock; `idle` checks again."""
        found = {}
        for table, (alias, _, condition) in _UNDER_LOCK.items():
            statement = text(f"SELECT DISTINCT {alias}.domain {condition} ORDER BY 1")
            rows = await self._connection.execute(statement, _bound(domains, horizon))
            if orphaned := list(rows.scalars()):
                found[table] = orphaned
        return found

    async def idle(self, table: str, domains: Collection[str], horizon: Horizon) -> int:
        """Delete at most MAX_ROWS orphaned rows of locked domains; return their number."""
        alias, key, condition = _UNDER_LOCK[table]
        columns = ", ".join(f"{alias}.{column}" for column in key.split(", "))
        statement = text(f"DELETE FROM {table} WHERE ({key}) IN (SELECT {columns} {condition} LIMIT {MAX_ROWS})")  # noqa: S608  (only our own names)
        return await self._run(statement, _bound(domains, horizon))

    async def job_runs(self, before: datetime, *, keep: int) -> int:
        return await self._run(_JOB_RUNS, {"before": before, "keep": keep, "most": MAX_ROWS})

    async def _run(self, statement: TextClause, bound: Mapping[str, Any]) -> int:
        return (await self._connection.execute(statement, dict(bound))).rowcount


def _bound(domains: Collection[str], horizon: Horizon) -> dict[str, Any]:
    return asdict(horizon) | {"domains": list(domains), "most": MAX_ROWS}


_OF_A_HOST: Final[tuple[type[Base], ...]] = (
    ServiceRow, CapabilityRow, FindingRow, ScoreRow, DocumentRow, DocumentHistoryRow, HostRow,
    SubmissionRow, SubmittedHostRow, RecheckRow, ReportRow, FilingRow,
    SubmissionRow, ClaimRow, OwnerSettingRow,
)  # fmt: skip

# Bodies of the domain that neither a document nor the history of its remaining hosts refers to.
_UNUSED_BODIES = text("""
DELETE FROM bodies b WHERE domain = :domain
    AND NOT EXISTS (SELECT FROM documents d WHERE d.domain = b.domain AND d.sha256 = b.sha256)
    AND NOT EXISTS (SELECT FROM document_history h WHERE h.domain = b.domain AND h.sha256 = b.sha256)
""")

# No worker has this fencing token, so the result of a running visit is dropped when it arrives. The lease keeps its
# expiry, so that no second visit of the domain begins while the first is still running.
_FENCE = text("UPDATE domains SET lease_token = gen_random_uuid() WHERE domain = :domain AND lease_token IS NOT NULL")


class Forgetting:
    """Deletes forgotten rows. `host` covers itself and every host below it; the domain itself covers all. The caller
    has locked the domain."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def shown(self, domain: str, host: str) -> list[str]:
        """Return the hosts whose services are shown."""
        statement = select(ServiceRow.host).where(_covered(ServiceRow, domain, host), ~ServiceRow.hidden)
        return sorted((await self._connection.execute(statement)).scalars())

    async def rows(self, domain: str, host: str, *, today: datetime) -> dict[str, int]:
        """Delete everything except candidates; return the number of rows by table.

        The change feed keeps its events; `feed.redact` removes their content. Visits since `today` keep their number of
        requests: without it the domain's daily budget would start again.
        """
        webhooks = await self._webhooks_of_owners(domain, host)
        deleted = {
            table.__tablename__: await self._run(delete(table).where(_covered(table, domain, host)))
            for table in _OF_A_HOST
        }
        # The owner's decisions end with the host; the decisions of this registry's operators stay.
        holds = delete(ListingHoldRow).where(_covered(ListingHoldRow, domain, host), ListingHoldRow.kind == "hidden")
        deleted["listing_holds"] = await self._run(holds)
        deleted["webhooks"] = webhooks
        deleted["bodies"] = await self._run(_UNUSED_BODIES, domain=domain)
        visits = _covered(VisitRow, domain, host)
        deleted["visits"] = await self._run(delete(VisitRow).where(visits, VisitRow.started_at < today))
        deleted["visits"] += await self._run(update(VisitRow).where(visits).values(vector=b"[]", address=None))
        return deleted

    async def _webhooks_of_owners(self, domain: str, host: str) -> int:
        row = OwnerSettingRow
        own = select(row.webhook).where(_covered(row, domain, host), row.webhook.is_not(None)).scalar_subquery()
        await self._run(delete(WebhookDeliveryRow).where(WebhookDeliveryRow.webhook.in_(own)))
        return await self._run(delete(WebhookRow).where(WebhookRow.id.in_(own)))

    async def fence(self, domain: str) -> None:
        """Invalidate the result of a running visit, and make its worker end it."""
        await self._run(_FENCE, domain=domain)  # guard: opt-out-fence

    async def domain(self, domain: str) -> None:
        """Fence off a running visit; delete the domain if it has neither a lease nor hosts."""
        await self.fence(domain)
        has_host = select(HostRow.host).where(HostRow.domain == domain).exists()
        unleased = DomainRow.lease_token.is_(None)
        await self._run(delete(DomainRow).where(DomainRow.domain == domain, unleased, ~has_host))

    async def candidates(self, domain: str, host: str) -> int:
        """Delete the candidates that are these hosts or were named by them; return their number.

        Call it in a separate transaction that has locked no domain: `record` and `fold_candidates` wait for candidates
        while they hold such locks.
        """
        covered = _covered(CandidateRow, domain, host)
        return await self._run(delete(CandidateRow).where(or_(covered, _is_or_below(CandidateRow.referrer, host))))

    async def _run(self, statement: Executable, **bound: Any) -> int:
        return (await self._connection.execute(statement, bound)).rowcount


def _covered(table: Any, domain: str, host: str) -> ColumnElement[bool]:
    of_domain: ColumnElement[bool] = table.domain == domain
    return of_domain if host == domain else of_domain & _is_or_below(table.host, host)


def _is_or_below(column: Any, host: str) -> ColumnElement[bool]:
    return or_(column == host, column.endswith("." + host, autoescape=True))
