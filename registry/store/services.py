"""Repository of services as `record` and `rescore` write them: the merged service and everything that hangs on it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, LiteralString

from sqlalchemy import RowMapping, bindparam, delete, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.listing import Listing
from registry.store.bulk import columns_of, many, put_all
from registry.store.driver import Driver, listed
from registry.store.engine import decode
from registry.store.listings import listing_from_json, listing_to_json
from registry.store.records import CapabilityRecord, FindingRecord, ScoreRecord, ServiceRecord
from registry.store.tables import CapabilityRow, FindingRow, ScoreRow, ServiceRow
from registry.store.values import clean, clean_or_none, key_name

Key = tuple[str, str]

MAX_FINDINGS = 2_000

_ANEW = columns_of(ServiceRow, "domain", "host", "created_at")
_FIELDS = tuple(ServiceRecord.__dataclass_fields__)
_OF: Final[LiteralString] = f"""
SELECT {", ".join(_FIELDS)} FROM services WHERE domain = ANY(string_to_array(%(domains)s, ' '))
"""  # noqa: S608  # our own columns
_SCORE = tuple(ScoreRecord.__dataclass_fields__)
_STAMPED = ("domain", "host", "seen_at", "crawl_failures", "listing", "listing_hash")
# The listing holds a date, and is written only when that date is another: most visits leave it and the index alone.
_STAMP = text(
    "UPDATE services SET seen_at = :seen_at, crawl_failures = :crawl_failures,"
    " listing = CASE WHEN listing_hash = :listing_hash THEN listing ELSE :listing END, listing_hash = :listing_hash"
    " WHERE domain = :domain AND host = :host"
).bindparams(bindparam("listing", type_=JSONB))


class Services:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._driver = Driver(connection)

    async def of(self, domains: Collection[str]) -> dict[str, ServiceRecord]:
        """By host, hidden ones too. A row that cannot be decoded is left out: it is about to be written anew."""
        found = {}
        for values in await self._driver.rows(_OF, {"domains": listed(domains)}):
            row = dict(zip(_FIELDS, values, strict=True))
            try:
                found[row["host"]] = service_record(row)
            except (ValueError, TypeError, KeyError):
                continue
        return found

    async def put(self, services: Iterable[ServiceRecord]) -> None:
        await put_all(self._connection, ServiceRow, [_row(one) for one in services], overwrite=_ANEW)

    async def remove(self, keys: Sequence[Key]) -> None:
        """The services with their capabilities and findings; their scores stay, as history."""
        for table in (ServiceRow, CapabilityRow, FindingRow):
            await self._connection.execute(delete(table).where(tuple_(table.domain, table.host).in_(list(keys))))

    async def hide(self, domain: str, hosts: Collection[str]) -> list[str]:
        """Hides what `hosts` or hosts below them offer; gives the hosts that were shown until now."""
        below = or_(*(ServiceRow.host.endswith("." + host, autoescape=True) for host in hosts))
        covered = or_(ServiceRow.host.in_(list(hosts)), below)
        statement = (
            update(ServiceRow)
            .where(ServiceRow.domain == domain, covered, ~ServiceRow.hidden)
            .values(hidden=True)
            .returning(ServiceRow.host)
        )
        return sorted((await self._connection.execute(statement)).scalars())

    async def replace_capabilities(self, capabilities: Mapping[Key, Sequence[CapabilityRecord]]) -> None:
        """All capabilities of each service, in the service's order."""
        await self._clear(CapabilityRow, capabilities)
        rows = [
            {"domain": domain, "host": host, "name": key_name(one.name), "position": position}
            | {"data": one.data, "detail": one.detail}
            for (domain, host), many_of_one in capabilities.items()
            for position, one in enumerate(many_of_one)
        ]
        await put_all(self._connection, CapabilityRow, rows)

    async def replace_findings(self, findings: Mapping[Key, Sequence[FindingRecord]]) -> None:
        """All findings of each host, at most MAX_FINDINGS: they explain, and the rest would explain the same."""
        await self._clear(FindingRow, findings)
        rows = [
            {"domain": domain, "host": host, "ordinal": ordinal, "reason": one.reason}
            | {"document": clean_or_none(one.document), "pointer": clean(one.pointer), "evidence": clean(one.evidence)}
            for (domain, host), many_of_one in findings.items()
            for ordinal, one in enumerate(many_of_one[:MAX_FINDINGS])
        ]
        await put_all(self._connection, FindingRow, rows)

    async def add_scores(self, scores: Iterable[ScoreRecord]) -> None:
        rows = [{name: getattr(score, name) for name in _SCORE} for score in scores]
        await put_all(self._connection, ScoreRow, rows, overwrite=("value", "rubric_version", "breakdown"))

    async def last_score(self, domain: str, host: str) -> ScoreRecord | None:
        statement = (
            select(ScoreRow.__table__)
            .where(ScoreRow.domain == domain, ScoreRow.host == host)
            .order_by(ScoreRow.scored_at.desc())
            .limit(1)
        )
        row = (await self._connection.execute(statement)).mappings().first()
        return ScoreRecord(**{**row, "breakdown": decode(row["breakdown"])}) if row else None

    async def stamp(self, services: Sequence[ServiceRecord]) -> None:
        """Seen again, or missed again, without news: when, how often it failed, and the date that the index shows."""
        rows = [{key: row[key] for key in _STAMPED} for row in map(_row, services)]
        await many(self._connection, _STAMP, rows)

    async def _clear(self, table: type[CapabilityRow] | type[FindingRow], keys: Iterable[Key]) -> None:
        if keys := list(keys):
            await self._connection.execute(delete(table).where(tuple_(table.domain, table.host).in_(keys)))


def service_record(row: Mapping[str, Any] | RowMapping) -> ServiceRecord:
    """Raises ValueError, TypeError or KeyError for a row that nobody can read."""
    values = {name: row[name] for name in _FIELDS}
    listing: Listing = listing_from_json(decode(row["listing"]))
    values |= {"model": decode(row["model"]), "listing": listing, "trust_level": listing.trust_level}
    values |= {"formats": tuple(row["formats"]), "protocols": tuple(row["protocols"])}
    return ServiceRecord(**values)


def _row(service: ServiceRecord) -> dict[str, Any]:
    row = {name: getattr(service, name) for name in _FIELDS}
    return row | {
        "name": clean(service.name),
        "description": clean(service.description, 10_000),
        "base_url": clean(service.base_url),
        "well_known_url": clean(service.well_known_url),
        "formats": list(service.formats),
        "protocols": [clean(one, 100) for one in service.protocols],
        "listing": listing_to_json(service.listing),
        "listing_hash": service.listing.content_hash(),
    }
