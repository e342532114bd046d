"""Decides at which address a host name may be dialled: the connect-to table, the resolver, the address policy.

A name is resolved once, EVERY address in the answer is checked, one allowed address is picked, and that address is
pinned: the transport dials it with the original name for SNI and Host. The name is not resolved again in the visit, so
DNS rebinding has no effect. Every redirect to another host passes through here as well.
"""

import asyncio
import re
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from types import MappingProxyType
from typing import Any, Final, Self, TypeVar

import aiodns
import pycares
import structlog
from aiodns import error as dns

from registry.core.names.addresses import refusal
from registry.core.names.domains import host_syntax

HTTPS_PORT: Final = 443  # the only port the crawler connects to (docs/safety.md, "Threats and where they end")
MAX_LOOK_UPS: Final = 250
"""Concurrent look-ups, two DNS queries each: the answers to thousands at once would overflow the socket buffer."""

CACHE_RESET_EVERY: Final = 1_000  # number of look-ups after which the resolver's cache is cleared
_AI_NOSORT: Final = 1 << 7  # ARES_AI_NOSORT of ares.h, which pycares does not export

RESOLVER_AWAY: Final = "resolver_away"
"""The resolver of this machine answers nothing; that says nothing about the host."""

log = structlog.get_logger(__name__)

_T = TypeVar("_T")


class BadSetup(ValueError):
    """The crawler's configuration is unusable; the message says what to fix."""


class BadConnectTo(BadSetup):
    """An entry of the connect-to table cannot be used; the message names the entry and the problem."""


class ResolutionError(Exception):
    """The name has no address. `reason` is stored: nxdomain, no_address, dns_timeout, dns_servfail ..., or is
    RESOLVER_AWAY."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RefusedAddress(Exception):
    """The name has addresses, but none of them may be dialled. `reason` is stored."""

    def __init__(self, reason: str, address: str) -> None:
        super().__init__(f"{address}: {reason}")
        self.reason = reason
        self.address = address


@dataclass(frozen=True, slots=True)
class Pin:
    """The address at which one host is dialled during a visit. `limiter_key`: key under which connections are counted.
    `instead`: another allowed address of the host, used if the first cannot be connected to."""

    host: str
    address: str
    port: int
    limiter_key: str
    instead: "Pin | None" = None


_ENTRY = re.compile(r"(?P<host>[^:]*):(?P<port>[^:]*):(?P<address>\[[^\]]*\]|[^:\[\]]*):(?P<target>[^:]*)")


@dataclass(frozen=True, slots=True)
class ConnectTo:
    """The connect-to table: names that are dialled at a given address and port. Immutable. The names may be special-use
    names (`canonical_host(..., exempt=entries)`)."""

    entries: Mapping[str, tuple[str, int]]

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """Parse entries `HOST:PORT:ADDRESS:PORT`, as in curl's --connect-to; IPv6 addresses in brackets.

        Stricter than curl: no part may be empty (an empty host would mean every host), the first port must be 443 and
        the address an IP address. Raise BadConnectTo.
        """
        entries: dict[str, tuple[str, int]] = {}
        for text in texts:
            try:
                host, target = _parsed_entry(text)
                if entries.setdefault(host, target) != target:
                    raise ValueError(f"{host} is already sent to {entries[host][0]}:{entries[host][1]}")
            except ValueError as error:
                raise BadConnectTo(f"connect-to {text!r}: {error}") from None
        return cls(MappingProxyType(entries))

    def pin(self, host: str) -> Pin | None:
        """Return the table's pin of a host, or None. The limiter counts each name as a separate address."""
        target = self.entries.get(host)
        return target and Pin(host, *target, limiter_key=host)


