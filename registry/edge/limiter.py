"""A limiter with fixed windows per client, in the memory of one process, and what each request costs its client.

Several API processes count separately, so the real limit is a multiple of the setting; large installations should limit
in their reverse proxy. A forwarded address counts only if a trusted proxy sent it. IPv6 clients are counted by /64. All
clients of a /48 share NETWORK_FACTOR allowances, because one customer of a provider may have the whole network. Each
request costs one unit, about a search (docs/operations.md has the table); dearer requests pay the rest before the work,
so a refusal costs one unit. Costs known only after a large read are charged then, and never refused.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from fastapi import Request

from registry.core.access.clients import NETWORK_FACTOR, network_of
from registry.core.model.listing import Filters
from registry.core.search_filters import reads_every_row
from registry.edge.problems import RATE_LIMITED, Problem

MAX_CLIENTS = 100_000  # per window; further clients share one count, which bounds the memory
_OVERFLOW = "*"


@dataclass(frozen=True, slots=True)
class Allowance:
    """A client's allowance in this window. `refused`: fewer units remained than were requested, and none was counted.
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
        """Count the units. Refuse all when fewer remain; with `or_rest`, count the remaining ones instead."""
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
    """Identifies the client: the peer, or behind trusted proxies the last untrusted address in X-Forwarded-For."""

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


def _group(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"  # a unix socket, or a proxy that writes no addresses
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)


def logged_network(client: str) -> str:
    """Return the network of a client's key, for logs: an address alone may name a person."""
    try:
        parsed = ip_network(client)
    except ValueError:
        return client
    return str(parsed.supernet(new_prefix=24 if parsed.version == 4 else 48))


_group_of_peer = lru_cache(10_000)(_group)
"""For peers only: addresses from headers may have any length and are not cached."""


UNIT_BYTES: Final = 16_384  # bytes of a document, sent by the client or stored, for one unit
UNIT_FILE_BYTES: Final = 1024 * 1024  # bytes of a file, sent as it is stored, for one unit
HEALTH: Final = 9  # the health of all services reads a row of every one of them
_LIST: Final = 3
_ROWS: Final = 10
_FACETS: Final = 4
_SCAN: Final = 10
_SKIPPED: Final = 2_000


def of_bytes(size: int) -> int:
    return size // UNIT_BYTES


def of_file(size: int) -> int:
    return size // UNIT_FILE_BYTES


def of_discover(limit: int, facets: int) -> int:
    """Return what a search costs beyond its unit: one for each further ten rows above ten, one for each four facets."""
    return max(0, limit - 1) // _ROWS + -(-facets // _FACETS)


def of_list(filters: Filters, text: str, limit: int, offset: int, facets: int = 0) -> int:
    """Return what a list costs beyond its unit. The database counts all matches and skips rows one by one, and some
    conditions make it read every row."""
    is_scan = bool(text) or reads_every_row(filters)
    return _LIST + limit // (5 * _ROWS) + offset // _SKIPPED + _SCAN * is_scan + -(-facets // _FACETS)


def of_server_list(limit: int, *, is_scan: bool) -> int:
    """Return what a page of the MCP registry's list costs beyond its unit. `is_scan`: the condition has no index."""
    return limit // (5 * _ROWS) + _SCAN * is_scan


@dataclass(slots=True)
class Spending:
    """What one request has taken from its client's limits so far. `is_flat`: it pays one price, or none, for all that
    it asks for inside."""

    client: str
    work: RateLimiter
    submissions: RateLimiter
    is_flat: bool = False
    met: dict[str, Allowance] = field(default_factory=dict)

    def charge(self, units: int) -> None:
        """Take units of work; one request never takes more than half of the allowance at once. Raise Problem."""
        if units and not self.is_flat:
            self.take(self.work, min(units, max(1, self.work.limit // 2)))

    def take_submission(self) -> None:
        """Count a submission that an operation makes. Raise Problem when none remains."""
        self.take(self.submissions)

    def take(self, limiter: RateLimiter, units: int = 1) -> None:
        """Take units of this limit. Raise Problem when fewer remain."""
        allowance = limiter.take(self.client, units)
        self.met[allowance.name] = allowance
        if allowance.refused:  # guard: work-units
            raise Problem(
                RATE_LIMITED,
                f"This takes {units} of the limit `{allowance.name}`, and {allowance.remaining} of {allowance.limit} "
                f"remain. Try again in {allowance.reset} second{'s' * (allowance.reset != 1)}.",
                headers={"Retry-After": str(allowance.reset)},
                limit=allowance.name,
            )

    @property
    def refused_by(self) -> str | None:
        """Name of the limit that refused this request."""
        return next((allowance.name for allowance in self.met.values() if allowance.refused), None)

    def fields(self) -> list[tuple[bytes, bytes]]:
        """Return the response headers that name the limits of this request."""
        return fields(self.met.values()) if self.met else []


def charge(request: Request, units: int) -> None:
    """Take units of work from the client's allowance. Raise Problem when too few remain."""
    if spending := _spending(request):
        spending.charge(units)


def charge_submission(request: Request) -> None:
    """Count a submission at a path that the middleware does not know as one. Raise Problem when none remains."""
    if spending := _spending(request):
        spending.take_submission()  # guard: rechecks-of-client


def charge_stored(request: Request, size: int) -> None:
    """Take units for `size` bytes that were read from the database, at most the client's remaining ones."""
    spending, units = _spending(request), of_bytes(size)
    if spending and units and not spending.is_flat:  # guard: stored-bytes
        allowance = spending.work.take(spending.client, units, or_rest=True)
        spending.met[allowance.name] = allowance


def _spending(request: Request) -> Spending | None:
    """Return None without the middleware: then nothing is limited."""
    return request.scope.get("waypost.spending")
