"""The IANA special-purpose address registries as IANA publishes them (CSV): parse, check, and reduce to new rows.

Refreshed data only ever ADDS refused blocks to the table of `addresses.py`; it cannot allow what that table refuses. A
download that would refuse very large blocks, or well-known public addresses, is rejected.
"""

import csv
import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from registry.core.names.addresses import GLOBAL_UNICAST, REGISTRY_V4, V4, V6, RegistryRow
from registry.core.names.suffixes import MIN_RULE_SHARE, BadReference

MOST_ROWS: Final = 500
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
    if len(rows) > MOST_ROWS:  # guard: registry-length
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
    """True unless a row of the shipped table covers the block, or it is IPv6 outside 2000::/3, refused anyway."""
    network = ip_network(row.prefix)
    if isinstance(network, IPv6Network):
        known6 = (IPv6Network(shipped.prefix) for shipped in V6)
        return network.overlaps(GLOBAL_UNICAST) and not any(network.subnet_of(known) for known in known6)
    known4 = (IPv4Network(shipped.prefix) for shipped in V4)
    return not any(network.subnet_of(known) for known in known4)


def _row(block: str, cells: list[str], source: str, version: int, number: int) -> RegistryRow:
    try:
        network = ip_network(block.strip())
    except ValueError:
        raise BadReference(f"row {number} of the registry is no address block") from None
    if network.version != version:
        raise BadReference(f"row {number} of the registry is of another address family")
    allocated = _DATE.match(cells[3].strip())
    reference = " ".join(cells[2].replace("[", " ").replace("]", " ").split())
    return RegistryRow(
        str(network), _ledger_text(cells[1]), source, _ledger_text(reference), allocated[0] if allocated else ""
    )


def _ledger_text(text: str) -> str:
    """Return at most 80 printable ASCII characters on one line: names are stored in the ledger."""
    return " ".join(_WORDS.sub(" ", text).split())[:80]
