"""Queries of services for the interfaces. JSON is decoded row by row, so that one bad row does not hide the others."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from sqlalchemy import ColumnElement, func, literal_column, null, or_, select, tuple_

from registry.core.access.claims import UNKNOWN_OWNER, Ownership
from registry.core.calling.http import Arguments
from registry.core.evidence import SLOW_MS
from registry.core.model.listing import Filters, TrustLevel
from registry.core.model.services import Service, from_json
from registry.store.cards import CARD_FIELDS, Card, cards
from registry.store.claims import Claims, OwnerSettingRecord, OwnerSettings
from registry.store.engine import decode
from registry.store.facets import capability_conditions, service_conditions
from registry.store.records import CapabilityDates, DocumentRecord, FindingRecord, ServiceRecord
from registry.store.repository import Key, Repository
from registry.store.services import Services, service_record
from registry.store.tables import CapabilityRow, FindingRow, HostRow, ServiceRow
from registry.store.values import clean, key_name

Sort = Literal["score", "name", "newest", "updated", "capabilities"]
_log = logging.getLogger(__name__)

_DATES: Final = (CapabilityRow.name, CapabilityRow.fingerprint, CapabilityRow.first_seen_at, CapabilityRow.changed_at)

_ORDER: Final[dict[Sort, tuple[ColumnElement[Any], ...]]] = {
    "score": (ServiceRow.score.desc(), ServiceRow.host.asc()),
    "name": (func.lower(ServiceRow.name).asc(), ServiceRow.host.asc()),
    "newest": (ServiceRow.created_at.desc(), ServiceRow.host.asc()),
    "updated": (ServiceRow.updated_at.desc(), ServiceRow.host.asc()),
    "capabilities": (ServiceRow.cap_count.desc(), ServiceRow.host.asc()),
}


@dataclass(frozen=True, slots=True)
class ServiceView:
    """Everything about one service. `breakdown`: Score.to_json() as computed. `response_ms` and `last_visit_at`: of the
    last visit of its host, for any outcome. `documents`: the current ones."""

    record: ServiceRecord
    service: Service
    findings: tuple[FindingRecord, ...]
    breakdown: dict[str, Any]
    response_ms: int | None
    last_visit_at: datetime | None
    documents: tuple[DocumentRecord, ...] = ()
    dates: Mapping[str, CapabilityDates] = field(default_factory=dict)  # by key of the capability
    examples: Mapping[str, Arguments] = field(default_factory=dict)  # by key of the capability, if it has an example

    def example_of(self, name: str) -> Arguments | None:
        """Return the arguments of a capability's example call; None if there is no example, or it was not made yet."""
        return self.examples.get(key_name(name))

    def dates_of(self, name: str) -> CapabilityDates | None:
        """Return the dates of a capability by its name, or None if unknown."""
        return self.dates.get(key_name(name))

    ownership: Ownership = UNKNOWN_OWNER
    setting: OwnerSettingRecord | None = None


@dataclass(frozen=True, slots=True)
class StoredService:
    """The parts of a `ServiceView` as the database returns them; parts that can be large are undecoded JSON.

    Decoding takes much longer than reading, so a caller may want to know the size first. Can be pickled.
    """

    row: dict[str, Any]
    capabilities: tuple[tuple[bytes, bytes | None], ...]  # data and detail
    dates: tuple[CapabilityDates, ...] = ()  # of the capabilities, in their order
    examples: tuple[bytes | None, ...] = ()  # likewise
    findings: tuple[FindingRecord, ...] = ()
    breakdown: dict[str, Any] = field(default_factory=dict)
    response_ms: int | None = None
    last_visit_at: datetime | None = None
    documents: tuple[DocumentRecord, ...] = ()
    ownership: Ownership = UNKNOWN_OWNER
    setting: OwnerSettingRecord | None = None

    @property
    def size(self) -> int:
        """Return the number of bytes of JSON."""
        details = sum(len(data) + len(detail or b"") for data, detail in self.capabilities)
        examples = sum(len(example or b"") for example in self.examples)
        return len(self.row["model"]) + len(self.row["listing"]) + details + examples

    def view(self) -> ServiceView:
        """Return the decoded view. Leave out bad capabilities; raise like `service_record` for a bad row."""
        record = service_record(self.row)
        return ServiceView(
            record=record,
            service=from_json({**record.model, "capabilities": self._decoded_capabilities()}),
            findings=self.findings,
            breakdown=self.breakdown,
            response_ms=self.response_ms,
            last_visit_at=self.last_visit_at,
            documents=self.documents,
            dates={dates.name: dates for dates in self.dates},
            examples={
                dates.name: Arguments.from_json(decode(example))
                for dates, example in zip(self.dates, self.examples, strict=False)
                if example is not None
            },
            ownership=self.ownership,
            setting=self.setting,
        )

    def _decoded_capabilities(self) -> list[dict[str, Any]]:
        found = []
        for data, detail in self.capabilities:
            try:
                found.append(_capability(data, detail))
            except ValueError:
                _log.error("a capability of %s cannot be decoded: rescore rewrites it", self.row["host"])
        return found


