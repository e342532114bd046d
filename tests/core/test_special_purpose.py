"""A refreshed registry of special addresses may add refusals, never remove them; an invalid one changes nothing."""

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.names import addresses
from registry.core.names.addresses import (
    PUBLIC,
    REGISTRY_V4,
    REGISTRY_V6,
    V4,
    V6,
    RegistryRow,
    parse_registry,
    refusal,
    require_plausible,
    set_extra_refused,
)
from registry.core.names.suffixes import BadReference

HEADER = (
    "Address Block,Name,RFC,Allocation Date,Termination Date,Source,Destination,Forwardable,Globally Reachable,"
    "Reserved-by-Protocol"
)
REST = ",N/A,False,False,False,False,False"


def registry(source: str, *more: str, left_out: tuple[str, ...] = ()) -> bytes:
    """Return a registry as IANA writes it: quoted names, footnotes, several blocks in a cell."""
    shipped = [row for row in (*V4, *V6) if row.source == source and row.prefix not in left_out]
    rows = [f'{row.prefix} [2],"{row.name}",[{row.reference}],{row.allocated}{REST}' for row in shipped]
    return "\r\n".join([HEADER, *rows, *more, ""]).encode()


def test_the_shipped_registries_bring_nothing_new() -> None:
    for source in (REGISTRY_V4, REGISTRY_V6):
        rows = parse_registry(registry(source), source)
        shipped = {ip_network(row.prefix) for row in (*V4, *V6) if row.source == source}
        assert {ip_network(row.prefix) for row in rows} == shipped
        assert require_plausible(rows, source) == ()


def test_a_new_row_refuses_its_block_until_it_is_removed() -> None:
    body = registry(REGISTRY_V4, f'"198.97.0.0/16 [7], 198.99.1.0/24","New\nthing, special",[RFC1],2027-01{REST}')
    new = require_plausible(parse_registry(body, REGISTRY_V4), REGISTRY_V4)
    assert [(row.prefix, row.name, row.allocated) for row in new] == [
        ("198.97.0.0/16", "New thing, special", "2027-01"),
        ("198.99.1.0/24", "New thing, special", "2027-01"),
    ]
    assert refusal("198.97.3.4") is None
    try:
        set_extra_refused(new)
        assert refusal("198.97.3.4") == "New thing, special (198.97.0.0/16)"
        assert refusal("198.99.1.255") is not None
        assert refusal("198.99.2.0") is None
    finally:
        set_extra_refused(())
    assert refusal("198.97.3.4") is None


def test_ipv6_outside_global_unicast_is_no_news() -> None:
    rows = parse_registry(registry(REGISTRY_V6, f"4000::/3,Wide,[RFC1],2027-01{REST}"), REGISTRY_V6)
    assert require_plausible(rows, REGISTRY_V6) == ()


@given(st.lists(st.sampled_from([row.prefix for row in (*V4, *V6)]), max_size=6), st.integers(0, 2**32 - 1))
def test_a_refreshed_registry_never_allows_a_refused_address(left_out: list[str], low: int) -> None:
    """Whatever rows a registry leaves out."""
    refused_addresses = [
        str(ip_network(row.prefix)[min(low, ip_network(row.prefix).num_addresses - 1)]) for row in (*V4, *V6)
    ]
    for source in (REGISTRY_V4, REGISTRY_V6):
        body = registry(source, left_out=tuple(left_out))
        try:
            set_extra_refused(require_plausible(parse_registry(body, source), source))
        except BadReference:
            continue
        try:
            assert all(refusal(address) is not None for address in refused_addresses)
        finally:
            set_extra_refused(())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>Service Unavailable</body></html>",
        registry(REGISTRY_V4)[:-30],
        registry(REGISTRY_V4, "not a block,Name,[RFC1],2027-01" + REST),
        registry(REGISTRY_V4, "10.0.0.1/8,Host bits,[RFC1],2027-01" + REST),
        registry(REGISTRY_V4, "2001:db8::/32,Other family,[RFC1],2027-01" + REST),
        registry(REGISTRY_V4, *[f"198.{n // 256}.{n % 256}.0/24,Many,[RFC1],2027-01{REST}" for n in range(600)]),
        registry(REGISTRY_V4).replace(b"Name", b"Nom", 1),
        b"\xff\xfe" + registry(REGISTRY_V4),
    ],
    ids=["empty", "page", "cut", "no block", "host bits", "other family", "too many", "columns", "bytes"],
)
def test_what_is_no_registry_is_refused(body: bytes) -> None:
    with pytest.raises(BadReference):
        parse_registry(body, REGISTRY_V4)


@pytest.mark.parametrize("block", ["0.0.0.0/0", "64.0.0.0/2", "8.0.0.0/7", "8.8.8.0/24", "1.1.1.1/32", "9.0.0.0/8"])
def test_a_registry_that_would_close_the_internet_is_refused(block: str) -> None:
    rows = parse_registry(registry(REGISTRY_V4, f"{block},Trick,[RFC1],2027-01{REST}"), REGISTRY_V4)
    with pytest.raises(BadReference):
        require_plausible(rows, REGISTRY_V4)


@pytest.mark.parametrize("block", ["2000::/3", "2600::/12", "2606:4700:4700::/48", "2001:4860:4860::8888/128"])
def test_a_registry_that_would_close_ipv6_is_refused(block: str) -> None:
    rows = parse_registry(registry(REGISTRY_V6, f"{block},Trick,[RFC1],2027-01{REST}"), REGISTRY_V6)
    with pytest.raises(BadReference):
        require_plausible(rows, REGISTRY_V6)


def test_a_registry_without_what_everybody_knows_is_refused() -> None:
    rows = parse_registry(registry(REGISTRY_V4, left_out=("127.0.0.0/8",)), REGISTRY_V4)
    with pytest.raises(BadReference, match=r"127\.0\.0\.0/8"):
        require_plausible(rows, REGISTRY_V4)
    few = tuple(RegistryRow(prefix, "", REGISTRY_V4, "", "") for prefix in ("10.0.0.0/8", "127.0.0.0/8"))
    with pytest.raises(BadReference, match="rows"):
        require_plausible(few, REGISTRY_V4)


def test_the_controls_are_public() -> None:
    assert [refusal(address) for address in PUBLIC] == [None] * len(PUBLIC)
    assert addresses._extra == ()
