"""Options of the whole suite."""

import pytest
from hypothesis import HealthCheck, settings

from tests.support.depth import DEPTH
from tests.support.engine import without_engine_settings

__all__ = ["without_engine_settings"]

pytest_plugins = ["tests.support.limits", "tests.support.database", "tests.support.api"]

# Tests have no deadlines, so that a busy machine causes no failure. Each run tries the same examples, so that a failure
# has its cause in a change. WAYPOST_TEST_DEPTH searches longer, from another seed in each run (tests/support/depth.py).
settings.register_profile("same", deadline=None, derandomize=DEPTH == 1, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-expected",
        action="store_true",
        help="rewrite tests/formats/*/*/expected.json from what the code says now; review the diff with the code",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests and tests/flow first: a long test that started last would delay the end of a parallel run."""
    items.sort(key=lambda item: (not _is_slow(item), "/flow/" not in str(item.path)))


def _is_slow(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in ("slow", "long"))