@dataclass(frozen=True, slots=True)
class HealthRow:
    host: str
    name: str
    status: Literal["up", "degraded", "down", "unknown"]
    response_time_ms: int | None
    checked_at: datetime | None


@dataclass(frozen=True, slots=True)
class HealthReport:
    """`services`: the worst first, up to the requested limit. The numbers count all shown services."""

    total: int
    healthy: int
    degraded: int
    down: int
    services: tuple[HealthRow, ...]


class Catalogue(Repository):
    async def service(self, domain: str, host: str, *, include_details: bool) -> StoredService | None:
        """Return the service without its documents; None if it is unknown or hidden."""
        row = await self._shown(domain, host)
        if row is None:
            return None
        score = await Services(self._connection).last_score(domain, host)
        last_visit = select(HostRow.response_ms, HostRow.last_visit_at).where(*_of_host(HostRow, domain, host))
        response_ms, last_visit_at = (await self._execute(last_visit)).first() or (None, None)
        capabilities, dates, examples = await self._capabilities(domain, host, include_details)
        return StoredService(
            row,
            capabilities,
            dates,
            examples,
            findings=await self.findings(domain, host),
            breakdown=score.breakdown if score else {},
            response_ms=response_ms,
            last_visit_at=last_visit_at,
            ownership=await Claims(self._connection).ownership(domain, host),
            setting=await OwnerSettings(self._connection).get(domain, host),
        )

    async def name(self, domain: str, host: str) -> str | None:
        """Return the name of a service; None if it is unknown or hidden."""
        statement = select(ServiceRow.name).where(*_of_host(ServiceRow, domain, host), ~ServiceRow.hidden)
        return (await self._execute(statement)).scalar()

    async def capability(self, domain: str, host: str, name: str) -> StoredService | None:
        """Return the service with only this capability, and its detail.

        `name` is the capability's name, else the id in its document; if several share an id, the first.
        """
        row = await self._shown(domain, host)
        if row is None:
            return None
        by_id = CapabilityRow.data["id"].as_string() == clean(name)
        for condition in (CapabilityRow.name == key_name(name), by_id):
            statement = select(CapabilityRow.data, CapabilityRow.detail, CapabilityRow.example, *_DATES).where(
                *_of_host(CapabilityRow, domain, host), condition
            )
            found = (await self._execute(statement.order_by(CapabilityRow.position).limit(1))).first()
            if found is not None:
                data, detail, example, *dates = found
                return StoredService(row, ((data, detail),), (_dates(*dates),), (example,))
        return None

    async def findings(self, domain: str, host: str) -> tuple[FindingRecord, ...]:
        row = FindingRow
        statement = select(row.reason, row.document, row.pointer, row.evidence).where(*_of_host(row, domain, host))
        rows = await self._execute(statement.order_by(row.ordinal))
        return tuple(FindingRecord(*values) for values in rows)

    async def capabilities(self, keys: Sequence[Key], filters: Filters) -> dict[str, frozenset[str]]:
        """Return by host the names of the capabilities that match the filters; leave out hosts without any."""
        row = CapabilityRow
        has_key = tuple_(row.domain, row.host).in_(list(keys))
        statement = select(row.host, row.name).where(has_key, *capability_conditions(filters))
        found: dict[str, set[str]] = {}
        for host, name in await self._execute(statement):
            found.setdefault(host, set()).add(name)
        return {host: frozenset(names) for host, names in found.items()}

    async def page(
        self, filters: Filters, *, sort: Sort, limit: int, offset: int, text: str = ""
    ) -> tuple[list[Card], int]:
        """Return a page of cards without capabilities, and the total. `text`: part of a name, description or host."""
        conditions = service_conditions(filters) + ([_contains(text)] if text else [])
        page = (
            select(*CARD_COLUMNS)
            .select_from(ServiceRow)
            .where(*conditions)
            .order_by(*_ORDER[sort])
            .limit(limit)
            .offset(offset)
        )
        total = select(func.count()).select_from(ServiceRow).where(*conditions)
        items = list(cards(await self._execute(page)))
        return items, (await self._execute(total)).scalar_one()

    async def health(self, *, limit: int) -> HealthReport:
        joined = (HostRow.domain == ServiceRow.domain) & (HostRow.host == ServiceRow.host)
        down = ServiceRow.trust_level == TrustLevel.UNVERIFIED
        degraded = ~down & ((ServiceRow.crawl_failures > 0) | (func.coalesce(HostRow.response_ms, 0) > SLOW_MS))
        columns = select(func.count(), func.count().filter(degraded), func.count().filter(down))
        numbers = columns.select_from(ServiceRow).outerjoin(HostRow, joined).where(~ServiceRow.hidden)
        total, are_degraded, are_down = (await self._execute(numbers)).one()
        worst = (
            select(ServiceRow.host, ServiceRow.name, down.label("down"), degraded.label("degraded"))
            .add_columns(HostRow.response_ms, HostRow.last_visit_at)
            .outerjoin(HostRow, joined)
            .where(~ServiceRow.hidden)
            .order_by(down.desc(), degraded.desc(), ServiceRow.host)
            .limit(limit)
        )
        lines = tuple(_health_line(*row) for row in await self._execute(worst))
        return HealthReport(total, total - are_degraded - are_down, are_degraded, are_down, lines)

    async def counts(self) -> dict[str, dict[str, int]]:
        """Return the numbers of shown services as {"trust_level": {...}, "format": {...}}."""
        is_shown = ~ServiceRow.hidden
        trust = select(ServiceRow.trust_level, func.count()).where(is_shown).group_by(ServiceRow.trust_level)
        slug = func.unnest(ServiceRow.formats).label("slug")
        slugs = select(slug).where(is_shown).subquery()
        formats = select(slugs.c.slug, func.count()).group_by(slugs.c.slug)
        return {
            "trust_level": dict((await self._execute(trust)).all()),
            "format": dict((await self._execute(formats)).all()),
        }

    async def _shown(self, domain: str, host: str) -> dict[str, Any] | None:
        statement = select(ServiceRow.__table__).where(*_of_host(ServiceRow, domain, host), ~ServiceRow.hidden)
        row = (await self._execute(statement)).mappings().first()
        return None if row is None else dict(row)

    async def _capabilities(
        self, domain: str, host: str, include_details: bool
    ) -> tuple[tuple[tuple[bytes, bytes | None], ...], tuple[CapabilityDates, ...], tuple[bytes | None, ...]]:
        """Return data and detail, dates and example of each capability; detail and example only if requested."""
        row = CapabilityRow
        columns = (row.data, *((row.detail, row.example) if include_details else (null(), null())), *_DATES)
        statement = select(*columns).where(*_of_host(row, domain, host)).order_by(row.position)
        found = (await self._execute(statement)).all()
        return (
            tuple((data, detail) for data, detail, *_ in found),
            tuple(_dates(*dates) for _, _, _, *dates in found),
            tuple(example for _, _, example, *_ in found),
        )


