"""The limit of open files. Without free descriptors, connections fail as if the hosts had refused them."""

import resource
from typing import Final

import structlog

from crawler.opt_out import MOST_AT_ONCE

PER_HOST: Final = 2
"""Connections of one domain in flight: to the current host, and to one it redirected from or visited before."""

SPARE: Final = 256 + MOST_AT_ONCE * PER_HOST
"""File descriptors for the database, the resolvers, the index, files that are already open, and opt-out checks."""

log = structlog.get_logger(__name__)


def hosts_that_fit(requested: int) -> int:
    """Return how many of the wanted hosts may be in flight. Raise the soft limit of open files as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = requested * PER_HOST + SPARE
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return requested
    fitting = max(1, (soft - SPARE) // PER_HOST)
    log.warning("fd_limit.low", open_files=soft, hosts_in_flight=fitting, wanted=requested)
    return fitting
