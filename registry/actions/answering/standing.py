"""Whether what could be answered a moment ago still stands: a token of the catalogue and the index, asked for rarely.

Every change of what is shown draws a number from a sequence, in the transaction that makes it (the trigger of
`search_dirty`), and a sequence tells at once: a number drawn by a transaction that has not ended yet is seen before
its change is. So the token counts as settled only when every transaction of the moment in which the number was seen
has ended; until then each look has a token of its own, and nothing that was read under it is used after the next one.
"""

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from registry.core.listing import SearchUnavailable
from registry.search.backend import Backend
from registry.store.errors import StoreUnavailable
from registry.store.search_notes import drawn
from registry.store.unit_of_work import Store

LOOK_SECONDS: Final = 0.3
TRUST_SECONDS: Final = 1.0
"""How old a look may be at most: what is hidden is gone from every answer within so many seconds."""


@dataclass(frozen=True, slots=True)
class _Look:
    at: float
    token: Hashable


class Standing:
    """`clock` gives monotonic seconds. Looks while somebody asks, in the background; one look at a time."""

    def __init__(self, store: Store, backend: Backend, clock: Callable[[], float]) -> None:
        self._store = store
        self._backend = backend
        self._clock = clock
        self._last: _Look | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looks = 0
        self._drawn: int | None = None
        self._settles_at = 0

    def token(self) -> Hashable | None:
        """Equal tokens: everything that is shown is as it was. None: nobody knows at the moment."""
        now = self._clock()
        last = self._last
        if last is None or now - last.at > LOOK_SECONDS:
            self._look_again()
        return last.token if last is not None and now - last.at <= TRUST_SECONDS else None

    async def close(self) -> None:
        """A look under way may end: a connection that is given up while it is made stays with the server."""
        if self._looking is not None:
            await asyncio.wait({self._looking}, timeout=TRUST_SECONDS)
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _look_again(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        at = self._clock()
        try:
            number, oldest, newest = await drawn(self._store.lane)
            generation = (await self._backend.health()).generation
        except (StoreUnavailable, SearchUnavailable):
            self._last = None
            return
        self._looks += 1
        if number != self._drawn:
            self._drawn, self._settles_at = number, newest
        settled = oldest >= self._settles_at
        token = (number, generation, 0 if settled else self._looks)
        self._last = _Look(at, token) if generation is not None else None
