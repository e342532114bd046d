"""Repository of submissions: the last day's by client, with rechecks; places in the visit queue; lists of hosts.

A submission records its client, the name looked up for it, and the result. The places let clients take turns
(start-time fair queueing). A list of submitted hosts, with the result for each, is found by id or Idempotency-Key.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

from registry.store.engine import decode
from registry.store.repository import AT_ONCE, Repository, selected
from registry.store.tables import RecheckRow, SubmissionListRow, SubmissionRow, SubmittedHostRow

_OF_DOMAIN = text("""
SELECT count(DISTINCT host), min(asked_at) FROM submissions
WHERE client = :client AND domain = :domain AND host NOT IN (:but, domain, 'www.' || domain) AND asked_at > :since
""")
_SETTLE = text("""
UPDATE submissions s SET resolved = visited.resolved
FROM unnest(CAST(:domains AS text[]), CAST(:hosts AS text[]), CAST(:resolved AS boolean[]))
     AS visited (domain, host, resolved)
WHERE s.domain = visited.domain AND s.host = visited.host AND s.resolved IS NULL
""")
_ERASE = {
    table: text(f"""
DELETE FROM {table} WHERE ({key}) IN (
    SELECT {key} FROM {table} WHERE asked_at <= :before ORDER BY asked_at LIMIT :most FOR UPDATE SKIP LOCKED)
""")  # noqa: S608  # our own names
    for table, key in (
        ("submissions", "domain, host, asked_at"),
        ("turns", "client"),
        ("rechecks", "domain, host, asked_at"),
    )
}

STEP: Final = timedelta(milliseconds=1)  # distance in the queue of two submissions of one client

# Start-time fair queueing (Goyal, Vin and Cheng, 1996) over `domains.next_visit_at`. The virtual time is the earliest
# place of a waiting submission; domains being visited have a later one. A client's submission gets the virtual time, or
# the place one step after its last one, whichever is later. So a new client's first submission waits for at most one of
# each other client, however many those have sent.
_NOW: Final = "coalesce((SELECT min(next_visit_at) FROM domains WHERE next_visit_at <= :latest), :earliest)"
_NEXT_PLACE = text(f"""
SELECT least(:latest, greatest({_NOW}, (SELECT due + :step FROM turns WHERE client = :client)))
""")  # noqa: S608  # our own texts
_TAKE_PLACE = text(f"""
INSERT INTO turns AS t (client, due, asked_at) VALUES (:client, {_NOW}, :now)
ON CONFLICT (client) DO UPDATE
SET due = least(:latest, greatest(excluded.due, t.due + :step)), asked_at = excluded.asked_at
RETURNING due
""")  # noqa: S608  # our own texts

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
    END AS state,
    coalesce(h.last_visit_at >= l.asked_at, false) AS visited_since
FROM submitted_hosts s
JOIN submission_lists l ON l.id = s.list
LEFT JOIN hosts h ON h.domain = s.domain AND h.host = s.host
LEFT JOIN domains d ON d.domain = s.domain
LEFT JOIN services v ON v.domain = s.domain AND v.host = s.host AND NOT v.hidden
WHERE s.list = :list
"""
_PAGE: Final = text(f"{_STATES} AND s.index >= :after ORDER BY s.index LIMIT :limit")
_DONE: Final = "state IN ('opted_out', 'dropped') OR state IN ('listed', 'not_listed') AND visited_since"
_COUNTS = text(f"SELECT state, {_DONE}, count(*) FROM ({_STATES}) states GROUP BY 1, 2")  # noqa: S608  # our own texts

_FORGET_CLIENTS = text("""
UPDATE submission_lists SET client = NULL, key = NULL WHERE client IS NOT NULL AND asked_at <= :before
""")
_OLD_LISTS = text("SELECT id FROM submission_lists WHERE asked_at <= :before ORDER BY asked_at LIMIT :most")


class SubmissionCount(NamedTuple):
    """A number of rows, and the time of the oldest; None if the number is 0."""

    number: int
    since: datetime | None


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


@dataclass(frozen=True, slots=True)
class HostState:
    """State of a submitted host. `was`: the result of its submission. `visited_since`: its last visit is later than the
    submission."""

    index: int
    domain: str
    host: str
    was: str
    state: Literal["waiting", "visiting", "listed", "not_listed", "opted_out", "dropped"]
    visited_since: bool


