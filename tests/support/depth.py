"""How long property tests search: briefly and the same in every run, or with WAYPOST_TEST_DEPTH=<factor> for as long as
wanted and each time elsewhere."""

import os

from hypothesis import HealthCheck, settings

DEPTH = int(os.environ.get("WAYPOST_TEST_DEPTH", "1"))

_SLOW_MAKERS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def searched(examples: int) -> settings:
    """The settings of a test that tries so many examples, times the depth; documents are slow to make."""
    return settings(max_examples=examples * DEPTH, deadline=None, suppress_health_check=_SLOW_MAKERS)
