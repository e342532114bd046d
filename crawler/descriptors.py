"""The limit of open files. Without free descriptors, connections fail as if the hosts had refused them."""

from typing import Final

import structlog

from crawler.claims import MAX_AT_ONCE as MAX_CLAIMS
from crawler.opt_out import MAX_AT_ONCE
from crawler.webhooks import MAX_AT_ONCE as MAX_MESSAGES
from registry.wiring.embedded_database import raise_open_files

PER_HOST: Final = 2
"""Connections of one domain in flight: to the current host, and to one it redirected from or visited before."""

SPARE: Final = 256 + (MAX_AT_ONCE + MAX_CLAIMS + MAX_MESSAGES) * PER_HOST
"""File descriptors for the database, the resolvers, the index, open files, and a worker's checks of opt-outs and claims
and its webhooks."""

log = structlog.get_logger(__name__)


def hosts_that_fit(requested: int) -> int:
    """Return how many of the requested hosts may be in flight. Raise the soft limit of open files as far as allowed."""
    needed = requested * PER_HOST + SPARE
    available = raise_open_files(needed)
    if available >= needed:
        return requested
    fitting = max(1, (available - SPARE) // PER_HOST)
    log.warning("fd_limit.low", open_files=available, hosts_in_flight=fitting, wanted=requested)
    return fitting
