"""Reads reports: for who filed one, for the owner of the host, and for the operator of this registry."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from registry.actions.access.paging import BadCursor as BadCursor  # interfaces name it
from registry.actions.access.paging import before, page_of
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


@dataclass(frozen=True, slots=True)
class ReportPage:
    """Reports, the latest first. `texts`: what was written, the first MOST_TEXTS of each, by the id of the report.
    `cursor`: of the page after it; None: there is none."""

    reports: Sequence[ReportRecord]
    texts: Mapping[UUID, Sequence[str]]
    cursor: str | None


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


async def page(
    store: Store, states: Sequence[ReportState], *, limit: int = MOST_REPORTS, cursor: str | None = None
) -> ReportPage:
    """Return at most `limit` reports in one of these states, with what was written. Raise BadCursor."""
    async with store.begin() as uow:
        found = await uow.reports.latest(states, limit=limit + 1, before=before(cursor))
        reports, following = page_of(found, limit)
        texts = await uow.reports.texts(reports, most=MOST_TEXTS)
    return ReportPage(reports, texts, following)
