from ipaddress import ip_network

import pytest
from structlog.testing import capture_logs

from crawler.guards import AddressGuard, BadConnectTo, ConnectTo, Pin, RefusedAddress, ResolutionError, pick
from crawler.visit import Visitor
from tests.crawler.support import settings


def test_the_table_maps_a_name_to_its_address_and_port() -> None:
    table = ConnectTo.parse(["Shop.Example:443:127.0.0.1:8443", "six.example:443:[::1]:9000"])
    assert table.pin("shop.example") == Pin("shop.example", "127.0.0.1", 8443, "shop.example")
    assert table.pin("six.example") == Pin("six.example", "::1", 9000, "six.example")
    assert table.pin("www.shop.example") is None
    assert set(table.entries) == {"shop.example", "six.example"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("shop.example:443", "HOST:PORT:ADDRESS:PORT"),
        ("shop.example:443:::1:8443", "HOST:PORT:ADDRESS:PORT"),
        ("::127.0.0.1:8443", "empty"),
        ("shop.example:80:127.0.0.1:8443", "only port 443"),
        ("shop.example::127.0.0.1:8443", "only port 443"),
        ("shop.example:443:localhost:8443", "not an IP address"),
        ("shop.example:443:127.1:8443", "not an IP address"),
        ("shop.example:443:[127.0.0.1]:8443", "not an IP address"),
        ("shop.example:443:127.0.0.1:", "not a port"),
        ("shop.example:443:127.0.0.1:0", "not a port"),
        ("shop.example:443:127.0.0.1:65536", "not a port"),
        ("10.0.0.1:443:127.0.0.1:8443", "IP address"),
        ("user@shop.example:443:127.0.0.1:8443", "user name"),
    ],
)
def test_a_malformed_entry_is_refused(entry: str, message: str) -> None:
    with pytest.raises(BadConnectTo, match=message):
        ConnectTo.parse([entry])


def test_one_name_has_one_target() -> None:
    ConnectTo.parse(["a.example:443:127.0.0.1:1", "a.example:443:127.0.0.1:1"])
    with pytest.raises(BadConnectTo, match="already"):
        ConnectTo.parse(["a.example:443:127.0.0.1:1", "A.example:443:127.0.0.1:2"])


def test_the_table_is_immutable() -> None:
    table = ConnectTo.parse(["a.example:443:127.0.0.1:1"])
    with pytest.raises(TypeError):
        table.entries["b.example"] = ("127.0.0.1", 1)  # type: ignore[index]  # so says the checker, too


async def test_the_table_logs_a_warning_and_nothing_else_resolves() -> None:
    with capture_logs() as logs:
        guard = AddressGuard(ConnectTo.parse(["a.example:443:127.0.0.1:1"]), None)
    assert logs[0]["log_level"] == "warning" and "a.example -> 127.0.0.1:1" in logs[0]["names"]
    assert (await guard.pin("a.example")).port == 1
    with pytest.raises(ResolutionError, match="nxdomain"):
        await guard.pin("localhost")


async def test_an_empty_host_is_refused_without_a_look_up() -> None:
    """An empty host, as a URL with an address has: the resolver is not called."""
    with pytest.raises(RefusedAddress, match="no host name"):
        await AddressGuard(ConnectTo.parse([]), None).pin("")


def test_every_address_is_judged_and_an_allowed_one_is_picked() -> None:
    assert pick("a.example", ["10.0.0.1", "::1", "8.8.8.8"]).address == "8.8.8.8"
    with pytest.raises(RefusedAddress, match=r"Private-Use") as error:
        pick("a.example", ["10.0.0.1", "::ffff:8.8.8.8"])
    assert error.value.address == "10.0.0.1"
    with pytest.raises(ResolutionError, match="no_address"):
        pick("a.example", [])


def test_networks_of_the_operator_are_refused() -> None:
    networks = (ip_network("8.8.0.0/16"), ip_network("2001:67c:64::/96"))
    assert pick("a.example", ["8.8.8.8", "2001:67c:64::a00:1", "9.9.9.9"], networks).address == "9.9.9.9"
    with pytest.raises(RefusedAddress, match="refused by the operator"):
        pick("a.example", ["8.8.8.8"], networks)


def test_the_setting_of_refused_networks_reaches_the_guard() -> None:
    visitor = Visitor(settings(refused_networks=("203.0.113.0/24",)))
    assert [str(network) for network in visitor.guard._refused] == ["203.0.113.0/24"]


def test_the_alternative_address_is_allowed_and_of_the_other_family_if_possible() -> None:
    pin = pick("a.example", ["8.8.8.8", "10.0.0.1", "9.9.9.9", "2606:4700::1"])
    assert pin.address == "8.8.8.8" and pin.instead is not None
    assert (pin.instead.address, pin.instead.limiter_key, pin.instead.instead) == (
        "2606:4700::1",
        "2606:4700::1",
        None,
    )
    ipv4_pin = pick("a.example", ["8.8.8.8", "127.0.0.1", "9.9.9.9", "::1"])
    assert ipv4_pin.instead is not None and ipv4_pin.instead.address == "9.9.9.9"
    assert pick("a.example", ["8.8.8.8", "127.0.0.1"]).instead is None
