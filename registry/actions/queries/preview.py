"""What the registry would say of a host after a visit that is not stored: the reasons of its status.

The visit goes through the same functions as one that is recorded, on an empty registry, so that `waypost check` and the
status of the host agree.
"""

from datetime import datetime

from registry.actions.queries.inspect import reasons_of
from registry.actions.recording.conclude import Stored, compare, conclude
from registry.core.names.domains import registrable_domain
from registry.core.visiting.visits import FinishedDomain, Visit


def reasons_after(visit: Visit, *, now: datetime) -> tuple[str, ...]:
    """Return `HostStatus.reasons` as they were if the registry knew the host from this visit only."""
    domain = registrable_domain(visit.host)
    nothing = Stored({}, (), {}, {})
    writes = conclude(compare([FinishedDomain(domain, (visit,))], nothing, now), nothing, {}, now)
    (host,) = (host for host in writes.hosts if host.host == visit.host)
    return reasons_of(
        host,
        is_listed=any(not service.hidden for service in writes.services),
        opted_out=bool(writes.opt_outs),
        findings=writes.findings.get((domain, visit.host), ()),
        last=writes.visits,
    )
