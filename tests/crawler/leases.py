"""Leases from memory: the boundary between crawler and database, of our own making, for tests of the crawler alone.

The crawl against a real database is tested with the flow.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from registry.core.visits import DomainJob, FinishedDomain, HostJob, Lease


class Leases:
    """Hands out each domain once. `record` and `release` remember what they were given, in order."""

    def __init__(self, *domains: str) -> None:
        self.due_now = list(domains)
        self.recorded: list[FinishedDomain] = []
        self.released: list[tuple[str, timedelta | None]] = []
        self.tokens: dict[str, UUID] = {}
        self.batches: list[int] = []
        self.most_out = 0
        self.held = 0
        self.lost = asyncio.Event()
        self.spent: Counter[str] = Counter()  # requests by block of addresses
        self.on_record: Callable[[Sequence[FinishedDomain]], Any] = lambda finished: None

    @property
    def out(self) -> int:
        """Domains leased and not yet given back."""
        return len(self.tokens) - len(self.recorded) - len(self.released)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Any]:
        """Lost whenever a test says so, and then another one can be had."""
        self.held += 1
        self.lost = asyncio.Event()
        yield SimpleNamespace(id=7, until_lost=self.lost.wait)

    async def due(self, *, limit: int, holder: int, only: Collection[str] | None = None) -> Lease | None:
        assert holder == 7
        taken, self.due_now = self.due_now[:limit], self.due_now[limit:]
        if not taken:
            return None
        token = uuid4()
        self.tokens |= dict.fromkeys(taken, token)
        self.most_out = max(self.most_out, self.out)
        jobs = tuple(DomainJob(domain, (HostJob(domain, whole_plan=True),)) for domain in taken)
        return Lease(token, datetime.now(UTC) + timedelta(hours=1), jobs)

    async def record_all(self, finished: Sequence[tuple[UUID, FinishedDomain]]) -> None:
        await asyncio.sleep(0)
        done = [one for _, one in finished]
        self.on_record(done)
        assert all(self.tokens[one.domain] == token for token, one in finished)
        self.batches.append(len(done))
        self.recorded += done

    async def opt_outs_waiting(self) -> Sequence[Any]:
        return ()

    async def spend(self, made: Mapping[str, int], of: Collection[str]) -> Mapping[str, int]:
        self.spent.update(made)
        return {block: self.spent[block] for block in {*made, *of}}

    async def release(
        self, token: UUID, domains: Sequence[str] | None = None, *, later: timedelta | None = None
    ) -> int:
        assert domains is not None and all(self.tokens[domain] == token for domain in domains)
        self.released += ((domain, later) for domain in domains)
        return len(domains)
