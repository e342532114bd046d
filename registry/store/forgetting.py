"""Deletes what is stored about a host, all hosts below it, or a whole domain."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, or_, select, text, update

from registry.store import tables
from registry.store.repository import Repository, is_or_below

_OF_A_HOST: Final[tuple[type[tables.Base], ...]] = (
    tables.ServiceRow, tables.CapabilityRow, tables.FindingRow, tables.ScoreRow, tables.DocumentRow,
    tables.DocumentHistoryRow, tables.CallCheckRow, tables.HostRow, tables.SubmissionRow, tables.SubmittedHostRow,
    tables.RecheckRow, tables.ReportRow, tables.FilingRow, tables.FeedbackRow, tables.ClaimRow, tables.OwnerSettingRow,
    tables.SiteCheckRow,
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
        row = tables.ServiceRow
        return sorted(await self._scalars(select(row.host).where(_covered(row, domain, host), ~row.hidden)))

    async def rows(self, domain: str, host: str, *, today: datetime) -> dict[str, int]:
        """Delete everything except candidates; return the number of rows by table. The change feed keeps its events;
        `feed.redact` removes their content. Visits since `today` keep their number of requests: without it the domain's
        daily budget would start again."""
        setting, hold, visit = tables.OwnerSettingRow, tables.ListingHoldRow, tables.VisitRow
        own = select(setting.webhook).where(_covered(setting, domain, host), setting.webhook.is_not(None))
        await self._touched(delete(tables.WebhookDeliveryRow).where(tables.WebhookDeliveryRow.webhook.in_(own)))
        webhooks = await self._touched(delete(tables.WebhookRow).where(tables.WebhookRow.id.in_(own)))
        deleted = {
            table.__tablename__: await self._touched(delete(table).where(_covered(table, domain, host)))
            for table in _OF_A_HOST
        }
        # The owner's decisions end with the host; the decisions of this registry's operators stay.
        holds = delete(hold).where(_covered(hold, domain, host), hold.kind == "hidden")
        deleted["listing_holds"] = await self._touched(holds)
        deleted["webhooks"] = webhooks
        deleted["bodies"] = await self._touched(_UNUSED_BODIES, {"domain": domain})
        visits = _covered(visit, domain, host)
        deleted["visits"] = await self._touched(delete(visit).where(visits, visit.started_at < today))
        deleted["visits"] += await self._touched(update(visit).where(visits).values(vector=b"[]", address=None))
        return deleted

    async def fence(self, domain: str) -> None:
        """Invalidate the result of a running visit, and make its worker end it."""
        await self._execute(_FENCE, {"domain": domain})  # guard: opt-out-fence

    async def domain(self, domain: str) -> None:
        """Fence off a running visit; delete the domain if it has neither a lease nor hosts."""
        await self.fence(domain)
        row = tables.DomainRow
        has_host = select(tables.HostRow.host).where(tables.HostRow.domain == domain).exists()
        await self._touched(delete(row).where(row.domain == domain, row.lease_token.is_(None), ~has_host))

    async def candidates(self, domain: str, host: str) -> int:
        """Delete the candidates that are these hosts or were named by them; return their number. Call it in a separate
        transaction that has locked no domain: recording and the folding of candidates wait for candidates while they
        hold such locks."""
        row = tables.CandidateRow
        is_theirs = or_(_covered(row, domain, host), is_or_below(row.referrer, host))
        return await self._touched(delete(row).where(is_theirs))


def _covered(table: Any, domain: str, host: str) -> ColumnElement[bool]:
    of_domain: ColumnElement[bool] = table.domain == domain
    return of_domain if host == domain else of_domain & is_or_below(table.host, host)
