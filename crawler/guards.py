"""Which address a host name may be dialled at: the connect-to table, the resolver, the address policy.

A name is resolved once, EVERY answer is judged, one allowed address is picked, and that address is pinned: the
transport dials it with the original name for SNI and Host, so nothing that answers differently a moment later
(rebinding) is ever asked again. Every redirect to another host comes through here as well.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self, TypeVar

import aiodns
import pycares
import structlog
from aiodns import error as dns

from registry.core.addresses import refusal
from registry.core.domains import InvalidName, host_syntax

HTTPS_PORT: Final = 443
"""The only port that is ever asked for (safety.md section 2)."""

LOOK_UPS: Final = 250
"""At once, two questions each: answers to thousands asked in one moment would overflow the socket, and time out."""

FORGET: Final = 1_000
"""Look-ups, after which what is remembered of them is forgotten."""

_AI_NOSORT: Final = 1 << 7  # ARES_AI_NOSORT of ares.h, which pycares does not export

log = structlog.get_logger(__name__)

_T = TypeVar("_T")


class BadSetup(ValueError):
    """The crawler cannot run as it was set up; the message says what to mend."""


class BadEntry(BadSetup):
    """An entry of the connect-to table that cannot be used; the message names the entry and what is wrong."""


class Unresolved(Exception):
    """The name has no address. `reason` is stored: nxdomain, no_address, dns_timeout, dns_servfail ..."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class AddressRefused(Exception):
    """The name has addresses, and none of them may be dialled. `reason` is stored."""

    def __init__(self, reason: str, address: str) -> None:
        super().__init__(f"{address}: {reason}")
        self.reason = reason
        self.address = address


@dataclass(frozen=True, slots=True)
class Pin:
    """Where one host is dialled, for as long as a visit lasts. `place` is what politeness counts connections by.

    `instead`: another allowed address of the same answer, for when no connection to the first can be made.
    """

    host: str
    address: str
    port: int
    place: str
    instead: "Pin | None" = None


_ENTRY = re.compile(r"(?P<host>[^:]*):(?P<port>[^:]*):(?P<address>\[[^\]]*\]|[^:\[\]]*):(?P<target>[^:]*)")


@dataclass(frozen=True, slots=True)
class ConnectTo:
    """The connect-to table: names that are reached at a given address and port. Immutable; nothing adds to it."""

    entries: Mapping[str, tuple[str, int]]

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """From entries `HOST:PORT:ADDRESS:PORT` in the sense of curl's --connect-to; IPv6 addresses in brackets.

        Stricter than curl: nothing may be left empty (an empty host would mean every host), the first port is 443
        and the address an IP address. Raises BadEntry.
        """
        entries: dict[str, tuple[str, int]] = {}
        for text in texts:
            host, target = _entry(text)
            if entries.setdefault(host, target) != target:
                raise BadEntry(f"connect-to {text!r}: {host} is already sent to {entries[host][0]}:{entries[host][1]}")
        return cls(MappingProxyType(entries))

    @property
    def names(self) -> frozenset[str]:
        """Host names of the table: they may be special-use names (`canonical_host(..., exempt=names)`)."""
        return frozenset(self.entries)

    def pin(self, host: str) -> Pin | None:
        """Where the table sends a host, None if it does not. A name of the table counts as its own address."""
        target = self.entries.get(host)
        return target and Pin(host, *target, place=host)


def _entry(text: str) -> tuple[str, tuple[str, int]]:
    match = _ENTRY.fullmatch(text.strip())
    if match is None:
        raise BadEntry(f"connect-to {text!r}: HOST:PORT:ADDRESS:PORT is expected (IPv6 addresses in brackets)")
    try:
        host = host_syntax(match["host"])
    except InvalidName as wrong:
        raise BadEntry(f"connect-to {text!r}: {wrong}") from None
    if match["port"] != str(HTTPS_PORT):
        raise BadEntry(f"connect-to {text!r}: only port {HTTPS_PORT} is ever asked for, so the first port must be that")
    return host, (_literal(text, match["address"]), _port(text, match["target"]))


def _literal(text: str, address: str) -> str:
    bare = address.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if address.startswith("[") else socket.AF_INET
    try:
        return socket.inet_ntop(family, socket.inet_pton(family, bare))
    except OSError:
        raise BadEntry(f"connect-to {text!r}: {bare!r} is not an IP address") from None


def _port(text: str, port: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,4}", port) or int(port) > 65_535:
        raise BadEntry(f"connect-to {text!r}: {port!r} is not a port")
    return int(port)


_REASONS: Final = {
    dns.ARES_ENOTFOUND: "nxdomain",
    dns.ARES_ENODATA: "no_address",
    dns.ARES_ETIMEOUT: "dns_timeout",
    dns.ARES_ESERVFAIL: "dns_servfail",
    dns.ARES_EREFUSED: "dns_refused",
    dns.ARES_ECONNREFUSED: "dns_unreachable",
    dns.ARES_EBADNAME: "dns_bad_name",
}
_NOTHING: Final = frozenset({"nxdomain", "no_address"})
"""The name server is sure that there is none."""


