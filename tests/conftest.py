"""Options of the whole suite."""

import pytest
from hypothesis import settings

from tests.support.engine import unset

__all__ = ["unset"]

# no test measures time: a busy machine finds no fault
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-expected",
        action="store_true",
        help="rewrite tests/formats/*/*/expected.json from what the code says now; review the diff with the code",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of minutes first (slow ones by their mark): what starts last would hold up the end of a parallel run."""
    items.sort(key=lambda item: (item.get_closest_marker("slow") is None, "/flow/" not in str(item.path)))
