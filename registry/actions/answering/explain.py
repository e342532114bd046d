"""The ledger of one domain: when it was visited, what was asked, what came, and why the next visit is when it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from registry.actions.frontier.due import BUDGET_WINDOW
from registry.core.domains import registrable_domain
from registry.core.next_visit import because
from registry.core.optout import is_covered
from registry.store.records import DomainRecord, HostRecord, VisitRecord
from registry.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a host and its domain. `host` None: only others of the domain are known.

    `hosts`: of the domain, the one asked for left out. `visits`: of the host, the latest first. `spent`: requests made
    of the domain in the last 24 hours. `opted_out`: whether the host is covered by an opt-out of its domain.
    """

    name: str
    domain: DomainRecord
    host: HostRecord | None
    hosts: Sequence[HostRecord]
    visits: Sequence[VisitRecord]
    spent: int
    opted_out: bool


async def explain(store: Store, host: str, *, visits: int, now: datetime) -> Account | None:
    """With the last `visits` visits; None where nobody ever named a host of the domain."""
    name = registrable_domain(host)
    async with store.begin() as uow:
        domain = await uow.domains.get(name)
        if domain is None:
            return None
        hosts = {one.host: one for one in await uow.hosts.of([name])}
        opted_out = (await uow.opt_outs.of([name])).get(name, frozenset())
        return Account(
            name=host,
            domain=domain,
            host=hosts.pop(host, None),
            hosts=tuple(hosts.values()),
            visits=await uow.ledger.visits(name, host, limit=visits) if visits else (),
            spent=(await uow.ledger.spent([name], since=now - BUDGET_WINDOW)).get(name, 0),
            opted_out=is_covered(host, opted_out),
        )


def why_next(host: HostRecord) -> str:
    """Why the next visit of the host is when it is, in one sentence."""
    interval = None if host.interval_s is None else timedelta(seconds=host.interval_s)
    return because(host.next_visit_why, host.outcome, host.reason, host.streak, interval)
