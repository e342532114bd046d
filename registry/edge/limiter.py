"""A limiter with fixed windows per client, in the memory of one process. What it counts has a unit; see `costs`.

Several API processes count separately, so the real limit is a multiple of the setting; a large installation should
limit in its reverse proxy. A forwarded address is used only if a trusted proxy sent it. IPv6 is counted by /64, and all
clients of a /48 together have NETWORK_FACTOR allowances: one customer of a provider may have that whole network.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from registry.core.access.clients import NETWORK_FACTOR, network_of

MAX_CLIENTS = 100_000  # per window; further clients share one count, which bounds the memory
_OVERFLOW = "*"


@dataclass(frozen=True, slots=True)
class Allowance:
    """A client's allowance in this window. `refused`: fewer units remain than were asked for, and none was counted.
    `reset`: seconds until the next window, at least 1."""

    name: str
    limit: int
    window: int
    remaining: int
    reset: int
    refused: bool = False


def fields(allowances: Iterable[Allowance]) -> list[tuple[bytes, bytes]]:
    """Return the fields of the IETF draft "RateLimit header fields for HTTP", with all limits that the request met."""
    allowances = list(allowances)
    policy = ", ".join([f'"{one.name}";q={one.limit};w={one.window}' for one in allowances])
    rest = ", ".join([f'"{one.name}";r={one.remaining};t={one.reset}' for one in allowances])
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", rest.encode())]


@dataclass(slots=True)
class RateLimiter:
    """Allows `limit` units per `window` seconds and client; `clock` returns monotonic seconds."""

    name: str
    limit: int
    window: int
    clock: Callable[[], float]
    _number: int = -1
    _counts: dict[str, int] = field(default_factory=dict)

    def take(self, client: str, units: int = 1, *, or_rest: bool = False) -> Allowance:
        """Count the units. Refuse them all when fewer remain; with `or_rest` count those that do."""
        now = self.clock()
        window_number = int(now // self.window)
        if window_number != self._number:
            self._number, self._counts = window_number, {}
        if client not in self._counts and len(self._counts) >= MAX_CLIENTS:
            client = _OVERFLOW
        network = network_of(client)
        left_of_network = NETWORK_FACTOR * self.limit - self._counts.get(network, 0)
        remaining = self.limit - self._counts.get(client, 0)
        if network != client:
            remaining = min(remaining, left_of_network)  # guard: ipv6-network
        if or_rest:
            units = min(units, remaining)
        refused = units > remaining
        if not refused:
            remaining -= units
            self._counts[client] = self._counts.get(client, 0) + units
            if network != client:
                self._counts[network] = self._counts.get(network, 0) + units
        reset = max(1, math.ceil((window_number + 1) * self.window - now))
        return Allowance(self.name, self.limit, self.window, remaining, reset, refused)


class ClientIdentifier:
    """Identifies the client: the peer, or the last address in X-Forwarded-For that is not a trusted proxy's."""

    def __init__(self, trusted: Iterable[str]) -> None:
        self._trusted: list[IPv4Network | IPv6Network] = [ip_network(network, strict=False) for network in trusted]

    def key(self, peer: str | None, forwarded_for: str) -> str:
        if not forwarded_for:
            return _group_of_peer(peer or "")
        address = peer or ""
        for hop in reversed(forwarded_for.split(",")):
            if not self.trusts(address) or not hop.strip():
                break
            address = hop.strip()
        return _group(address)

    def trusts(self, address: str | None) -> bool:
        try:
            parsed = ip_address(address or "")
        except ValueError:
            return False
        return any(parsed in network for network in self._trusted)


@lru_cache(10_000)
def _group_of_peer(address: str) -> str:
    """Return the cached group of a peer. Addresses from headers are not cached, because they may have any length."""
    return _group(address)


def _group(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"  # a unix socket, or a proxy that writes no addresses
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)
