"""The IANA special-purpose address registries as IANA publishes them (CSV): read, doubted, reduced to what is new.

Refreshed data only ever ADDS refusals to the table of `addresses.py`. What the table refuses stays refused whatever a
download says; and a download that would refuse half the internet, or addresses that everybody knows to be public, is
no registry.
"""

import csv
import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final

from registry.core.addresses import GLOBAL_UNICAST, REGISTRY_V4, V4, V6, Row
from registry.core.suffixes import LEAST_SHARE, BadReference

MOST_ROWS: Final = 500
WIDEST: Final = {4: 8, 6: 16}
"""A new row that covers more than such a block is not believed."""

KNOWN: Final = {
    4: ("10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
    6: ("::1/128", "fc00::/7", "fe80::/10", "2001:db8::/32"),
}
PUBLIC: Final = (
    "1.1.1.1", "8.8.8.8", "9.9.9.9", "193.0.6.139", "199.7.83.42",
    "2606:4700:4700::1111", "2001:4860:4860::8888", "2620:fe::fe", "2001:67c:2e8:22::c100:68b",
)  # fmt: skip
"""Services that the whole internet uses. A registry that refuses one of them is not the registry."""

_COLUMNS: Final = ("address block", "name", "rfc", "allocation date")
_FOOTNOTE: Final = re.compile(r"\[\d+\]")
_DATE: Final = re.compile(r"\d{4}-\d{2}")
_WORDS: Final = re.compile(r"[^ -~]+")


def parse_registry(body: bytes, source: str) -> tuple[Row, ...]:
    """The rows of the registry `source` (REGISTRY_V4 or REGISTRY_V6). Raises BadReference for anything else."""
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
        rows += [_row(one, cells, source, version, number) for one in _FOOTNOTE.sub(" ", cells[0]).split(",")]
    if len(rows) > MOST_ROWS:
        raise BadReference(f"the registry has {len(rows)} rows")
    return tuple(rows)


def believable(rows: tuple[Row, ...], source: str) -> tuple[Row, ...]:
    """The rows that refuse what the shipped table does not. Raises BadReference for a registry not believed."""
    version = 4 if source == REGISTRY_V4 else 6
    shipped = sum(row.source == source for row in (*V4, *V6))
    if len(rows) < LEAST_SHARE * shipped:
        raise BadReference(f"the registry has {len(rows)} rows, the shipped one {shipped}")
    prefixes = {row.prefix for row in rows}
    if missing := [prefix for prefix in KNOWN[version] if prefix not in prefixes]:
        raise BadReference(f"the registry does not know {missing[0]}")
    new = tuple(row for row in rows if _is_new(row))
    for row in new:
        network = ip_network(row.prefix)
        if network.prefixlen < WIDEST[version]:
            raise BadReference(f"the registry would refuse all of {row.prefix}")
        if any(ip_address(one) in network for one in PUBLIC):
            raise BadReference(f"the registry would refuse a public service in {row.prefix}")
    return new


def _is_new(row: Row) -> bool:
    """Whether the shipped table, or the rule that IPv6 lives in 2000::/3, leaves some address of the row open."""
    network = ip_network(row.prefix)
    if isinstance(network, IPv6Network):
        known6 = (IPv6Network(one.prefix) for one in V6)
        return network.overlaps(GLOBAL_UNICAST) and not any(network.subnet_of(one) for one in known6)
    known4 = (IPv4Network(one.prefix) for one in V4)
    return not any(network.subnet_of(one) for one in known4)


def _row(block: str, cells: list[str], source: str, version: int, number: int) -> Row:
    try:
        network = ip_network(block.strip())
    except ValueError:
        raise BadReference(f"row {number} of the registry is no address block") from None
    if network.version != version:
        raise BadReference(f"row {number} of the registry is of another address family")
    allocated = _DATE.match(cells[3].strip())
    reference = " ".join(cells[2].replace("[", " ").replace("]", " ").split())
    return Row(str(network), _said(cells[1]), source, _said(reference), allocated[0] if allocated else "")


def _said(text: str) -> str:
    """Names end up in the ledger: short and plain."""
    return " ".join(_WORDS.sub(" ", text).split())[:80]
