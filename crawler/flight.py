"""What is in flight, and what has landed: the bound on memory, and the figures that people watch."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from crawler.handler import Done
from registry.core.documents import Outcome
from registry.core.visits import Lease, Visit


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a crawl is. `outcomes` counts the visits of hosts; the rest counts domains, except where it says so."""

    leased: int = 0
    recorded: int = 0
    released: int = 0
    crashed: int = 0
    hosts: int = 0  # visited and recorded
    requests: int = 0  # made for the visits recorded
    received: int = 0  # bytes of the bodies that came, decoded, each at most its cap
    outcomes: Counter[Outcome] = field(default_factory=Counter)

    @property
    def in_flight(self) -> int:
        return self.leased - self.recorded - self.released - self.crashed


class Flight:
    """Counts domains from their lease to the commit that gives them back, and lets others wait for changes."""

    def __init__(
        self,
        progress: Callable[[Tally], None] | None = None,
        landed: Callable[[Sequence[Visit]], None] | None = None,
    ) -> None:
        """`landed` is called with the visits of every batch that was recorded."""
        self.tally = Tally()
        self._progress = progress
        self._on_landed = landed
        self._landing = asyncio.Event()

    def took_off(self, lease: Lease) -> None:
        self._set(replace(self.tally, leased=self.tally.leased + len(lease.domains)))

    def landed(self, batch: Sequence[Done]) -> None:
        """These domains were recorded, or given back."""
        old = self.tally
        visits = [visit for done in batch if done.finished for visit in done.finished.visits]
        recorded = sum(done.finished is not None for done in batch)
        crashed = sum(done.crashed for done in batch)
        self._set(
            replace(
                old,
                recorded=old.recorded + recorded,
                crashed=old.crashed + crashed,
                released=old.released + len(batch) - recorded - crashed,
                hosts=old.hosts + len(visits),
                requests=old.requests + sum(visit.requests for visit in visits),
                received=old.received + sum(one.fetched.size for visit in visits for one in visit.answers),
                outcomes=old.outcomes + Counter(visit.outcome for visit in visits),
            )
        )
        if visits and self._on_landed is not None:
            self._on_landed(visits)
        self._landing.set()

    async def landing(self, seconds: float | None = None) -> None:
        """Until domains land, or so many seconds have passed."""
        self._landing.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._landing.wait(), seconds)

    def wake(self) -> None:
        """Lets who waits for a landing look around (the crawl stops)."""
        self._landing.set()

    def _set(self, tally: Tally) -> None:
        self.tally = tally
        if self._progress is not None:
            self._progress(tally)
