"""The registry's operator takes a report into review, accepts or rejects it, and answers it.

Accepting a report changes nothing else: what follows from it, such as blocking a host, is an action of its own.
"""

from datetime import datetime
from uuid import UUID

from registry.core.access.audit import AuditEntry
from registry.core.model.reports import ReportState
from registry.store.reports import ReportRecord
from registry.store.unit_of_work import Store


async def resolve_report(
    store: Store, report_id: UUID, state: ReportState, answer: str, *, actor: str, now: datetime
) -> ReportRecord | None:
    """Store the new state and the answer, and who gave it; return the report as it is then, None if there is none.

    The owner of the host and everyone who filed the report can read the answer.
    """
    async with store.begin() as uow:
        report = await uow.reports.get(report_id)
        if report is None:
            return None
        await uow.domains.lock([report.domain])
        await uow.reports.resolve(report, state, answer, now=now)
        detail = {"report": str(report.id), "code": report.code, "from": report.state, "to": state}
        entry = AuditEntry(actor, "report.resolved", report.domain, report.host, answer, detail)
        await uow.audit.add(entry, now=now)
        return await uow.reports.get(report_id)
