"""The hosts of a list: their names, addresses and manners. Nothing is stored, so 100,000 hosts cost nothing.

A name says what its host does and where it is: `<kind><number>.<suffix>`. The suffixes are public ones of the Public
Suffix List's private section, so that every name is a registrable domain of its own and one wildcard certificate
serves thousands of them. In the namespace of the benchmark all of these names are ours.
"""

import re
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import tldextract

SUFFIXES: Final = 64
"""So many certificates, and so many virtual servers, does the farm have for each manner."""

HIT_EVERY: Final = 33
"""One of so many hosts that answer properly has a manifest: 3 %."""

HOSTS_PER_NETWORK: Final = 4
"""Neighbours in one /24; half of the web's hosts have more, and then share limits that this benchmark is not about."""

BLACK_HOLE: Final = "95.0.0.0/8"
NOBODY_LISTENS: Final = "2600:1f00::/24"

SERVED: Final = ("site", "catchall", "forbidden", "badcert", "slow")
"""Manners that the farm's web server has."""

MANNERS: Final = (*SERVED, "dead", "refused", "blackhole")

MIXED: Final[Mapping[str, int]] = {
    "dead": 12, "refused": 8, "catchall": 8, "blackhole": 5, "badcert": 3, "forbidden": 4, "slow": 2, "site": 58,
}  # fmt: skip
"""Hosts of each manner among a hundred, as in a sample of real domains."""


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
    """The first `hosts` of a list. `mixed`: every manner spread evenly; any other kind: only hosts that answer."""
    turns = _turns(MIXED) if kind == "mixed" else ("site",)
    for number in range(hosts):
        manner = turns[number % len(turns)]
        yield Site(number, manner, name_of(number, manner))


def is_hit(number: int, manner: str = "site") -> bool:
    return manner == "site" and number % HIT_EVERY == 7


def name_of(number: int, manner: str = "site") -> str:
    return f"{manner}{number:06d}.{suffixes(manner)[number % SUFFIXES]}"


def read(name: str) -> tuple[int, str] | None:
    """Number and manner of a host by its name; None for any other name."""
    label, _, suffix = name.partition(".")
    manner, number = label[:-6], label[-6:]
    if manner not in MANNERS or not number.isdecimal() or suffix != suffixes(manner)[int(number) % SUFFIXES]:
        return None
    return int(number), manner


def address(number: int, manner: str) -> str | None:
    """The host's one address; None: the name does not exist."""
    network, place = divmod(number, HOSTS_PER_NETWORK)
    match manner:
        case "dead":
            return None
        case "refused":
            return socket.inet_ntop(socket.AF_INET6, struct.pack("!IIII", 0x26001F00, network, 0, place + 1))
        case "blackhole":
            first = 95
        case _:
            first, network = 60 + network % 30, network // 30
    return f"{first}.{network // 250 % 250 + 1}.{network % 250 + 1}.{10 + 50 * place}"


def suffixes(manner: str) -> tuple[str, ...]:
    """Those of one manner; the same ones on every machine with the same list."""
    first = MANNERS.index(manner) * SUFFIXES
    return _usable()[first : first + SUFFIXES]


@cache
def _usable() -> tuple[str, ...]:
    everything = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)
    public = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=False)
    private = set(everything.tlds) - set(public.tlds)
    return tuple(sorted(name for name in private if re.fullmatch(r"(?!xn--)[a-z0-9-]+\.(?!xn--)[a-z0-9-]+", name)))


def _turns(shares: Mapping[str, int]) -> tuple[str, ...]:
    """A hundred turns in which every manner comes as often as its share, as evenly as can be."""
    due = [((turn + 0.5) / share, manner) for manner, share in shares.items() for turn in range(share)]
    return tuple(manner for _, manner in sorted(due))
