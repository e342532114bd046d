"""Queries of services for the interfaces: single ones, lists, entries of catalogues, health.

An entry of a catalogue has no row: it is a pair of a service and one of its formats that is a separate artifact. JSON
is decoded row by row, so that one bad row does not hide the others.
"""

import logging
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    CompoundSelect,
    DateTime,
    Text,
    any_,
    case,
    func,
    literal,
    literal_column,
    null,
    or_,
    select,
    tuple_,
    type_coerce,
    union_all,
)  # fmt: skip

from registry.core.access.claims import UNKNOWN_OWNER, Ownership
from registry.core.calling.http import Arguments
from registry.core.evidence import SLOW_MS
from registry.core.model.listing import Filters, TrustLevel
from registry.core.model.services import Service, from_json
from registry.core.search_filters import Facet, SearchFilter, without
from registry.core.visiting.call_checks import CallCheck
from registry.store.call_checks import CallChecks
from registry.store.cards import CARD_FIELDS, Card, cards
from registry.store.claims import Claims, OwnerSettingRecord, OwnerSettings
from registry.store.engine import decode
from registry.store.facets import FACET_COLUMNS, FACET_VALUES, capability_conditions, service_conditions
from registry.store.records import CapabilityDates, DocumentRecord, FindingRecord, ServiceRecord
from registry.store.repository import Key, Repository, selected
from registry.store.services import Services, service_record
from registry.store.tables import CapabilityRow, FindingRow, HostRow, ServiceRow
from registry.store.values import clean, key_name

Sort = Literal["score", "name", "newest", "updated", "capabilities"]
EntryOrder = Literal["host", "name", "updated"]

HEALTH_LINES: Final = 100

_log = logging.getLogger(__name__)

_CARD: Final[tuple[ColumnElement[Any], ...]] = tuple(literal_column(sql) for sql in CARD_FIELDS.values())
_DATES: Final = selected(CapabilityRow, CapabilityDates)
_FINDING: Final = selected(FindingRow, FindingRecord)
_COLUMNS: Final = ServiceRow.__table__.c
_HOST: Final = type_coerce(ServiceRow.host, Text)
_ORDER: Final[dict[Sort, tuple[ColumnElement[Any], ...]]] = {
    "score": (ServiceRow.score.desc(), ServiceRow.host.asc()),
    "name": (func.lower(ServiceRow.name).asc(), ServiceRow.host.asc()),
    "newest": (ServiceRow.created_at.desc(), ServiceRow.host.asc()),
    "updated": (ServiceRow.updated_at.desc(), ServiceRow.host.asc()),
    "capabilities": (ServiceRow.cap_count.desc(), ServiceRow.host.asc()),
}
_ENTRY_ORDERS: Final[dict[EntryOrder, tuple[tuple[ColumnElement[Any], ...], bool]]] = {
    "host": ((type_coerce(ServiceRow.domain, Text), _HOST), False),
    "name": ((func.lower(ServiceRow.name), _HOST), False),
    "updated": ((type_coerce(ServiceRow.updated_at, DateTime(timezone=True)), _HOST), True),
}
"""Keys of each order, and whether it descends. `host` follows the primary key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """Facts about one service beside its row. `breakdown`: Score.to_json() as computed. `response_ms` and
    `last_visit_at`: of the last visit of its host, for any outcome. `documents`: the current ones. `calls`: the last
    check of each address for calls."""

    findings: tuple[FindingRecord, ...] = ()
    breakdown: dict[str, Any] = field(default_factory=dict)
    response_ms: int | None = None
    last_visit_at: datetime | None = None
    documents: tuple[DocumentRecord, ...] = ()
    ownership: Ownership = UNKNOWN_OWNER
    setting: OwnerSettingRecord | None = None
    calls: tuple[CallCheck, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView(ServiceFacts):
    """Everything about one service. `dates`, `examples` and `reach`: by key of the capability, if known, if there is
    one."""

    record: ServiceRecord
    service: Service
    dates: Mapping[str, CapabilityDates] = field(default_factory=dict)
    examples: Mapping[str, Arguments] = field(default_factory=dict)
    reach: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def reach_of(self, name: str) -> Mapping[str, Any] | None:
        """Return the stored `Reach` of a capability as JSON; None if it was not made yet."""
        return self.reach.get(key_name(name))

    def example_of(self, name: str) -> Arguments | None:
        """Return the arguments of a capability's example call; None if there is no example, or it was not made yet."""
        return self.examples.get(key_name(name))

    def dates_of(self, name: str) -> CapabilityDates | None:
        """Return the dates of a capability by its name, or None if unknown."""
        return self.dates.get(key_name(name))


