"""Simulate a year of visits to one host with the real visit plan, assessment and revisit policy.

An `Answer` simulates the host: it returns the response to a probe at a given time. No database, socket or clock is
used, so a year takes a fraction of a second. Request counts are the counts in the host's access log.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from registry.actions.frontier.lease import host_job
from registry.actions.recording.conclude import StoredDomains, compare, conclude
from registry.actions.recording.present import needs_body
from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import FinishedDomain, Visit
from registry.store.records import DocumentRecord, HostRecord, ServiceRecord

HOST: Final = "shop.com"
START: Final = datetime(2026, 1, 1, tzinfo=UTC)

Answer: TypeAlias = Callable[[Probe, datetime], FetchResult]


@dataclass(frozen=True, slots=True)
class TimelineVisit:
    """One visit. `requests`: how many reached the host. `is_listed`: whether the host is listed after the visit."""

    at: datetime
    outcome: Outcome
    reason: str
    requests: int
    has_changed: bool
    is_listed: bool


@dataclass(slots=True)
class _Memory:
    """What the registry would store about the host between two visits."""

    host: HostRecord
    documents: dict[str, DocumentRecord] = field(default_factory=dict)
    bodies: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    services: dict[str, ServiceRecord] = field(default_factory=dict)


def timeline(answer: Answer, days: int = 365) -> Iterator[TimelineVisit]:
    """Yield the visits to a host that becomes known at START, over `days` days."""
    memory = _Memory(HostRecord(HOST, HOST, "timeline", START, START))
    while (now := memory.host.next_visit_at) is not None and now < START + timedelta(days=days):
        visit = _visit(memory, answer, now)
        has_changed = _record(memory, visit, now)
        requests = sum(_reached(result.fetched) + len(result.fetched.hops) for result in visit.answers)
        yield TimelineVisit(now, visit.outcome, visit.reason, requests, has_changed, HOST in memory.services)


def _visit(memory: _Memory, answer: Answer, now: datetime) -> Visit:
    job = host_job(memory.host, memory.documents.values(), now)
    plan = HostPlan(job, now=now, nonce="0" * 32)
    while (probe := plan.next()) is not None:
        plan.take(probe, answer(probe, now))
    return plan.finish(now, now)


def _record(memory: _Memory, visit: Visit, now: datetime) -> bool:
    """Record a visit as `actions/recording/record.py` does, in dicts. Return True when the history gets an entry."""
    stored = StoredDomains({(HOST, HOST): memory.host}, list(memory.documents.values()), memory.services, {})
    comparisons = compare([FinishedDomain(HOST, (visit,))], stored, now)
    current = [
        document
        for comparison in comparisons
        for document in comparison.documents.current.values()
        if needs_body(document)
    ]
    bodies = {(HOST, document.record.sha256): memory.bodies[HOST, document.record.sha256] for document in current}
    writes = conclude(comparisons, stored, bodies, now)
    (memory.host,) = writes.hosts
    memory.bodies |= writes.bodies
    memory.documents |= {document.url: document for document in (*writes.documents, *writes.stamped)}
    memory.services |= {service.host: service for service in (*writes.services, *writes.seen)}
    for _, host in writes.delisted:
        del memory.services[host]
    return bool(writes.history)


def _reached(fetched: FetchResult) -> bool:
    return fetched.failure is None or (fetched.failure not in _NOT_ASKED and fetched.reason != "nxdomain")


_NOT_ASKED: Final = frozenset({Outcome.DISALLOWED, Outcome.SKIPPED})
