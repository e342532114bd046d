"""The registry's operator takes a report into review, accepts or rejects it, and answers it.

Accepting a report changes nothing else: what follows from it, such as blocking a host, is an action of its own.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from registry.core.access.audit import AuditEntry
from registry.core.model.reports import ANSWER_CHARS, ReportState
from registry.store.reports import ReportRecord
from registry.store.unit_of_work import Store
from registry.store.values import clean


@dataclass(frozen=True, slots=True)
class Resolved:
    """`is_changed`: False when the report had this state and this answer before; then nothing was written."""

    report: ReportRecord
    is_changed: bool


async def resolve_report(
    store: Store, report_id: UUID, state: ReportState, answer: str, *, actor: str, now: datetime
) -> Resolved | None:
    """Store the new state and the answer, and who gave it; return the report as it is then, None if there is none.

    The owner of the host and everyone who filed the report can read the answer.
    """
    answer = clean(answer, ANSWER_CHARS)
    async with store.begin() as uow:
        if (found := await uow.reports.get(report_id)) is None:
            return None
        await uow.domains.lock([found.domain])
        if (report := await uow.reports.get(report_id)) is None:
            return None
        if (report.state, report.answer) == (state, answer):  # guard: report-resolved-once
            return Resolved(report, is_changed=False)
        await uow.reports.resolve(report, state, answer, now=now)
        detail = {"report": str(report.id), "code": report.code, "from": report.state, "to": state}
        entry = AuditEntry(actor, "report.resolved", report.domain, report.host, answer, detail)
        await uow.audit.add(entry, now=now)
    return Resolved(replace(report, state=state, answer=answer, updated_at=now), is_changed=True)
