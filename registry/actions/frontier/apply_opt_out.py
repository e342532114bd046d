"""Applies an opt-out to stored rows: services are hidden, hosts are unscheduled, and events lose what they said."""

from datetime import datetime

from registry.store.records import ChangeRecord
from registry.store.unit_of_work import UnitOfWork


async def apply_opt_out(uow: UnitOfWork, domain: str, host: str, *, now: datetime) -> int:
    """Apply it to the host and every host below it; return the number of services that were shown until now.

    The caller has locked the domain and stored the opt-out. Nothing else is deleted; `forget` does that.
    """
    await uow.hosts.unschedule(domain, host)
    hidden = await uow.services.hide(domain, [host])
    await uow.feed.redact(domain, host)  # guard: feed-hidden-redacted
    if hidden:
        data = {"state": (await uow.holds.limits([domain]))[domain].state(host)}
        await uow.ledger.add_changes([ChangeRecord(domain, name, "service.hidden", now, data) for name in hidden])
    return len(hidden)
