"""Repository of documents: each body once per domain, the current answer of each URL, and its history."""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final, LiteralString

import orjson
from sqlalchemy import ColumnElement, func, or_, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from registry.core.model.documents import Outcome, Via
from registry.store.engine import Row, decode, listed
from registry.store.records import DocumentRecord
from registry.store.repository import Key, Repository, columns_of
from registry.store.tables import BodyRow, DocumentHistoryRow, DocumentRow, ServiceRow
from registry.store.values import REASON_CHARS, clean, clean_json, clean_or_none, url_hash

_log = logging.getLogger(__name__)

URL_CHARS: Final = 20_000  # longer than any requested URL with the JSON pointer of an embedded document

_FIELDS = tuple(DocumentRecord.__dataclass_fields__)
_OF: Final[LiteralString] = f"""
SELECT {", ".join(_FIELDS)} FROM documents WHERE domain = ANY(string_to_array(%(domains)s, ' '))
ORDER BY domain, host, seen_at, url
"""  # noqa: S608  # our own columns
_OVERWRITTEN = columns_of(DocumentRow, "domain", "host", "url_hash", "first_seen_at")
_HISTORY = columns_of(DocumentHistoryRow)
# Everything that a visit writes about an unchanged document.
_STAMP = text(
    "UPDATE documents SET seen_at = :seen_at, missed_at = :missed_at, etag = :etag, last_modified = :last_modified"
    " WHERE domain = :domain AND host = :host AND url_hash = :url_hash"
)


_VERSION: Final = "url_hash, changed_at, url, outcome, reason, format, dialect, status, size, sha256"
# The previous version is found by the primary key.
_VERSIONS: Final[LiteralString] = f"""
SELECT {", ".join(f"h.{name}" for name in _VERSION.split(", "))}, p.changed_at, p.outcome, p.reason, p.size, p.sha256
FROM document_history h LEFT JOIN LATERAL (
    SELECT changed_at, outcome, reason, size, sha256 FROM document_history o
    WHERE o.domain = h.domain AND o.host = h.host AND o.url_hash = h.url_hash AND o.changed_at < h.changed_at
    ORDER BY o.changed_at DESC LIMIT 1) p ON true
WHERE h.domain = %(domain)s AND h.host = %(host)s
  AND (%(before)s::timestamptz IS NULL OR (h.changed_at, h.url_hash) < (%(before)s::timestamptz, %(url_hash)s::bytea))
ORDER BY h.changed_at DESC, h.url_hash DESC LIMIT %(limit)s
"""  # noqa: S608  # our own columns
_VERSIONS_AT: Final[LiteralString] = f"""
SELECT DISTINCT ON (url_hash) {_VERSION} FROM document_history
WHERE domain = %(domain)s AND host = %(host)s AND changed_at <= %(at)s
ORDER BY url_hash, changed_at DESC
"""  # noqa: S608  # our own columns
_FIRST_VERSION: Final[LiteralString] = """
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


class Documents(Repository):
    async def of(self, domains: Collection[str], *, strict: bool = False) -> list[DocumentRecord]:
        """Return every current document of the domains, without its body; per host, the least recently seen first. A
        row that cannot be decoded is left out, as if its URL had never been requested, so that the next visit rewrites
        it. With `strict` its ValueError or TypeError is raised."""
        found = []
        for row in await self._driver.rows(_OF, {"domains": listed(domains)}):
            try:
                found.append(_record(row))
            except (ValueError, TypeError) as error:
                if strict:
                    raise
                _log.error("a document of %s cannot be decoded: %s", row[1], type(error).__name__)
        return found

    async def bodies(self, keys: Collection[tuple[str, bytes]]) -> dict[tuple[str, bytes], bytes]:
        """Return bodies by (domain, sha256)."""
        if not keys:
            return {}
        row = BodyRow
        statement = select(row.domain, row.sha256, row.body).where(tuple_(row.domain, row.sha256).in_(sorted(keys)))
        return {(domain, sha): body for domain, sha, body in await self._execute(statement)}

    async def add_bodies(self, bodies: dict[tuple[str, bytes], bytes]) -> None:
        rows = [{"domain": domain, "sha256": sha, "body": body} for (domain, sha), body in sorted(bodies.items())]
        await self._many(insert(BodyRow).on_conflict_do_nothing(), rows)

    async def put(self, documents: Sequence[DocumentRecord]) -> None:
        await self._put_all(DocumentRow, [_row(document) for document in documents], overwrite=_OVERWRITTEN)

    async def stamp(self, documents: Iterable[DocumentRecord]) -> None:
        """Update only the times seen and missed, and the validators."""
        rows = [
            {"domain": one.domain, "host": one.host, "url_hash": url_hash(one.url), "seen_at": one.seen_at}
            | {"missed_at": one.missed_at, "etag": clean_or_none(one.etag)}
            | {"last_modified": clean_or_none(one.last_modified)}
            for one in documents
        ]
        await self._many(_STAMP, rows)

    async def add_history(self, documents: Iterable[DocumentRecord]) -> None:
        """Add one row per document: its state from its `changed_at` on."""
        rows = [{key: value for key, value in _row(document).items() if key in _HISTORY} for document in documents]
        await self._put_all(DocumentHistoryRow, rows, overwrite=())

    async def history(self, domain: str, host: str, url: str) -> list[tuple[Any, ...]]:
        """Return (changed_at, outcome, sha256) of one URL, newest first."""
        row = DocumentHistoryRow
        of_url = (row.domain == domain, row.host == host, row.url_hash == url_hash(url))
        statement = select(row.changed_at, row.outcome, row.sha256).where(*of_url).order_by(row.changed_at.desc())
        return [tuple(version) for version in await self._execute(statement)]

    async def versions(
        self, domain: str, host: str, *, before: tuple[datetime, bytes] | None, limit: int
    ) -> list[tuple[VersionRecord, EarlierVersion | None]]:
        """Return versions of the host's documents, the latest first, each with its predecessor. `before`: a place."""
        moment, digest = before or (None, b"")
        bound = {"domain": domain, "host": host, "before": moment, "url_hash": digest, "limit": limit}
        return [
            (_version(row[:10]), None if row[10] is None else EarlierVersion(row[10], Outcome(row[11]), *row[12:]))
            for row in await self._driver.rows(_VERSIONS, bound)
        ]

    async def versions_at(self, domain: str, host: str, moment: datetime) -> list[VersionRecord]:
        """Return the version of each URL of the host that was current at this time."""
        bound = {"domain": domain, "host": host, "at": moment}
        return [_version(row) for row in await self._driver.rows(_VERSIONS_AT, bound)]

    async def first_version_at(self, domain: str, host: str) -> datetime | None:
        """Return the time of the earliest kept version, or None."""
        [(moment,)] = await self._driver.rows(_FIRST_VERSION, {"domain": domain, "host": host})
        return moment if isinstance(moment, datetime) else None

    async def hosts(self, after: Key, *, limit: int, but_version: str | None = None) -> list[Key]:
        """Return hosts with documents after `after`, ordered by (domain, host). `but_version`: see `_outdated`."""
        key = (DocumentRow.domain, DocumentRow.host)
        statement = select(*key).where(tuple_(*key) > after, *_outdated(but_version)).distinct()
        return await self._keys(statement.order_by(*key).limit(limit))

    async def count_hosts(self, *, but_version: str | None = None) -> int:
        key = select(DocumentRow.domain, DocumentRow.host).where(*_outdated(but_version)).distinct().subquery()
        return await self._number(select(func.count()).select_from(key))