class StoredCapability(NamedTuple):
    """A capability as undecoded JSON. `detail` and `example`: only if requested. `reach`: None if not made yet."""

    data: bytes
    detail: bytes | None
    example: bytes | None
    dates: CapabilityDates
    reach: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredService(ServiceFacts):
    """The parts of a `ServiceView` as the database returns them; parts that can be large are undecoded JSON. Decoding
    takes much longer than reading, so a caller may want to know the size first. Can be pickled."""

    row: dict[str, Any]
    capabilities: tuple[StoredCapability, ...]

    @property
    def names_detail(self) -> bool:
        """Return whether one of the capabilities may name a document with its detail (ADP)."""
        return any(b'"detail_url"' in one.data for one in self.capabilities)

    @property
    def size(self) -> int:
        """Return the number of bytes of JSON."""
        stored = sum(len(one.data) + len(one.detail or b"") + len(one.example or b"") for one in self.capabilities)
        return len(self.row["model"]) + len(self.row["listing"]) + stored

    def view(self) -> ServiceView:
        """Return the decoded view. Leave out bad capabilities; raise like `service_record` for a bad row."""
        record = service_record(self.row)
        capabilities = []
        for one in self.capabilities:
            try:
                detail = {} if one.detail is None else {"detail": decode(one.detail)}
                capabilities.append(decode(one.data) | detail)
            except ValueError:
                _log.error("a capability of %s cannot be decoded: rescore rewrites it", self.row["host"])
        return ServiceView(
            record=record,
            service=from_json({**record.model, "capabilities": capabilities}),
            dates={one.dates.name: one.dates for one in self.capabilities},
            examples={
                one.dates.name: Arguments.from_json(decode(one.example))
                for one in self.capabilities
                if one.example is not None
            },
            reach={one.dates.name: decode(one.reach) for one in self.capabilities if one.reach is not None},
            **{name: getattr(self, name) for name in ServiceFacts.__dataclass_fields__},
        )


