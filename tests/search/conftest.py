"""Fixtures shared by the tests of several engines."""

import pytest

from tests.support.engine import long_time_limits
from tests.support.shared import shared

__all__ = ["long_time_limits"]


@pytest.fixture
def recordings() -> None:
    """Skip here if the recorded responses are absent, since a skip in the server's own thread would have no effect."""
    shared("contracts", "meilisearch-exchanges")
