"""How long property tests search: by default briefly, with the same examples in each run. WAYPOST_TEST_DEPTH=<factor>
multiplies the number of examples and takes another seed in each run."""

import os

from hypothesis import HealthCheck, settings

DEPTH = int(os.environ.get("WAYPOST_TEST_DEPTH", "1"))

_SLOW_MAKERS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def searched(examples: int) -> settings:
    """Return settings for this number of examples times the depth, without checks that slow generation would fail."""
    return settings(max_examples=examples * DEPTH, deadline=None, suppress_health_check=_SLOW_MAKERS)
