"""Repository of services as `record` and `rescore` write them, with capabilities, findings and scores."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, LiteralString, NamedTuple

from sqlalchemy import RowMapping, bindparam, case, delete, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import JSONB

from registry.core.changes.versions import capability_fingerprint
from registry.core.model.listing import Listing
from registry.store import records
from registry.store.engine import decode, listed
from registry.store.records import ScoreRecord, ServiceRecord
from registry.store.repository import Key, Repository, columns_of
from registry.store.tables import CapabilityRow, FindingRow, ScoreRow, ServiceRow, TrustCauseRow
from registry.store.values import clean, clean_or_none, key_name

MAX_FINDINGS = 2_000

_OVERWRITTEN = columns_of(ServiceRow, "domain", "host", "created_at")
_FIELDS = tuple(ServiceRecord.__dataclass_fields__)
_OF: Final[LiteralString] = f"""
SELECT {", ".join(_FIELDS)} FROM services WHERE domain = ANY(string_to_array(%(domains)s, ' '))
"""  # noqa: S608  # our own columns
_CAPABILITIES_OF: Final[LiteralString] = """
SELECT domain, host, name, data FROM capabilities
WHERE domain = ANY(string_to_array(%(domains)s, ' ')) AND host = ANY(string_to_array(%(hosts)s, ' '))
ORDER BY domain, host, position
"""
_UNSEEN: Final[LiteralString] = """
SELECT s.domain, s.host FROM services s
WHERE (s.domain, s.host) > (%(domain)s, %(host)s) AND NOT s.hidden AND s.seen_at < %(before)s
  AND s.trust_level <> 'unverified'
  AND NOT EXISTS (
    SELECT FROM changes c WHERE c.domain = s.domain AND c.host = s.host AND c.at > s.seen_at
      AND c.kind = 'service.changed' AND c.data ->> 'state' = 'stale')
