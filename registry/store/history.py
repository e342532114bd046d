"""Repository of versions of documents and of other facts about a service at an earlier time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString

from sqlalchemy import select

from registry.core.model.documents import Outcome
from registry.store.engine import Row, decode
from registry.store.records import ScoreRecord
from registry.store.repository import Repository
from registry.store.tables import ScoreRow

_COLUMNS: Final = "url_hash, changed_at, url, outcome, reason, format, dialect, status, size, sha256"
# The previous version is found by the primary key.
_PAGE: Final[LiteralString] = f"""
SELECT {", ".join(f"h.{name}" for name in _COLUMNS.split(", "))}, p.changed_at, p.outcome, p.reason, p.size, p.sha256
FROM document_history h LEFT JOIN LATERAL (
    SELECT changed_at, outcome, reason, size, sha256 FROM document_history o
    WHERE o.domain = h.domain AND o.host = h.host AND o.url_hash = h.url_hash AND o.changed_at < h.changed_at
    ORDER BY o.changed_at DESC LIMIT 1) p ON true
WHERE h.domain = %(domain)s AND h.host = %(host)s
  AND (%(before)s::timestamptz IS NULL OR (h.changed_at, h.url_hash) < (%(before)s::timestamptz, %(url_hash)s::bytea))
ORDER BY h.changed_at DESC, h.url_hash DESC LIMIT %(limit)s
"""  # noqa: S608  # our own columns
_AT: Final[LiteralString] = f"""
SELECT DISTINCT ON (url_hash) {_COLUMNS} FROM document_history
WHERE domain = %(domain)s AND host = %(host)s AND changed_at <= %(at)s
ORDER BY url_hash, changed_at DESC
"""  # noqa: S608  # our own columns
_FIRST: Final[LiteralString] = """
SELECT min(changed_at) FROM document_history WHERE domain = %(domain)s AND host = %(host)s
"""


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """A row of `document_history`: the answer of a URL from `changed_at` on."""

    url_hash: bytes
    changed_at: datetime
    url: str
    outcome: Outcome
    reason: str
    format: str | None
    dialect: str | None
    status: int | None
    size: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class EarlierVersion:
    """The version that another one replaced."""

    changed_at: datetime
    outcome: Outcome
    reason: str
    size: int
    sha256: bytes


class History(Repository):
    async def page(
        self, domain: str, host: str, *, before: tuple[datetime, bytes] | None, limit: int
    ) -> list[tuple[VersionRecord, EarlierVersion | None]]:
        """Return versions of the host's documents, the latest first, each with its predecessor. `before`: a place."""
        moment, digest = before or (None, b"")
        bound = {"domain": domain, "host": host, "before": moment, "url_hash": digest, "limit": limit}
        rows = await self._driver.rows(_PAGE, bound)
        return [(_version(row[:10]), _earlier(row[10:])) for row in rows]

    async def at(self, domain: str, host: str, moment: datetime) -> list[VersionRecord]:
        """Return the version of each URL of the host that was current at this time."""
        bound = {"domain": domain, "host": host, "at": moment}
        return [_version(row) for row in await self._driver.rows(_AT, bound)]

    async def first(self, domain: str, host: str) -> datetime | None:
        """Return the time of the earliest kept version, or None."""
        [(moment,)] = await self._driver.rows(_FIRST, {"domain": domain, "host": host})
        return moment if isinstance(moment, datetime) else None

    async def score(self, domain: str, host: str, moment: datetime) -> ScoreRecord | None:
        """Return the score of the host at this time, as it was computed then; None if it is not kept."""
        statement = (
            select(ScoreRow.scored_at, ScoreRow.value, ScoreRow.rubric_version, ScoreRow.breakdown)
            .where(ScoreRow.domain == domain, ScoreRow.host == host, ScoreRow.scored_at <= moment)
            .order_by(ScoreRow.scored_at.desc())
            .limit(1)
        )
        row = (await self._execute(statement)).first()
        return None if row is None else ScoreRecord(domain, host, row[0], row[1], row[2], decode(row[3]))


def _version(row: Row) -> VersionRecord:
    digest, moment, url, outcome, reason, slug, dialect, status, size, sha256 = row
    version_outcome = Outcome(outcome)
    return VersionRecord(digest, moment, url, version_outcome, reason, slug, dialect, status, size, sha256)


def _earlier(values: Row) -> EarlierVersion | None:
    moment, outcome, reason, size, sha256 = values
    return None if moment is None else EarlierVersion(moment, Outcome(outcome), reason, size, sha256)