@dataclass(frozen=True, slots=True)
class ServicePage:
    items: tuple[Card, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """`counts`: name of a filter -> value -> number of services. `services`: how many pass the filters."""

    services: int
    counts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class ListConditions:
    """Conditions of a list beside Filters. `name`: part of the service's name, in any case. The time is exclusive."""

    name: str | None = None
    created_after: datetime | None = None


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
        return StoredService(
            row=row,
            capabilities=await self._capabilities(domain, host, include_details=include_details),
            findings=await self.findings(domain, host),
            breakdown=score.breakdown if score else {},
            response_ms=response_ms,
            last_visit_at=last_visit_at,
            ownership=await Claims(self._connection).ownership(domain, host),
            setting=await OwnerSettings(self._connection).get(domain, host),
            calls=await CallChecks(self._connection).of_host(domain, host),
        )

    async def name(self, domain: str, host: str) -> str | None:
        """Return the name of a service; None if it is unknown or hidden."""
        statement = select(ServiceRow.name).where(*_of_host(ServiceRow, domain, host), ~ServiceRow.hidden)
        return (await self._execute(statement)).scalar()

    async def capability(self, domain: str, host: str, name: str) -> StoredService | None:
        """Return the service with only this capability, and its detail. `name` is the capability's name, else the id in
        its document; if several share an id, the first."""
        row = await self._shown(domain, host)
        if row is None:
            return None
        by_id = CapabilityRow.data["id"].as_string() == clean(name)
        for condition in (CapabilityRow.name == key_name(name), by_id):
            if found := await self._capabilities(domain, host, condition, include_details=True, limit=1):
                calls = await CallChecks(self._connection).of_host(domain, host)
                ownership = await Claims(self._connection).ownership(domain, host)
                return StoredService(row=row, capabilities=found, calls=calls, ownership=ownership)
        return None

    async def capability_name(self, domain: str, host: str, name: str) -> str | None:
        """Return the name of a capability of the service, found as in `capability`; or None."""
        row = CapabilityRow
        for condition in (row.name == key_name(name), row.data["id"].as_string() == clean(name)):
            statement = select(row.name).where(*_of_host(row, domain, host), condition).order_by(row.position).limit(1)
            if (found := (await self._execute(statement)).scalar()) is not None:
                return str(found)
        return None

    async def findings(self, domain: str, host: str) -> tuple[FindingRecord, ...]:
        statement = select(*_FINDING).where(*_of_host(FindingRow, domain, host)).order_by(FindingRow.ordinal)
        return tuple(await self._list(FindingRecord, statement))

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
        self, filters: Filters, *, sort: Sort = "score", limit: int = 20, offset: int = 0, text: str = ""
    ) -> ServicePage:
        """Return a page of cards without capabilities, and the total. `text`: part of a name, description or host."""
        conditions = service_conditions(filters) + ([_contains(text)] if text else [])
        page = select(*_CARD).select_from(ServiceRow).where(*conditions).order_by(*_ORDER[sort])
        items = tuple(cards(await self._execute(page.limit(limit).offset(offset))))
        total = select(func.count()).select_from(ServiceRow).where(*conditions)
        return ServicePage(items, (await self._execute(total)).scalar_one())

    async def value_counts(self, filters: Filters, counted: Sequence[SearchFilter], text: str = "") -> ValueCounts:
        """Return the number of services by value of these filters of LIST_COUNTED: the most frequent values, at most
        FACET_VALUES each. A filter that is set does not narrow its own values, so that the alternatives are seen.
        Reads every service that passes, so it must be rare."""
        matching = [_contains(text)] if text else []
        total = select(func.count()).select_from(ServiceRow).where(*service_conditions(filters), *matching)
        counts: dict[str, dict[str, int]] = {row.name: {} for row in counted}
        is_set = {row.name: getattr(filters, row.field) != getattr(Filters(), row.field) for row in counted}
        together = [row for row in counted if not is_set[row.name]]
        alone = [([row], without(filters, row)) for row in counted if is_set[row.name]]
        for rows, kept in ([(together, filters)] if together else []) + alone:
            statement = _value_counts(rows, [*service_conditions(kept), *matching])
            for name, value, number in await self._execute(statement):
                counts[name][value] = number
        return ValueCounts(await self._number(total), counts)

    async def entry_page(
        self,
        filters: Filters,
        extra: ListConditions,
        slugs: Sequence[str],
        *,
        order: EntryOrder,
        at: tuple[str | datetime, str] | None,
        limit: int,
    ) -> tuple[list[Card], int | None]:
        """Return the services with an entry in one of the formats, from the place `at` on. On the first page also
        return the total of entries: counting reads every service, which must not happen on every page.

        `at`: the values of the keys of `order` of the first service: domain and host; name and host; time of the last
        change and host. A service whose keys change meanwhile may be missed, or returned again.
        """
        matching = [*service_conditions(filters), ServiceRow.formats.overlap(list(slugs))]
        if extra.name is not None:
            matching.append(ServiceRow.name.icontains(extra.name.replace("\0", "\ufffd"), autoescape=True))
        if extra.created_after is not None:
            matching.append(ServiceRow.created_at > extra.created_after)
        keys, is_descending = _ENTRY_ORDERS[order]
        page = select(*_CARD).select_from(ServiceRow).where(*matching)
        if at is not None:
            first = func.lower(literal(at[0])) if order == "name" else literal(at[0])
            row, place = tuple_(*keys), tuple_(first, literal(at[1]))
            page = page.where(row <= place if is_descending else row >= place)
        page = page.order_by(*((key.desc() if is_descending else key.asc()) for key in keys)).limit(limit)
        found = list(cards(await self._execute(page)))
        if at is not None:
            return found, None
        total = select(func.coalesce(func.sum(_entries(slugs)), 0)).where(*matching)
        return found, await self._number(total)

    async def entry_counts(
        self, filters: Filters, slugs: Sequence[str], facet: str, keys: Collection[Key] | None, *, most: int
    ) -> tuple[dict[str, int], int]:
        """Return the number of entries in one of the formats by value of a facet, the `most` frequent first, and the
        number of entries with other values. `keys`: only these services. The facet `format` counts by slug, `host` by
        host, the others as in search."""
        matching = [*service_conditions(filters), ServiceRow.formats.overlap(list(slugs))]
        if keys is not None:
            matching.append(tuple_(ServiceRow.domain, ServiceRow.host).in_(list(keys)))
        if facet == "format":
            rows = select(func.unnest(ServiceRow.formats).label("value"), literal(1).label("entries"))
        else:
            value: ColumnElement[Any] = _HOST if facet == "host" else FACET_COLUMNS[facet]
            rows = select(value.label("value"), _entries(slugs).label("entries"))
        each = rows.where(*matching).subquery()
        wanted = each.c.value.in_(list(slugs)) if facet == "format" else each.c.value.is_not(None)
        number = func.sum(each.c.entries)
        statement = select(each.c.value, number, func.sum(number).over()).where(wanted).group_by(each.c.value)
        found = (await self._execute(statement.order_by(number.desc(), each.c.value).limit(most))).all()
        counts = {str(name): int(count) for name, count, _ in found}
        return counts, int(found[0][2]) - sum(counts.values()) if found else 0

    async def health(self, *, limit: int = HEALTH_LINES) -> HealthReport:
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
        slugs = select(func.unnest(ServiceRow.formats).label("slug")).where(is_shown).subquery()
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
        self, domain: str, host: str, *conditions: ColumnElement[bool], include_details: bool, limit: int | None = None
    ) -> tuple[StoredCapability, ...]:
        row = CapabilityRow
        columns = (row.data, *((row.detail, row.example) if include_details else (null(), null())), row.reach, *_DATES)
        statement = select(*columns).where(*_of_host(row, domain, host), *conditions).order_by(row.position)
        return tuple(
            StoredCapability(
                data,
                detail,
                example,
                CapabilityDates(name, None if digest is None else digest.hex(), seen, changed),
                reach,
            )
            for data, detail, example, reach, name, digest, seen, changed in await self._execute(statement.limit(limit))
        )


