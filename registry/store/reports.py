"""Repository of reports about hosts, and of the filings of each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, func, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from registry.core.model.reports import ANSWER_CHARS, OPEN_STATES, REASON_CHARS
from registry.store.repository import Repository, selected
from registry.store.submissions import SubmissionCount
from registry.store.tables import FilingRow, ReportRow
from registry.store.values import clean


@dataclass(frozen=True, slots=True)
class ReportRecord:
    """A row of `reports`. `filings`: how often it was filed, by distinct clients as far as filings are stored; beyond
    these, repeated filings of a client count too."""

    domain: str
    host: str
    id: UUID
    code: str
    state: str
    answer: str
    filed_at: datetime
    updated_at: datetime
    filings: int = 1


@dataclass(frozen=True, slots=True)
class FilingRecord:
    """A row of `report_filings`, without its client."""

    domain: str
    host: str
    id: str
    digest: bytes
    report: UUID
    reason: str
    filed_at: datetime


_OF_CLIENT = text("""
SELECT count(*), min(filed_at) FROM report_filings WHERE client = :client AND filed_at > :since
""")
_ERASE_CLIENTS = text("""
UPDATE report_filings SET client = NULL WHERE client IS NOT NULL AND filed_at <= :before
""")


class ReportTable(Repository):
    async def add(self, report: ReportRecord) -> None:
        row = {name: getattr(report, name) for name in _FIELDS} | {"answer": clean(report.answer, ANSWER_CHARS)}
        await self._execute(insert(ReportRow).values(row))

    async def add_filing(self, filing: FilingRecord, *, client: str) -> None:
        values = asdict(filing) | {"reason": clean(filing.reason, REASON_CHARS), "client": client}
        await self._execute(insert(FilingRow).values(values))

    async def count_filing(self, report: ReportRecord) -> None:
        """Increment the report count; do not store the filing."""
        row = ReportRow
        statement = update(row).where(row.domain == report.domain, row.host == report.host, row.id == report.id)
        await self._execute(statement.values(further_filings=row.further_filings + 1))

    async def open_of(self, domain: str, host: str, code: str) -> ReportRecord | None:
        """Return the undecided report of the host for this reason."""
        row = ReportRow
        is_open = (row.domain == domain, row.host == host, row.code == code, row.state.in_(OPEN_STATES))
        return next(iter(await self._select(*is_open, limit=1)), None)

    async def of_host(self, domain: str, host: str, *, limit: int) -> Sequence[ReportRecord]:
        """Return reports about the host, the latest first."""
        return await self._select(ReportRow.domain == domain, ReportRow.host == host, limit=limit)

    async def latest(self, states: Sequence[str], *, limit: int, before: UUID | None = None) -> Sequence[ReportRecord]:
        """Return reports in one of these states, the latest first; only those before `before`, if given."""
        conditions = [] if before is None else [ReportRow.id < before]
        return await self._select(ReportRow.state.in_(states), *conditions, limit=limit)

    async def get(self, report: UUID) -> ReportRecord | None:
        return next(iter(await self._select(ReportRow.id == report, limit=1)), None)

    async def filing(self, token: str) -> FilingRecord | None:
        """Return the filing whose token has this id."""
        statement = select(*_FILING_COLUMNS).where(FilingRow.id == token)
        return await self._first(FilingRecord, statement)

    async def texts(self, reports: Sequence[ReportRecord], *, most: int) -> dict[UUID, list[str]]:
        """Return the first `most` texts of each report, by its id."""
        keys = [(report.domain, report.host, report.id) for report in reports]
        row = FilingRow
        place = func.row_number().over(partition_by=row.report, order_by=(row.filed_at, row.id)).label("place")
        is_one = tuple_(row.domain, row.host, row.report).in_(keys)
        numbered = select(row.report, row.reason, place).where(is_one).subquery()
        statement = select(numbered.c.report, numbered.c.reason).where(numbered.c.place <= most)
        found: dict[UUID, list[str]] = {report.id: [] for report in reports}
        for report, reason in await self._execute(statement.order_by(numbered.c.report, numbered.c.place)):
            found[report].append(reason)
        return found

    async def has_filed(self, client: str, report: ReportRecord) -> bool:
        """Return whether the client filed this report, as far as that is still stored."""
        row = FilingRow
        of_report = (row.domain == report.domain, row.host == report.host, row.report == report.id)
        statement = select(row.id).where(*of_report, row.client == client).limit(1)
        return (await self._execute(statement)).first() is not None

    async def resolve(self, report: ReportRecord, state: str, answer: str, *, now: datetime) -> None:
        row = ReportRow
        of_report = (row.domain == report.domain, row.host == report.host, row.id == report.id)
        values = {"state": state, "answer": clean(answer, ANSWER_CHARS), "updated_at": now}
        await self._execute(update(row).where(*of_report).values(values))

    async def of_client(self, client: str, *, since: datetime) -> SubmissionCount:
        """Count the client's filings since then."""
        return await self._one(SubmissionCount, _OF_CLIENT, {"client": client, "since": since})

    async def erase_clients(self, *, before: datetime) -> int:
        """Erase the clients of filings made before then."""
        return await self._touched(_ERASE_CLIENTS, {"before": before})

    async def _select(self, *conditions: ColumnElement[bool], limit: int) -> list[ReportRecord]:
        row = ReportRow
        of_report = (FilingRow.domain == row.domain, FilingRow.host == row.host, FilingRow.report == row.id)
        filings = select(func.count()).where(*of_report).scalar_subquery() + row.further_filings
        statement = select(*(getattr(row, name) for name in _FIELDS), filings).where(*conditions)
        return await self._list(ReportRecord, statement.order_by(row.id.desc()).limit(limit))


_FIELDS: Final = tuple(name for name in ReportRecord.__dataclass_fields__ if name != "filings")
_FILING_COLUMNS: Final = selected(FilingRow, FilingRecord)
