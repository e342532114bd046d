"""Repository of lists of submitted hosts with the result for each; found by id or Idempotency-Key."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from sqlalchemy import delete, select, text, update
from sqlalchemy.dialects.postgresql import insert

from registry.store.engine import decode
from registry.store.repository import AT_ONCE, Repository
from registry.store.tables import SubmissionListRow, SubmittedHostRow

State = Literal["waiting", "visiting", "listed", "not_listed", "opted_out", "dropped"]


@dataclass(frozen=True, slots=True)
class SubmissionListRecord:
    """A row of `submission_lists`. `refused`: {"index", "code"}, with "retry_at" if it can be tried again."""

    id: UUID
    asked_at: datetime
    done_at: datetime | None
    body_sha256: bytes
    refused: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class SubmittedHostRecord:
    """A row of `submitted_hosts`."""

    domain: str
    host: str
    list: UUID
    index: int
    state: str


# One row per host of a list, with its current state. A row of `hosts` may be missing: its site opted out, it was
# forgotten, or another submission took its place in a full queue.
_STATES: Final = """
SELECT s.index, s.domain, s.host, s.state AS was,
    CASE
        WHEN EXISTS (SELECT FROM opt_outs o WHERE o.domain = s.domain
                     AND (o.host = s.host OR right(s.host, length(o.host) + 1) = '.' || o.host)) THEN 'opted_out'
        WHEN h.host IS NULL THEN 'dropped'
        WHEN (h.last_visit_at IS NULL OR h.submitted_at > h.last_visit_at)
             AND (h.next_visit_at <= :now OR h.next_visit_why = 'asked')
            THEN CASE WHEN d.lease_token IS NOT NULL AND d.next_visit_at > :now THEN 'visiting' ELSE 'waiting' END
        WHEN v.host IS NOT NULL THEN 'listed'
        ELSE 'not_listed'
    END AS state
FROM submitted_hosts s
LEFT JOIN hosts h ON h.domain = s.domain AND h.host = s.host
LEFT JOIN domains d ON d.domain = s.domain
LEFT JOIN services v ON v.domain = s.domain AND v.host = s.host AND NOT v.hidden
WHERE s.list = :list
"""
_PAGE = text(f"{_STATES} AND s.index >= :after ORDER BY s.index LIMIT :limit")
_COUNTS = text(f"SELECT state, count(*) FROM ({_STATES}) states GROUP BY state")  # noqa: S608  # our own texts

_FORGET_CLIENTS = text("""
UPDATE submission_lists SET client = NULL, key = NULL WHERE client IS NOT NULL AND asked_at <= :before
""")
_OLD = text("SELECT id FROM submission_lists WHERE asked_at <= :before ORDER BY asked_at LIMIT :most")


@dataclass(frozen=True, slots=True)
class HostState:
    """State of a submitted host. `was`: the result of its submission."""

    index: int
    domain: str
    host: str
    was: str
    state: State


class SubmissionLists(Repository):
    async def get(self, list_id: UUID) -> SubmissionListRecord | None:
        return await self._found(SubmissionListRow.id == list_id)

    async def of_key(self, client: str, key: str) -> SubmissionListRecord | None:
        """Return the list that the client submitted with this Idempotency-Key."""
        return await self._found((SubmissionListRow.client == client) & (SubmissionListRow.key == key))

    async def add(self, record: SubmissionListRecord, *, client: str | None, key: str | None) -> bool:
        """Store a list whose hosts are not queued yet. Return False if the client has used this key already."""
        row = {
            "id": record.id, "asked_at": record.asked_at, "done_at": record.done_at, "client": client, "key": key,
            "body_sha256": record.body_sha256, "refused": record.refused,
        }  # fmt: skip
        statement = insert(SubmissionListRow).values(row).on_conflict_do_nothing().returning(SubmissionListRow.id)
        return (await self._execute(statement)).first() is not None

    async def take_over(self, list_id: UUID, *, asked_before: datetime, now: datetime) -> bool:
        """Resume a list whose worker died. Return False if another process has resumed it."""
        row = SubmissionListRow
        statement = update(row).where(row.id == list_id, row.done_at.is_(None), row.asked_at <= asked_before)
        return await self._touched(statement.values(asked_at=now)) == 1

    async def add_hosts(self, hosts: Sequence[SubmittedHostRecord]) -> None:
        if hosts:
            rows = [
                {"domain": one.domain, "host": one.host, "list": one.list, "index": one.index, "state": one.state}
                for one in hosts
            ]
            await self._execute(insert(SubmittedHostRow).on_conflict_do_nothing(), rows)

    async def finish(self, list_id: UUID, refused: Sequence[dict[str, Any]], *, now: datetime) -> None:
        row = SubmissionListRow
        await self._execute(update(row).where(row.id == list_id).values(refused=list(refused), done_at=now))

    async def page(self, list_id: UUID, *, after: int, limit: int, now: datetime) -> list[HostState]:
        """Return hosts of the list from the place `after` on, in the list's order, with their states."""
        bound = {"list": list_id, "after": after, "limit": limit, "now": now}
        return await self._list(HostState, _PAGE, bound)

    async def counts(self, list_id: UUID, *, now: datetime) -> dict[str, int]:
        """Return the number of hosts of the list by state."""
        rows = (await self._execute(_COUNTS, {"list": list_id, "now": now})).all()
        return {row[0]: row[1] for row in rows}

    async def erase_clients(self, *, before: datetime) -> int:
        """Erase the clients and keys of lists made before then."""
        return await self._touched(_FORGET_CLIENTS, {"before": before})

    async def prune(self, *, before: datetime) -> int:
        """Delete a bounded number of lists made before then; return how many."""
        ids = await self._scalars(_OLD, {"before": before, "most": AT_ONCE})
        if ids:
            await self._execute(delete(SubmittedHostRow).where(SubmittedHostRow.list.in_(ids)))
            await self._execute(delete(SubmissionListRow).where(SubmissionListRow.id.in_(ids)))
        return len(ids)

    async def _found(self, condition: Any) -> SubmissionListRecord | None:
        row = SubmissionListRow
        statement = select(row.id, row.asked_at, row.done_at, row.body_sha256, row.refused).where(condition)
        found = (await self._execute(statement)).first()
        return None if found is None else SubmissionListRecord(
            id=found.id, asked_at=found.asked_at, done_at=found.done_at, body_sha256=found.body_sha256,
            refused=decode(found.refused),
        )  # fmt: skip
