"""Repository of whole records: the stored rows of a service that public answers show, for dumps and mirrors.

JSON stays as the database wrote it. Only shown services without an opt-out or a hold are returned.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, LiteralString

from registry.store.engine import listed
from registry.store.holds import withheld
from registry.store.repository import Key, Repository

SHOWN: Final = (
    "host", "domain", "name", "description", "base_url", "well_known_url", "trust_level", "score", "formats",
    "injection_flags", "crawl_failures", "rubric_version", "created_at", "updated_at", "seen_at",
)  # fmt: skip
"""Columns of a service that a record contains as they are."""

_SERVICE: Final = (*SHOWN, "model", "listing", "policies", "robots")
_HOST: Final = ("outcome", "reason", "last_visit_at", "last_found_at", "response_ms", "robots_body")
_FINDING: Final = ("reason", "document", "pointer", "evidence")
_SCORE: Final = ("value", "rubric_version", "scored_at", "breakdown")
_DOCUMENT: Final = (
    "url", "final_url", "purpose", "outcome", "reason", "format", "dialect", "status", "media_type", "size", "sha256",
    "alias_of", "rubric_version", "first_seen_at", "changed_at", "seen_at",
)  # fmt: skip

_RECORDS: Final[LiteralString] = f"""
SELECT {", ".join(f"s.{name}" for name in _SERVICE[:-2])}, s.model->'policies', m.robots,
    {", ".join(f"h.{name}" for name in _HOST)}
FROM services s LEFT JOIN hosts h ON h.domain = s.domain AND h.host = s.host
LEFT JOIN mirrored m ON m.domain = s.domain AND m.host = s.host
WHERE NOT s.hidden AND NOT {withheld("s")}
"""  # noqa: S608  # our own columns
_PAGE: Final[LiteralString] = (
    _RECORDS + " AND (s.domain, s.host) > (%(domain)s, %(host)s) ORDER BY s.domain, s.host LIMIT %(limit)s"
)
_OF: Final[LiteralString] = f"""{_RECORDS}
  AND s.domain = ANY(string_to_array(%(domains)s, ' ')) AND s.host = ANY(string_to_array(%(hosts)s, ' '))
ORDER BY s.domain, s.host
"""
_AMONG: Final[LiteralString] = (
    "WHERE domain = ANY(string_to_array(%(domains)s, ' ')) AND host = ANY(string_to_array(%(hosts)s, ' '))"
)
_CAPABILITIES: Final[LiteralString] = (
    f"SELECT host, name, data, detail FROM capabilities {_AMONG} ORDER BY domain, host, position"  # noqa: S608
)
_FINDINGS: Final[LiteralString] = (
    f"SELECT host, {', '.join(_FINDING)} FROM findings {_AMONG} ORDER BY domain, host, ordinal"  # noqa: S608
)
_SCORES: Final[LiteralString] = (
    f"SELECT DISTINCT ON (domain, host) host, {', '.join(_SCORE)}"  # noqa: S608
    f" FROM scores {_AMONG} ORDER BY domain, host, scored_at DESC"
)
_DOCUMENTS: Final[LiteralString] = (
    f"SELECT host, {', '.join(_DOCUMENT)} FROM documents {_AMONG} ORDER BY domain, host, url"  # noqa: S608
)
_BODIES: Final[LiteralString] = """
SELECT domain, sha256, body FROM bodies WHERE (domain, sha256) IN (
    SELECT domain, sha256 FROM documents WHERE domain = %(domain)s AND host = %(host)s AND has_body)
"""
_OPT_OUTS: Final[LiteralString] = """
SELECT domain, host, how, created_at FROM (
    SELECT domain, host, how, created_at FROM opt_outs
    UNION ALL SELECT domain, host, 'operator', since FROM listing_holds h WHERE kind = 'blocked'
        AND NOT EXISTS (SELECT FROM opt_outs o WHERE o.domain = h.domain AND o.host = h.host)
) closed WHERE (domain, host) > (%(domain)s, %(host)s)
ORDER BY domain, host LIMIT %(limit)s
"""


@dataclass(slots=True)
class PublicRecord:
    """One service: values by column; jsonb is bytes. `service`: also its `policies`, and in a mirror `robots`, the
    origin's reading of robots.txt about training. `visit`: all values None if the host has no row. `capabilities`:
    name, data, detail."""

    service: dict[str, Any]
    visit: dict[str, Any]
    capabilities: list[tuple[str, bytes, bytes | None]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    score: dict[str, Any] | None = None
    documents: list[dict[str, Any]] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return self.service["domain"], self.service["host"]


class PublicRecords(Repository):
    async def page(self, after: Key, *, limit: int) -> list[PublicRecord]:
        """Return records after the key, ordered by (domain, host)."""
        return await self._completed(
            await self._driver.rows(_PAGE, {"domain": after[0], "host": after[1], "limit": limit})
        )

    async def of(self, keys: Collection[Key]) -> list[PublicRecord]:
        """Return the records of these hosts; leave out hosts without a record."""
        return await self._completed(await self._driver.rows(_OF, _bound(keys)))

    async def bodies(self, key: Key) -> dict[bytes, bytes]:
        """Return the kept bodies of the current documents of a host, by SHA-256."""
        rows = await self._driver.rows(_BODIES, {"domain": key[0], "host": key[1]})
        return {sha: body for _, sha, body in rows}

    async def opt_outs(self, after: Key, *, limit: int) -> list[tuple[str, str, str, datetime]]:
        """Return opt-outs, and blocks as opt-outs by an operator, after the key: domain, host, how, since when."""
        rows = await self._driver.rows(_OPT_OUTS, {"domain": after[0], "host": after[1], "limit": limit})
        return [(domain, host, how, since) for domain, host, how, since in rows]

    async def _completed(self, rows: Sequence[tuple[Any, ...]]) -> list[PublicRecord]:
        if not rows:
            return []
        width = len(_SERVICE)
        found = {
            row[0]: PublicRecord(_by_column(_SERVICE, row[:width]), _by_column(_HOST, row[width:])) for row in rows
        }
        bound = _bound([record.key for record in found.values()])
        for host, name, data, detail in await self._driver.rows(_CAPABILITIES, bound):
            if host in found:
                found[host].capabilities.append((name, data, detail))
        for host, *values in await self._driver.rows(_FINDINGS, bound):
            if host in found:
                found[host].findings.append(_by_column(_FINDING, values))
        for host, *values in await self._driver.rows(_SCORES, bound):
            if host in found:
                found[host].score = _by_column(_SCORE, values)
        for host, *values in await self._driver.rows(_DOCUMENTS, bound):
            if host in found:
                found[host].documents.append(_by_column(_DOCUMENT, values))
        return list(found.values())


def _by_column(columns: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(columns, values, strict=True))


def _bound(keys: Collection[Key]) -> dict[str, str]:
    return {"domains": listed({domain for domain, _ in keys}), "hosts": listed({host for _, host in keys})}
