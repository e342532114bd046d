"""Refused addresses, one of every class, and all known ways to write them into a URL.

The classes are listed here a second time, independently of the table in the product, so that a row missing there is
noticed (`test_ssrf.py` compares).
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from types import MappingProxyType
from typing import Final

REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "this-network": "0.0.0.0",
        "private-a": "10.0.0.1",
        "private-b": "172.16.0.1",
        "private-c": "192.168.0.1",
        "shared": "100.64.0.1",
        "metadata-alibaba": "100.100.100.200",
        "loopback": "127.0.0.1",
        "loopback-far": "127.77.0.1",
        "metadata": "169.254.169.254",
        "metadata-tasks": "169.254.170.2",
        "protocol": "192.0.0.1",
        "dummy": "192.0.0.8",
        "port-control": "192.0.0.9",
        "relay-turn": "192.0.0.10",
        "nat64-discovery": "192.0.0.170",
        "nat64-discovery-2": "192.0.0.171",
        "metadata-oracle": "192.0.0.192",
        "documentation-1": "192.0.2.1",
        "as112": "192.31.196.1",
        "amt": "192.52.193.1",
        "relay-6to4": "192.88.99.1",
        "relay-6a44": "192.88.99.2",
        "as112-direct": "192.175.48.1",
        "benchmarking": "198.18.0.1",
        "documentation-2": "198.51.100.1",
        "documentation-3": "203.0.113.1",
        "multicast": "224.0.0.1",
        "multicast-far": "239.255.255.250",
        "reserved": "240.0.0.1",
        "broadcast": "255.255.255.255",
        "azure": "168.63.129.16",
        "v6-loopback": "::1",
        "v6-unspecified": "::",
        "v6-mapped": "::ffff:127.0.0.1",
        "v6-mapped-public": "::ffff:8.8.8.8",
        "v6-compatible": "::127.0.0.1",
        "v6-translated": "::ffff:0:127.0.0.1",
        "v6-nat64": "64:ff9b::7f00:1",
        "v6-nat64-local": "64:ff9b:1::7f00:1",
        "v6-discard": "100::1",
        "v6-dummy": "100:0:0:1::1",
        "v6-teredo": "2001:0:7f00:1::1",
        "v6-port-control": "2001:1::1",
        "v6-relay-turn": "2001:1::2",
        "v6-dns-sd": "2001:1::3",
        "v6-benchmarking": "2001:2::1",
        "v6-amt": "2001:3::1",
        "v6-as112": "2001:4:112::1",
        "v6-orchid": "2001:10::1",
        "v6-orchid-2": "2001:20::1",
        "v6-drones": "2001:30::1",
        "v6-protocol": "2001:1ff::1",
        "v6-documentation": "2001:db8::1",
        "v6-6to4": "2002:7f00:1::1",
        "v6-as112-direct": "2620:4f:8000::1",
        "v6-documentation-2": "3fff::1",
        "v6-unallocated": "4000::1",
        "v6-segment-routing": "5f00::1",
        "v6-local": "fc00::1",
        "v6-local-metadata": "fd00:ec2::254",
        "v6-link": "fe80::1",
        "v6-site": "fec0::1",
        "v6-multicast": "ff02::1",
    }
)

_FULL_WIDTH: Final = str.maketrans("0123456789.", "０１２３４５６７８９．")
_CIRCLED: Final = str.maketrans("0123456789", "⓪①②③④⑤⑥⑦⑧⑨")
_BOLD: Final = str.maketrans("0123456789", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗")
_ARABIC: Final = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def hosts(address: str) -> Iterator[str]:
    """Yield the ways to write an address as the host of a URL."""
    parsed = ip_address(address)
    yield from _v4(parsed) if isinstance(parsed, IPv4Address) else _v6(parsed)


def _v4(address: IPv4Address) -> Iterator[str]:
    dotted, number = str(address), int(address)
    a, b, c, d = address.packed
    yield from (dotted, f"{dotted}.", f"{dotted}..")
    yield from (str(number), hex(number), f"0X{number:X}", f"0{number:o}", f"0x{number:016x}", str(number + 2**32))
    yield from (f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"{a:04o}.{b}.0x{c:x}.{d:09o}")
    yield from (f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}", f"0x{a:x}.{number & 0xFFFFFF:#x}")
    yield from (f"{a:03}.{b:03}.{c:03}.{d:03}", f"{a + 256}.{b}.{c}.{d}", f"{dotted}.0x")
    yield from (dotted.translate(table) for table in (_FULL_WIDTH, _CIRCLED, _BOLD, _ARABIC))
    yield from (dotted.replace(".", dot) for dot in "。．｡")
    yield from (_percent(dotted), _percent(str(number)), _percent(dotted.translate(_FULL_WIDTH)))
    yield from (f"{a}.{b}.{c}.\u00ad{d}", f"{a}.{b}\u200b.{c}.{d}", f"{a}.{b}.{c}.\t{d}", f"[{dotted}]")
    high, low = number >> 16, number & 0xFFFF
    yield from (f"[::ffff:{dotted}]", f"[::ffff:{high:x}:{low:x}]", f"[0:0:0:0:0:FFFF:{high:x}:{low:x}]")
    yield from (f"[::{dotted}]", f"[::ffff:0:{dotted}]", f"[64:ff9b::{dotted}]", f"[64:ff9b:1::{dotted}]")
    yield from (f"[2002:{high:x}:{low:x}::1]", f"[2001:0:{high:x}:{low:x}::1]", f"[fe80::5efe:{dotted}]")
    yield f"[2001:0:1:2:3:4:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}]"  # Teredo inverts its client's address


def _v6(address: IPv6Address) -> Iterator[str]:
    short, long = str(address), address.exploded
    yield from (f"[{short}]", f"[{long}]", f"[{short.upper()}]", f"[{short}].", short, f"[{short}")
    yield from (f"[{short}%25lo]", f"[{short}%lo]", f"[{short}%251]", f"%5B{short}%5D", _percent(f"[{short}]"))
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    yield f"[{':'.join(long.split(':')[:6])}:{low}]"


def _percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def urls(address: str, public: str) -> Iterator[str]:
    """Yield spellings as URLs, and URLs that one parser takes for `public` and another does not."""
    yield from (f"https://{host}/x" for host in hosts(address))
    host = f"[{address}]" if ":" in address else address
    yield from (f"https://{public}@{host}/x", f"https://{host}@{public}/x", f"https://a:b@{host}/x")
    yield from (f"https://{public}%40{host}/x", f"https://{host}\\@{public}:x@/x", f"https://{public}:443@{host}/x")
    yield from (f"https:{host}/x", f"https:/{host}/x", f"https:\\\\{host}\\x", f"//{host}/x", f"\\\\{host}\\x")
    yield from (f"/\\{host}/x", f"///{host}/x", f" https://{host}/x", f"ht\ntps://{host}/x", f"https://\t{host}/x")
    yield from (f"https://{host}:443/x", f"https://{host}:80/x", f"https://{host}:8443/x", f"https://{host}:0/x")


def other_ways(public: str) -> Iterator[str]:
    """Yield other schemes and ports, with refused hosts and with one that may be dialled, on 443."""
    schemes = "http ftp gopher dict ldap tftp smtp telnet ws wss jar:https view-source:https blob:https"
    for host in (public, "127.0.0.1", "localhost", "169.254.169.254", "[::1]"):
        yield from (f"{scheme}://{host}/x" for scheme in schemes.split())
        yield from (f"https://{host}:{port}/x" for port in (0, 22, 25, 80, 3306, 5432, 6379, 8080, 8443, 9200, 65_535))
    yield from ("file:///etc/passwd", "file://localhost/etc/passwd", "data:application/json,{}", "javascript:alert(1)")
    yield from ("https://localhost/x", "https://localhost./x", "https://a.localhost/x", "https://ip6-localhost/x")
    yield from ("https://metadata.google.internal/x", "https://printer.local/x", "https://router/x", "https://[::/x")
    yield from ("https:///x", "https://?/x", "https://#/x", "https://%00/x", "https://.../x", "https://-/x", "")
