"""No connection to a refused address, by whatever way its name comes in, while public addresses are reached."""

from functools import cache
from ipaddress import ip_address

import pytest

from tests.crawler.namespace import LITERALS, PUBLIC, PUBLIC_V6, REBINDS, REFUSED, ZONE, in_namespace

pytestmark = pytest.mark.slow  # a network namespace

_once = cache(in_namespace)


def outcomes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for url, outcome, _ in _once()["outcomes"]:  # type: ignore[attr-defined]
        found.setdefault(url, []).append(outcome)
    return found


def test_connections_arrive_at_public_addresses_only() -> None:
    arrived = {str(ip_address(address)) for address in _once()["arrived"]}  # type: ignore[attr-defined]
    assert arrived == {PUBLIC, PUBLIC_V6}


def test_controls_are_reached() -> None:
    """Else nothing above would be proven."""
    found = outcomes()
    for name in ("control", "control6", "mixed"):
        assert found[f"https://{name}.{ZONE}/x"] == ["answered"], name


def test_names_with_refused_addresses_are_refused_and_said_to_be() -> None:
    found = outcomes()
    assert {name: found[f"https://{name}.{ZONE}/x"] for name in REFUSED} == {
        name: ["refused_address"] for name in REFUSED
    }


def test_redirects_to_refused_addresses_are_refused() -> None:
    found = outcomes()
    targets = (*REFUSED, "127.0.0.1", "[::1]")
    assert {name: found[f"https://redirects.{ZONE}/{name}"] for name in targets} == {
        name: ["refused_address"] for name in targets
    }


def test_address_literals_are_never_dialled() -> None:
    found = outcomes()
    assert {url: found[url] for url in LITERALS} == {url: ["refused_address"] for url in LITERALS}


def test_name_that_changes_its_address_is_dialled_only_where_it_was_judged() -> None:
    rebound = outcomes()[f"https://{REBINDS}/x"]
    assert len(rebound) == 30 and set(rebound) == {"answered", "refused_address"}


def test_name_that_nobody_has_is_not_searched_for_elsewhere() -> None:
    """resolv.conf in there says `search example.org`."""
    assert outcomes()[f"https://nobody.{ZONE}/x"] == ["unreachable"]
    assert f"nobody.{ZONE}" in _once()["names"]  # type: ignore[operator]
    assert not [name for name in _once()["names"] if not name.endswith(ZONE)]  # type: ignore[attr-defined]
