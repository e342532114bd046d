"""Repository of the services that each search index must index again, and of their listings.

A host with a listed canonical host is in no index. Triggers write the rows (store/tables.py). The drain reads
the dirty rows first, then the current listings, updates the index, and calls `done` with the rows it read. A row noted
again meanwhile stays. Listings are read with what is stored elsewhere: dates, and whether the host is owned.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from sqlalchemy import Boolean, ColumnElement, delete, exists, func, literal_column, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import aliased

from registry.core.model.listing import Listing
from registry.store.claims import OWNED_SINCE
from registry.store.engine import decode
from registry.store.records import listing_from_json
from registry.store.repository import Key, Repository, selected
from registry.store.tables import DIRTY_VERSIONS, OwnerSettingRow, SearchDirtyRow, SearchTargetRow, ServiceRow

_CANONICAL: Final = aliased(ServiceRow)
_HAS_CANONICAL: Final = exists().where(
    OwnerSettingRow.domain == ServiceRow.domain,
    OwnerSettingRow.host == ServiceRow.host,
    _CANONICAL.domain == OwnerSettingRow.domain,
    _CANONICAL.host == OwnerSettingRow.canonical,
    ~_CANONICAL.hidden,
)
_OWNED_SINCE: Final = OWNED_SINCE.format(services="services")
_IS_OWNED: Final[ColumnElement[bool]] = literal_column(f"{_OWNED_SINCE} IS NOT NULL", Boolean)
_LISTINGS: Final = select(
    ServiceRow.host, ServiceRow.listing, ServiceRow.created_at, ServiceRow.updated_at, _IS_OWNED
).where(
    ~ServiceRow.hidden,
    ~_HAS_CANONICAL,  # guard: canonical-host-stands-alone
)

_log = logging.getLogger(__name__)

_NOTE_ALL = text("""
INSERT INTO search_dirty (target, host, domain, version, noted_at)
SELECT :target, host, domain, nextval('search_dirty_versions'), :now FROM services
ON CONFLICT (target, host) DO UPDATE SET version = nextval('search_dirty_versions')
""")


@dataclass(frozen=True, slots=True)
class Dirty:
    """A service that a target must index again. `version` identifies this note; later notes have others."""

    domain: str
    host: str
    version: int
    noted_at: datetime


_DIRTY: Final = selected(SearchDirtyRow, Dirty)


class SearchNotes(Repository):
    async def register(self, target: str, *, now: datetime) -> bool:
        """Register a target. Return True if it is new; every service is then noted for it. Writers of services are
        blocked meanwhile: their triggers cannot see a target that is not committed yet."""
        if target in await self.targets():
            await self.seen(target, now=now)
            return False
        await self._execute(text("LOCK TABLE services IN SHARE ROW EXCLUSIVE MODE"))
        row = {"target": target, "created_at": now, "seen_at": now}
        added = await self._many(insert(SearchTargetRow).on_conflict_do_nothing(), [row])
        if added:
            await self.note_all(target, now=now)
        return bool(added)

    async def seen(self, target: str, *, now: datetime) -> None:
        await self._execute(update(SearchTargetRow).where(SearchTargetRow.target == target).values(seen_at=now))

    async def seen_at(self, target: str) -> datetime | None:
        """Return when the target was last claimed; None if it is unknown."""
        statement = select(SearchTargetRow.seen_at).where(SearchTargetRow.target == target)
        return (await self._execute(statement)).scalar()

    async def targets(self) -> list[str]:
        return await self._scalars(select(SearchTargetRow.target).order_by(SearchTargetRow.target))

    async def forget(self, *, unseen_since: datetime) -> list[str]:
        """Delete targets that were not claimed since then, with their notes; return the targets."""
        row = SearchTargetRow
        statement = delete(row).where(row.seen_at < unseen_since).returning(row.target)
        targets = sorted(await self._scalars(statement))
        await self._execute(delete(SearchDirtyRow).where(SearchDirtyRow.target.in_(targets)))
        return targets

    async def dirty(self, target: str, *, limit: int) -> list[Dirty]:
        """Return the notes of a target, oldest first."""
        row = SearchDirtyRow
        statement = select(*_DIRTY).where(row.target == target).order_by(row.noted_at, row.host).limit(limit)
        return await self._list(Dirty, statement)

    async def listings(self, keys: Collection[Key]) -> dict[str, Listing]:
        """Return the current listings by host. A missing host was deleted, is hidden, or has a listed canonical host:
        the index must drop it."""
        statement = _LISTINGS.where(tuple_(ServiceRow.domain, ServiceRow.host).in_(list(keys)))
        return {listing.host: listing for listing in _decoded((await self._execute(statement)).all())}

    async def all_listings(self, after: Key, *, limit: int) -> list[Listing]:
        """Return the listings that an index holds after `after`, ordered by (domain, host), for a rebuild; begin with
        ("", ""). Undecodable rows are left out, so fewer than `limit` need not be the end: continue until the result is
        empty."""
        key = (ServiceRow.domain, ServiceRow.host)
        statement = _LISTINGS.where(tuple_(*key) > after).order_by(*key).limit(limit)
        return list(_decoded((await self._execute(statement)).all()))

    async def done(self, target: str, notes: Sequence[Dirty]) -> int:
        """Delete the notes that are unchanged since they were read; return their number. A note locked by a writer is
        about to change, so it is skipped; waiting for it could deadlock."""
        row = SearchDirtyRow
        is_unchanged = tuple_(row.host, row.version).in_([(note.host, note.version) for note in notes])
        unchanged = select(row.host).where(row.target == target, is_unchanged).with_for_update(skip_locked=True)
        hosts = await self._scalars(unchanged)
        await self._execute(delete(row).where(row.target == target, row.host.in_(hosts)))
        return len(hosts)

    async def note(self, target: str, keys: Collection[Key], *, now: datetime) -> None:
        """Note services again, to repair an index."""
        version = {"version": DIRTY_VERSIONS.next_value()}
        statement = insert(SearchDirtyRow).values(version)
        statement = statement.on_conflict_do_update(index_elements=["target", "host"], set_=version)
        rows = [{"target": target, "domain": domain, "host": host, "noted_at": now} for domain, host in sorted(keys)]
        await self._many(statement, rows)

    async def note_all(self, target: str, *, now: datetime) -> None:
        await self._execute(_NOTE_ALL, {"target": target, "now": now})

    async def oldest(self, target: str) -> datetime | None:
        """Return since when the target lags behind, or None."""
        statement = select(func.min(SearchDirtyRow.noted_at)).where(SearchDirtyRow.target == target)
        return (await self._execute(statement)).scalar()

    async def noted(self, target: str) -> frozenset[str]:
        """Return the hosts that the target must index again."""
        statement = select(SearchDirtyRow.host).where(SearchDirtyRow.target == target)
        return frozenset(await self._scalars(statement))

    async def count(self, target: str) -> int:
        statement = select(func.count()).where(SearchDirtyRow.target == target)
        return await self._number(statement)


def _decoded(rows: Iterable[tuple[str, bytes, datetime, datetime, bool]]) -> Iterable[Listing]:
    """Yield the listings, with the dates of the row and whether the host is owned."""
    for host, stored, created_at, updated_at, is_owned in rows:
        try:
            listing = listing_from_json(decode(stored))
            offered_since = listing.offered_since or created_at
            yield replace(
                listing, listed_since=created_at, offered_since=offered_since, updated_at=updated_at, is_owned=is_owned
            )
        except ValueError:
            _log.error("the listing of %s cannot be decoded: rescore rewrites it", host)
