"""Open files: each host in flight holds connections, and who runs out of descriptors takes it for the hosts' fault."""

import resource
from typing import Final

import structlog

PER_HOST: Final = 2
"""Connections of one host in flight: its own, and the one that it was redirected from or that a finished host left."""

SPARE: Final = 256
"""For the database, the resolver, the index, and what the process had open before."""

log = structlog.get_logger(__name__)


def hosts_that_fit(wanted: int) -> int:
    """How many of so many hosts may be in flight; raises this process's soft limit of open files as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted * PER_HOST + SPARE
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    fit = max(1, (soft - SPARE) // PER_HOST)
    log.warning("descriptors.few", open_files=soft, hosts_in_flight=fit, wanted=wanted)
    return fit
