"""How long a test waits before it takes something for hung."""

import os
from typing import Final

HANG_SECONDS: Final = float(os.environ.get("WAYPOST_TEST_HANG_SECONDS", 240))
"""Seconds after which a wait fails, and says what it waited for. Nothing is measured by it, so it is generous: on a
machine that is short of CPU a command of two seconds takes minutes. It is below the time limit of a slow test
(tests/support/limits.py). `tests.guards` sets it lower: with a guard switched off, some tests do hang."""

NETWORK_LIMITS: Final = {"connect_timeout": 60, "request_timeout": 120, "host_deadline": 3_600}
"""Settings of the crawler: the highest limits in seconds, so that no host is given up because the machine is busy."""

NETWORK_ENVIRONMENT: Final = {f"WAYPOST_{name.upper()}": str(limit) for name, limit in NETWORK_LIMITS.items()}
"""The same limits as environment variables, for commands."""


def pause(poll_seconds: float, shortest: float) -> float:
    """Return the seconds until the next poll. On a starved machine polls would take the time of what they wait for."""
    return max(shortest, 9 * poll_seconds)
