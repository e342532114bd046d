"""Repository of what each search index has yet to be told, and of what to tell it.

The rows come from triggers (first migration). The protocol of the drain: read the dirty rows first, the current
listings after, tell the index, then `done` with what was read: a row noted again meanwhile stays.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import delete, func, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.core.listing import Listing
from registry.store.bulk import many
from registry.store.engine import decode
from registry.store.lane import Lane
from registry.store.listings import listing_from_json
from registry.store.tables import SearchDirtyRow, SearchTargetRow, ServiceRow
from registry.store.tables.search import DIRTY_VERSIONS

Key = tuple[str, str]

_log = logging.getLogger(__name__)

_NOTE_ALL = text("""
INSERT INTO search_dirty (target, host, domain, version, noted_at)
SELECT :target, host, domain, nextval('search_dirty_versions'), :now FROM services
ON CONFLICT (target, host) DO UPDATE SET version = nextval('search_dirty_versions')
""")

_DRAWN: Final = """
SELECT last_value, pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint FROM search_dirty_versions
"""


@dataclass(frozen=True, slots=True)
class Dirty:
    """A service that a target has to be told about. `version` names this note of it, never another one."""

    domain: str
    host: str
    version: int
    noted_at: datetime


class SearchNotes:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def register(self, target: str, *, now: datetime) -> bool:
        """Makes a target known; True when it is new, and then every service is noted for it.

        Writers of services are held off meanwhile: their triggers could not see a target that is not committed yet.
        """
        if target in await self.targets():
            await self.seen(target, now=now)
            return False
        await self._connection.execute(text("LOCK TABLE services IN SHARE ROW EXCLUSIVE MODE"))
        row = {"target": target, "created_at": now, "seen_at": now}
        added = await many(self._connection, insert(SearchTargetRow).on_conflict_do_nothing(), [row])
        if added:
            await self.note_all(target, now=now)
        return bool(added)

    async def seen(self, target: str, *, now: datetime) -> None:
        statement = update(SearchTargetRow).where(SearchTargetRow.target == target).values(seen_at=now)
        await self._connection.execute(statement)

    async def seen_at(self, target: str) -> datetime | None:
        """None = not known."""
        statement = select(SearchTargetRow.seen_at).where(SearchTargetRow.target == target)
        return (await self._connection.execute(statement)).scalar()

    async def targets(self) -> list[str]:
        found = await self._connection.execute(select(SearchTargetRow.target).order_by(SearchTargetRow.target))
        return list(found.scalars())

    async def forget(self, *, unseen_since: datetime) -> list[str]:
        """Drops targets that nobody has claimed since then, with their notes."""
        gone = delete(SearchTargetRow).where(SearchTargetRow.seen_at < unseen_since).returning(SearchTargetRow.target)
        targets = sorted((await self._connection.execute(gone)).scalars())
        await self._connection.execute(delete(SearchDirtyRow).where(SearchDirtyRow.target.in_(targets)))
        return targets

    async def dirty(self, target: str, *, limit: int) -> list[Dirty]:
        """What the target has to be told, noted longest ago first."""
        row = SearchDirtyRow
        statement = (
            select(row.domain, row.host, row.version, row.noted_at)
            .where(row.target == target)
            .order_by(row.noted_at, row.host)
            .limit(limit)
        )
        return [Dirty(*one) for one in await self._connection.execute(statement)]

    async def listings(self, keys: Collection[Key]) -> dict[str, Listing]:
        """The current listings by host. What is missing is hidden or gone: the index must forget it."""
        statement = select(ServiceRow.host, ServiceRow.listing).where(
            tuple_(ServiceRow.domain, ServiceRow.host).in_(list(keys)), ~ServiceRow.hidden
        )
        return {one.host: one for one in _decoded((await self._connection.execute(statement)).all())}

    async def all_listings(self, after: Key, *, limit: int) -> list[Listing]:
        """Every visible listing behind `after` by (domain, host), for a rebuild; ("", "") to begin with.

        Fewer than `limit` does not mean the end when a row could not be decoded: go on until the answer is empty.
        """
        key = (ServiceRow.domain, ServiceRow.host)
        statement = (
            select(ServiceRow.host, ServiceRow.listing)
            .where(tuple_(*key) > after, ~ServiceRow.hidden)
            .order_by(*key)
            .limit(limit)
        )
        return list(_decoded((await self._connection.execute(statement)).all()))

    async def done(self, target: str, told: Sequence[Dirty]) -> int:
        """Drops the notes that are still what was read; gives their number.

        A note that a writer holds is about to be another one; waiting for it could end in a deadlock.
        """
        row = SearchDirtyRow
        unchanged = (
            select(row.host)
            .where(row.target == target, tuple_(row.host, row.version).in_([(one.host, one.version) for one in told]))
            .with_for_update(skip_locked=True)
        )
        hosts = list((await self._connection.execute(unchanged)).scalars())
        await self._connection.execute(delete(row).where(row.target == target, row.host.in_(hosts)))
        return len(hosts)

    async def note(self, target: str, keys: Collection[Key], *, now: datetime) -> None:
        """Notes services again, to repair an index."""
        statement = insert(SearchDirtyRow).on_conflict_do_update(
            index_elements=["target", "host"], set_={"version": DIRTY_VERSIONS.next_value()}
        )
        statement = statement.values(version=DIRTY_VERSIONS.next_value())
        rows = [{"target": target, "domain": domain, "host": host, "noted_at": now} for domain, host in sorted(keys)]
        await many(self._connection, statement, rows)

    async def note_all(self, target: str, *, now: datetime) -> None:
        await self._connection.execute(_NOTE_ALL, {"target": target, "now": now})

    async def oldest(self, target: str) -> datetime | None:
        """Since when the target lags behind; None = it does not."""
        statement = select(func.min(SearchDirtyRow.noted_at)).where(SearchDirtyRow.target == target)
        return (await self._connection.execute(statement)).scalar()

    async def noted(self, target: str) -> frozenset[str]:
        """The hosts that the target has yet to be told about."""
        statement = select(SearchDirtyRow.host).where(SearchDirtyRow.target == target)
        return frozenset((await self._connection.execute(statement)).scalars())

    async def count(self, target: str) -> int:
        statement = select(func.count()).where(SearchDirtyRow.target == target)
        return (await self._connection.execute(statement)).scalar_one()


async def drawn(lane: Lane) -> tuple[int, int, int]:
    """The last number drawn for a change of anything that is shown, whether its transaction has ended or not; the
    oldest transaction that has not ended; the first one that has not begun. Raises StoreUnavailable."""
    ((number, oldest, newest),) = await lane.rows(_DRAWN, {})
    return number, oldest, newest


def _decoded(rows: Iterable[tuple[str, bytes]]) -> Iterable[Listing]:
    for host, stored in rows:
        try:
            yield listing_from_json(decode(stored))
        except ValueError:
            _log.error("the listing of %s cannot be decoded: rescore rewrites it", host)
