"""Reads the records of the MCP registry's API: pages by name, versions of a server, and services without a record."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from registry.actions import call_of
from registry.store.records import ListedMcpServer, McpServerQuery
from registry.store.unit_of_work import Store

__all__ = ["ListedMcpServer", "McpServerPage", "McpServerQueries", "McpServerQuery"]

SLACK: Final = timedelta(minutes=5)
"""How much older the returned rows may be than requested. A row is dated when its transaction begins, so a reader that
requests changes since its last visit would miss a row committed after that visit with an older date."""


@dataclass(frozen=True, slots=True)
class McpServerPage:
    """One page, and whether more rows follow."""

    rows: Sequence[ListedMcpServer]
    has_more: bool


@dataclass(eq=False)
class McpServerQueries:
    """Reads the records of the MCP registry's API."""

    _store: Store

    versions = call_of(lambda uow: uow.mcp_servers.versions, Store.read)
    counts = call_of(lambda uow: uow.mcp_servers.counts, Store.read)

    async def page(self, query: McpServerQuery) -> McpServerPage:
        """Return versions, ordered by name and version as bytes. With `updated_since` rows up to SLACK older are
        returned."""
        since = query.updated_since
        with suppress(OverflowError):
            since = since and since - SLACK
        async with self._store.read() as uow:
            rows = await uow.mcp_servers.page(replace(query, limit=query.limit + 1, updated_since=since))
        return McpServerPage(rows[: query.limit], len(rows) > query.limit)