def _parsed_entry(text: str) -> tuple[str, tuple[str, int]]:
    """Return a host, and the address and port at which it is dialled. Raise ValueError, such as InvalidName."""
    match = _ENTRY.fullmatch(text.strip())
    if match is None:
        raise ValueError("HOST:PORT:ADDRESS:PORT is expected (IPv6 addresses in brackets)")
    host = host_syntax(match["host"])
    asked_port, address, port = match.group("port", "address", "target")
    if asked_port != str(HTTPS_PORT):  # guard: table-port
        raise ValueError(f"only port {HTTPS_PORT} is ever asked for, so the first port must be that")
    family = socket.AF_INET6 if address.startswith("[") else socket.AF_INET
    bare = address.removeprefix("[").removesuffix("]")
    try:
        address = socket.inet_ntop(family, socket.inet_pton(family, bare))
    except OSError:
        raise ValueError(f"{bare!r} is not an IP address") from None  # guard: table-addresses
    if not re.fullmatch(r"[1-9][0-9]{0,4}", port) or int(port) > 65_535:
        raise ValueError(f"{port!r} is not a port")
    return host, (address, int(port))


_REASONS: Final = {
    dns.ARES_ENOTFOUND: "nxdomain",
    dns.ARES_ENODATA: "no_address",
    dns.ARES_ETIMEOUT: "dns_timeout",
    dns.ARES_ESERVFAIL: "dns_servfail",
    dns.ARES_EREFUSED: "dns_refused",
    dns.ARES_ECONNREFUSED: "dns_unreachable",
    dns.ARES_EBADNAME: "dns_bad_name",
}
_UNCLEAR: Final = frozenset({"dns_timeout", "dns_servfail", "dns_refused", "dns_unreachable"})
"""Reasons that may be the fault of the name's servers, or of this machine's resolver."""

AWAY_SECONDS: Final = 5.0
"""How long it is remembered whether the resolver answers at all: at most one question about that in this time."""

_NO_RECORD: Final = frozenset({"nxdomain", "no_address"})
"""Reasons that mean that the name definitely has no such record."""


class Resolver(aiodns.DNSResolver):
    """Resolves names by the system's resolver configuration (resolv.conf, hosts file), without search domains.

    Bound to the event loop that creates it. Clears its cache regularly: c-ares caches every answer until its TTL ends,
    up to an hour, at 2 KB each and without a limit, and pycares lacks the option to disable it. A visit resolves a name
    once, so the cache is useless.
    """

    def __init__(self, timeout: float = 5.0, **options: Any) -> None:
        """`options`: of c-ares, in place of the defaults."""
        # NOSEARCH: `example.org` must never become `example.org.cluster.local` by a search domain of resolv.conf.
        flags = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOSEARCH  # guard: no-search-domains
        super().__init__(**{"timeout": timeout / 2, "tries": 2, "flags": flags} | options)
        self._seconds = timeout
        self._slots = asyncio.Semaphore(MAX_LOOK_UPS)
        self._looked_up = 0
        self._probe: asyncio.Task[bool] | None = None
        self._probed_at = float("-inf")

    async def addresses(self, host: str) -> tuple[str, ...]:
        """Return all addresses, IPv4 first. Raise ResolutionError."""
        # NOSORT: c-ares would otherwise connect a datagram socket to each address, including refused ones.
        answer = await self._query(
            lambda: self.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=_AI_NOSORT)
        )
        nodes = sorted(answer.nodes, key=lambda node: node.family != socket.AF_INET)
        return tuple(dict.fromkeys(node.addr[0].decode("ascii") for node in nodes))

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        """Return the TXT records of a name, empty if it has none. Raise ResolutionError if the look-up fails."""
        try:
            answer = await self._query(lambda: self.query_dns(name, "TXT"))
        except ResolutionError as error:
            if error.reason in _NO_RECORD:
                return ()
            raise
        return tuple(record.data.data for record in answer.answer if isinstance(record.data, pycares.TXTRecordData))

    async def _query(self, send_query: Callable[[], Awaitable[_T]]) -> _T:
        """Run a DNS query within the limits of concurrency and time, and return its answer. Raise ResolutionError."""
        try:
            async with self._slots, asyncio.timeout(self._seconds):
                self._looked_up += 1
                if self._looked_up % CACHE_RESET_EVERY == 0:  # guard: dns-cache-reset
                    self._channel.reinit()  # runs in its own thread; pending queries continue
                return await send_query()
        except TimeoutError:
            reason = "dns_timeout"
        except dns.DNSError as error:
            reason = _REASONS.get(error.args[0], "dns_error")
        if reason in _UNCLEAR and await self._is_away():
            reason = RESOLVER_AWAY
        raise ResolutionError(reason)

    async def _is_away(self) -> bool:
        """Return whether the resolver answers nothing, so that the name's own servers are not at fault."""
        if self._probe is None or (self._probe.done() and time.monotonic() > self._probed_at + AWAY_SECONDS):
            self._probed_at = time.monotonic()
            self._probe = asyncio.create_task(self._has_no_answer())
        return await asyncio.shield(self._probe)

    async def _has_no_answer(self) -> bool:
        """Ask for a name that no cache knows; that it does not exist is an answer."""
        try:
            async with asyncio.timeout(self._seconds):
                await self.query_dns(f"{secrets.token_hex(12)}.com", "A")
        except TimeoutError:
            reason = "dns_timeout"
        except dns.DNSError as error:
            reason = _REASONS.get(error.args[0], "dns_error")
        else:
            return False
        if reason in _UNCLEAR:
            log.warning("resolver.away", reason=reason)
        return reason in _UNCLEAR


