"""A primary is lost in the middle of a crawl: see `tests.chaos.failover`. `make failover` shows the figures."""

import pytest

from tests.chaos.pair import report_of


@pytest.mark.long
@pytest.mark.parametrize("kind", ["kill", "stop", "cut", "blink"])
def test_a_lost_primary_is_replaced_without_loss_and_harms_nothing_when_it_returns(kind: str) -> None:
    assert report_of("tests.chaos.failover", kind)["faults"] == {}