class Submissions(Repository):
    async def add(self, client: str, domain: str, host: str, *, now: datetime) -> None:
        row = {"client": client, "domain": domain, "host": host, "asked_at": now}
        await self._execute(insert(SubmissionRow).values(row).on_conflict_do_nothing())

    async def hosts_of(self, client: str, domain: str, *, but: str, since: datetime) -> SubmissionCount:
        """Count the sub-hosts of the domain that the client submitted since then, except `but` and www."""
        bound = {"client": client, "domain": domain, "but": but, "since": since}
        return await self._one(SubmissionCount, _OF_DOMAIN, bound)

    async def unresolved_of(self, client: str, *, since: datetime) -> SubmissionCount:
        """Count the client's submissions since then whose names certainly had no address."""
        row = SubmissionRow
        return await self._count(row, row.client == client, row.resolved.is_(False), row.asked_at > since)

    async def settle(self, resolved: Collection[tuple[str, str, bool]]) -> None:
        """Note for visited (domain, host) whether the name had an address, or may have one."""
        if resolved:
            domains, hosts, results = zip(*sorted(resolved), strict=True)
            bound = {"domains": list(domains), "hosts": list(hosts), "resolved": list(results)}
            await self._execute(_SETTLE, bound)

    async def add_recheck(self, domain: str, host: str, client: str | None, *, now: datetime) -> None:
        """Store a visit requested by a client, or by the host's owner (None)."""
        row = {"domain": domain, "host": host, "client": client, "asked_at": now}
        await self._execute(insert(RecheckRow).values(row).on_conflict_do_nothing())

    async def rechecks(self, client: str | None, domain: str | None, *, since: datetime) -> SubmissionCount:
        """Count the visits requested since then by the client or by all strangers (None), on one domain or on all."""
        row = RecheckRow
        by_client = row.client.is_not(None) if client is None else row.client == client
        return await self._count(
            row, by_client, *(() if domain is None else (row.domain == domain,)), row.asked_at > since
        )

    async def next_place(self, client: str | None, *, earliest: datetime, latest: datetime) -> datetime:
        """Return the place of the client's next submission. None: the operator or the owner, who is next. `earliest`:
        the place if no other submission waits. `latest`: the last possible place."""
        bound = {"client": client, "earliest": earliest, "latest": latest, "step": STEP}
        due: datetime = (await self._execute(_NEXT_PLACE, bound)).scalar_one()
        return due

    async def take_place(self, client: str, *, earliest: datetime, latest: datetime, now: datetime) -> datetime:
        """Return the place of a submission of the client, as `next_place` does; its next one gets a later place."""
        bound = {"client": client, "earliest": earliest, "latest": latest, "step": STEP, "now": now}
        due: datetime = (await self._execute(_TAKE_PLACE, bound)).scalar_one()
        return due

    async def erase(self, *, before: datetime) -> int:
        """Delete a bounded number of submissions up to then, the oldest first; return how many."""
        return await self._touched(_ERASE["submissions"], {"before": before, "most": AT_ONCE})

    async def erase_clients(self, *, before: datetime) -> int:
        """Delete a bounded number of submissions, places and rechecks up to then, the oldest first, and the clients
        and keys of lists; return how many rows."""
        erased = [await self._touched(statement, {"before": before, "most": AT_ONCE}) for statement in _ERASE.values()]
        return sum(erased) + await self.erase_list_clients(before=before)

    async def get_list(self, list_id: UUID) -> SubmissionListRecord | None:
        return await self._list_where(SubmissionListRow.id == list_id)

    async def list_of_key(self, client: str, key: str) -> SubmissionListRecord | None:
        """Return the list that the client submitted with this Idempotency-Key."""
        return await self._list_where(SubmissionListRow.client == client, SubmissionListRow.key == key)

    async def add_list(self, record: SubmissionListRecord, *, client: str | None, key: str | None) -> bool:
        """Store a list whose hosts are not queued yet. Return False if the client has used this key already."""
        statement = insert(SubmissionListRow).values(asdict(record) | {"client": client, "key": key})
        added = statement.on_conflict_do_nothing().returning(SubmissionListRow.id)
        return (await self._execute(added)).first() is not None

    async def take_over_list(self, list_id: UUID, *, asked_before: datetime, now: datetime) -> bool:
        """Resume a list whose worker died. Return False if another process has resumed it."""
        row = SubmissionListRow
        statement = update(row).where(row.id == list_id, row.done_at.is_(None), row.asked_at <= asked_before)
        return await self._touched(statement.values(asked_at=now)) == 1

    async def finish_list(
        self, list_id: UUID, hosts: Sequence[SubmittedHostRecord], refused: Sequence[dict[str, Any]], *, now: datetime
    ) -> None:
        if hosts:
            await self._execute(insert(SubmittedHostRow).on_conflict_do_nothing(), list(map(asdict, hosts)))
        row = SubmissionListRow
        await self._execute(update(row).where(row.id == list_id).values(refused=list(refused), done_at=now))

    async def states(self, list_id: UUID, *, after: int, limit: int, now: datetime) -> list[HostState]:
        """Return hosts of the list from the place `after` on, in the list's order, with their states."""
        bound = {"list": list_id, "after": after, "limit": limit, "now": now}
        return await self._list(HostState, _PAGE, bound)

    async def state_counts(self, list_id: UUID, *, now: datetime) -> tuple[dict[str, int], int]:
        """Return the number of hosts of the list by state, and how many are done: visited since the submission, or not
        visited any more."""
        counts, done = Counter[str](), 0
        for state, is_done, number in (await self._execute(_COUNTS, {"list": list_id, "now": now})).all():
            counts[state] += number
            done += number if is_done else 0
        return dict(counts), done

    async def erase_list_clients(self, *, before: datetime) -> int:
        """Erase the clients and keys of lists made before then."""
        return await self._touched(_FORGET_CLIENTS, {"before": before})

    async def prune_lists(self, *, before: datetime) -> int:
        """Delete a bounded number of lists made before then; return how many."""
        ids = await self._scalars(_OLD_LISTS, {"before": before, "most": AT_ONCE})
        if ids:
            await self._execute(delete(SubmittedHostRow).where(SubmittedHostRow.list.in_(ids)))
            await self._execute(delete(SubmissionListRow).where(SubmissionListRow.id.in_(ids)))
        return len(ids)

    async def _count(self, row: Any, *conditions: ColumnElement[bool]) -> SubmissionCount:
        return await self._one(SubmissionCount, select(func.count(), func.min(row.asked_at)).where(*conditions))

    async def _list_where(self, *conditions: ColumnElement[bool]) -> SubmissionListRecord | None:
        row = (await self._execute(select(*_LIST_COLUMNS).where(*conditions))).mappings().first()
        return None if row is None else SubmissionListRecord(**{**row, "refused": decode(row["refused"])})


_LIST_COLUMNS: Final = selected(SubmissionListRow, SubmissionListRecord)
