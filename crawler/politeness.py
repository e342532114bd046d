"""How gently: pauses between requests to one domain, connections at once to one address and to one block of them,
requests to a block in a day.

What robots.txt says is read in `registry.core.robots`; here its delay is kept. Connections are counted per process;
across processes the lease keeps two of them from one domain, and the database sums up what a block was asked.
"""

import asyncio
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias

import structlog

log = structlog.get_logger(__name__)

PER_ADDRESS: Final = 2
"""Connections at once to one address (probe-plan.md section 8)."""

PER_EDGE_ADDRESS: Final = 32
"""The same for an address of a shared edge: thousands of unrelated sites answer there."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A network at which one operator answers for very many customers, as the operator publishes it."""

    operator: str
    networks: tuple[str, ...]
    source: str
    as_of: str


EDGES: Final = (
    Edge(
        "Cloudflare",
        (
            "103.21.244.0/22", "103.22.200.0/22", "103.31.4.0/22", "104.16.0.0/13", "104.24.0.0/14",
            "108.162.192.0/18", "131.0.72.0/22", "141.101.64.0/18", "162.158.0.0/15", "172.64.0.0/13",
            "173.245.48.0/20", "188.114.96.0/20", "190.93.240.0/20", "197.234.240.0/22", "198.41.128.0/17",
            "2400:cb00::/32", "2405:8100::/32", "2405:b500::/32", "2606:4700::/32", "2803:f800::/32",
            "2a06:98c0::/29", "2c0f:f248::/32",
        ),
        "https://www.cloudflare.com/ips/",
        "2025-05",
    ),
    Edge(
        "Fastly",
        (
            "23.235.32.0/20", "43.249.72.0/22", "103.244.50.0/24", "103.245.222.0/23", "103.245.224.0/24",
            "104.156.80.0/20", "140.248.64.0/18", "140.248.128.0/17", "146.75.0.0/17", "151.101.0.0/16",
            "157.52.64.0/18", "167.82.0.0/17", "167.82.128.0/20", "167.82.160.0/20", "167.82.224.0/20",
            "172.111.64.0/18", "185.31.16.0/22", "199.27.72.0/21", "199.232.0.0/16",
            "2a04:4e40::/32", "2a04:4e42::/32",
        ),
        "https://api.fastly.com/public-ip-list",
        "2025-05",
    ),
    Edge(
        "GitHub Pages",
        ("185.199.108.0/22", "2606:50c0:8000::/46"),
        "https://docs.github.com/en/pages/configuring-a-custom-domain-for-your-github-pages-site",
        "2025-05",
    ),
    Edge(
        "Vercel",
        ("76.76.21.0/24", "216.198.79.0/24"),
        "https://vercel.com/docs/domains",
        "2025-05",
    ),
    Edge(
        "Shopify",
        ("23.227.38.0/24", "2620:127:f00f::/48"),
        "https://help.shopify.com/en/manual/domains/add-a-domain/connecting-domains",
        "2025-05",
    ),
)  # fmt: skip
"""Facts, kept short on purpose: a network that is missing is only crawled more slowly. Checked before each release."""

_NETWORKS: Final = tuple(ip_network(network) for edge in EDGES for network in edge.networks)
_RANGES: Final = {
    version: sorted(
        (int(one.network_address), int(one.broadcast_address)) for one in _NETWORKS if one.version == version
    )
    for version in (4, 6)
}
"""First and last address of each network: one look instead of fifty, for every host."""

BLOCK_BITS: Final = {4: 24, 6: 48}
"""Prefix of the block an address belongs to: what one hosting customer, or one small provider, commonly has."""

SYNC_SECONDS: Final = 5.0
"""So often the requests to blocks go to the database; what other processes made is known as late as that."""

_LAST_SYNC_SECONDS: Final = 2.0

Spend: TypeAlias = Callable[[Mapping[str, int], Collection[str]], Awaitable[Mapping[str, int]]]
"""Adds requests made, by block, to those of today; gives today's sums of these blocks and of the others named."""


@lru_cache(maxsize=1_024)
def connections_at(place: str) -> int:
    """How many connections may be open at once to a place: an address, or a name of the connect-to table."""
    try:
        address = ip_address(place)
    except ValueError:
        return PER_ADDRESS
    return PER_EDGE_ADDRESS if _on_an_edge(address) else PER_ADDRESS


def _on_an_edge(address: IPv4Address | IPv6Address) -> bool:
    ranges, number = _RANGES[address.version], int(address)
    at = bisect_right(ranges, number, key=lambda one: one[0])
    return at > 0 and number <= ranges[at - 1][1]


@lru_cache(maxsize=16_384)
def block_of(place: str) -> str | None:
    """The /24 or /48 of an address. None: a shared edge, whose sites have nothing to do with each other, or a name."""
    try:
        address = ip_address(place)
    except ValueError:
        return None
    if _on_an_edge(address):
        return None
    bits = BLOCK_BITS[address.version]
    unused = address.max_prefixlen - bits
    return f"{type(address)(int(address) >> unused << unused)}/{bits}"


@dataclass(slots=True)
class _Room:
    name: str
    semaphore: asyncio.Semaphore
    users: int = 0