class _Dns(aiodns.DNSResolver):
    """c-ares keeps every answer until its time to live is over, an hour at most: 2 KB each, and as many as come. Of all
    its options pycares lacks the one against that. A visit asks for a name once, so that nothing is lost here.
    """

    looked_up = 0

    def count(self) -> None:
        self.looked_up += 1
        if self.looked_up % FORGET == 0:
            self._channel.reinit()  # in a thread of its own; questions that are under way go on


class Resolver:
    """Addresses of a name by the system's resolver configuration (resolv.conf, hosts file), without search domains.

    Bound to the event loop that makes it.
    """

    def __init__(self, timeout: float = 5.0) -> None:
        self._timeout = timeout
        self._free = asyncio.Semaphore(LOOK_UPS)
        # NOSEARCH: `example.org` must never become `example.org.cluster.local`, whatever resolv.conf says.
        flags = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOSEARCH
        self._dns = _Dns(timeout=timeout / 2, tries=2, flags=flags)

    async def addresses(self, host: str) -> tuple[str, ...]:
        """All addresses, IPv4 first. Raises Unresolved."""
        # NOSORT: c-ares would otherwise connect a datagram socket to each answer, refused ones included.
        found = await self._told(
            lambda: self._dns.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM, flags=_AI_NOSORT)
        )
        nodes = sorted(found.nodes, key=lambda node: node.family != socket.AF_INET)
        return tuple(dict.fromkeys(node.addr[0].decode("ascii") for node in nodes))

    async def texts(self, name: str) -> tuple[bytes, ...]:
        """The TXT records of a name, none where there is none. Raises Unresolved when that cannot be known."""
        try:
            found = await self._told(lambda: self._dns.query_dns(name, "TXT"))
        except Unresolved as why:
            if why.reason in _NOTHING:
                return ()
            raise
        return tuple(one.data.data for one in found.answer if isinstance(one.data, pycares.TXTRecordData))

    async def _told(self, question: Callable[[], Awaitable[_T]]) -> _T:
        """What is answered to a question, once it may be asked. Raises Unresolved."""
        try:
            async with self._free, asyncio.timeout(self._timeout):
                self._dns.count()
                return await question()
        except TimeoutError:
            raise Unresolved("dns_timeout") from None
        except dns.DNSError as wrong:
            raise Unresolved(_REASONS.get(wrong.args[0], "dns_error")) from None

    async def close(self) -> None:
        await self._dns.close()


class Guard:
    """The one way from a host name to an address that may be dialled."""

    def __init__(self, table: ConnectTo, resolver: Resolver | None) -> None:
        """`resolver` None: nothing but the table resolves."""
        self.table = table
        self._resolver = resolver
        if table.entries:
            log.warning("connect_to.in_force", says="the address policy does not apply to these", names=_listed(table))

    async def pin(self, host: str) -> Pin:
        """Where to dial a canonical host name (`host_of`; empty for IP literals). Raises Unresolved, AddressRefused."""
        if not host:
            raise AddressRefused("no host name", "")
        if pin := self.table.pin(host):
            return pin
        if self._resolver is None:
            raise Unresolved("nxdomain")
        return pick(host, await self._resolver.addresses(host))

    async def texts(self, name: str) -> tuple[bytes, ...]:
        """The TXT records of a name. Raises Unresolved when that cannot be known."""
        return () if self._resolver is None else await self._resolver.texts(name)

    async def close(self) -> None:
        if self._resolver is not None:
            await self._resolver.close()


def pick(host: str, addresses: Iterable[str]) -> Pin:
    """The first allowed of all answers, with a second one. Raises Unresolved (no answers) or AddressRefused (none is).

    The second is of the other family where there is one: what fails may be the network of the first family. A refused
    answer beside an allowed one is passed over, not held against the name: split-horizon leftovers are
    common, and the refused address is not dialled either way.
    """
    refused: AddressRefused | None = None
    allowed: list[str] = []
    for address in addresses:
        why = refusal(address)
        if why is None:
            allowed.append(address)
        else:
            refused = refused or AddressRefused(why, address)
    if not allowed:
        raise refused or Unresolved("no_address")
    first, *others = allowed
    second = next((one for one in others if (":" in one) != (":" in first)), others[0] if others else None)
    instead = second and Pin(host, second, HTTPS_PORT, place=second)
    return Pin(host, first, HTTPS_PORT, place=first, instead=instead or None)


def _listed(table: ConnectTo, most: int = 5) -> str:
    shown = [f"{host} -> {address}:{port}" for host, (address, port) in list(table.entries.items())[:most]]
    more = len(table.entries) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
