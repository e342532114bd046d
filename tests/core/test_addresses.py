"""Addresses of every class that must not be dialled, and public controls that must stay reachable."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.names.addresses import V4, V6, RegistryRow, refusal

REFUSED = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.1.0.1 127.255.255.255
169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.8 192.0.0.9 192.0.0.10
192.0.0.170 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.88.99.2 192.168.0.1 192.168.255.255
192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
168.63.129.16
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:100.100.100.200 ::ffff:0:127.0.0.1
64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:0:4136:e378::1 2001:1::1 2001:1::3
2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1::1
2002:808:808::1 2620:4f:8000::1 3fff::1 3fff:fff:ffff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fdff::1 fe80::1 fec0::1
ff02::1 ff0e::1 1fff:ffff::1
"""

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255 172.15.0.1
172.32.0.0 192.0.1.1 192.88.98.1 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 168.63.129.15
2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700:4700::1111 2620:4f:8001::1 2a00:1450:4001::1 3ffe::1
3fff:1000::1 2001:db9::1
"""

NOT_ADDRESSES = """
fe80::1%eth0 2606:4700:4700::1111%eth0 2606:4700:4700::1111%1 127.1 0x7f.0.0.1 0x7f000001 2130706433 0177.0.0.1
127.0.0.01 [::1] 1.1.1.1:443 1.1.1.1/32 localhost １.1.1.1 1.1.1 1.1.1.1.1 ::ffff:1.1.1 :
"""


@pytest.mark.parametrize("address", REFUSED.split())
def test_special_purpose_addresses_are_refused(address: str) -> None:
    assert refusal(address)


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_addresses_are_allowed(address: str) -> None:
    assert refusal(address) is None


@pytest.mark.parametrize("address", [*NOT_ADDRESSES.split(), "", " 1.1.1.1", "1.1.1.1\n", "1.1.1.1\x00"])
def test_anything_but_one_plain_address_is_refused(address: str) -> None:
    assert refusal(address)


def test_the_reason_names_the_narrowest_block() -> None:
    assert refusal("192.0.0.9") == "Port Control Protocol Anycast (192.0.0.9/32)"
    assert refusal("169.254.169.254") == "Link Local (169.254.0.0/16)"
    assert refusal("4000::1") == "outside global unicast (2000::/3)"


@pytest.mark.parametrize("row", [*V4, *V6], ids=lambda row: row.prefix)
def test_every_row_refuses_its_first_and_last_address(row: RegistryRow) -> None:
    network = ip_network(row.prefix)  # strict: host bits in a row are a typing error
    assert refusal(str(network[0])) and refusal(str(network[-1]))


@settings(max_examples=200)
@given(st.ip_addresses())
def test_refuses_whatever_the_standard_library_calls_private_or_multicast(address: IPv4Address | IPv6Address) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert refusal(str(address))
