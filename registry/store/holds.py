"""Repositories of holds, of all limits on hosts (holds and opt-outs), and of daily requests per address block."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from typing import Final, LiteralString

from sqlalchemy import delete, select, text, tuple_
from sqlalchemy.dialects.postgresql import insert

from registry.core.access.holds import UNLIMITED, Hold, HoldKind, Limits
from registry.store.engine import listed
from registry.store.repository import AT_ONCE, Key, Repository, selected
from registry.store.tables import BlockDayRow, ListingHoldRow
from registry.store.values import clean

_OPT_OUT: Final = "opt_out"
_OF: Final[LiteralString] = f"""
SELECT domain, host, '{_OPT_OUT}', true, how, '', created_at FROM opt_outs
WHERE domain = ANY(string_to_array(%(domains)s, ' '))
UNION ALL SELECT domain, host, kind, covers_below, actor, reason, since FROM listing_holds
WHERE domain = ANY(string_to_array(%(domains)s, ' '))
"""  # noqa: S608  # our own constant


def withheld(row: LiteralString) -> LiteralString:
    """Return the SQL condition that an opt-out or a hold covers the host of `row`, which has `domain` and `host`. For
    statements that read without `Limits`: rows that were restored from a backup may still be marked as shown."""
    return (
        f"(EXISTS (SELECT FROM opt_outs o WHERE o.domain = {row}.domain"  # noqa: S608  # names of our own tables
        f" AND (o.host = {row}.host OR right({row}.host, length(o.host) + 1) = '.' || o.host))"
        f" OR EXISTS (SELECT FROM listing_holds l WHERE l.domain = {row}.domain AND (l.host = {row}.host"
        f" OR (l.covers_below AND right({row}.host, length(l.host) + 1) = '.' || l.host))))"
    )


class Holds(Repository):
    async def limits(self, domains: Collection[str]) -> dict[str, Limits]:
        """Return the limits on the hosts of each of these domains."""
        opted_out: dict[str, dict[str, str]] = {}
        holds: dict[str, list[Hold]] = {}
        rows = await self._driver.rows(_OF, {"domains": listed(domains)})
        for domain, host, kind, below, actor, reason, since in rows:
            if kind == _OPT_OUT:
                opted_out.setdefault(domain, {})[host] = actor
            else:
                holds.setdefault(domain, []).append(Hold(domain, host, kind, below, actor, reason, since))
        return {
            domain: Limits(opted_out.get(domain, {}), tuple(holds.get(domain, ())))
            if domain in opted_out or domain in holds
            else UNLIMITED
            for domain in domains
        }

    async def put(self, hold: Hold) -> bool:
        """Store a hold; return whether it is new. An existing hold keeps its first actor and reason."""
        row = asdict(hold) | {"actor": clean(hold.actor), "reason": clean(hold.reason)}
        statement = insert(ListingHoldRow).values(row).on_conflict_do_nothing().returning(ListingHoldRow.host)
        return (await self._execute(statement)).first() is not None

    async def remove(self, domain: str, host: str, kind: HoldKind) -> Hold | None:
        """Delete the hold of exactly this host; return it, or None."""
        row = ListingHoldRow
        statement = delete(row).where(row.domain == domain, row.host == host, row.kind == kind).returning(*_COLUMNS)
        return await self._first(Hold, statement)

    async def page(self, after: tuple[str, str, str], kinds: Collection[HoldKind], *, limit: int) -> Sequence[Hold]:
        """Return holds of these kinds after `after`, ordered by domain, host and kind."""
        key = (ListingHoldRow.domain, ListingHoldRow.host, ListingHoldRow.kind)
        statement = select(*_COLUMNS).where(tuple_(*key) > tuple_(*after), key[2].in_(list(kinds)))
        return await self._list(Hold, statement.order_by(*key).limit(limit))

    async def keys(self, after: Key, *, limit: int) -> list[Key]:
        """Return the hosts with holds after `after`, ordered by (domain, host)."""
        key = (ListingHoldRow.domain, ListingHoldRow.host)
        statement = select(*key).distinct().where(tuple_(*key) > tuple_(*after))
        return await self._keys(statement.order_by(*key).limit(limit))


_COLUMNS: Final = selected(ListingHoldRow, Hold)


# Every process locks rows in the order of their blocks, so that two of them cannot deadlock.
_ADD = text("""
INSERT INTO block_days (day, block, requests)
SELECT CAST(:day AS date), block, requests
FROM unnest(CAST(:blocks AS text[]), CAST(:requests AS bigint[])) AS made (block, requests) ORDER BY block
ON CONFLICT (day, block) DO UPDATE SET requests = block_days.requests + excluded.requests
RETURNING block, requests
""")
_FORGET = text("""
DELETE FROM block_days WHERE (day, block) IN (
    SELECT day, block FROM block_days WHERE day < :day ORDER BY day, block LIMIT :most FOR UPDATE SKIP LOCKED)
""")
# A crash can lose a few seconds of a count, which is not worth waiting for the disk.
_ASYNC_COMMIT = text("SET LOCAL synchronous_commit = off")


class BlockTable(Repository):
    async def add(self, day: date, requests: Mapping[str, int]) -> dict[str, int]:
        """Add requests by block; return the sums of these blocks. Must be alone in its transaction."""
        await self._execute(_ASYNC_COMMIT)
        bound = {"day": day, "blocks": list(requests), "requests": list(requests.values())}
        return dict((await self._execute(_ADD, bound)).all())

    async def of(self, day: date, blocks: Collection[str]) -> dict[str, int]:
        """Return the sums of these blocks; leave out blocks without requests."""
        row = BlockDayRow
        statement = select(row.block, row.requests).where(row.day == day, row.block.in_(list(blocks)))
        return dict((await self._execute(statement)).all())

    async def forget(self, before: date) -> None:
        """Delete some rows of earlier days."""
        await self._execute(_FORGET, {"day": before, "most": AT_ONCE})