def _version(row: Row) -> VersionRecord:
    return replace(VersionRecord(*row), outcome=Outcome(row[3]))


def _outdated(but_version: str | None) -> tuple[ColumnElement[bool], ...]:
    """Return the condition that a document with a body, or its service, has another rubric version; empty for None."""
    if but_version is None:
        return ()
    row, service = DocumentRow, ServiceRow
    same_host = (service.domain == row.domain, service.host == row.host)
    outdated_service = select(service.host).where(*same_host, service.rubric_version != but_version)
    is_outdated = row.has_body & row.alias_of.is_(None) & (row.rubric_version != but_version)
    return (or_(is_outdated, outdated_service.exists()),)


def _row(document: DocumentRecord) -> dict[str, Any]:
    row = {name: getattr(document, name) for name in _FIELDS}
    return row | {
        "url_hash": url_hash(document.url),
        "url": clean(document.url, URL_CHARS),
        "final_url": clean(document.final_url, URL_CHARS),
        "reason": clean(document.reason, REASON_CHARS),
        "media_type": clean_or_none(document.media_type, 200),
        "etag": clean_or_none(document.etag),
        "last_modified": clean_or_none(document.last_modified),
        "alias_of": clean_or_none(document.alias_of, URL_CHARS),
        "headers": clean_json(document.headers),
        "via": clean_json(asdict(document.via)) if document.via else None,
        "findings": clean_json(document.findings),
        "transport": None if document.transport is None else orjson.Fragment(document.transport),
    }


def _record(row: Row) -> DocumentRecord:
    values = dict(zip(_FIELDS, row, strict=True))
    via = decode(values["via"])
    values |= {"outcome": Outcome(values["outcome"]), "via": Via(**via) if via else None}
    values |= {"headers": decode(values["headers"]), "findings": decode(values["findings"])}
    return DocumentRecord(**values)
