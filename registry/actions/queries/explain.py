"""Explains one domain: when it was visited, the requests and answers, and why the next visit is when it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from registry.actions.frontier.lease import BUDGET_WINDOW
from registry.actions.queries.inspect import LOG_READ, UnprobedPaths, unasked
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.core.scheduling.policy import sentence
from registry.store.records import DomainRecord
from registry.store.records import HostRecord as HostRecord  # interfaces name it
from registry.store.records import VisitRecord as VisitRecord  # interfaces name it
from registry.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class Explanation:
    """Facts about a host and its domain. `host`: None if only other hosts of the domain are known.

    `hosts`: the other hosts of the domain. `visits`: of the host, latest first. `spent`: requests sent to the domain in
    the last 24 hours. `opted_out`: an opt-out covers the host. `unasked`: paths not requested yet.
    """

    name: str
    domain: DomainRecord
    host: HostRecord | None
    hosts: Sequence[HostRecord]
    visits: Sequence[VisitRecord]
    spent: int
    opted_out: bool
    unasked: UnprobedPaths


async def explain(store: Store, host: str, *, visits: int, now: datetime) -> Explanation | None:
    """Return the explanation with the last `visits` visits; None if the domain is unknown."""
    name = registrable_domain(host)
    async with store.begin() as uow:
        domain = await uow.domains.get(name)
        if domain is None:
            return None
        hosts = {record.host: record for record in await uow.hosts.of([name])}
        opted_out = is_covered(host, (await uow.opt_outs.of([name])).get(name, frozenset()))
        known = hosts.pop(host, None)
        documents = await uow.documents.of([name]) if known is not None else ()
        log = await uow.ledger.visits(name, host, limit=max(visits, LOG_READ))
        of_domain = (await uow.ledger.spent([name], since=now - BUDGET_WINDOW)).get(name, {})
        return Explanation(
            name=host,
            domain=domain,
            host=known,
            hosts=tuple(hosts.values()),
            visits=log[:visits],
            spent=sum(spent.requests for spent in of_domain.values()),
            opted_out=opted_out,
            unasked=unasked(known, documents, log, opted_out=opted_out, now=now)
            if known is not None
            else UnprobedPaths(),
        )


def why_next(host: HostRecord) -> str:
    """Return one sentence that explains the time of the host's next visit."""
    interval = None if host.interval_s is None else timedelta(seconds=host.interval_s)
    return sentence(host.next_visit_why, host.outcome, host.reason, host.streak, interval)
