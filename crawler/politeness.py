"""Politeness limits: pauses between requests to one domain, concurrent connections to one address and one address
block, requests per block and day, and the deferral of visits whose address is too busy.

`registry.core.visiting.robots` reads robots.txt; the pacer here keeps its crawl delay. Connections are counted per
process. Across processes, the lease ensures one visit per domain, and the database sums the requests per block.

Thousands of sites may share one address that allows two connections. Waiting for it, they could occupy all concurrent
visits and block all other sites. So while half of the concurrent visits wait, only a short queue is allowed per
address, and a queue never outlasts the lease. Other visits are deferred, each later than the previous one: the domain
is released and gets a time for the next attempt.
"""

import asyncio
import math
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias

import structlog

from registry.core.visiting.shares import DomainBudget, Standing
from registry.outages import log_failure
from registry.tasks import running_beside

log = structlog.get_logger(__name__)

PER_ADDRESS: Final = 2  # concurrent connections to one address
PER_SHARED_ADDRESS: Final = 32
"""Concurrent connections to an address of a shared network, where thousands of unrelated sites are served."""


@dataclass(frozen=True, slots=True)
class SharedNetwork:
    """Networks on which one operator serves very many customers, as published by the operator."""

    operator: str
    networks: tuple[str, ...]
    source: str
    as_of: str


SHARED_NETWORKS: Final = (
    SharedNetwork(
        "Cloudflare",
        (
            "103.21.244.0/22", "103.22.200.0/22", "103.31.4.0/22", "104.16.0.0/13", "104.24.0.0/14",
            "108.162.192.0/18", "131.0.72.0/22", "141.101.64.0/18", "162.158.0.0/15", "172.64.0.0/13",
            "173.245.48.0/20", "188.114.96.0/20", "190.93.240.0/20", "197.234.240.0/22", "198.41.128.0/17",
            "2400:cb00::/32", "2405:8100::/32", "2405:b500::/32", "2606:4700::/32", "2803:f800::/32",
            "2a06:98c0::/29", "2c0f:f248::/32",
        ),
        "https://www.cloudflare.com/ips/", "2025-05",
    ),
    SharedNetwork(
        "Fastly",
        (
            "23.235.32.0/20", "43.249.72.0/22", "103.244.50.0/24", "103.245.222.0/23", "103.245.224.0/24",
            "104.156.80.0/20", "140.248.64.0/18", "140.248.128.0/17", "146.75.0.0/17", "151.101.0.0/16",
            "157.52.64.0/18", "167.82.0.0/17", "167.82.128.0/20", "167.82.160.0/20", "167.82.224.0/20",
            "172.111.64.0/18", "185.31.16.0/22", "199.27.72.0/21", "199.232.0.0/16",
            "2a04:4e40::/32", "2a04:4e42::/32",
        ),
        "https://api.fastly.com/public-ip-list", "2025-05",
    ),
    SharedNetwork(
        "GitHub Pages", ("185.199.108.0/22", "2606:50c0:8000::/46"),
        "https://docs.github.com/en/pages/configuring-a-custom-domain-for-your-github-pages-site", "2025-05",
    ),
    SharedNetwork("Vercel", ("76.76.21.0/24", "216.198.79.0/24"), "https://vercel.com/docs/domains", "2025-05"),
    SharedNetwork(
        "Shopify", ("23.227.38.0/24", "2620:127:f00f::/48"),
        "https://help.shopify.com/en/manual/domains/add-a-domain/connecting-domains", "2025-05",
    ),
)  # fmt: skip
"""CDNs and hosting platforms. Short on purpose: a missing network is only crawled more slowly. Checked before each
release."""

_RANGES: Final = {
    version: sorted(
        (int(network.network_address), int(network.broadcast_address))
        for shared in SHARED_NETWORKS
        for network in map(ip_network, shared.networks)
        if network.version == version
    )
    for version in (4, 6)
}
"""First and last address of each network, for one binary search instead of fifty comparisons per host."""

BLOCK_BITS: Final = {4: 24, 6: 48}
"""Prefix length of an address block, as one hosting customer or small provider commonly has."""

SYNC_SECONDS: Final = 5.0
"""Interval at which requests per block are written to the database, and totals of other processes are read."""

_LAST_SYNC_SECONDS: Final = 2.0

Spend: TypeAlias = Callable[[Mapping[str, int], Collection[str]], Awaitable[Mapping[str, int]]]
"""Adds requests by block to today's totals; returns the totals of these blocks and of the other named ones."""


@lru_cache(maxsize=1_024)
def max_connections(key: str) -> int:
    """Return how many connections may be open at once to an address, or to a name of the connect-to table."""
    try:
        address = ip_address(key)
    except ValueError:
        return PER_ADDRESS
    return PER_SHARED_ADDRESS if _is_shared(address) else PER_ADDRESS