class AddressGuard:
    """The only way to get from a host name to an address that may be dialled."""

    def __init__(self, connect_to: ConnectTo, resolver: Resolver | None, refused: Iterable[str] = ()) -> None:
        """Without `resolver`, only names of the table resolve. `refused`: further networks to refuse."""
        self.connect_to = connect_to
        self._refused = tuple(ip_network(network, strict=False) for network in refused)
        self._resolver = resolver
        if entries := list(connect_to.entries.items()):
            names = ", ".join(f"{host} -> {address}:{port}" for host, (address, port) in entries[:5])
            names += f" and {len(entries) - 5} more" if len(entries) > 5 else ""
            log.warning("connect_to.in_force", says="the address policy does not apply to these", names=names)

    async def pin(self, host: str) -> Pin:
        """Return the pin of a canonical host (empty for IP literals). Raise ResolutionError or RefusedAddress."""
        if not host:  # guard: empty-host
            raise RefusedAddress("no host name", "")
        if pin := self.connect_to.pin(host):
            return pin
        if self._resolver is None:
            raise ResolutionError("nxdomain")  # guard: table-alone
        return pick(host, await self._resolver.addresses(host), self._refused)

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        """Return the TXT records of a name. Raise ResolutionError if the look-up fails."""
        return () if self._resolver is None else await self._resolver.txt_records(name)

    async def close(self) -> None:
        if self._resolver is not None:
            await self._resolver.close()


def pick(host: str, addresses: Iterable[str], refused_networks: Collection[IPv4Network | IPv6Network] = ()) -> Pin:
    """Return the first allowed address, with an alternative. Raise ResolutionError without addresses, RefusedAddress if
    none is allowed. `refused_networks`: refused by the operator.

    The alternative is of the other address family if possible, because a failure may concern the whole family. A
    refused address beside an allowed one is skipped and does not refuse the name: leftovers of split-horizon DNS are
    common, and the refused address is not dialled in any case.
    """
    refused: RefusedAddress | None = None
    allowed: list[str] = []
    for address in addresses:
        reason = refusal(address)  # guard: every-answer-judged
        if reason is None and any(ip_address(address) in network for network in refused_networks):
            reason = "refused by the operator of this registry"  # guard: operator-networks
        if reason is None:  # guard: address-judged
            allowed.append(address)
        else:
            refused = refused or RefusedAddress(reason, address)
    if not allowed:
        raise refused or ResolutionError("no_address")
    first, *others = allowed
    second = next((other for other in others if (":" in other) != (":" in first)), others[0] if others else None)
    instead = second and Pin(host, second, HTTPS_PORT, limiter_key=second)
    return Pin(host, first, HTTPS_PORT, limiter_key=first, instead=instead or None)
