"""The change feed: read it, give events their places, and wait for the next event."""

from registry.actions.feed import reading, sequencing
from registry.core.changes.kinds import ALL, Types
from registry.store.unit_of_work import Store


class FeedActions:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def page(
        self, after: reading.Place | int | None = None, types: Types = ALL, limit: int = 100
    ) -> reading.FeedPage:
        return await reading.page(self._store, after, types, limit)

    async def latest(self, types: Types = ALL) -> reading.FeedPage:
        return await reading.latest(self._store, types)

    async def state(self) -> sequencing.FeedState:
        return await sequencing.state(self._store)

    async def sequence(self) -> int:
        return await sequencing.sequence(self._store)