def _of_host(table: Any, domain: str, host: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return table.domain == domain, table.host == host


def _contains(text: str) -> ColumnElement[bool]:
    """Return a case-insensitive condition; `%` and `_` are literal. NUL was replaced in stored texts, so here too."""
    part = text.replace("\0", "\ufffd")
    columns = (ServiceRow.name, ServiceRow.description, ServiceRow.host)
    return or_(*(column.icontains(part, autoescape=True) for column in columns))


def _health_line(
    host: str, name: str, down: bool, degraded: bool, response_ms: int | None, checked_at: datetime | None
) -> HealthRow:
    if checked_at is None:
        return HealthRow(host, name, "unknown", None, None)
    status: Literal["up", "degraded", "down"] = "down" if down else "degraded" if degraded else "up"
    return HealthRow(host, name, status, response_ms, checked_at)


def _value_counts(rows: Sequence[SearchFilter], conditions: Sequence[ColumnElement[bool]]) -> CompoundSelect[Any]:
    """Return the query for (filter, value, number of services): at most FACET_VALUES values of each filter, the most
    frequent first; of a number, how many reach each step. The services are read once for all filters."""
    columns = [
        (FACET_COLUMNS[row.on.name] if isinstance(row.on, Facet) else _COLUMNS[row.on.column]).label(row.name)
        for row in rows
    ]
    found = select(*columns).where(*conditions).cte("found").prefix_with("MATERIALIZED", dialect="postgresql")
    number, each = func.count().label("number"), []
    for row in rows:
        name, column = literal(row.name).label("name"), found.c[row.name]
        for step in row.steps:
            each.append(select(name, literal(str(step)).label("value"), number).where(column >= step))
        if isinstance(row.on, Facet):
            values = func.unnest(column) if isinstance(column.type, ARRAY) else column
            value = select(values.label("value")).subquery().c.value
            counted = select(name, value, number).where(value.is_not(None)).group_by(value)
            each.append(select(counted.order_by(number.desc(), value).limit(FACET_VALUES).subquery()))
    return union_all(*each)


def _entries(slugs: Sequence[str]) -> ColumnElement[int]:
    """Return how many entries a service has in these formats; it has each format once."""
    one_each = (case((literal(slug) == any_(ServiceRow.formats), 1), else_=0) for slug in slugs)
    return reduce(operator.add, one_each)
