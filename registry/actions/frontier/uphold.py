"""What an opt-out means for what is stored already: out of every answer, and never due by itself again."""

from datetime import datetime

from registry.store.records import ChangeRecord
from registry.store.unit_of_work import UnitOfWork


async def uphold(uow: UnitOfWork, domain: str, host: str, *, now: datetime) -> int:
    """For the host and every host below it; gives the number of services that were shown until now.

    The caller holds the domain. Nothing is deleted: that is `forget`.
    """
    await uow.hosts.never_again(domain, host)
    hidden = await uow.services.hide(domain, [host])
    await uow.ledger.add_changes([ChangeRecord(domain, one, "service.hidden", now, {}) for one in hidden])
    return len(hidden)
