"""Queries that need only the database; `registry.wiring.searching` has the queries that need the search engine."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from registry.actions.queries import entries, inspect
from registry.actions.queries import evidence as shown
from registry.actions.queries import explain as explaining
from registry.actions.queries import mcp_servers as mcp
from registry.actions.queries import statistics as overall_status
from registry.core.evidence import Day
from registry.core.model.listing import Filters
from registry.core.names.air import AirName
from registry.core.translating import SourceDocument
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now


class QueryActions:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def list_services(
        self, filters: Filters, *, sort: inspect.Sort, limit: int, offset: int, text: str = ""
    ) -> inspect.ServicePage:
        return await inspect.list_services(self._store, filters, sort=sort, limit=limit, offset=offset, text=text)

    async def entry(self, name: AirName) -> entries.Entry | None:
        return await entries.entry(self._store, name)

    async def list_entries(
        self,
        filters: Filters,
        extra: entries.ListConditions,
        *,
        order: entries.EntryOrder,
        limit: int,
        token: str | None = None,
    ) -> entries.EntryList:
        return await entries.list_entries(self._store, filters, extra, order=order, limit=limit, token=token)

    async def entry_counts(self, filters: Filters, facets: Mapping[str, int]) -> entries.EntryCounts:
        return await entries.entry_counts(self._store, filters, facets)

    async def service(self, host: str, *, include_details: bool = False) -> inspect.ServiceView | None:
        return await inspect.service(self._store, host, include_details=include_details)

    async def stored_service(self, host: str, *, include_details: bool = False) -> inspect.StoredService | None:
        return await inspect.stored_service(self._store, host, include_details=include_details)

    async def service_name(self, host: str) -> str | None:
        return await inspect.service_name(self._store, host)

    async def sources(self, host: str) -> Sequence[SourceDocument]:
        return await inspect.sources(self._store, host)

    async def capability(self, host: str, name: str) -> inspect.CapabilityView | None:
        return await inspect.capability(self._store, host, name)

    async def stored_capability(self, host: str, name: str) -> inspect.StoredService | None:
        return await inspect.stored_capability(self._store, host, name)

    async def status(self, host: str) -> inspect.HostReport | None:
        return await inspect.status(self._store, host, now=utc_now())

    async def visits(self, host: str, *, limit: int = 20) -> Sequence[inspect.VisitRecord]:
        return await inspect.visits(self._store, host, limit=limit)

    async def evidence(self, host: str) -> shown.HostEvidence | None:
        return await shown.evidence(self._store, host)

    async def document_bytes(self, host: str, document: shown.CurrentDocument) -> bytes | None:
        return await shown.document_bytes(self._store, host, document)

    async def history(self, host: str, *, cursor: str | None, limit: int) -> shown.HistoryPage | None:
        return await shown.history(self._store, host, cursor=cursor, limit=limit)

    async def uptime(self, host: str, *, days: int) -> Sequence[Day] | None:
        return await shown.uptime(self._store, host, days=days, now=utc_now())

    async def stored_then(self, host: str, at: datetime) -> shown.EarlierState | None:
        return await shown.stored_then(self._store, host, at)

    async def explain(self, host: str, *, visits: int = 5) -> explaining.Explanation | None:
        return await explaining.explain(self._store, host, visits=visits, now=utc_now())

    async def mcp_servers(self, query: mcp.McpServerQuery) -> mcp.McpServerPage:
        return await mcp.page(self._store, query)

    async def mcp_server_versions(self, name: str, *, include_deleted: bool = False) -> Sequence[mcp.ListedMcpServer]:
        return await mcp.versions(self._store, name, include_deleted=include_deleted)

    async def mcp_server_counts(self) -> mcp.McpServerCounts:
        return await mcp.counts(self._store)

    async def health(self) -> inspect.HealthReport:
        return await inspect.health(self._store)

    async def overall(self) -> overall_status.Overall:
        return await overall_status.overall(self._store, now=utc_now())

    async def overview(self) -> inspect.RegistryOverview:
        return await inspect.overview(self._store, now=utc_now())
