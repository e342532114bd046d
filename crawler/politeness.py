"""How gently: pauses between requests to one domain, connections at once to one address, requests in one visit.

What robots.txt says is read in `registry.core.robots`; here its delay is kept. All limits are those of one process:
across processes the lease of the domain keeps two of them from one domain.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Final

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


@lru_cache(maxsize=16_384)
def connections_at(place: str) -> int:
    """How many connections may be open at once to a place: an address, or a name of the connect-to table."""
    try:
        address = ip_address(place)
    except ValueError:
        return PER_ADDRESS
    return PER_EDGE_ADDRESS if any(address in network for network in _NETWORKS) else PER_ADDRESS


@dataclass(slots=True)
class _Room:
    semaphore: asyncio.Semaphore
    users: int = 0


class Places:
    """Who may have a connection to an address now. Places that nobody uses or waits for are forgotten."""

    def __init__(self) -> None:
        self._rooms: dict[str, _Room] = {}

    def __len__(self) -> int:
        return len(self._rooms)

    @asynccontextmanager
    async def at(self, place: str) -> AsyncIterator[None]:
        """Held for as long as the connection lives. One at a time per holder, or two holders wait for each other."""
        room = self._rooms.setdefault(place, _Room(asyncio.Semaphore(connections_at(place))))
        room.users += 1
        try:
            async with room.semaphore:
                yield
        finally:
            room.users -= 1
            if not room.users:
                del self._rooms[place]


@dataclass(slots=True)
class Pace:
    """The pauses and the budget of one domain during one lease: its hosts share them, one after another.

    `least`: seconds from the end of one request to the start of the next. `left`: requests that the domain has left
    today.
    """

    least: float
    left: int
    _asked: float | None = field(default=None)
    _delay: float | None = field(default=None)

    @property
    def delay(self) -> float:
        return max(self.least, self._delay or 0.0)

    def obey(self, crawl_delay: float | None) -> None:
        """What robots.txt of the host at hand asks for: longer pauses, never shorter ones."""
        self._delay = crawl_delay

    def pause(self) -> float:
        """Seconds to wait before the next request."""
        return 0.0 if self._asked is None else max(0.0, self._asked + self.delay - time.monotonic())

    def asked(self) -> None:
        """A request has ended, well or not."""
        self.left -= 1
        self._asked = time.monotonic()
