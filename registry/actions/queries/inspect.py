"""Read-only queries for the interfaces: a service, a capability, the status of a host, lists and summaries.

Hosts are given in their canonical spelling (`domains.host_syntax`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, Literal

from registry.actions.frontier.seed import SEED_HEAD_START, SUBMISSION_HEAD_START
from registry.actions.frontier.submit import is_waiting
from registry.actions.queries.unasked import LOG_READ, Unasked, unasked
from registry.core.access.holds import HOLD_KINDS, HoldKind
from registry.core.calling.arguments import Arguments
from registry.core.changes.states import State, state_of_host
from registry.core.merging.rules import NOT_LISTED
from registry.core.model.documents import Outcome
from registry.core.model.findings import Severity
from registry.core.model.listing import Filters
from registry.core.model.services import Capability, Service
from registry.core.names.domains import registrable_domain
from registry.core.reading.injection import injection_flags
from registry.core.scheduling.reasons import shown_time
from registry.core.scoring.rubric import rule_of
from registry.core.visiting.shares import SKIPPED_TEXTS
from registry.store.cards import Card
from registry.store.catalogue import SLOW_MS, Health, ServiceView, Sort, StoredService
from registry.store.records import CapabilityDates, FindingRecord, HostRecord, ServiceRecord, VisitRecord
from registry.store.unit_of_work import Store

__all__ = [
    "SLOW_MS", "CapabilityDates", "CapabilityView", "Card", "Health", "HostStatus",
    "Listed", "Overview", "Queue", "ServiceView", "Sort",
    "StoredService", "VisitRecord", "alias_reason", "capability", "capability_view", "health", "list_services",
    "overview", "queue", "reasons_of", "service", "service_name", "status", "stored_capability", "stored_service",
    "visits", "waiting", "why_not_visited",
]  # fmt: skip

MAX_REASONS: Final = 20
HEALTH_LINES: Final = 100
MAX_PATHS: Final = 3
"""Maximum number of paths with the same answer that are listed one by one."""

ListingState = Literal["queued", "listed", "not_listed", "opted_out", "blocked"]


@dataclass(frozen=True, slots=True)
class CapabilityView:
    """A capability with its detail, and its service without the other capabilities."""

    record: ServiceRecord
    service: Service
    capability: Capability
    example: Arguments | None


@dataclass(frozen=True, slots=True)
class HostStatus:
    """`state`: queued (not visited yet, or not since it was submitted again), listed, not_listed, opted_out,
    blocked (by an operator of this registry).

    `reasons`: sentences that say why it is not listed or what is wrong. `next_visit_at` is never in the past; None: not
    scheduled. `unasked`: paths of the plan that were not requested yet. `injection_flags`: codes of the patterns of
    prompt injection found in its documents. `seen_at`: when its documents were last seen, if it is listed. `findings`:
    of its documents; none if it opted out.
    """

    domain: str
    host: str
    state: ListingState
    outcome: Outcome | None
    reason: str
    reasons: tuple[str, ...]
    last_visit_at: datetime | None
    next_visit_at: datetime | None
    submitted_at: datetime | None
    alias_of: str | None
    crawl_failures: int
    unasked: Unasked
    injection_flags: tuple[str, ...]
    freshness: State
    seen_at: datetime | None
    response_ms: int | None
    findings: tuple[FindingRecord, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of services, and the total."""

    items: tuple[Card, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts: visited hosts by outcome, shown services by format and trust level, domains by state of the frontier."""

    outcomes: dict[str, int]
    formats: dict[str, int]
    trust_levels: dict[str, int]
    frontier: dict[str, int]
    candidates: int

    @property
    def services(self) -> int:
        return sum(self.trust_levels.values())


@dataclass(frozen=True, slots=True)
class Queue:
    """The state of the frontier. `domains`: number by state. `age`: how long the longest due domain has waited.

    `index_lag`: services whose entry in the queried index is out of date.
    """

    domains: dict[str, int]
    age: timedelta
    candidates: int
    index_lag: int


async def service(store: Store, host: str, *, include_details: bool = False) -> ServiceView | None:
    """Return the service with its current documents; None when there is none or it is hidden."""
    stored = await stored_service(store, host, include_details=include_details)
    return None if stored is None else stored.view()


async def stored_service(store: Store, host: str, *, include_details: bool = False) -> StoredService | None:
    """As `service`, undecoded."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
        stored = await uow.catalogue.service(domain, host, include_details=include_details)
        if stored is None:
            return None
        documents = await uow.documents.of([domain])
    return replace(stored, documents=tuple(document for document in documents if document.host == host))


async def capability(store: Store, host: str, name: str) -> CapabilityView | None:
    stored = await stored_capability(store, host, name)
    return None if stored is None else capability_view(stored)


async def stored_capability(store: Store, host: str, name: str) -> StoredService | None:
    """As `capability`, undecoded: the service with this capability alone."""
    async with store.begin() as uow:
        return await uow.catalogue.capability(registrable_domain(host), host, name)


def capability_view(stored: StoredService) -> CapabilityView:
    """Raise ValueError for a capability that cannot be decoded."""
    view = stored.view()
    (found,) = view.service.capabilities
    return CapabilityView(view.record, view.service, found, view.example_of(found.name))


async def service_name(store: Store, host: str) -> str | None:
    """Return the name of a service; None when there is none or it is hidden."""
    async with store.begin() as uow:
        return await uow.catalogue.name(registrable_domain(host), host)


async def status(store: Store, host: str, *, now: datetime) -> HostStatus | None:
    """Return the status of a host; None when it is unknown."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
        limits = (await uow.holds.limits([domain]))[domain]
        known = await uow.hosts.get(domain, host)
        record = (await uow.services.of([domain])).get(host)
        findings = await uow.catalogue.findings(domain, host)
        log = await uow.ledger.visits(domain, host, limit=LOG_READ)
        documents = await uow.documents.of([domain]) if known is not None else ()
    if known is None:
        return None
    opted_out, holds = limits.has_opted_out(host), limits.kinds(host)
    shown = record if record is not None and not record.hidden else None
    is_listed = shown is not None
    return HostStatus(
        domain=domain,
        host=host,
        state=_state(known, is_listed, opted_out, holds, now),
        outcome=known.outcome,
        reason=known.reason,
        reasons=reasons_of(
            known, is_listed=is_listed, opted_out=opted_out, holds=holds, findings=findings, last=log[:1]
        ),
        last_visit_at=known.last_visit_at,
        next_visit_at=shown_time(known.next_visit_at, now),
        submitted_at=known.submitted_at,
        alias_of=known.alias_of,
        crawl_failures=known.soft_failures,
        unasked=unasked(known, documents, log, opted_out=opted_out or "blocked" in holds, now=now),
        injection_flags=() if opted_out else injection_flags(finding.reason for finding in findings),
        freshness=state_of_host(
            trust_level=shown.trust_level if shown else None,
            seen_at=shown.seen_at if shown else None,
            was_found=known.last_found_at is not None,
            withheld=limits.state(host),
            now=now,
        ),
        seen_at=shown.seen_at if shown else None,
        response_ms=known.response_ms,
        findings=() if opted_out else findings,
    )


def reasons_of(
    known: HostRecord,
    *,
    is_listed: bool,
    opted_out: bool,
    holds: Collection[HoldKind] = (),
    findings: Sequence[FindingRecord],
    last: Sequence[VisitRecord],
) -> tuple[str, ...]:
    """Return sentences that say why a host is not listed or what is wrong. `holds`: those that cover it. `last`: its
    last visit, if there is one."""
    closed = ("The site opted out.",) if opted_out else (_HELD["blocked"],) if "blocked" in holds else ()
    if closed:
        return closed
    held = [_HELD[kind] for kind in HOLD_KINDS if kind in holds]
    return (*held, *_reasons(known, is_listed, findings, last))[:MAX_REASONS]


def why_not_visited(visit: VisitRecord) -> str | None:
    """Return why nothing was requested in a visit, in one sentence; None when something was."""
    return SKIPPED_TEXTS.get(visit.reason) if visit.outcome is Outcome.SKIPPED else None


def alias_reason(target: str) -> str:
    """Return why a host is not listed for which another host of its domain answers."""
    return f"{target} answers for this host."


async def list_services(
    store: Store, filters: Filters, *, sort: Sort = "score", limit: int = 20, offset: int = 0, text: str = ""
) -> Listed:
    async with store.begin() as uow:
        items, total = await uow.catalogue.page(filters, sort=sort, limit=limit, offset=offset, text=text)
    return Listed(tuple(items), total)


async def health(store: Store) -> Health:
    async with store.begin() as uow:
        return await uow.catalogue.health(limit=HEALTH_LINES)


async def visits(store: Store, host: str, *, limit: int = 20) -> list[VisitRecord]:
    """Return the visits of a host, latest first."""
    async with store.begin() as uow:
        return await uow.ledger.visits(registrable_domain(host), host, limit=limit)


async def waiting(store: Store, hosts: Sequence[str], *, now: datetime) -> int:
    """Return how many of these hosts are due and not recorded yet, those being visited now included."""
    keys = [(registrable_domain(host), host) for host in hosts]
    async with store.begin() as uow:
        return await uow.hosts.count_due(keys, now=now)


async def queue(store: Store, target: str, *, now: datetime) -> Queue:
    """Return the state of the frontier. `target`: name of the search target."""
    async with store.begin() as uow:
        ages = [timedelta()]
        for head_start in (timedelta(), SEED_HEAD_START, SUBMISSION_HEAD_START):
            cutoff = now - head_start
            if due := await uow.domains.earliest(after=cutoff - SEED_HEAD_START / 2, until=cutoff):
                ages.append(cutoff - due)
        return Queue(
            domains=await uow.domains.counts(now),
            age=max(ages),
            candidates=await uow.candidates.waiting(),
            index_lag=await uow.search.count(target),
        )


async def overview(store: Store, *, now: datetime) -> Overview:
    async with store.begin() as uow:
        counts = await uow.catalogue.counts()
        return Overview(
            outcomes=await uow.hosts.outcomes(),
            formats=counts["format"],
            trust_levels=counts["trust_level"],
            frontier=await uow.domains.counts(now),
            candidates=await uow.candidates.waiting(),
        )


_HELD: Final[Mapping[HoldKind, str]] = MappingProxyType(
    {
        "blocked": "An operator of this registry blocked it: it is neither visited nor listed.",
        "quarantined": "An operator of this registry examines it: it is visited, and not listed until that has ended.",
        "hidden": "Its owner hides it: it is visited and not listed.",
    }
)


def _state(
    known: HostRecord, is_listed: bool, opted_out: bool, holds: Collection[HoldKind], now: datetime
) -> ListingState:
    if opted_out or "blocked" in holds:
        return "opted_out" if opted_out else "blocked"
    if is_listed:
        return "listed"
    return "queued" if known.last_visit_at is None or is_waiting(known, now) else "not_listed"


def _reasons(
    known: HostRecord,
    is_listed: bool,
    findings: Sequence[FindingRecord],
    last: Sequence[VisitRecord],
) -> Iterator[str]:
    if last and (text := why_not_visited(last[0])) is not None:
        yield text
    if known.outcome is None:
        return
    if known.alias_of is not None:
        yield alias_reason(known.alias_of)
    elif known.outcome is not Outcome.FOUND:
        yield _outcome_text(known.outcome.value, known.reason)
    for finding in findings:
        rule = rule_of(finding.reason)
        if rule in NOT_LISTED:
            yield f"{rule.says} ({finding.evidence})" if finding.evidence else rule.says
        elif rule is not None and rule.severity is Severity.ERROR:
            yield f"{_path(known.host, finding.document)}{finding.pointer and '#' + finding.pointer}: {rule.says}"
    if not is_listed and last:
        yield from _unread_answers(known.host, last[0].vector)


_SILENT: Final = frozenset({Outcome.ABSENT, Outcome.FOUND, Outcome.SKIPPED})


def _unread_answers(host: str, vector: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the answers in place of a manifest, plain absences excepted; one line for the same answer on many paths."""
    paths_by_answer: dict[str, list[str]] = defaultdict(list)
    for entry in vector:
        if entry["purpose"] in ("manifest", "pointer") and entry["outcome"] not in _SILENT:
            paths_by_answer[_outcome_text(entry["outcome"], entry.get("reason", ""))].append(_path(host, entry["url"]))
    for answer, paths in paths_by_answer.items():
        if len(paths) > MAX_PATHS:
            yield f"{paths[0]} and {len(paths) - 1} other paths: {answer}"
        else:
            yield from (f"{path}: {answer}" for path in paths)


def _outcome_text(outcome: str, reason: str) -> str:
    words = outcome.replace("_", " ")
    return f"{words} ({reason})" if reason else words


def _path(host: str, url: str | None) -> str:
    return "" if url is None else url.removeprefix(f"https://{host}")
