"""Options of the whole suite."""

import gc

import pytest
from hypothesis import HealthCheck, settings

from tests.support.depth import DEPTH
from tests.support.engine import without_engine_settings

__all__ = ["without_engine_settings"]

# What collection allocates stays until the end: collecting it as garbage would cost each worker a quarter of its start,
# and later each test that fills a generation.
gc.disable()

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


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run slow tests and tests/flow first: a long test that started last would delay the end of a parallel run."""
    for item in items:
        if "database_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.database)
    items.sort(key=lambda item: (not _is_slow(item), "/flow/" not in str(item.path)))


def _is_slow(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) is not None for name in ("slow", "long"))