def _is_shared(address: IPv4Address | IPv6Address) -> bool:
    ranges, number = _RANGES[address.version], int(address)
    index = bisect_right(ranges, number, key=lambda first_and_last: first_and_last[0])
    return index > 0 and number <= ranges[index - 1][1]


@lru_cache(maxsize=16_384)
def block_of(key: str) -> str | None:
    """Return the /24 or /48 block of an address. None for an address of a shared network, whose sites are unrelated,
    and for a name of the connect-to table."""
    try:
        address = ip_address(key)
    except ValueError:
        return None
    if _is_shared(address):
        return None
    bits = BLOCK_BITS[address.version]
    unused = address.max_prefixlen - bits
    return f"{type(address)(int(address) >> unused << unused)}/{bits}"


@dataclass(slots=True)
class Limit:
    """The semaphore of one address or block. `users`: number of its holders and waiters."""

    key: str
    semaphore: asyncio.Semaphore
    users: int = 0


class ConnectionLimiter:
    """Limits concurrent connections per address and per block. Limits without users are deleted."""

    def __init__(self, per_block: int) -> None:
        """`per_block`: concurrent connections to all addresses of one block."""
        self._per_block = per_block
        self.waiting = 0  # for any address or block
        self.limits: dict[str, Limit] = {}  # by address or block

    def is_crowded(self, key: str, queue_factor: float) -> bool:
        """Return whether the address or its block has at least `queue_factor` times its allowed users."""
        block = block_of(key)
        return self._users(key) >= queue_factor * max_connections(key) or (
            block is not None and self._users(block) >= queue_factor * self._per_block
        )

    def _users(self, key: str) -> int:
        limit = self.limits.get(key)
        return 0 if limit is None else limit.users

    async def acquire(self, key: str) -> tuple[Limit, ...]:
        """Wait for a slot at the address and one in its block. Return both limits, for `release`.

        The address is acquired before its block: a task that waits for an address must not occupy the block, and
        with one order for all no cycle of waiting tasks can form. Slots are granted first come, first served. A task
        must not hold two slots, or two tasks may deadlock.
        """
        address = await self._acquire(key, max_connections(key))  # guard: address-connections
        block = block_of(key)
        if block is None:
            return (address,)
        try:
            return address, await self._acquire(block, self._per_block)  # guard: block-connections
        except BaseException:
            self.release((address,))
            raise

    def release(self, limits: Sequence[Limit]) -> None:
        for limit in reversed(limits):
            limit.semaphore.release()
            self._drop_user(limit)

    async def _acquire(self, key: str, size: int) -> Limit:
        limit = self.limits.get(key) or self.limits.setdefault(key, Limit(key, asyncio.Semaphore(size)))
        limit.users += 1
        self.waiting += 1
        try:
            await limit.semaphore.acquire()
        except BaseException:
            self._drop_user(limit)
            raise
        finally:
            self.waiting -= 1
        return limit

    def _drop_user(self, limit: Limit) -> None:
        limit.users -= 1
        if not limit.users:
            del self.limits[limit.key]


class BlockBudgets:
    """The requests that each address block may still receive today (UTC), from all processes together.

    Counted in memory, where a request costs two dictionary look-ups, and written to the database by `sync`. A block may
    therefore exceed its budget by the requests until the next sync and the rest of the running visits. A sync deletes
    blocks that are neither in use nor spent.
    """

    def __init__(self, daily: int) -> None:
        self._daily = daily
        self._unsynced: Counter[str] = Counter()
        self._totals: Mapping[str, int] = {}

    def is_spent(self, key: str) -> bool:
        """Return whether the daily budget of the address's block is spent."""
        block = block_of(key)
        if block is None:
            return False
        return self._totals.get(block, 0) + self._unsynced.get(block, 0) >= self._daily  # guard: block-daily-budget

    def record_request(self, key: str) -> None:
        """Count one request to an address, successful or not."""
        if (block := block_of(key)) is not None:
            self._unsynced[block] += 1

    async def sync(self, spend: Spend) -> None:
        """Write the new requests and read today's totals. If `spend` raises, the next sync repeats the requests."""
        unsynced, self._unsynced = self._unsynced, Counter()
        spent = [block for block, number in self._totals.items() if number >= self._daily]
        try:
            self._totals = await spend(unsynced, spent) if unsynced or spent else {}
        except BaseException:
            self._unsynced.update(unsynced)
            raise


class NoBudgets(BlockBudgets):
    """Neither refuses nor counts requests: of a mirror, and of checks, which a spent budget must not prevent."""

    def __init__(self) -> None:
        super().__init__(0)

    def is_spent(self, key: str) -> bool:
        return False

    def record_request(self, key: str) -> None:
        pass


