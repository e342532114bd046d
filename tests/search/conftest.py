"""What tests of several engines share."""

import pytest

from tests.support.engine import patient
from tests.support.shared import shared

__all__ = ["patient"]


@pytest.fixture
def recordings() -> None:
    """For tests whose server answers with recorded answers: a skip in that server's own thread would skip nothing."""
    shared("contracts", "meilisearch-exchanges")
