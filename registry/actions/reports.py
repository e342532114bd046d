"""Reports about hosts: filing, reading by reporter, owner and operator, and the operator's decision.

Anyone may file a report. It is a signal for this registry's operator: no count of reports hides or ranks a host, and
accepting one only answers it. Reports of several clients about a host for the same reason are one report until it is
decided. Each client gets a secret address for the answer. Beyond MOST_OF_REPORT clients are only counted, so storage is
bounded and a flood cannot block others from reporting the host.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from registry.actions import Clock
from registry.actions.access import BadCursor as BadCursor  # interfaces name it
from registry.actions.access import before, new_token, page_of
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.core.access.audit import ANONYMOUS, AuditEvent
from registry.core.access.tokens import Token
from registry.core.model.reports import ANSWER_CHARS, Code, ReportState
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.reports import FilingRecord
from registry.store.reports import ReportRecord as ReportRecord  # interfaces name it
from registry.store.unit_of_work import Store
from registry.store.values import clean, ordered_id

KIND: Final = "report"
"""The kind of the tokens."""

WINDOW: Final = timedelta(days=1)
MOST_OF_CLIENT: Final = 10  # reports that one client files in WINDOW
MOST_OF_REPORT: Final = 50
"""Filings of one report that are stored with their texts and secret addresses; further ones are counted. A host has at
most one open report for each code."""

FilingState = Literal["filed", "repeated", "counted", "unknown", "client_budget"]


@dataclass(frozen=True, slots=True)
class Filing:
    """`state`: filed (`token` opens its status), repeated (this client has the token of its earlier report), counted
    (MOST_OF_REPORT clients filed the same before), unknown (host), or client_budget: refused until `retry_at`."""

    state: FilingState
    token: Token | None = None
    retry_at: datetime | None = None


MAX_REPORTS: Final = 100
MOST_TEXTS: Final = 20


@dataclass(frozen=True, slots=True)
class OwnReport:
    """A report as a reporter may see it: with its own words, without those of others."""

    report: ReportRecord
    filing: FilingRecord


@dataclass(frozen=True, slots=True)
class ReportPage:
    """Reports, the latest first. `texts`: the first MOST_TEXTS texts of each report, by its id. `cursor`: of the next
    page, or None."""

    reports: Sequence[ReportRecord]
    texts: Mapping[UUID, Sequence[str]]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class ReportDecision:
    """`is_changed`: False if the report already had this state and answer; then nothing was written."""

    report: ReportRecord
    is_changed: bool


@dataclass(eq=False)
class ReportActions:
    """Reports about hosts: filing, reading, deciding."""

    _store: Store
    _clock: Clock

    async def file(self, host: str, code: Code, reason: str, *, client: str) -> Filing:
        """Store a report about a known host in canonical spelling. Raise DecidedAtOrigin."""
        now = self._clock()
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow, host)
            is_out = is_covered(host, (await uow.opt_outs.of([domain])).get(domain, ()))
            if is_out or await uow.hosts.get(domain, host) is None:  # guard: report-known
                return Filing("unknown")
            await uow.domains.lock([domain])
            since = now - WINDOW
            by_client = await uow.reports.of_client(client, since=since)
            if by_client.since is not None and by_client.number >= MOST_OF_CLIENT:  # guard: reports-of-client
                return Filing("client_budget", retry_at=by_client.since + WINDOW)
            report = await uow.reports.open_of(domain, host, code)
            if report is not None and await uow.reports.has_filed(client, report):  # guard: report-once
                return Filing("repeated")
            if report is not None and report.filings >= MOST_OF_REPORT:  # guard: filings-of-report
                await uow.reports.count_filing(report)
                return Filing("counted")
            if report is None:
                report = ReportRecord(domain, host, ordered_id(now), code, "open", "", now, now)
                await uow.reports.add(report)
            token = new_token(KIND)
            filing = FilingRecord(domain, host, token.id, token.digest, report.id, reason, now)
            await uow.reports.add_filing(filing, client=client)
            # The text is not logged: it may name people, and the log is never changed.
            detail = {"report": str(report.id), "code": code}
            await uow.audit.add(AuditEvent(ANONYMOUS, "report.filed", domain, host, detail=detail), now=now)
        return Filing("filed", token)

    async def filed(self, token: Token) -> OwnReport | None:
        """Return the report that a token opens; None if the token was never issued or the report was deleted."""
        async with self._store.begin() as uow:
            filing = await uow.reports.filing(token.id)
            if filing is None or not token.matches(filing.digest):  # guard: report-token
                return None
            report = await uow.reports.get(filing.report)
        return None if report is None else OwnReport(report, filing)

    async def of_host(self, host: str, *, limit: int = MAX_REPORTS) -> Sequence[ReportRecord]:
        """Return the reports about a host in canonical spelling for its owner, the latest first, without reporters and
        texts."""
        async with self._store.begin() as uow:
            return await uow.reports.of_host(registrable_domain(host), host, limit=limit)

    async def page(
        self, states: Sequence[ReportState], *, limit: int = MAX_REPORTS, cursor: str | None = None
    ) -> ReportPage:
        """Return at most `limit` reports in one of these states, with their texts. Raise BadCursor."""
        async with self._store.begin() as uow:
            found = await uow.reports.latest(states, limit=limit + 1, before=before(cursor))
            reports, following = page_of(found, limit)
            texts = await uow.reports.texts(reports, most=MOST_TEXTS)
        return ReportPage(reports, texts, following)

    async def resolve(self, report: UUID, state: ReportState, answer: str, *, actor: str) -> ReportDecision | None:
        """Store the new state, the answer and its author; return the report, or None if it is unknown. The owner of the
        host and everyone who filed the report can read the answer."""
        now = self._clock()
        answer = clean(answer, ANSWER_CHARS)
        async with self._store.begin() as uow:
            if (found := await uow.reports.get(report)) is None:
                return None
            await uow.domains.lock([found.domain])
            if (current := await uow.reports.get(report)) is None:
                return None
            if (current.state, current.answer) == (state, answer):  # guard: report-resolved-once
                return ReportDecision(current, is_changed=False)
            await uow.reports.resolve(current, state, answer, now=now)
            detail = {"report": str(current.id), "code": current.code, "from": current.state, "to": state}
            entry = AuditEvent(actor, "report.resolved", current.domain, current.host, answer, detail)
            await uow.audit.add(entry, now=now)
        return ReportDecision(replace(current, state=state, answer=answer, updated_at=now), is_changed=True)