def _dates(
    name: str, digest: bytes | None, first_seen_at: datetime | None, changed_at: datetime | None
) -> CapabilityDates:
    return CapabilityDates(name, None if digest is None else digest.hex(), first_seen_at, changed_at)


CARD_COLUMNS: Final[tuple[ColumnElement[Any], ...]] = tuple(literal_column(sql) for sql in CARD_FIELDS.values())
"""The columns that `cards` expects, without capabilities."""


def _of_host(table: Any, domain: str, host: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.domain == domain, table.host == host


def _contains(text: str) -> ColumnElement[bool]:
    """Return a case-insensitive condition; `%` and `_` are literal. NUL was replaced in stored texts, so here too."""
    part = text.replace("\0", "\ufffd")
    return or_(
        *(column.icontains(part, autoescape=True) for column in (ServiceRow.name, ServiceRow.description)),
        ServiceRow.host.icontains(part, autoescape=True),
    )


def _capability(data: bytes, detail: bytes | None = None) -> dict[str, Any]:
    value: dict[str, Any] = decode(data)
    return value if detail is None else {**value, "detail": decode(detail)}


def _health_line(
    host: str, name: str, down: bool, degraded: bool, response_ms: int | None, checked_at: datetime | None
) -> HealthRow:
    if checked_at is None:
        return HealthRow(host, name, "unknown", None, None)
    status: Literal["up", "degraded", "down"] = "down" if down else "degraded" if degraded else "up"
    return HealthRow(host, name, status, response_ms, checked_at)
