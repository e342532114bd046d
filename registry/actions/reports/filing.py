"""Reports about hosts, filed by anybody. They are signals for the operator of this registry: nothing counts them to
hide or to rank anything.

What several clients file about a host for the same reason is one report while it is not decided. Each of them gets a
secret address at which it can read the answer. Beyond MOST_OF_REPORT they are only counted, so that what is stored is
bounded, and nobody can use up what others need to report the same host.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.mirroring.deciding import refuse_in_mirror
from registry.core.access.audit import ANONYMOUS, AuditEntry
from registry.core.access.tokens import Token
from registry.core.model.reports import Code
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.reports import FilingRecord, ReportRecord
from registry.store.unit_of_work import Store
from registry.store.values import ordered_id

KIND: Final = "report"
"""The kind of the tokens."""

WINDOW: Final = timedelta(days=1)
MOST_OF_CLIENT: Final = 10
"""Reports that one client files in WINDOW."""

MOST_OF_REPORT: Final = 50
"""Filings of one report that are stored with their texts and secret addresses; further ones are counted. A host has at
most one open report for each code."""

FilingState = Literal["filed", "repeated", "counted", "unknown", "client_budget"]


@dataclass(frozen=True, slots=True)
class Filing:
    """`state`: filed (`token` opens its status), repeated (this client filed the same before: it has that token),
    counted (MOST_OF_REPORT clients filed the same before), unknown host, or client_budget: refused until `retry_at`."""

    state: FilingState
    token: Token | None = None
    retry_at: datetime | None = None


async def file_report(
    store: Store, host: str, code: Code, reason: str, *, client: str, token: Token, now: datetime
) -> Filing:
    """Store a report about a known host in canonical spelling. `token`: new, of KIND. Raise DecidedAtOrigin."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
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
        filing = FilingRecord(domain, host, token.id, token.digest, report.id, reason, now)
        await uow.reports.add_filing(filing, client=client)
        # Not the text: it may name people, and the log is never changed.
        detail = {"report": str(report.id), "code": code}
        await uow.audit.add(AuditEntry(ANONYMOUS, "report.filed", domain, host, detail=detail), now=now)
    return Filing("filed", token)