@asynccontextmanager
async def sync_block_budgets(budgets: BlockBudgets, spend: Spend) -> AsyncIterator[None]:
    """Sync periodically while the context is open, and once at its end. After a failed sync the totals stay stale."""

    async def sync_regularly() -> None:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            await _try_sync(budgets, spend)

    try:
        async with running_beside(sync_regularly()):
            yield
    finally:
        await _try_sync(budgets, spend, seconds=_LAST_SYNC_SECONDS)


async def _try_sync(budgets: BlockBudgets, spend: Spend, seconds: float | None = None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await budgets.sync(spend)
    except Exception as error:
        log_failure(log, "block_budgets.sync_failed", error)


@dataclass(slots=True)
class RequestPacer:
    """The pauses and the daily request budget of one domain during one lease, shared by its hosts.

    `min_delay`: seconds from the end of one request to the start of the next. `budget`: what the domain may still
    receive today. `standing`: of the visited host, to which its requests are charged. `sent`: requests so far.
    `next_at`: when the next request may start, on the monotonic clock.
    """

    min_delay: float
    budget: DomainBudget
    standing: Standing = Standing.KEPT
    sent: int = 0
    next_at: float = field(default=-math.inf)
    _last: float = field(default=-math.inf)
    _crawl_delay: float = field(default=0.0)

    def set_crawl_delay(self, seconds: float | None) -> None:
        """Set the Crawl-delay of the current host's robots.txt. It can lengthen pauses, never shorten them."""
        self._crawl_delay = seconds or 0.0
        self._update()

    def record_request(self, now: float) -> None:
        """Count a dialled request that ended at `now` on the monotonic clock, successful or not."""
        self.sent += 1
        self.budget.count_request(self.standing)
        self._last = now
        self._update()

    def _update(self) -> None:
        self.next_at = self._last + max(self.min_delay, self._crawl_delay)  # guard: request-pause


QUEUE_FACTOR: Final = 3
"""Visits at an address, including waiting ones, are at most this many times the connections that it allows."""

MIN_DELAY: Final = 300.0
MAX_DELAY: Final = 86_400.0
"""Seconds. Delays are rounded up to a multiple of MIN_DELAY, so that equal ones are released together."""

MAX_TRACKED: Final = 10_000  # number of addresses above which those with only past deferrals are deleted


class AddressBusy(Exception):
    """Too many visits wait for this address; the host itself is not at fault. `retry_after`: delay until a retry."""

    def __init__(self, retry_after: timedelta) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


class Deferrals:
    """The next free time at each busy address, as far as this process knows."""

    def __init__(self, visit_seconds: float) -> None:
        """`visit_seconds`: approximate time that a visit occupies its address."""
        self._visit_seconds = visit_seconds
        self._free_at: dict[str, float] = {}

    def defer(self, key: str, connections: int) -> timedelta:
        """Return the delay until the next attempt at an address (its limiter key) that allows `connections`."""
        now = time.monotonic()
        if len(self._free_at) >= MAX_TRACKED:
            self._free_at = {key: free_at for key, free_at in self._free_at.items() if free_at > now}
        free_at = max(now + MIN_DELAY, self._free_at.get(key, 0.0)) + self._visit_seconds / connections
        self._free_at[key] = min(free_at, now + MAX_DELAY)
        delay = round(self._free_at[key] - now, 3)  # the sum of two clock readings is not exact: 86400.00000000001
        return timedelta(seconds=math.ceil(delay / MIN_DELAY) * MIN_DELAY)


TICK: Final = 0.01  # seconds; pauses end at whole ticks


class TimerWheel:
    """The pauses of all visits of one crawler, which end early when the crawl stops. Bound to its event loop.

    Thousands of concurrent visits spend nearly all their time in a pause. A timer of the event loop costs 0.5 KB and as
    much CPU as the rest of a pause, so pauses that end in the same tick share one.
    """

    def __init__(self) -> None:
        self._pauses: dict[int, list[asyncio.Future[None]]] = {}  # by the tick at which they end

    def pause(self, seconds: float) -> "asyncio.Future[None]":
        """Return a future that is done after `seconds` and at most one tick more, or earlier by `wake_all_on`."""
        loop, now = asyncio.get_running_loop(), time.monotonic()
        pause = loop.create_future()
        tick = math.ceil((now + seconds) / TICK)
        if tick not in self._pauses:
            self._pauses[tick] = []
            loop.call_later(tick * TICK - now, self._expire, tick)
        self._pauses[tick].append(pause)
        return pause

    async def wake_all_on(self, stop: asyncio.Event) -> None:
        """Wait until `stop` is set, then end all running pauses."""
        await stop.wait()
        for pauses in self._pauses.values():
            _finish(pauses)

    def _expire(self, tick: int) -> None:
        _finish(self._pauses.pop(tick))


def _finish(pauses: "list[asyncio.Future[None]]") -> None:
    for pause in pauses:
        if not pause.done():
            pause.set_result(None)
