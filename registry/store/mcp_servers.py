"""Repository of the records of the MCP registry's API: written with services, read in pages by name."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, LiteralString, NamedTuple

from sqlalchemy import text

from registry.store.claims import CANONICAL, OWNED_SINCE
from registry.store.engine import decode, listed
from registry.store.records import ListedMcpServer, McpServerQuery, McpServerRecord
from registry.store.repository import Key, Repository, columns_of
from registry.store.tables import McpLeftOutRow, McpServerRow
from registry.store.values import clean, clean_json

_FIELDS: Final = tuple(McpServerRecord.__dataclass_fields__)
_OVERWRITTEN: Final = columns_of(McpServerRow, "domain", "host", "name", "version")
_OF: Final[LiteralString] = f"""
SELECT {", ".join(_FIELDS)} FROM mcp_servers WHERE domain = ANY(string_to_array(%(domains)s, ' '))
"""  # noqa: S608  # our own columns
_LEFT_OUT_OF: Final[LiteralString] = """
SELECT domain, host, reason FROM mcp_left_out WHERE domain = ANY(string_to_array(%(domains)s, ' '))
"""

_LISTED: Final[LiteralString] = f"""
SELECT m.host, m.name, m.version, m.status, m.is_latest, m.server, m.notes, m.published_at, m.updated_at,
       m.status_changed_at, s.score, s.trust_level, s.trust, s.trust_since, s.injection_flags, s.seen_at,
       h.last_visit_at, {OWNED_SINCE.format(services="s")}, {CANONICAL.format(services="s")}
FROM mcp_servers m
LEFT JOIN services s ON s.domain = m.domain AND s.host = m.host
LEFT JOIN hosts h ON h.domain = m.domain AND h.host = m.host
"""  # noqa: S608  # our own text

_PRUNE = text("""
DELETE FROM mcp_servers WHERE (domain, host, name, version) IN (
    SELECT domain, host, name, version FROM mcp_servers
    WHERE status = 'deleted' AND updated_at < :before ORDER BY updated_at LIMIT :most)
""")


class McpServerCounts(NamedTuple):
    """Versions by status; and services that are MCP servers without a record, by reason (server_records.LEFT_OUT)."""

    statuses: Mapping[str, int]
    left_out: Mapping[str, int]


class McpServers(Repository):
    async def of(self, domains: Collection[str]) -> tuple[dict[Key, list[McpServerRecord]], dict[Key, str]]:
        """Return the rows of these domains by (domain, host), also deleted ones, and why services have no record. A row
        that cannot be decoded has no `server`: it is about to be rewritten."""
        bound = {"domains": listed(domains)}
        rows: dict[Key, list[McpServerRecord]] = {}
        for values in await self._driver.rows(_OF, bound):
            row = dict(zip(_FIELDS, values, strict=True))
            row["server"], row["notes"] = _decoded(row["server"]), _decoded(row["notes"]) or {}
            rows.setdefault((row["domain"], row["host"]), []).append(McpServerRecord(**row))
        left_out = {(domain, host): reason for domain, host, reason in await self._driver.rows(_LEFT_OUT_OF, bound)}
        return rows, left_out

    async def put(self, rows: Iterable[McpServerRecord]) -> None:
        values = [
            {**asdict(row), "server": clean_json(row.server, 32_768), "notes": clean_json(row.notes)} for row in rows
        ]
        await self._put_all(McpServerRow, values, overwrite=_OVERWRITTEN)

    async def put_left_out(self, reasons: Mapping[Key, str | None]) -> None:
        """Store why services have no record; None if they have one, or are not MCP servers."""
        gone = [key for key, reason in reasons.items() if reason is None]
        if gone:
            statement = text(
                "DELETE FROM mcp_left_out WHERE (domain, host) IN"
                " (SELECT * FROM unnest(CAST(:domains AS text[]), CAST(:hosts AS text[])))"
            )
            bound = {"domains": [domain for domain, _ in gone], "hosts": [host for _, host in gone]}
            await self._execute(statement, bound)
        rows = [{"domain": key[0], "host": key[1], "reason": reason} for key, reason in reasons.items() if reason]
        await self._put_all(McpLeftOutRow, rows, overwrite=("reason",))

    async def page(self, query: McpServerQuery) -> list[ListedMcpServer]:
        """Return the rows in the order of name and version, compared as bytes."""
        conditions: list[LiteralString] = ["(m.name, m.version) > (%(name)s, %(version)s)"]
        name, version = query.after
        bound: dict[str, Any] = {"name": clean(name), "version": clean(version), "limit": query.limit}
        if not query.include_deleted:
            conditions.append("m.status <> 'deleted'")
        if query.part:
            conditions.append("position(lower(%(part)s) IN lower(m.name)) > 0")
            bound["part"] = clean(query.part)
        if query.version == "latest":
            conditions.append("m.is_latest")
        elif query.version is not None:
            conditions.append("m.version = %(exact)s")
            bound["exact"] = clean(query.version)
        if query.updated_since is not None:
            conditions.append("m.updated_at >= %(since)s")
            bound["since"] = query.updated_since
        where = " AND ".join(conditions)
        return await self._rows(f"{_LISTED} WHERE {where} ORDER BY m.name, m.version LIMIT %(limit)s", bound)

    async def versions(self, name: str, *, include_deleted: bool = False) -> list[ListedMcpServer]:
        """Return all versions of a server, the latest published first."""
        condition: LiteralString = "" if include_deleted else "AND m.status <> 'deleted'"
        statement = f"{_LISTED} WHERE m.name = %(name)s {condition} ORDER BY m.published_at DESC, m.version LIMIT 1000"
        return await self._rows(statement, {"name": clean(name)})

    async def counts(self) -> McpServerCounts:
        statuses = await self._driver.rows("SELECT status, count(*) FROM mcp_servers GROUP BY 1")
        reasons = await self._driver.rows("SELECT reason, count(*) FROM mcp_left_out GROUP BY 1")
        return McpServerCounts(dict(statuses), dict(reasons))

    async def prune(self, before: datetime, *, most: int) -> int:
        """Delete at most `most` rows that have been deleted since before then; return their number."""
        return await self._touched(_PRUNE, {"before": before, "most": most})

    async def _rows(self, statement: LiteralString, bound: dict[str, Any]) -> list[ListedMcpServer]:
        found = [ListedMcpServer(*row) for row in await self._driver.rows(statement, bound)]
        for server in found:
            for name in ("notes", "trust", "trust_since"):
                setattr(server, name, _decoded(getattr(server, name)) or {})
        return found


def _decoded(value: bytes | None) -> Any:
    try:
        return decode(value)
    except ValueError:
        return None
