"""Applies an opt-out to stored rows: services are hidden, and hosts are unscheduled."""

from datetime import datetime

from registry.store.records import ChangeRecord
from registry.store.unit_of_work import UnitOfWork


async def apply_opt_out(uow: UnitOfWork, domain: str, host: str, *, now: datetime) -> int:
    """Apply it to the host and every host below it; return the number of services that were shown until now.

    The caller has locked the domain. Nothing is deleted; `forget` does that.
    """
    await uow.hosts.unschedule(domain, host)
    hidden = await uow.services.hide(domain, [host])
    await uow.ledger.add_changes(
        [ChangeRecord(domain, hidden_host, "service.hidden", now, {}) for hidden_host in hidden]
    )
    return len(hidden)
