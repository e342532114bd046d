"""Bad days, each with the promise that it keeps: see `tests.chaos.scenarios`. `make chaos` shows the figures."""

import pytest

from tests.chaos.pair import report_of
from tests.chaos.scenarios import DAYS, faketime


@pytest.mark.long
@pytest.mark.parametrize("day", [*DAYS, "name-servers"])
def test_a_bad_day_keeps_every_promise(day: str) -> None:
    if day.startswith("clock") and faketime() is None:
        pytest.skip("needs faketime")
    assert report_of("tests.chaos.scenarios", day)["faults"] == {}
