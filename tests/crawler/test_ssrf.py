"""No connection to a refused address, by whatever way its name comes in, while public addresses are reached.

`make ssrf` does the same with every spelling of every class.
"""

from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from registry.core.addresses import V4, V6, Row, refusal
from tests.crawler.namespace import why_not
from tests.crawler.ssrf.__main__ import REBINDINGS, figures, wrong
from tests.crawler.ssrf.spellings import REFUSED, urls


@cache
def _figures() -> dict[str, Any]:
    return figures(quick=True)


@pytest.fixture
def found() -> dict[str, Any]:
    if reason := why_not():
        pytest.skip(reason)
    return _figures()


@pytest.mark.slow
def test_no_refused_address_is_dialled_and_every_public_control_is_reached(found: dict[str, Any]) -> None:
    """Submissions, seeds, checks by hand, redirects, robots.txt, pointers, fields, aliases, mixed answers."""
    assert wrong(found) == {}
    assert found["urls"] > 300 and found["named"] > 2_000 and found["refusals_stored"] > 1_000


@pytest.mark.slow
def test_name_that_changes_its_address_is_dialled_only_where_it_was_judged(found: dict[str, Any]) -> None:
    assert found["rebindings"].keys() == {"answered", "refused_address"}
    assert sum(found["rebindings"].values()) == REBINDINGS
    assert found["asked_again"] == []


@pytest.mark.parametrize("row", [*V4, *V6], ids=lambda row: row.prefix)
def test_every_row_of_the_registries_is_tried(row: Row) -> None:
    network = ip_network(row.prefix)
    assert any(ip_address(one) in network for one in REFUSED.values())


@pytest.mark.parametrize("name", REFUSED)
def test_every_address_that_is_tried_is_refused(name: str) -> None:
    assert refusal(REFUSED[name])


def test_spellings_are_many_and_different() -> None:
    spelled = [url for address in REFUSED.values() for url in urls(address, "public.com")]
    assert len(set(spelled)) > 2_500
