"""Reads reports: for who filed one, for the owner of the host, and for the operator of this registry."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from registry.core.access.tokens import Token
from registry.core.model.reports import ReportState
from registry.core.names.domains import registrable_domain
from registry.store.reports import FilingRecord as FilingRecord  # interfaces name it
from registry.store.reports import ReportRecord as ReportRecord  # interfaces name it
from registry.store.unit_of_work import Store

MOST_REPORTS: Final = 100
MOST_TEXTS: Final = 20


@dataclass(frozen=True, slots=True)
class Filed:
    """A report as one of those who filed it may see it: with its own words, not with those of others."""

    report: ReportRecord
    filing: FilingRecord


async def filed(store: Store, token: Token) -> Filed | None:
    """Return the report that a token opens; None for a token that was never issued, or whose report was deleted."""
    async with store.begin() as uow:
        filing = await uow.reports.filing(token.id)
        if filing is None or not token.matches(filing.digest):  # guard: report-token
            return None
        report = await uow.reports.get(filing.report)
    return None if report is None else Filed(report, filing)


async def reports_of(store: Store, host: str, *, limit: int = MOST_REPORTS) -> Sequence[ReportRecord]:
    """Return the reports about a host in canonical spelling, the latest first: for its owner. Who filed them and their
    texts are not part of it."""
    async with store.begin() as uow:
        return await uow.reports.of_host(registrable_domain(host), host, limit=limit)


async def latest(store: Store, states: Sequence[ReportState], *, limit: int = MOST_REPORTS) -> Sequence[ReportRecord]:
    """Return reports in one of these states, the latest first."""
    async with store.begin() as uow:
        return await uow.reports.latest(states, limit=limit)


async def texts(store: Store, report_id: UUID) -> Sequence[str]:
    """Return what those who filed a report wrote, the first ones first."""
    async with store.begin() as uow:
        report = await uow.reports.get(report_id)
        if report is None:
            return []
        return [filing.reason for filing in await uow.reports.filings(report, limit=MOST_TEXTS)]
