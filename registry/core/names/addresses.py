"""Refuse IP addresses that may not be dialled, and read new refusals from IANA's special-purpose registries (CSV).

`ipaddress.is_global` is the wrong test: it lets through multicast, IPv4-compatible and translated addresses, NAT64,
site-local and unallocated space, and differs between Python versions. A row refuses its block even if IANA calls it
globally reachable: no web site lives on an anycast service address. IPv6 is allowed only inside 2000::/3, the space
IANA allocates from. Refreshed data only ADDS refused blocks. A download that would refuse very large blocks, or
well-known public addresses, is rejected.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from registry.core.names.suffixes import MIN_RULE_SHARE, BadReference

REGISTRY_V4: Final = "iana-ipv4-special-registry"
REGISTRY_V6: Final = "iana-ipv6-special-registry"
MULTICAST_V4: Final = "iana-ipv4-multicast (RFC 5771)"
CLOUD: Final = "cloud providers' own documentation"
# The newest row below was allocated in 2025-04; rows added to the registries since come from `waypost schedule`.


@dataclass(frozen=True, slots=True)
class RegistryRow:
    """One refused block: its name in the registry, the registry, and the RFC and date of the allocation."""

    prefix: str
    name: str
    source: str
    reference: str
    allocated: str  # YYYY-MM, "" if there is no date


V4: Final = (
    RegistryRow("0.0.0.0/8", "This network", REGISTRY_V4, "RFC 791", "1981-09"),
    RegistryRow("10.0.0.0/8", "Private-Use", REGISTRY_V4, "RFC 1918", "1996-02"),
    RegistryRow("100.64.0.0/10", "Shared Address Space", REGISTRY_V4, "RFC 6598", "2012-04"),
    RegistryRow("127.0.0.0/8", "Loopback", REGISTRY_V4, "RFC 1122", "1981-09"),
    RegistryRow("169.254.0.0/16", "Link Local", REGISTRY_V4, "RFC 3927", "2005-05"),
    RegistryRow("172.16.0.0/12", "Private-Use", REGISTRY_V4, "RFC 1918", "1996-02"),
    RegistryRow("192.0.0.0/24", "IETF Protocol Assignments", REGISTRY_V4, "RFC 6890", "2010-01"),
    RegistryRow("192.0.0.0/29", "IPv4 Service Continuity Prefix", REGISTRY_V4, "RFC 7335", "2011-06"),
    RegistryRow("192.0.0.8/32", "IPv4 dummy address", REGISTRY_V4, "RFC 7600", "2015-03"),
    RegistryRow("192.0.0.9/32", "Port Control Protocol Anycast", REGISTRY_V4, "RFC 7723", "2015-10"),
    RegistryRow("192.0.0.10/32", "Traversal Using Relays around NAT Anycast", REGISTRY_V4, "RFC 8155", "2017-02"),
    RegistryRow("192.0.0.170/32", "NAT64/DNS64 Discovery", REGISTRY_V4, "RFC 7050", "2013-02"),
    RegistryRow("192.0.0.171/32", "NAT64/DNS64 Discovery", REGISTRY_V4, "RFC 7050", "2013-02"),
    RegistryRow("192.0.2.0/24", "Documentation (TEST-NET-1)", REGISTRY_V4, "RFC 5737", "2010-01"),
    RegistryRow("192.31.196.0/24", "AS112-v4", REGISTRY_V4, "RFC 7535", "2014-12"),
    RegistryRow("192.52.193.0/24", "AMT", REGISTRY_V4, "RFC 7450", "2014-12"),
    RegistryRow("192.88.99.0/24", "Deprecated (6to4 Relay Anycast)", REGISTRY_V4, "RFC 7526", "2001-06"),
    RegistryRow("192.88.99.2/32", "6a44-relay anycast address", REGISTRY_V4, "RFC 6751", "2012-10"),
    RegistryRow("192.168.0.0/16", "Private-Use", REGISTRY_V4, "RFC 1918", "1996-02"),
    RegistryRow("192.175.48.0/24", "Direct Delegation AS112 Service", REGISTRY_V4, "RFC 7534", "1996-01"),
    RegistryRow("198.18.0.0/15", "Benchmarking", REGISTRY_V4, "RFC 2544", "1999-03"),
    RegistryRow("198.51.100.0/24", "Documentation (TEST-NET-2)", REGISTRY_V4, "RFC 5737", "2010-01"),
    RegistryRow("203.0.113.0/24", "Documentation (TEST-NET-3)", REGISTRY_V4, "RFC 5737", "2010-01"),
    RegistryRow("240.0.0.0/4", "Reserved", REGISTRY_V4, "RFC 1112", "1989-08"),
    RegistryRow("255.255.255.255/32", "Limited Broadcast", REGISTRY_V4, "RFC 8190", "1984-10"),
    RegistryRow("224.0.0.0/4", "Multicast", MULTICAST_V4, "RFC 5771", "1989-08"),
    RegistryRow("168.63.129.16/32", "Azure platform address", CLOUD, "Azure virtual network documentation", ""),
)

V6: Final = (
    RegistryRow("::1/128", "Loopback Address", REGISTRY_V6, "RFC 4291", "2006-02"),
    RegistryRow("::/128", "Unspecified Address", REGISTRY_V6, "RFC 4291", "2006-02"),
    RegistryRow("::ffff:0:0/96", "IPv4-mapped Address", REGISTRY_V6, "RFC 4291", "2006-02"),
    RegistryRow("64:ff9b::/96", "IPv4-IPv6 Translation", REGISTRY_V6, "RFC 6052", "2010-10"),
    RegistryRow("64:ff9b:1::/48", "IPv4-IPv6 Translation", REGISTRY_V6, "RFC 8215", "2017-06"),
    RegistryRow("100::/64", "Discard-Only Address Block", REGISTRY_V6, "RFC 6666", "2012-06"),
    RegistryRow("100:0:0:1::/64", "Dummy IPv6 Prefix", REGISTRY_V6, "RFC 9780", "2025-04"),
    RegistryRow("2001::/23", "IETF Protocol Assignments", REGISTRY_V6, "RFC 2928", "2000-09"),
    RegistryRow("2001::/32", "TEREDO", REGISTRY_V6, "RFC 4380", "2006-01"),
    RegistryRow("2001:1::1/128", "Port Control Protocol Anycast", REGISTRY_V6, "RFC 7723", "2015-10"),
    RegistryRow("2001:1::2/128", "Traversal Using Relays around NAT Anycast", REGISTRY_V6, "RFC 8155", "2017-02"),
    RegistryRow("2001:1::3/128", "DNS-SD Service Registration Protocol Anycast", REGISTRY_V6, "RFC 9665", "2024-04"),
    RegistryRow("2001:2::/48", "Benchmarking", REGISTRY_V6, "RFC 5180", "2008-04"),
    RegistryRow("2001:3::/32", "AMT", REGISTRY_V6, "RFC 7450", "2014-12"),
    RegistryRow("2001:4:112::/48", "AS112-v6", REGISTRY_V6, "RFC 7535", "2014-12"),
    RegistryRow("2001:10::/28", "Deprecated (previously ORCHID)", REGISTRY_V6, "RFC 4843", "2007-03"),
    RegistryRow("2001:20::/28", "ORCHIDv2", REGISTRY_V6, "RFC 7343", "2014-07"),
    RegistryRow("2001:30::/28", "Drone Remote ID Protocol Entity Tags", REGISTRY_V6, "RFC 9374", "2022-12"),
    RegistryRow("2001:db8::/32", "Documentation", REGISTRY_V6, "RFC 3849", "2004-07"),
    RegistryRow("2002::/16", "6to4", REGISTRY_V6, "RFC 3056", "2001-02"),
    RegistryRow("2620:4f:8000::/48", "Direct Delegation AS112 Service", REGISTRY_V6, "RFC 7534", "2011-05"),
    RegistryRow("3fff::/20", "Documentation", REGISTRY_V6, "RFC 9637", "2024-07"),
    RegistryRow("5f00::/16", "Segment Routing (SRv6) SIDs", REGISTRY_V6, "RFC 9602", "2024-04"),
    RegistryRow("fc00::/7", "Unique-Local", REGISTRY_V6, "RFC 4193", "2005-10"),
    RegistryRow("fe80::/10", "Link-Local Unicast", REGISTRY_V6, "RFC 4291", "2006-02"),
)

GLOBAL_UNICAST: Final = IPv6Network("2000::/3")


# the narrowest first
_NETWORKS_V4: Final = sorted(((IPv4Network(row.prefix), row) for row in V4), key=lambda pair: -pair[0].prefixlen)
_NETWORKS_V6: Final = sorted(((IPv6Network(row.prefix), row) for row in V6), key=lambda pair: -pair[0].prefixlen)

_extra: tuple[tuple[IPv4Network | IPv6Network, RegistryRow], ...] = ()  # see `set_extra_refused`


def set_extra_refused(rows: Iterable[RegistryRow]) -> None:
    """Refuse these blocks in addition to the table above; they replace the blocks of the last call. For the composition
    root, which reads the stored result of `refresh`. No call can allow a block of the table."""
    global _extra
    _extra = tuple((ip_network(row.prefix), row) for row in rows)
    refusal.cache_clear()


@lru_cache(maxsize=4_096)
def refusal(address: str) -> str | None:
    """Return why the address may not be dialled, as short text for the ledger; None for a public address. Takes the
    textual form that a resolver returns. Anything that is not exactly one IPv4 or IPv6 address (a name, a short or
    octal form, a zone id) is refused."""
    try:
        parsed = IPv6Address(address) if ":" in address else IPv4Address(address)
    except AddressValueError:
        return "not an IP address"
    if isinstance(parsed, IPv4Address):
        # guard: iana-ipv4
        reason = next((f"{row.name} ({row.prefix})" for network, row in _NETWORKS_V4 if parsed in network), None)
    elif parsed.scope_id is not None:  # guard: address-zone
        return "address with a zone id"
    else:
        # guard: iana-ipv6
        reason = next((f"{row.name} ({row.prefix})" for network, row in _NETWORKS_V6 if parsed in network), None)
        if reason is None and parsed not in GLOBAL_UNICAST:  # guard: ipv6-global-unicast
            return "outside global unicast (2000::/3)"
    # guard: refreshed-blocks
    return reason or next((f"{row.name} ({row.prefix})" for network, row in _extra if parsed in network), None)


MAX_ROWS: Final = 500
MIN_PREFIX_LENGTH: Final = {4: 8, 6: 16}
"""Prefix length by IP version: a registry with a new row wider than this is rejected."""

KNOWN: Final = {
    4: ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
    6: ("::1/128", "fc00::/7", "fe80::/10", "2001:db8::/32"),
}
PUBLIC: Final = (
    "1.1.1.1", "8.8.8.8", "9.9.9.9", "193.0.6.139", "199.7.83.42",
    "2606:4700:4700::1111", "2001:4860:4860::8888", "2620:fe::fe", "2001:67c:2e8:22::c100:68b",
)  # fmt: skip
"""Addresses of services that the whole internet uses. A registry that refuses one of them is rejected."""

_COLUMNS: Final = ("address block", "name", "rfc", "allocation date")
_FOOTNOTE: Final = re.compile(r"\[\d+\]")
_DATE: Final = re.compile(r"\d{4}-\d{2}")
_WORDS: Final = re.compile(r"[^ -~]+")


def parse_registry(body: bytes, source: str) -> tuple[RegistryRow, ...]:
    """Return the rows of the registry `source` (REGISTRY_V4 or REGISTRY_V6). Raise BadReference for anything else."""
    version = 4 if source == REGISTRY_V4 else 6
    try:
        table = list(csv.reader(body.decode("utf-8-sig").splitlines(keepends=True), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise BadReference("the registry is no CSV") from None
    if not table or tuple(cell.strip().lower() for cell in table[0][: len(_COLUMNS)]) != _COLUMNS:
        raise BadReference("the registry does not have its columns")
    rows = []
    for number, cells in enumerate(table[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(table[0]):
            raise BadReference(f"row {number} of the registry is not whole")
        rows += [_row(block, cells, source, version, number) for block in _FOOTNOTE.sub(" ", cells[0]).split(",")]
    if len(rows) > MAX_ROWS:  # guard: registry-length
        raise BadReference(f"the registry has {len(rows)} rows")
    return tuple(rows)


def require_plausible(rows: tuple[RegistryRow, ...], source: str) -> tuple[RegistryRow, ...]:
    """Return the rows that the shipped table does not cover. Raise BadReference for an implausible registry."""
    version = 4 if source == REGISTRY_V4 else 6
    shipped = sum(row.source == source for row in (*V4, *V6))
    if len(rows) < MIN_RULE_SHARE * shipped:  # guard: registry-half
        raise BadReference(f"the registry has {len(rows)} rows, the shipped one {shipped}")
    prefixes = {row.prefix for row in rows}
    if missing := [prefix for prefix in KNOWN[version] if prefix not in prefixes]:  # guard: registry-known-blocks
        raise BadReference(f"the registry does not know {missing[0]}")
    new = tuple(row for row in rows if _is_new(row))
    for row in new:
        network = ip_network(row.prefix)
        if network.prefixlen < MIN_PREFIX_LENGTH[version]:  # guard: registry-prefix-length
            raise BadReference(f"the registry would refuse all of {row.prefix}")
        if any(ip_address(address) in network for address in PUBLIC):  # guard: registry-public-addresses
            raise BadReference(f"the registry would refuse a public service in {row.prefix}")
    return new


def _is_new(row: RegistryRow) -> bool:
    """Return whether the shipped table does not refuse the block yet. IPv6 outside 2000::/3 is always refused."""
    network = ip_network(row.prefix)
    if isinstance(network, IPv6Network):
        return network.overlaps(GLOBAL_UNICAST) and not any(network.subnet_of(known) for known, _ in _NETWORKS_V6)
    return not any(network.subnet_of(known) for known, _ in _NETWORKS_V4)


def _row(block: str, cells: list[str], source: str, version: int, number: int) -> RegistryRow:
    try:
        network = ip_network(block.strip())
    except ValueError:
        raise BadReference(f"row {number} of the registry is no address block") from None
    if network.version != version:
        raise BadReference(f"row {number} of the registry is of another address family")
    allocated = _DATE.match(cells[3].strip())
    reference = " ".join(cells[2].replace("[", " ").replace("]", " ").split())
    day = allocated[0] if allocated else ""
    return RegistryRow(str(network), _ledger_text(cells[1]), source, _ledger_text(reference), day)


def _ledger_text(text: str) -> str:
    """Return at most 80 printable ASCII characters on one line: names are stored in the ledger."""
    return " ".join(_WORDS.sub(" ", text).split())[:80]
