"""Options of the whole suite."""

import pytest
from hypothesis import HealthCheck, settings

from tests.support.depth import DEPTH
from tests.support.engine import unset

__all__ = ["unset"]

# No test measures time: a busy machine finds no fault. Nor does chance: every run tries the same examples, so that what
# fails was changed. Who wants to find more searches deeper, from other seeds each time (tests/support/depth.py).
settings.register_profile("same", deadline=None, derandomize=DEPTH == 1, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-expected",
        action="store_true",
        help="rewrite tests/formats/*/*/expected.json from what the code says now; review the diff with the code",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of minutes first (slow ones by their mark): what starts last would hold up the end of a parallel run."""
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, "/flow/" not in str(item.path)))
