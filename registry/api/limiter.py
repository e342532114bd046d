"""Fixed windows per client, in the memory of one process.

Several API processes each count for themselves, so the real limit is a multiple; a limiter before them (the reverse
proxy) is what a large installation uses. Clients are addresses behind trusted proxies only; IPv6 counts by /64.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

MAX_CLIENTS = 100_000  # per window; the ones that come later share one count rather than the machine's memory
_EVERYBODY_ELSE = "*"


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left in this window: `remaining` below 0 means refused; `reset` in whole seconds, at least 1."""

    limit: int
    window: int
    remaining: int
    reset: int

    def headers(self) -> dict[str, str]:
        """The structured fields of the IETF draft "RateLimit header fields for HTTP"."""
        policy = f'"default";q={self.limit};w={self.window}'
        return {"RateLimit-Policy": policy, "RateLimit": f'"default";r={max(0, self.remaining)};t={self.reset}'}


@dataclass(slots=True)
class Limiter:
    """`limit` requests per `window` seconds and client; `clock` gives monotonic seconds."""

    limit: int
    window: int
    clock: Callable[[], float]
    _number: int = -1
    _counts: dict[str, int] = field(default_factory=dict)

    def take(self, client: str) -> Allowance:
        now = self.clock()
        number = int(now // self.window)
        if number != self._number:
            self._number, self._counts = number, {}
        if client not in self._counts and len(self._counts) >= MAX_CLIENTS:
            client = _EVERYBODY_ELSE
        self._counts[client] = self._counts.get(client, 0) + 1
        reset = max(1, math.ceil((number + 1) * self.window - now))
        return Allowance(self.limit, self.window, self.limit - self._counts[client], reset)


class Clients:
    """Who is asking: the peer, or the last address in X-Forwarded-For that no trusted proxy wrote."""

    def __init__(self, trusted: Iterable[str]) -> None:
        self._trusted: list[IPv4Network | IPv6Network] = [ip_network(one, strict=False) for one in trusted]

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
    """Remembered, as an address that a client wrote must not be: it may be of any length."""
    return _group(address)


def _group(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"  # a unix socket, or a proxy that writes no addresses
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)
