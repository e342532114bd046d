"""The actions on reports about hosts: file, read, resolve."""

import secrets
from collections.abc import Sequence
from uuid import UUID

from registry.actions import reports
from registry.core.access.tokens import ID_BYTES, SECRET_BYTES, Token
from registry.core.model.reports import Code, ReportState
from registry.store.reports import ReportRecord
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now


class ReportActions:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def file(self, host: str, code: Code, reason: str, *, client: str) -> reports.Filing:
        token = Token(reports.KIND, secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES))
        return await reports.file_report(self._store, host, code, reason, client=client, token=token, now=utc_now())

    async def filed(self, token: Token) -> reports.OwnReport | None:
        return await reports.filed(self._store, token)

    async def of_host(self, host: str) -> Sequence[ReportRecord]:
        return await reports.reports_of(self._store, host)

    async def page(
        self, states: Sequence[ReportState], *, limit: int = reports.MAX_REPORTS, cursor: str | None = None
    ) -> reports.ReportPage:
        """Return a page of reports with their texts. Raise BadCursor."""
        return await reports.page(self._store, states, limit=limit, cursor=cursor)

    async def resolve(
        self, report: UUID, state: ReportState, answer: str, *, actor: str
    ) -> reports.ReportDecision | None:
        return await reports.resolve_report(self._store, report, state, answer, actor=actor, now=utc_now())
