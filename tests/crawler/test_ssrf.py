"""No connection to a refused address, however its name comes in, while public addresses are reached.

`make ssrf` does the same with every spelling of every class.
"""

from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from registry.core.names.addresses import V4, V6, RegistryRow, refusal
from tests.crawler.namespace import run_enclosed, why_not
from tests.crawler.ssrf.__main__ import REBINDINGS, figures, wrong_figures
from tests.crawler.ssrf.spellings import REFUSED, urls
from tests.crawler.support import new_registry


@cache
def _figures() -> dict[str, Any]:
    return figures(quick=True)


@pytest.fixture
def ssrf_figures() -> dict[str, Any]:
    if reason := why_not():
        pytest.skip(reason)
    return _figures()


@pytest.mark.slow
def test_no_refused_address_is_dialled_and_every_public_control_is_reached(ssrf_figures: dict[str, Any]) -> None:
    """Submissions, seeds, `waypost check`, redirects, robots.txt, pointers, fields, aliases, mixed DNS responses."""
    assert wrong_figures(ssrf_figures) == {}
    assert ssrf_figures["urls"] > 300 and ssrf_figures["named"] > 2_000 and ssrf_figures["refusals_stored"] > 1_000


@pytest.mark.slow
def test_a_name_that_changes_its_address_is_dialled_only_at_judged_addresses(ssrf_figures: dict[str, Any]) -> None:
    assert ssrf_figures["rebindings"].keys() == {"answered", "refused_address"}
    assert sum(ssrf_figures["rebindings"].values()) == REBINDINGS
    assert ssrf_figures["asked_again"] == []


@pytest.mark.slow
def test_no_owner_has_a_refused_address_dialled() -> None:
    """Claims by file, and webhooks: their names have refused addresses, and no entry of a connect-to table."""
    if reason := why_not():
        pytest.skip(reason)
    with new_registry("ssrf") as database:
        result = run_enclosed("tests.crawler.ssrf.owners", database)
    assert result["dialled"] == [] and result["lost"] == 0
    assert (result["answers"].pop("control"), result["reasons"].pop("control")) == ("published", "")
    assert result["answers"].keys() == result["reasons"].keys() == REFUSED.keys()
    assert set(result["answers"].values()) == {"unanswered"}
    assert all(result["reasons"].values())


@pytest.mark.parametrize("row", [*V4, *V6], ids=lambda row: row.prefix)
def test_every_row_of_the_registries_is_tried(row: RegistryRow) -> None:
    network = ip_network(row.prefix)
    assert any(ip_address(address) in network for address in REFUSED.values())


@pytest.mark.parametrize("name", REFUSED)
def test_every_address_that_is_tried_is_refused(name: str) -> None:
    assert refusal(REFUSED[name])


def test_spellings_are_many_and_different() -> None:
    spellings = [url for address in REFUSED.values() for url in urls(address, "public.com")]
    assert len(set(spellings)) > 2_500