class Places:
    """Who may have a connection to an address now. Places that nobody uses or waits for are forgotten."""

    def __init__(self, per_block: int) -> None:
        """`per_block`: connections at once to all addresses of one block."""
        self._per_block = per_block
        self.waiting = 0  # who wait, anywhere
        self._rooms: dict[str, _Room] = {}

    def __len__(self) -> int:
        return len(self._rooms)

    def is_crowded(self, place: str, queue: float) -> bool:
        """Whether `queue` times as many as fit are at the address, or in its block, those that wait included."""
        block = block_of(place)
        return self._users(place) >= queue * connections_at(place) or (
            block is not None and self._users(block) >= queue * self._per_block
        )

    def _users(self, name: str) -> int:
        room = self._rooms.get(name)
        return 0 if room is None else room.users

    def at(self, place: str) -> "Stay":
        """Held for as long as the connection lives. One at a time per holder, or two holders wait for each other.

        The address first, then its block: who waits for an address must not keep others of the block waiting, and
        with one order for all nobody waits in a circle. Whoever comes first is let in first.
        """
        return Stay(self, place)

    async def enter(self, place: str) -> "tuple[_Room, ...]":
        """What `leave` takes back: rooms of the address and of its block, in both of which there is a place now."""
        address = await self._in(place, connections_at(place))
        block = block_of(place)
        if block is None:
            return (address,)
        try:
            return address, await self._in(block, self._per_block)
        except BaseException:
            self.leave((address,))
            raise

    def leave(self, rooms: "Iterable[_Room]") -> None:
        for room in rooms:
            room.semaphore.release()
            self._forget(room)

    async def _in(self, name: str, size: int) -> _Room:
        room = self._rooms.get(name) or self._rooms.setdefault(name, _Room(name, asyncio.Semaphore(size)))
        room.users += 1
        self.waiting += 1
        try:
            await room.semaphore.acquire()
        except BaseException:
            self._forget(room)
            raise
        finally:
            self.waiting -= 1
        return room

    def _forget(self, room: _Room) -> None:
        room.users -= 1
        if not room.users:
            del self._rooms[room.name]


class Stay:
    """A stay at one place, to be used once. No generator: every host in flight has one, and generators take 2 KB."""

    __slots__ = ("_place", "_places", "_rooms")

    def __init__(self, places: Places, place: str) -> None:
        self._places, self._place = places, place
        self._rooms: tuple[_Room, ...] = ()

    async def __aenter__(self) -> None:
        self._rooms = await self._places.enter(self._place)

    async def __aexit__(self, *failure: object) -> None:
        rooms, self._rooms = self._rooms, ()
        self._places.leave(reversed(rooms))


class BlockBudgets:
    """What each block may still be asked today (UTC), by all processes together.

    Counted in memory, where a request costs two look-ups, and summed up by `sync`. So a block may get more than its
    budget: what is asked until the next sync, and the rest of the visits that had begun. Blocks that are neither busy
    nor spent are forgotten after each sync.
    """

    def __init__(self, daily: int) -> None:
        self._daily = daily
        self._untold: Counter[str] = Counter()
        self._told: Mapping[str, int] = {}

    def is_spent(self, place: str) -> bool:
        """Whether no visit should begin at this place today."""
        block = block_of(place)
        return block is not None and self._sum(block) >= self._daily

    def asked(self, place: str) -> None:
        """One request was made there, well or not."""
        if (block := block_of(place)) is not None:
            self._untold[block] += 1

    async def sync(self, spend: Spend) -> None:
        """Raises what `spend` raises; then nothing is forgotten, and the next sync tells it again."""
        untold, self._untold = self._untold, Counter()
        spent = [block for block, number in self._told.items() if number >= self._daily]
        if not untold and not spent:
            self._told = {}
            return
        try:
            self._told = await spend(untold, spent)
        except BaseException:
            self._untold.update(untold)
            raise

    def _sum(self, block: str) -> int:
        return self._told.get(block, 0) + self._untold.get(block, 0)


@asynccontextmanager
async def counted(budgets: BlockBudgets, spend: Spend) -> AsyncIterator[None]:
    """Syncs while the block runs, and once more at its end. A database that is away only makes the sums older."""

    async def keep_on() -> None:
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            await _try_sync(budgets, spend)

    syncing = asyncio.create_task(keep_on())
    try:
        yield
    finally:
        syncing.cancel()
        await asyncio.gather(syncing, return_exceptions=True)
        await _try_sync(budgets, spend, seconds=_LAST_SYNC_SECONDS)


async def _try_sync(budgets: BlockBudgets, spend: Spend, seconds: float | None = None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await budgets.sync(spend)
    except Exception as error:
        log.warning("blocks.not_counted", error=type(error).__name__)


@dataclass(slots=True)
class Pace:
    """The pauses and the budget of one domain during one lease: its hosts share them, one after another.

    `least`: seconds from the end of one request to the start of the next. `left`: requests that the domain has left
    today. `due`: when the next request may start, by the monotonic clock.
    """

    least: float
    left: int
    due: float = field(default=-math.inf)
    _asked: float = field(default=-math.inf)
    _delay: float = field(default=0.0)

    def obey(self, crawl_delay: float | None) -> None:
        """What robots.txt of the host at hand asks for: longer pauses, never shorter ones."""
        self._delay = crawl_delay or 0.0
        self._reckon()

    def asked(self, now: float) -> None:
        """A request has ended at this moment of the monotonic clock, well or not."""
        self.left -= 1
        self._asked = now
        self._reckon()

    def _reckon(self) -> None:
        self.due = self._asked + max(self.least, self._delay)
