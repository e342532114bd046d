"""Delete old rows, a bounded number per statement. Visits go by month: see registry/store/visit_months.py.

Rows that a writer may be about to refer to (bodies), or that are written with their parent (capabilities, findings),
are deleted only under the lock of their domain, where the condition is checked again.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import TextClause, text

from registry.core.scheduling.jobs import Horizon
from registry.store.repository import Repository

MAX_ROWS: Final = 5_000  # maximum number of rows that one statement deletes

# Of visits outside of months (registry/store/visit_months.py). The latest ones of each host stay.
_VISITS = """
DELETE FROM {table} v USING (
    SELECT domain, host, started_at FROM {table} o WHERE domain = ANY(:domains) AND started_at < :visits AND EXISTS (
        SELECT FROM visits n WHERE n.domain = o.domain AND n.host = o.host AND n.started_at > o.started_at
        OFFSET :visits_per_host - 1)
    LIMIT :most) AS old
WHERE v.domain = old.domain AND v.host = old.host AND v.started_at = old.started_at
"""

_HISTORY = text("""
DELETE FROM document_history h USING (
    SELECT domain, host, url_hash, changed_at FROM (
        SELECT domain, host, url_hash, changed_at,
               row_number() OVER (PARTITION BY domain, host, url_hash ORDER BY changed_at DESC) AS place
        FROM document_history WHERE domain = ANY(:domains)) AS numbered
    WHERE changed_at < :history AND place > :versions LIMIT :most) AS old
WHERE h.domain = old.domain AND h.host = old.host AND h.url_hash = old.url_hash AND h.changed_at = old.changed_at
""")

_CALL_CHECKS = text("""
DELETE FROM call_checks c USING (
    SELECT domain, host, url_hash, checked_at FROM call_checks
    WHERE domain = ANY(:domains) AND checked_at < :visits LIMIT :most) AS old
WHERE c.domain = old.domain AND c.host = old.host AND c.url_hash = old.url_hash AND c.checked_at = old.checked_at
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

_FEEDBACK = text("""
DELETE FROM feedback f USING (
    SELECT domain, host, id FROM feedback WHERE domain = ANY(:domains) AND at < :reports LIMIT :most) AS old
WHERE f.domain = old.domain AND f.host = old.host AND f.id = old.id
""")

OF_DOMAINS: Final[Sequence[tuple[str, TextClause]]] = (
    ("visits", text(_VISITS.format(table="visits_kept"))), ("visits", text(_VISITS.format(table="visits_other"))),
    ("document_history", _HISTORY), ("scores", _SCORES), ("candidates", _CANDIDATES), ("reports", _REPORTS),
    ("call_checks", _CALL_CHECKS), ("feedback", _FEEDBACK),
)  # fmt: skip
"""Tables and their statements, for some domains at a time; no lock is needed."""

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


class Pruning(Repository):
    async def old(self, statement: TextClause, domains: Collection[str], horizon: Horizon) -> int:
        """Delete at most MAX_ROWS rows by a statement of OF_DOMAINS; return their number."""
        return await self._touched(statement, _bound(domains, horizon))

    async def with_orphans(self, domains: Collection[str], horizon: Horizon) -> dict[str, list[str]]:
        """Return by table the domains that seem to have orphaned rows. Check without a lock; `idle` checks again."""
        found = {}
        for table, (alias, _, condition) in _UNDER_LOCK.items():
            statement = text(f"SELECT DISTINCT {alias}.domain {condition} ORDER BY 1")
            if orphaned := await self._scalars(statement, _bound(domains, horizon)):
                found[table] = orphaned
        return found

    async def idle(self, table: str, domains: Collection[str], horizon: Horizon) -> int:
        """Delete at most MAX_ROWS orphaned rows of locked domains; return their number."""
        alias, key, condition = _UNDER_LOCK[table]
        columns = ", ".join(f"{alias}.{column}" for column in key.split(", "))
        statement = text(f"DELETE FROM {table} WHERE ({key}) IN (SELECT {columns} {condition} LIMIT {MAX_ROWS})")  # noqa: S608  (only our own names)
        return await self._touched(statement, _bound(domains, horizon))

    async def job_runs(self, before: datetime, *, keep: int) -> int:
        return await self._touched(_JOB_RUNS, {"before": before, "keep": keep, "most": MAX_ROWS})


def _bound(domains: Collection[str], horizon: Horizon) -> dict[str, Any]:
    return asdict(horizon) | {"domains": list(domains), "most": MAX_ROWS}
