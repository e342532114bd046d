"""Compares the MCP registry's records of a service with the stored ones. Pure; for record and rescore."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from registry.core.calling.server_records.record import ServerRecord, ServerRecords
from registry.store.records import McpServerRecord
from registry.store.unit_of_work import UnitOfWork

Key = tuple[str, str]

ACTIVE: Final = "active"
DEPRECATED: Final = "deprecated"
DELETED: Final = "deleted"


async def write_mcp_servers(uow: UnitOfWork, made: Mapping[Key, ServerRecords], now: datetime) -> None:
    """Write the changed records of these hosts, whose domains are locked. Call this before writing their services: the
    trigger on services deletes the records of hidden or deleted services by the clock of the database."""
    if not made:
        return
    stored, left_out = await uow.mcp_servers.of({domain for domain, _ in made})
    rows, reasons = compare(made, stored, left_out, now)
    await uow.mcp_servers.put(rows)
    await uow.mcp_servers.put_left_out(reasons)


def compare(
    made: Mapping[Key, ServerRecords],
    stored: Mapping[Key, Sequence[McpServerRecord]],
    left_out: Mapping[Key, str],
    now: datetime,
) -> tuple[list[McpServerRecord], dict[Key, str | None]]:
    """Return the rows to write, and by host a changed reason why it has no record; None if it has one or needs none."""
    rows: list[McpServerRecord] = []
    reasons: dict[Key, str | None] = {}
    for key, records in made.items():
        if left_out.get(key) != records.left_out:
            reasons[key] = records.left_out
        known = {(row.name, row.version): row for row in stored.get(key, ())}
        current: set[tuple[str, str]] = set()
        for record in records.records:
            version = record.version or _dated(record, known.values(), now)
            current.add((record.name, version))
            new = _row(key, record, version, known.get((record.name, version)), now)
            if new != known.get((record.name, version)):
                rows.append(new)
        names = {name for name, _ in current}
        for place, row in known.items():
            old = row if place in current else _deleted(row, names, now)
            if old != row:
                rows.append(old)
    return rows, reasons


def _row(key: Key, record: ServerRecord, version: str, known: McpServerRecord | None, now: datetime) -> McpServerRecord:
    """Return the row of a record. Dates are kept from the stored row of the same version if nothing else changed."""
    server = {**record.server, "version": version}
    notes = dict(record.notes)
    if record.version is None:
        notes["adjusted"] = [*notes.get("adjusted", ()), "version_dated"]
    status = DEPRECATED if record.is_deprecated else ACTIVE
    new = McpServerRecord(*key, record.name, version, status, True, server, notes, now, now, now)
    if known is None:
        return new
    is_same_status = known.status == new.status
    new = replace(
        new,
        published_at=known.published_at,
        updated_at=known.updated_at,
        status_changed_at=known.status_changed_at if is_same_status else now,
    )
    return new if new == replace(known, is_latest=True) else replace(new, updated_at=now)


def _dated(record: ServerRecord, known: Collection[McpServerRecord], now: datetime) -> str:
    """Return the version of a record whose documents state none: the day since which it is unchanged."""
    for row in known:
        if row.name == record.name and row.status != DELETED and row.server is not None:
            server = {member: value for member, value in row.server.items() if member != "version"}
            if server == record.server and "version_dated" in row.notes.get("adjusted", ()):
                return row.version
    return f"{now.year}.{now.month}.{now.day}"


def _deleted(row: McpServerRecord, names: Collection[str], now: datetime) -> McpServerRecord:
    """Return a row that is no longer served. It stays the latest of its name unless another version took its place."""
    row = replace(row, is_latest=row.is_latest and row.name not in names)
    if row.status == DELETED:
        return row
    return replace(row, status=DELETED, server=None, notes={}, updated_at=now, status_changed_at=now)
