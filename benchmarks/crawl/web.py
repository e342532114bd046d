"""The hosts of a list: their names, addresses and behaviour. All are computed, so 100,000 hosts need no storage.

A name `<manner><number>.<suffix>` determines the host's behaviour and address. The suffixes are from the private
section of the Public Suffix List, so every name is a separate registrable domain and one wildcard certificate serves
thousands of them. In the benchmark's namespace all of these names resolve to the farm.
"""

import re
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from registry.core.names.suffixes import shipped_body

SUFFIXES: Final = 64
"""Number of certificates and virtual servers of the farm for each manner."""

HIT_EVERY: Final = 33
"""One in this many normal hosts has a manifest: 3 %."""

HOSTS_PER_NETWORK: Final = 4
"""Hosts in one /24. Half of the web's hosts have more neighbours and share limits, which this benchmark does not test.
"""

BLACK_HOLE: Final = "95.0.0.0/8"
REFUSING_NETWORK: Final = "2600:1f00::/24"

SERVED: Final = ("site", "catchall", "forbidden", "badcert", "slow")
"""Behaviours that the farm's web server implements."""

MANNERS: Final = (*SERVED, "dead", "refused", "blackhole")

MIXED: Final[Mapping[str, int]] = {
    "dead": 12, "refused": 8, "catchall": 8, "blackhole": 5, "badcert": 3, "forbidden": 4, "slow": 2, "site": 58,
}  # fmt: skip
"""Per cent of hosts by manner, as in a sample of real domains."""


@dataclass(frozen=True, slots=True)
class Site:
    """One host of the list."""

    number: int
    manner: str
    name: str

    @property
    def hit(self) -> bool:
        return is_hit(self.number, self.manner)


def sites(hosts: int, kind: str = "plain") -> Iterator[Site]:
    """Yield the first `hosts` of a list. `mixed`: all manners, spread evenly; any other kind: only normal hosts."""
    manners = _manner_cycle(MIXED) if kind == "mixed" else ("site",)
    for number in range(hosts):
        manner = manners[number % len(manners)]
        yield Site(number, manner, name_of(number, manner))


def is_hit(number: int, manner: str = "site") -> bool:
    return manner == "site" and number % HIT_EVERY == 7


def name_of(number: int, manner: str = "site") -> str:
    return f"{manner}{number:06d}.{suffixes(manner)[number % SUFFIXES]}"


def read(name: str) -> tuple[int, str] | None:
    """Return number and manner of a host by its name; None for any other name."""
    label, _, suffix = name.partition(".")
    manner, number = label[:-6], label[-6:]
    if manner not in MANNERS or not number.isdecimal() or suffix != suffixes(manner)[int(number) % SUFFIXES]:
        return None
    return int(number), manner


def address(number: int, manner: str) -> str | None:
    """Return the host's only address; None when the name does not exist."""
    network, position = divmod(number, HOSTS_PER_NETWORK)
    match manner:
        case "dead":
            return None
        case "refused":
            return socket.inet_ntop(socket.AF_INET6, struct.pack("!IIII", 0x26001F00, network, 0, position + 1))
        case "blackhole":
            first = 95
        case _:
            first, network = 60 + network % 30, network // 30
    return f"{first}.{network // 250 % 250 + 1}.{network % 250 + 1}.{10 + 50 * position}"


def suffixes(manner: str) -> tuple[str, ...]:
    """Return the suffixes of one manner, the same on every machine with the same suffix list."""
    first = MANNERS.index(manner) * SUFFIXES
    return _usable()[first : first + SUFFIXES]


@cache
def _usable() -> tuple[str, ...]:
    suffix_list = shipped_body().decode()
    private = suffix_list.partition("// ===BEGIN PRIVATE DOMAINS===")[2]
    return tuple(sorted(re.findall(r"^(?!xn--)[a-z0-9-]+\.(?!xn--)[a-z0-9-]+$", private, re.MULTILINE)))


def _manner_cycle(shares: Mapping[str, int]) -> tuple[str, ...]:
    """Return a cycle of manners in which each occurs as often as its share, spread as evenly as possible."""
    due = [((turn + 0.5) / share, manner) for manner, share in shares.items() for turn in range(share)]
    return tuple(manner for _, manner in sorted(due))
