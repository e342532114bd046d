"""Somebody is taken out of the registry: everything stored of a domain, or of a host and those below it, is deleted.

Answers are read from the database, so the commit takes it out of them at once, whatever an index still holds; the
trigger on services tells every index. An opt-out that is kept, or made here, is asked by every writer: reindexing,
visits, submissions, seeds and documents of others do not bring it back. Without one it may be named again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from registry.actions.frontier.due import BUDGET_WINDOW
from registry.core.domains import host_syntax, registrable_domain
from registry.core.optout import is_covered
from registry.store.records import ChangeRecord, OptOutRecord
from registry.store.unit_of_work import Store, UnitOfWork

How = Literal["operator", "file", "dns"]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`host` and all below it. `services`: hosts that were in answers until now. `rows`: deleted, by table.

    `stays_out`: an opt-out covers it, made now or before.
    """

    domain: str
    host: str
    services: tuple[str, ...]
    rows: Mapping[str, int]
    stays_out: bool


async def forget(
    store: Store,
    name: str,
    *,
    now: datetime,
    opt_out: How | None = None,
    evidence: str = "",
    reason: str = "",
) -> Forgotten:
    """Deletes, and with `opt_out` keeps it out for good; who says so, and where that is seen, is kept with it.

    Repeating it is harmless: it ends what an interrupted attempt began, and an opt-out keeps its first evidence.
    Raises InvalidName (syntax only: what was stored under older rules must go too) and StoreUnavailable.
    """
    host = host_syntax(name)
    domain = registrable_domain(host)
    async with store.begin() as uow:
        await uow.domains.lock([domain])
        if opt_out is not None:
            await uow.opt_outs.add([OptOutRecord(domain, host, opt_out, evidence, now)])
        services = await uow.forgetting.shown(domain, host)
        rows = await uow.forgetting.rows(domain, host, today=now - BUDGET_WINDOW)
        await uow.forgetting.domain(domain)
        stays_out = is_covered(host, await _opted_out(uow, domain))
        changes = [ChangeRecord(domain, one, "service.delisted", now, {"reason": "forgotten"}) for one in services]
        told = {"reason": reason, "opt_out": opt_out, "stays_out": stays_out, "rows": rows}
        await uow.ledger.add_changes([*changes, ChangeRecord(domain, host, "host.forgotten", now, told)])
    async with store.begin() as uow:
        rows["candidates"] = await uow.forgetting.candidates(domain, host)
    return Forgotten(domain, host, tuple(services), rows, stays_out)


async def _opted_out(uow: UnitOfWork, domain: str) -> Collection[str]:
    return (await uow.opt_outs.of([domain])).get(domain, frozenset())
