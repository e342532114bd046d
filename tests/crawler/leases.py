"""Leases in memory: a stand-in for the boundary between crawler and database, for tests of the crawler alone.

tests/flow tests the crawl against a real database.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from crawler import run
from crawler.stats import CrawlCounts
from registry.actions.recording.record import RecordCounts
from registry.core.visiting.visits import DomainJob, FinishedDomain, HostJob, Lease
from registry.settings import Settings


class Leases:
    """Lease each domain once. Domains passed to `record_all` and `release` are kept in order."""

    def __init__(self, *domains: str) -> None:
        self.due_now = list(domains)
        self.recorded: list[FinishedDomain] = []
        self.released: list[tuple[str, timedelta | None]] = []
        self.tokens: dict[str, UUID] = {}
        self.batches: list[int] = []
        self.most_out = 0
        self.held = 0
        self.lost = asyncio.Event()
        self.spent: Counter[str] = Counter()  # requests by address block
        self.on_record: Callable[[Sequence[FinishedDomain]], Any] = lambda finished: None
        self.mode = SimpleNamespace(require_off=lambda: None)
        self.crawl = self.opt_outs = self.claims = self.site_checks = (
            self  # the actions of a `Waypost` that a crawl uses
        )

    @property
    def out(self) -> int:
        """How many domains are leased, and neither recorded nor released."""
        return len(self.tokens) - len(self.recorded) - len(self.released)

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[Any]:
        """Yield a holder that is lost when a test sets `lost`. A new one can be had after that."""
        self.held += 1
        self.lost = asyncio.Event()
        yield SimpleNamespace(id=7, until_lost=self.lost.wait)

    async def lease(self, *, limit: int, holder: int, only: Collection[str] | None = None) -> Lease | None:
        assert holder == 7
        leased_domains, self.due_now = self.due_now[:limit], self.due_now[limit:]
        if not leased_domains:
            return None
        token = uuid4()
        self.tokens |= dict.fromkeys(leased_domains, token)
        self.most_out = max(self.most_out, self.out)
        jobs = tuple(DomainJob(domain, (HostJob(domain, whole_plan=True),)) for domain in leased_domains)
        return Lease(token, datetime.now(UTC) + timedelta(hours=1), jobs)

    async def record_all(self, finished: Sequence[tuple[UUID, FinishedDomain]]) -> RecordCounts:
        await asyncio.sleep(0)
        finished_domains = [finished_domain for _, finished_domain in finished]
        self.on_record(finished_domains)
        assert all(self.tokens[finished_domain.domain] == token for token, finished_domain in finished)
        self.batches.append(len(finished_domains))
        self.recorded += finished_domains
        return RecordCounts([visit.host for finished_domain in finished_domains for visit in finished_domain.visits])

    async def claim(self, limit: int) -> Sequence[Any]:
        return ()

    take = claim

    async def lost_leases(self, holder: int, tokens: Collection[UUID]) -> Sequence[str]:
        return ()

    async def spend(self, requests: Mapping[str, int], blocks: Collection[str]) -> Mapping[str, int]:
        self.spent.update(requests)
        return {block: self.spent[block] for block in {*requests, *blocks}}

    async def release(
        self, token: UUID, domains: Sequence[str] | None = None, *, later: timedelta | None = None
    ) -> int:
        assert domains is not None and all(self.tokens[domain] == token for domain in domains)
        self.released += ((domain, later) for domain in domains)
        return len(domains)


def names(number: int) -> list[str]:
    return [f"site{n}.example" for n in range(number)]


async def crawl(leases: Leases, config: Settings, **options: Any) -> CrawlCounts:
    return await run.crawl(leases, config, **({"until_idle": True} | options))  # type: ignore[arg-type]  # leases from memory
