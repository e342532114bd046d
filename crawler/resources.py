"""Resources shared by all visits of one crawler: address guard, client pool, limits, memory budget, stop event."""

import asyncio
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Any, Final, Self

from crawler import politeness
from crawler.flood_monitor import FloodMonitor
from crawler.guards import AddressGuard, ConnectTo, Resolver
from crawler.response_body import BodyMemoryBudget
from crawler.transport import ClientPool
from registry.core.visiting.robots import PRODUCT
from registry.settings import Settings

PRODUCT_AND_VERSION: Final = f"{PRODUCT}/{version('waypost')}"
"""Begins with the product token that robots.txt files match."""


def user_agent(settings: Settings) -> str:
    """Return the User-Agent: product and version, then the page that explains the crawler and the contact address."""
    return f"{PRODUCT_AND_VERSION} ({settings.reachable_at})"


TYPICAL_REQUESTS: Final = 20
TYPICAL_ANSWER_SECONDS: Final = 0.5
"""Requests, and seconds per answer, of a typical visit to a host without agent documents."""


class CrawlResources:
    """The shared resources. An async context manager, bound to the event loop that enters it."""

    def __init__(self, settings: Settings, stop: asyncio.Event | None = None) -> None:
        """`stop`: once set, visits end before their next request. Raise guards.BadConnectTo."""
        self.settings = settings
        self.stop = stop or asyncio.Event()
        self.guard = AddressGuard(
            ConnectTo.parse(settings.connect_to),
            None if settings.resolve == "table" else Resolver(),
            settings.refused_networks,
        )
        self.clients = ClientPool(
            user_agent=user_agent(settings), connect_timeout=settings.connect_timeout, pause=settings.request_delay
        )
        self.limiter = politeness.ConnectionLimiter(settings.block_connections)
        self.block_budgets = politeness.BlockBudgets(settings.block_daily_budget)
        visit_seconds = TYPICAL_REQUESTS * (settings.request_delay + TYPICAL_ANSWER_SECONDS)
        self.deferrals = politeness.Deferrals(visit_seconds)
        self._longest_queue = max(politeness.QUEUE_FACTOR, settings.lease_seconds / 2 / visit_seconds)
        self.timers = politeness.TimerWheel()
        self.body_memory = BodyMemoryBudget(settings.hosts_in_flight)
        self.flood_monitor = FloodMonitor(self.clients, self.body_memory)
        self.running: dict[str, asyncio.Task[Any]] = {}  # the visits, by domain
        self._exit_stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Raise transport.NoTrustStore if no certificate authority can be read."""
        await self.clients.check()
        await self._exit_stack.enter_async_context(self.flood_monitor)
        self._exit_stack.callback(asyncio.create_task(self.timers.wake_all_on(self.stop)).cancel)
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._exit_stack.aclose()
        await self.guard.close()

    def is_crowded(self, key: str) -> bool:
        """Return whether no more visits may wait for an address. The queue per address is short while half of all
        concurrent visits wait; otherwise its wait has to fit into half a lease."""
        many_wait = self.limiter.waiting >= self.settings.hosts_in_flight // 2
        return self.limiter.is_crowded(key, politeness.QUEUE_FACTOR if many_wait else self._longest_queue)

    async def acquire_slot(self, key: str) -> tuple[politeness.Limit, ...]:
        """Wait for a slot at an address; the caller releases it by the limiter. Raise AddressBusy if it is crowded."""
        if self.is_crowded(key):  # guard: crowded-address
            raise politeness.AddressBusy(self.deferrals.defer(key, politeness.max_connections(key)))
        return await self.limiter.acquire(key)
