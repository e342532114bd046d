"""Reports about hosts, filed by anybody. They are signals for the operator of this registry: nothing counts them to
hide or to rank anything.

What several clients file about a host for the same reason is one report while it is not decided. Each of them gets a
secret address at which it can read the answer.
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
MOST_OF_DOMAIN: Final = 50
"""Reports that one client files in WINDOW, and that are filed about all hosts of a domain."""

FilingState = Literal["filed", "repeated", "unknown", "client_budget", "domain_budget"]


@dataclass(frozen=True, slots=True)
class Filing:
    """`state`: filed (`token` opens its status), repeated (this client filed the same before: it has that token),
    unknown host, or why it was refused until `retry_at`."""

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
        of_domain = await uow.reports.of_domain(domain, since=since)
        if of_domain.since is not None and of_domain.number >= MOST_OF_DOMAIN:  # guard: reports-of-domain
            return Filing("domain_budget", retry_at=of_domain.since + WINDOW)
        if report is None:
            report = ReportRecord(domain, host, ordered_id(now), code, "open", "", now, now)
            await uow.reports.add(report)
        filing = FilingRecord(domain, host, token.id, token.digest, report.id, reason, now)
        await uow.reports.add_filing(filing, client=client)
        # Not the text: it may name people, and the log is never changed.
        detail = {"report": str(report.id), "code": code}
        await uow.audit.add(AuditEntry(ANONYMOUS, "report.filed", domain, host, detail=detail), now=now)
    return Filing("filed", token)
