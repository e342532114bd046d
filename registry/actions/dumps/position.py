"""The position of the change feed in a transaction: with REPEATABLE READ, that of everything else read there.

An event becomes visible with its place only after the transaction that it tells of has been committed, so what a
snapshot with the place contains is at least as new as the event (docs/adr/0030, docs/adr/0032).
"""

from typing import NamedTuple

from registry.actions.feed.cursors import encode
from registry.core.changes.kinds import ALL
from registry.store.unit_of_work import UnitOfWork


class Position(NamedTuple):
    """`sequence`: the latest place; `cursor`: where the unfiltered feed continues after it."""

    sequence: int
    cursor: str


async def position(uow: UnitOfWork) -> Position:
    latest = (await uow.feed.state()).ends.latest
    return Position(latest.seq, encode(latest, ALL))
