"""A year of visits to one host, played through the real plan, the real judgement and the real policy; nothing waits.

`Answer` plays the host: what it answers to a probe at a moment. Databases, sockets and clocks have no part in it, so a
year takes a fraction of a second, and what is counted is what an operator would find in the log of such a host.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from registry.actions.frontier.due import host_job
from registry.actions.recording.conclude import Before, conclude, look
from registry.actions.recording.present import needs_body
from registry.core.documents import Fetched, Outcome, Probe
from registry.core.plan import HostPlan
from registry.core.visits import FinishedDomain, Visit
from registry.store.records import DocumentRecord, HostRecord, ServiceRecord

HOST: Final = "shop.com"
START: Final = datetime(2026, 1, 1, tzinfo=UTC)

Answer: TypeAlias = Callable[[Probe, datetime], Fetched]


@dataclass(frozen=True, slots=True)
class Seen:
    """One visit. `requests`: those that reached the host. `is_listed`: whether it is, after this visit."""

    at: datetime
    outcome: Outcome
    reason: str
    requests: int
    has_changed: bool
    is_listed: bool


@dataclass(slots=True)
class _Memory:
    """What is stored of the host between two visits."""

    host: HostRecord
    documents: dict[str, DocumentRecord] = field(default_factory=dict)
    bodies: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    services: dict[str, ServiceRecord] = field(default_factory=dict)


def timeline(answer: Answer, days: int = 365) -> Iterator[Seen]:
    """The visits of a host that is first heard of at START, in the days after it."""
    memory = _Memory(HostRecord(HOST, HOST, "timeline", START, START))
    while (now := memory.host.next_visit_at) is not None and now < START + timedelta(days=days):
        visit = _visited(memory, answer, now)
        has_changed = _recorded(memory, visit, now)
        requests = sum(_reached(one.fetched) + len(one.fetched.hops) for one in visit.answers)
        yield Seen(now, visit.outcome, visit.reason, requests, has_changed, HOST in memory.services)


def _visited(memory: _Memory, answer: Answer, now: datetime) -> Visit:
    job = host_job(memory.host, memory.documents.values(), now)
    plan = HostPlan(job, now=now, nonce="0" * 32)
    while (probe := plan.next()) is not None:
        plan.take(probe, answer(probe, now))
    return plan.finish(now, now)


def _recorded(memory: _Memory, visit: Visit, now: datetime) -> bool:
    """As `actions.record` does, with dicts in the place of tables; whether anything is news."""
    before = Before({(HOST, HOST): memory.host}, list(memory.documents.values()), memory.services, {})
    looked = look([FinishedDomain(HOST, (visit,))], before, now)
    current = [one for each in looked for one in each.documents.current.values() if needs_body(one)]
    bodies = {(HOST, one.record.sha256): memory.bodies[HOST, one.record.sha256] for one in current}
    writes = conclude(looked, before, bodies, now)
    (memory.host,) = writes.hosts
    memory.bodies |= writes.bodies
    memory.documents |= {one.url: one for one in (*writes.documents, *writes.stamped)}
    memory.services |= {one.host: one for one in (*writes.services, *writes.seen)}
    for _, host in writes.delisted:
        del memory.services[host]
    return bool(writes.history)


def _reached(fetched: Fetched) -> bool:
    return fetched.failure is None or (fetched.failure not in _NOT_ASKED and fetched.reason != "nxdomain")


_NOT_ASKED: Final = frozenset({Outcome.DISALLOWED, Outcome.SKIPPED})
