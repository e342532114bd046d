"""Deletes what is stored about a host, all hosts below it, or a whole domain."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, or_, select, text, update

from registry.store.repository import Repository
from registry.store.tables import (
    Base,
    CandidateRow,
    CapabilityRow,
    ClaimRow,
    DocumentHistoryRow,
    DocumentRow,
    DomainRow,
    FilingRow,
    FindingRow,
    HostRow,
    ListingHoldRow,
    OwnerSettingRow,
    RecheckRow,
    ReportRow,
    ScoreRow,
    ServiceRow,
    SubmissionRow,
    SubmittedHostRow,
    VisitRow,
    WebhookDeliveryRow,
    WebhookRow,
)

_OF_A_HOST: Final[tuple[type[Base], ...]] = (
    ServiceRow, CapabilityRow, FindingRow, ScoreRow, DocumentRow, DocumentHistoryRow, HostRow,
    SubmissionRow, SubmittedHostRow, RecheckRow, ReportRow, FilingRow,
    ClaimRow, OwnerSettingRow,
)  # fmt: skip


# Bodies of the domain that neither a document nor the history of its remaining hosts refers to.
_UNUSED_BODIES = text("""
DELETE FROM bodies b WHERE domain = :domain
    AND NOT EXISTS (SELECT FROM documents d WHERE d.domain = b.domain AND d.sha256 = b.sha256)
    AND NOT EXISTS (SELECT FROM document_history h WHERE h.domain = b.domain AND h.sha256 = b.sha256)
""")


# No worker has this fencing token, so the result of a running visit is dropped when it arrives. The lease keeps its
# expiry, so that no second visit of the domain begins while the first is still running.
_FENCE = text("UPDATE domains SET lease_token = gen_random_uuid() WHERE domain = :domain AND lease_token IS NOT NULL")


class Forgetting(Repository):
    """Deletes forgotten rows. `host` covers itself and every host below it; the domain itself covers all. The caller
    has locked the domain."""

    async def shown(self, domain: str, host: str) -> list[str]:
        """Return the hosts whose services are shown."""
        statement = select(ServiceRow.host).where(_covered(ServiceRow, domain, host), ~ServiceRow.hidden)
        return sorted(await self._scalars(statement))

    async def rows(self, domain: str, host: str, *, today: datetime) -> dict[str, int]:
        """Delete everything except candidates; return the number of rows by table.

        The change feed keeps its events; `feed.redact` removes their content. Visits since `today` keep their number of
        requests: without it the domain's daily budget would start again.
        """
        webhooks = await self._webhooks_of_owners(domain, host)
        deleted = {
            table.__tablename__: await self._touched(delete(table).where(_covered(table, domain, host)))
            for table in _OF_A_HOST
        }
        # The owner's decisions end with the host; the decisions of this registry's operators stay.
        holds = delete(ListingHoldRow).where(_covered(ListingHoldRow, domain, host), ListingHoldRow.kind == "hidden")
        deleted["listing_holds"] = await self._touched(holds)
        deleted["webhooks"] = webhooks
        deleted["bodies"] = await self._touched(_UNUSED_BODIES, {"domain": domain})
        visits = _covered(VisitRow, domain, host)
        deleted["visits"] = await self._touched(delete(VisitRow).where(visits, VisitRow.started_at < today))
        deleted["visits"] += await self._touched(update(VisitRow).where(visits).values(vector=b"[]", address=None))
        return deleted

    async def _webhooks_of_owners(self, domain: str, host: str) -> int:
        row = OwnerSettingRow
        own = select(row.webhook).where(_covered(row, domain, host), row.webhook.is_not(None)).scalar_subquery()
        await self._touched(delete(WebhookDeliveryRow).where(WebhookDeliveryRow.webhook.in_(own)))
        return await self._touched(delete(WebhookRow).where(WebhookRow.id.in_(own)))

    async def fence(self, domain: str) -> None:
        """Invalidate the result of a running visit, and make its worker end it."""
        await self._execute(_FENCE, {"domain": domain})  # guard: opt-out-fence

    async def domain(self, domain: str) -> None:
        """Fence off a running visit; delete the domain if it has neither a lease nor hosts."""
        await self.fence(domain)
        has_host = select(HostRow.host).where(HostRow.domain == domain).exists()
        unleased = DomainRow.lease_token.is_(None)
        await self._touched(delete(DomainRow).where(DomainRow.domain == domain, unleased, ~has_host))

    async def candidates(self, domain: str, host: str) -> int:
        """Delete the candidates that are these hosts or were named by them; return their number.

        Call it in a separate transaction that has locked no domain: recording and the folding of candidates wait for
        candidates while they hold such locks.
        """
        covered = _covered(CandidateRow, domain, host)
        return await self._touched(delete(CandidateRow).where(or_(covered, _is_or_below(CandidateRow.referrer, host))))


def _covered(table: Any, domain: str, host: str) -> ColumnElement[bool]:
    of_domain: ColumnElement[bool] = table.domain == domain
    return of_domain if host == domain else of_domain & _is_or_below(table.host, host)


def _is_or_below(column: Any, host: str) -> ColumnElement[bool]:
    return or_(column == host, column.endswith("." + host, autoescape=True))