ORDER BY s.domain, s.host LIMIT %(limit)s
"""
_ARRAYS: Final = ("formats", "protocols", "injection_flags", "trust_depends_on", "named_hosts")
_SCORE = tuple(ScoreRecord.__dataclass_fields__)
_STAMPED = ("domain", "host", "seen_at", "crawl_failures", "listing", "listing_hash")
# The listing holds a date. Write it only if its hash differs: most visits change neither it nor the index.
_STAMP = text(
    "UPDATE services SET seen_at = :seen_at, crawl_failures = :crawl_failures,"
    " listing = CASE WHEN listing_hash = :listing_hash THEN listing ELSE :listing END, listing_hash = :listing_hash"
    " WHERE domain = :domain AND host = :host"
).bindparams(bindparam("listing", type_=JSONB))


# Only what changed, and only the reasons that cost points: breakdowns with all their findings are large.
_SCORE_STEPS = text("""
SELECT scored_at, value, before, rubric_version, reasons, reasons_before FROM (
    SELECT scored_at, value, rubric_version, reasons, lag(value) OVER earlier AS before,
        lag(rubric_version) OVER earlier AS rubric_before, lag(reasons) OVER earlier AS reasons_before
    FROM scores CROSS JOIN LATERAL (
        SELECT jsonb_object_agg(reason, jsonb_build_array(findings, points)) AS reasons FROM (
            SELECT line ->> 'reason' AS reason, sum((line ->> 'count')::numeric) AS findings,
                sum((line ->> 'points')::numeric) AS points
            FROM jsonb_path_query(breakdown, '$.lines[*] ? (@.points > 0 && @.reason.type() == "string"
                && @.count.type() == "number")') AS line GROUP BY 1) AS lines) AS summed
    WHERE domain = :domain AND host = :host WINDOW earlier AS (ORDER BY scored_at)) AS steps
WHERE before IS DISTINCT FROM value OR rubric_before <> rubric_version ORDER BY scored_at DESC LIMIT :limit
""")


class ScoreStep(NamedTuple):
    """A score that differs from the one before it, or that another version of the rubric made. `before`: None for the
    first one that is kept. `reasons`: reason -> how often it was found, and the points that it costs."""

    at: datetime
    score: int
    before: int | None
    rubric_version: str
    reasons: Mapping[str, Sequence[float]]
    reasons_before: Mapping[str, Sequence[float]] | None


class Cause(NamedTuple):
    """A change: its number, and the names that it concerns."""

    id: int
    names: Sequence[str]


class UnreachedCapability(NamedTuple):
    """A capability whose reach is not stored yet. `data`, `detail`: undecoded."""

    domain: str
    host: str
    name: str
    data: bytes
    detail: bytes | None

    def value(self) -> dict[str, Any]:
        """Return the capability as JSON. Raise ValueError."""
        decoded: dict[str, Any] = decode(self.data)
        return decoded if self.detail is None else {**decoded, "detail": decode(self.detail)}


_LISTED_SITES = text("""
SELECT d FROM unnest(CAST(:domains AS text[])) d
WHERE EXISTS (SELECT FROM services s WHERE s.domain = d AND NOT s.hidden)
""")


class Services(Repository):
    """Services, and facts outside a service's documents on which its trust depends: listings, names, owners elsewhere.
    Triggers note every change of these facts in `trust_causes`, by the names that `speaking.depends_on` uses. Each
    cause is a separate row and is written without a look-up, so that writers never wait for each other."""

    async def of(self, domains: Collection[str]) -> dict[str, ServiceRecord]:
        """Return services by host, also hidden ones. Leave out an undecodable row: it is about to be rewritten."""
        found = {}
        for values in await self._driver.rows(_OF, {"domains": listed(domains)}):
            row = dict(zip(_FIELDS, values, strict=True))
            try:
                found[row["host"]] = service_record(row)
            except (ValueError, TypeError, KeyError):
                continue
        return found

    async def put(self, services: Iterable[ServiceRecord]) -> None:
        await self._put_all(ServiceRow, [_row(service) for service in services], overwrite=_OVERWRITTEN)

    async def remove(self, keys: Sequence[Key]) -> None:
        """Delete services with their capabilities and findings. Their scores are kept as history."""
        await self._delete((ServiceRow, CapabilityRow, FindingRow), keys)

    async def unseen(self, after: Key, *, before: datetime, limit: int) -> list[Key]:
        """Return shown services after `after`, last seen before `before` and without an event that they are stale;
        ordered by (domain, host)."""
        bound = {"domain": after[0], "host": after[1], "before": before, "limit": limit}
        return [(row[0], row[1]) for row in await self._driver.rows(_UNSEEN, bound)]

    async def hide(self, domain: str, hosts: Collection[str], *, below: bool = True) -> list[str]:
        """Hide the services of `hosts`, and of hosts below them; return the hosts that were shown."""
        row = ServiceRow
        names = [row.host.endswith("." + host, autoescape=True) for host in hosts] if below else []
        covered = or_(row.host.in_(list(hosts)), *names)
        statement = update(row).where(row.domain == domain, covered, ~row.hidden).values(hidden=True)
        return sorted(await self._scalars(statement.returning(row.host)))

    async def hidden(self, domain: str) -> list[str]:
        """Return the hosts of the domain with hidden services."""
        statement = select(ServiceRow.host).where(ServiceRow.domain == domain, ServiceRow.hidden)
        return sorted(await self._scalars(statement))

    async def show(self, domain: str, hosts: Collection[str]) -> None:
        """Show hidden services. The caller has checked that no hold or opt-out covers them."""
        shown = update(ServiceRow).where(ServiceRow.domain == domain, ServiceRow.host.in_(list(hosts)))
        await self._execute(shown.values(hidden=False))

    async def capabilities(self, keys: Collection[Key]) -> dict[Key, dict[str, Any]]:
        """Return the capabilities of each service by name, in order, without details and undecodable ones."""
        found: dict[Key, dict[str, Any]] = {}
        if not keys:
            return found
        bound = {"domains": listed({domain for domain, _ in keys}), "hosts": listed({host for _, host in keys})}
        for domain, host, name, data in await self._driver.rows(_CAPABILITIES_OF, bound):
            with suppress(ValueError):
                found.setdefault((domain, host), {})[name] = decode(data)
        return found

    async def replace_capabilities(
        self, capabilities: Mapping[Key, Sequence[records.CapabilityRecord]], *, now: datetime
    ) -> None:
        """Replace all capabilities of each service, keeping their order. A known capability keeps the time when it was
        first seen, and the time of its last change if its fingerprint is the same."""
        row, dates = CapabilityRow, {}
        if capabilities:
            undated = case((row.fingerprint.is_(None), row.data), else_=None)
            statement = delete(row).where(tuple_(row.domain, row.host).in_(list(capabilities)))
            columns = (row.domain, row.host, row.name, row.fingerprint, row.first_seen_at, row.changed_at, undated)
            for *key, digest, first_seen_at, changed_at, data in await self._execute(statement.returning(*columns)):
                dates[tuple(key)] = _Dates(digest or _digest(data), first_seen_at, changed_at)
        rows = [
            {"domain": domain, "host": host, "name": (name := key_name(capability.name)), "position": position}
            | {"data": capability.data, "detail": capability.detail, "example": capability.example}
            | {"reach": capability.reach}
            | _dated(capability, dates.get((domain, host, name)), now)
            for (domain, host), host_capabilities in capabilities.items()
            for position, capability in enumerate(host_capabilities)
        ]
        await self._put_all(CapabilityRow, rows)

    async def unreached(self, *, limit: int) -> list[Key]:
        """Return services with capabilities whose reach is not stored yet, by (domain, host)."""
        row = CapabilityRow
        statement = select(row.domain, row.host).distinct().where(row.reach.is_(None)).order_by(row.domain, row.host)
        return await self._keys(statement.limit(limit))

    async def unreached_capabilities(self, keys: Collection[Key]) -> list[UnreachedCapability]:
        """Return the capabilities of these services whose reach is not stored yet, by (domain, host)."""
        row = CapabilityRow
        columns = select(row.domain, row.host, row.name, row.data, row.detail)
        statement = columns.where(tuple_(row.domain, row.host).in_(list(keys)), row.reach.is_(None))
        return await self._list(UnreachedCapability, statement.order_by(row.domain, row.host, row.position))

    async def set_reach(self, reach: Iterable[tuple[UnreachedCapability, Mapping[str, Any]]]) -> None:
        rows = [{"of": one.domain, "at": one.host, "named": one.name, "reach": value} for one, value in reach]
        row = CapabilityRow
        is_it = (row.domain == bindparam("of"), row.host == bindparam("at"), row.name == bindparam("named"))
        await self._many(update(row).where(*is_it), rows)

    async def replace_findings(self, findings: Mapping[Key, Sequence[records.FindingRecord]]) -> None:
        """Replace all findings of each host, keeping at most MAX_FINDINGS: more would explain nothing new."""
        await self._delete((FindingRow,), findings)
        rows = [
            {"domain": domain, "host": host, "ordinal": ordinal, "reason": finding.reason}
            | {"document": clean_or_none(finding.document), "pointer": clean(finding.pointer)}
            | {"evidence": clean(finding.evidence)}
            for (domain, host), host_findings in findings.items()
            for ordinal, finding in enumerate(host_findings[:MAX_FINDINGS])
        ]
        await self._put_all(FindingRow, rows)

    async def add_scores(self, scores: Iterable[ScoreRecord]) -> None:
        rows = [{name: getattr(score, name) for name in _SCORE} for score in scores]
        await self._put_all(ScoreRow, rows, overwrite=("value", "rubric_version", "breakdown"))

    async def last_score(self, domain: str, host: str, *, until: datetime | None = None) -> ScoreRecord | None:
        """Return the last score of the host, or the last one until a time, as it was computed then."""
        statement = select(ScoreRow.__table__).where(ScoreRow.domain == domain, ScoreRow.host == host)
        if until is not None:
            statement = statement.where(ScoreRow.scored_at <= until)
        row = (await self._execute(statement.order_by(ScoreRow.scored_at.desc()).limit(1))).mappings().first()
        return ScoreRecord(**{**row, "breakdown": decode(row["breakdown"])}) if row else None

    async def score_steps(self, domain: str, host: str, *, limit: int) -> list[ScoreStep]:
        """Return the latest changes of the host's score, latest first."""
        bound = {"domain": domain, "host": host, "limit": limit}
        return [
            ScoreStep(at, score, before, version, decode(reasons) or {}, decode(earlier) or {})
            for at, score, before, version, reasons, earlier in await self._execute(_SCORE_STEPS, bound)
        ]

    async def stamp(self, services: Sequence[ServiceRecord]) -> None:
        """Update services that did not change: the time last seen, the failure count and the listing's date."""
        rows = [{key: row[key] for key in _STAMPED} for row in map(_row, services)]
        await self._many(_STAMP, rows)

    async def listed(self, domains: Collection[str], hosts: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the listed ones of the hosts, which are of these domains, with the hosts that they name."""
        row = ServiceRow
        is_one = (row.domain.in_(list(domains)), row.host.in_(list(hosts)), ~row.hidden)
        rows = await self._execute(select(row.host, row.named_hosts).where(*is_one))
        return {host: tuple(named) for host, named in rows}

    async def listed_sites(self, domains: Collection[str]) -> frozenset[str]:
        """Return the domains with a listed host."""
        return frozenset(await self._scalars(_LISTED_SITES, {"domains": list(domains)}))

    async def causes(self, *, limit: int) -> list[Cause]:
        row = TrustCauseRow
        return await self._list(Cause, select(row.id, row.names).order_by(row.id).limit(limit))

    async def dependents(self, names: Collection[str], after: Key, *, limit: int) -> list[Key]:
        """Return services after `after` that depend on one of the names, or are one of them; by (domain, host)."""
        row, (domain, host) = ServiceRow, after
        is_after = or_(row.domain > domain, (row.domain == domain) & (row.host > host))
        statement = select(row.domain, row.host).where(row.trust_depends_on.overlap(list(names)), is_after)
        return await self._keys(statement.order_by(row.domain, row.host).limit(limit))

    async def settle_causes(self, causes: Collection[Cause]) -> None:
        """Delete causes whose dependents were judged again."""
        await self._execute(delete(TrustCauseRow).where(TrustCauseRow.id.in_([one.id for one in causes])))


class _Dates(NamedTuple):
    """Fingerprint of a stored capability, when it was first seen, and when it got this fingerprint."""

    digest: bytes | None
    first_seen_at: datetime | None
    changed_at: datetime | None


def _digest(data: bytes | None) -> bytes | None:
    """Return the fingerprint of a stored capability; None if it cannot be decoded."""
    try:
        return bytes.fromhex(capability_fingerprint(decode(data)))
    except (ValueError, TypeError, AttributeError):
        return None


def _dated(capability: records.CapabilityRecord, before: _Dates | None, now: datetime) -> dict[str, Any]:
    digest = bytes.fromhex(capability.fingerprint or capability_fingerprint(capability.data))
    before = before or _Dates(None, now, now)
    changed_at = before.changed_at if before.digest == digest else now
    return {"fingerprint": digest, "first_seen_at": before.first_seen_at, "changed_at": changed_at}


def service_record(row: Mapping[str, Any] | RowMapping) -> ServiceRecord:
    """Return the record of a row. Raise ValueError, TypeError or KeyError if it cannot be decoded."""
    values = {name: row[name] for name in _FIELDS}
    listing: Listing = records.listing_from_json(decode(row["listing"]))
    values |= {"model": decode(row["model"]), "listing": listing, "trust_level": listing.trust_level}
    values["trust_since"] = decode(row["trust_since"]) or {}
    values |= {name: tuple(row[name]) for name in _ARRAYS}
    return ServiceRecord(**values)


def _row(service: ServiceRecord) -> dict[str, Any]:
    row = {name: getattr(service, name) for name in _FIELDS}
    row |= {name: clean(row[name]) for name in ("name", "base_url", "well_known_url")}
    row |= {name: list(row[name]) for name in _ARRAYS}
    return row | {
        "description": clean(service.description, 10_000),
        "protocols": [clean(protocol, 100) for protocol in service.protocols],
        "trust": records.trust_to_json(service.listing),
        "listing": records.listing_to_json(service.listing),
        "listing_hash": service.listing.content_hash(),
    }
