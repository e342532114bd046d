"""Read-only queries for the interfaces: services, capabilities, host status, submitted lists, lists and summaries.

Hosts are given in their canonical spelling (`domains.host_syntax`). `unasked` lists the paths of the plan that were not
requested yet. `sources` returns the stored documents against which a translation is compared. `reasons_after` passes an
unrecorded visit through the functions that record one, on an empty registry, so that `waypost check` and the host's
status agree.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from registry.actions import Clock, call_of
from registry.actions.frontier.lease import ANSWERED, BUDGET_WINDOW, WHOLE_PLAN_EVERY, further_steps, host_job, is_short
from registry.actions.frontier.recheck import RecheckState, bound_of_all
from registry.actions.frontier.submit import SEED_HEAD_START, SUBMISSION_HEAD_START, is_waiting
from registry.actions.recording.conclude import StoredDomains, compare, conclude
from registry.core.access.holds import HOLD_KINDS, HoldKind
from registry.core.assessing import firewalls
from registry.core.calling.http import Arguments
from registry.core.calling.reach import detail_answers
from registry.core.changes.kinds import State, state_of_host
from registry.core.merging.rules import NOT_LISTED
from registry.core.model.documents import Outcome, Purpose
from registry.core.model.findings import Severity
from registry.core.model.services import Capability, Service
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.core.reading.injection import injection_flags
from registry.core.scheduling.policy import sentence, shown_time
from registry.core.scoring.rubric import rule_of
from registry.core.translating import SourceDocument
from registry.core.visiting import limits, probes
from registry.core.visiting.next_steps import NextStep, next_step
from registry.core.visiting.shares import SKIPPED_TEXTS
from registry.core.visiting.visits import FinishedDomain, Visit
from registry.store import records
from registry.store.cards import Card
from registry.store.catalogue import HealthReport, ServicePage, ServiceView, Sort, StoredService
from registry.store.records import CapabilityDates, DocumentRecord, FindingRecord, HostRecord, VisitRecord
from registry.store.submissions import HostState
from registry.store.unit_of_work import Store, UnitOfWork

LOG_READ: Final = 20  # visits of the ledger that are read


@dataclass(frozen=True, slots=True)
class UnprobedPath:
    """`visit`: number of the coming whole-plan visit that requests it, from 1; earlier if the host is submitted."""

    path: str
    format: str | None
    visit: int


@dataclass(frozen=True, slots=True)
class UnprobedPaths:
    """`next_whole_plan_at`: time of the first of those visits, never in the past; None if no visit is scheduled, so
    that the paths wait until the host is submitted."""

    paths: tuple[UnprobedPath, ...] = ()
    next_whole_plan_at: datetime | None = None


def unasked(
    host: HostRecord, documents: Iterable[DocumentRecord], log: Sequence[VisitRecord], *, opted_out: bool, now: datetime
) -> UnprobedPaths:
    """Return the paths of the plan that were not requested according to the host's record and the `log`, in order. The
    log is needed because the record does not say how far a visit came that the host did not answer. `documents`: the
    current ones of the domain. A path that is only a fallback of a document found is left out."""
    if opted_out or host.alias_of is not None:
        return UnprobedPaths()
    home = f"https://{host.host}"
    held = [document for document in documents if document.host == host.host and document.alias_of is None]
    has_any = any(document.outcome is Outcome.FOUND for document in held)
    starts_at = host.next_visit_at or now
    if host.whole_plan_at and has_any:
        starts_at = max(starts_at, host.whole_plan_at + WHOLE_PLAN_EVERY)
    job = host_job(host, held, starts_at)
    short = is_short(host, has_any)
    first_steps = limits.short_list(host.host) if short else probes.STEPS
    pending = {probe.url.removeprefix(home) for probe in job.pending}
    done = {*host.asked, *(path for visit in log for path in _requested(visit))}
    if host.outcome in ANSWERED or host.last_found_at is not None:
        done |= {step.path for step in first_steps}
    found = {document.url.removeprefix(home) for document in held}
    steps = {step.path: step for step in (*first_steps, *limits.further_steps(host.host, short=short))}
    open_steps = [step for path, step in steps.items() if path not in done - pending and step.fallback_of not in found]
    # The first visit requests every path except the further ones; each visit requests a few of those.
    further = [step.path for step in further_steps(host, held, starts_at)]
    first = {*job.further, *pending, *(further if job.named else ())}
    later = [path for path in further if path not in first]
    turns = {path: 2 + index // limits.PER_VISIT for index, path in enumerate(later)}
    paths = tuple(UnprobedPath(step.path, step.format, turns.get(step.path, 1)) for step in open_steps)
    return UnprobedPaths(paths, None if host.next_visit_at is None else shown_time(starts_at, now))


def _requested(visit: VisitRecord) -> Iterator[str]:
    """Yield the requested paths of a visit; nothing if its vector cannot be read."""
    with suppress(ValueError):
        for entry in visit.vector:
            if entry["purpose"] in _PLANNED and entry["outcome"] != Outcome.SKIPPED.value:
                yield entry["url"].removeprefix(f"https://{visit.host}")


_PLANNED: Final = frozenset({Purpose.MANIFEST.value, Purpose.POINTER.value})
_SILENT: Final = frozenset({Outcome.ABSENT, Outcome.FOUND, Outcome.SKIPPED})


__all__ = [
    "CapabilityDates", "CapabilityView", "Card", "Explanation", "HealthReport", "HostRecord",
    "HostReport", "QueryActions", "QueueState", "RegistryOverview", "ServicePage", "ServiceView",
    "Sort", "StoredService", "SubmittedHostStatus", "UnprobedPaths", "VisitRecord", "alias_reason",
    "capability_view", "detail_answer", "queue_state", "reasons_after", "reasons_of", "why_next", "why_not_visited",
]  # fmt: skip

MAX_REASONS: Final = 20
MAX_PATHS: Final = 3  # maximum number of paths with the same answer that are listed one by one

ListingState = Literal["queued", "listed", "not_listed", "opted_out", "blocked"]


@dataclass(frozen=True, slots=True)
class CapabilityView:
    """A capability with its detail, and its service without the other capabilities."""

    record: records.ServiceRecord
    service: Service
    capability: Capability
    example: Arguments | None


@dataclass(frozen=True, slots=True)
class HostReport:
    """`state`: queued (not visited yet, or not since its last submission), listed, not_listed, opted_out, blocked (by
    this registry's operator).

    `reasons`: sentences that say why it is not listed or which problems it has. `next_visit_at`: never in the past;
    None if not scheduled. `unasked`: paths of the plan that were not requested yet. `injection_flags`: codes of the
    patterns of prompt injection found in its documents. `seen_at`: when its documents were last seen, if listed.
    `findings`: of its documents; empty if it opted out. `recheck_bound`: what keeps everyone from requesting a visit
    now, as `Recheck.state` has it, or None; `recheck_at`: until when.
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
    unasked: UnprobedPaths
    injection_flags: tuple[str, ...]
    freshness: State
    seen_at: datetime | None
    response_ms: int | None
    findings: tuple[FindingRecord, ...]
    recheck_bound: RecheckState | None
    recheck_at: datetime | None
    next_step: NextStep


@dataclass(frozen=True, slots=True)
class RegistryOverview:
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
class QueueState:
    """The state of the frontier. `domains`: number by state. `age`: waiting time of the longest due domain.
    `index_lag`: services whose entry in the queried index is out of date."""

    domains: dict[str, int]
    age: timedelta
    candidates: int
    index_lag: int


def detail_answer(stored: StoredService, capability: Capability) -> DocumentRecord | None:
    """Return the last answer to a request for the capability's detail; None if it was not requested yet."""
    return detail_answers((one.via, one.url, one) for one in stored.documents)(capability)


def capability_view(stored: StoredService) -> CapabilityView:
    """Decode a capability and its service. Raise ValueError if it cannot be decoded."""
    view = stored.view()
    (found,) = view.service.capabilities
    return CapabilityView(view.record, view.service, found, view.example_of(found.name))


def reasons_of(
    known: HostRecord,
    *,
    is_listed: bool,
    opted_out: bool,
    holds: Collection[HoldKind] = (),
    findings: Sequence[FindingRecord],
    last: Sequence[VisitRecord],
) -> tuple[str, ...]:
    """Return sentences that say why a host is not listed or which problems it has. `holds`: the holds that cover it.
    `last`: its last visit, or None."""
    if opted_out or "blocked" in holds:
        return ("The site opted out." if opted_out else _HELD["blocked"],)
    held = [_HELD[kind] for kind in HOLD_KINDS if kind in holds]
    return (*held, *_reasons(known, is_listed, findings, last))[:MAX_REASONS]


def why_not_visited(visit: VisitRecord) -> str | None:
    """Return one sentence that says why a visit requested nothing; None if it requested something."""
    return SKIPPED_TEXTS.get(visit.reason) if visit.outcome is Outcome.SKIPPED else None


def alias_reason(target: str) -> str:
    """Return why a host is not listed if another host of its domain answers for it."""
    return f"{target} answers for this host."


async def queue_state(uow: UnitOfWork, target: str, now: datetime) -> QueueState:
    """Return the state of the frontier. `target`: name of the search target."""
    ages = [timedelta()]
    for head_start in (timedelta(), SEED_HEAD_START, SUBMISSION_HEAD_START):
        cutoff = now - head_start
        if due := await uow.domains.earliest(after=cutoff - SEED_HEAD_START / 2, until=cutoff):
            ages.append(cutoff - due)
    return QueueState(
        domains=await uow.domains.counts(now),
        age=max(ages),
        candidates=await uow.candidates.waiting(),
        index_lag=await uow.search.count(target),
    )


_HELD: Final[Mapping[HoldKind, str]] = {
    "blocked": "An operator of this registry blocked it: it is neither visited nor listed.",
    "quarantined": "An operator of this registry examines it: it is visited, and not listed until that has ended.",
    "hidden": "Its owner hides it: it is visited and not listed.",
}


def _reasons(
    known: HostRecord, is_listed: bool, findings: Sequence[FindingRecord], last: Sequence[VisitRecord]
) -> Iterator[str]:
    if last and (text := why_not_visited(last[0])) is not None:
        yield text
    if known.outcome is None:
        return
    if known.alias_of is not None:
        yield alias_reason(known.alias_of)
    elif known.outcome is Outcome.REFUSED_BY_FIREWALL:
        yield firewalls.explain(known.reason)
    elif known.outcome is not Outcome.FOUND:
        yield _outcome_text(known.outcome.value, known.reason)
    explained = set()  # documents whose answer a finding says in better words
    for finding in findings:
        rule = rule_of(finding.reason)
        if rule in NOT_LISTED:
            yield f"{rule.says} ({finding.evidence})" if finding.evidence else rule.says
        elif rule is not None and rule.severity is Severity.ERROR:
            explained.add(finding.document)
            yield f"{_path(known.host, finding.document)}{finding.pointer and '#' + finding.pointer}: {rule.says}"
    # Answers other than manifests and plain absences; one line for the same answer on many paths.
    paths_by_answer: dict[str, list[str]] = defaultdict(list)
    for entry in () if is_listed or not last else last[0].vector:
        if entry["purpose"] in _PLANNED and entry["outcome"] not in _SILENT and entry["url"] not in explained:
            answer = _outcome_text(entry["outcome"], entry.get("reason", ""))
            paths_by_answer[answer].append(_path(known.host, entry["url"]))
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


@dataclass(frozen=True, slots=True)
class SubmittedHostStatus:
    """`status`: None if the host is no longer known, or its site opted out."""

    now: HostState
    status: HostReport | None


@dataclass(frozen=True, slots=True)
class SubmissionListStatus:
    """`counts`: number of accepted hosts by state. `done`: visited since the submission, or not visited any more.
    `refused`: as in `submit.SubmissionList`. `next_index`: where the next page begins, or None."""

    id: UUID
    asked_at: datetime
    is_done: bool
    counts: Mapping[str, int]
    done: int
    refused: Sequence[Mapping[str, Any]]
    hosts: Sequence[SubmittedHostStatus]
    next_index: int | None


MAX_DOCUMENTS: Final = 100
MAX_BYTES: Final = 4_000_000  # of all bodies together


def reasons_after(visit: Visit, *, now: datetime) -> tuple[str, ...]:
    """Return the `HostReport.reasons` of a host that the registry knows only from this visit."""
    domain = registrable_domain(visit.host)
    nothing = StoredDomains({}, (), {}, {})
    writes = conclude(compare([FinishedDomain(domain, (visit,))], nothing, now), nothing, {}, now)
    (host,) = (host for host in writes.hosts if host.host == visit.host)
    return reasons_of(
        host,
        is_listed=any(not service.hidden for service in writes.services),
        opted_out=bool(writes.opt_outs),
        findings=writes.findings.get((domain, visit.host), ()),
        last=writes.visits,
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """Facts about a host and its domain. `host`: None if only other hosts of the domain are known. `hosts`: the other
    hosts of the domain. `visits`: of the host, latest first. `spent`: requests sent to the domain in the last 24 hours.
    `opted_out`: an opt-out covers the host. `unasked`: paths not requested yet."""

    name: str
    domain: records.DomainRecord
    host: HostRecord | None
    hosts: Sequence[HostRecord]
    visits: Sequence[VisitRecord]
    spent: int
    opted_out: bool
    unasked: UnprobedPaths


def why_next(host: HostRecord) -> str:
    """Return one sentence that explains the time of the host's next visit."""
    interval = None if host.interval_s is None else timedelta(seconds=host.interval_s)
    return sentence(host.next_visit_why, host.outcome, host.reason, host.streak, interval)


@dataclass(eq=False)
class QueryActions:
    """Reads services, hosts and visits from the database."""

    _store: Store
    _clock: Clock

    list_services = call_of(lambda uow: uow.catalogue.page)
    health = call_of(lambda uow: uow.catalogue.health)

    async def service(self, host: str, *, include_details: bool = False) -> ServiceView | None:
        """Return the service with its current documents; None if it is unknown or hidden."""
        stored = await self.stored_service(host, include_details=include_details)
        return None if stored is None else stored.view()

    async def stored_service(self, host: str, *, include_details: bool = False) -> StoredService | None:
        """Do what `service` does, but leave the result undecoded."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            stored = await uow.catalogue.service(domain, host, include_details=include_details)
            if stored is None:
                return None
            documents = await uow.documents.of([domain])
        return replace(stored, documents=tuple(document for document in documents if document.host == host))

    async def card(self, host: str) -> Card | None:
        """Return the service as an entry of a list; None if it is unknown or hidden."""
        return (await self._store.cards.of([(registrable_domain(host), host)])).get(host)

    async def service_name(self, host: str) -> str | None:
        """Return the name of a service; None if it is unknown or hidden."""
        async with self._store.begin() as uow:
            return await uow.catalogue.name(registrable_domain(host), host)

    async def sources(self, host: str) -> tuple[SourceDocument, ...]:
        """Return the documents that describe the host's service, without copies; the smallest if there are more than
        MAX_DOCUMENTS, or more bytes than MAX_BYTES."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            found = [
                document
                for document in await uow.documents.of([domain])
                if document.host == host and document.format is not None and document.alias_of is None
                if document.outcome is Outcome.FOUND and document.has_body
            ]
            kept, size = [], 0
            for document in sorted(found, key=lambda document: (document.size, document.url))[:MAX_DOCUMENTS]:
                size += document.size
                if size <= MAX_BYTES:
                    kept.append(document)
            bodies = await uow.documents.bodies({(domain, document.sha256) for document in kept})
        return tuple(
            SourceDocument(one.final_url, bodies[domain, one.sha256], one.format, one.media_type, one.via)
            for one in kept
            if one.format is not None and (domain, one.sha256) in bodies
        )

    async def stored_capability(self, host: str, name: str) -> StoredService | None:
        """Return the service with only this capability, undecoded; None if either is unknown or hidden. Where the
        capability lacks the detail that it names, `documents` has the answers to requests for details of the host."""
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            stored = await uow.catalogue.capability(domain, host, name)
            if stored is None or stored.capabilities[0].detail is not None or not stored.names_detail:
                return stored
            documents = [one for one in await uow.documents.of([domain]) if one.host == host]
        details = (one for one in documents if one.purpose == Purpose.DETAIL.value)
        return replace(stored, documents=tuple(details))

    async def status(self, host: str) -> HostReport | None:
        """Return the status of a host; None if it is unknown."""
        now = self._clock()
        domain = registrable_domain(host)
        async with self._store.begin() as uow:
            limits = (await uow.holds.limits([domain]))[domain]
            known = await uow.hosts.get(domain, host)
            record = (await uow.services.of([domain])).get(host)
            findings = await uow.catalogue.findings(domain, host)
            log = await uow.ledger.visits(domain, host, limit=LOG_READ)
            documents = await uow.documents.of([domain]) if known is not None else ()
            bound = None if known is None else await bound_of_all(uow, known, limits, now)
        if known is None:
            return None
        opted_out, holds = limits.has_opted_out(host), limits.kinds(host)
        shown = record if record is not None and not record.hidden else None
        is_listed = shown is not None
        state: ListingState = "opted_out" if opted_out else "blocked"
        if not opted_out and "blocked" not in holds:
            is_queued = known.last_visit_at is None or is_waiting(known, now)
            state = "listed" if is_listed else "queued" if is_queued else "not_listed"
        errors = (rule for one in findings if (rule := rule_of(one.reason)) and rule.severity is Severity.ERROR)
        return HostReport(
            domain=domain,
            host=host,
            state=state,
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
            recheck_bound=bound[0] if bound else None,
            recheck_at=bound[1] if bound else None,
            next_step=next_step(
                "waiting" if state == "queued" else state, known.outcome, known.reason, holds=holds,
                alias_of=known.alias_of, has_errors=any(errors),
            ),
        )  # fmt: skip

    async def list_status(self, list_id: UUID, *, after: int, limit: int) -> SubmissionListStatus | None:
        """Return a page of the list, from the host at place `after` on; None if the list is unknown."""
        now = self._clock()
        async with self._store.begin() as uow:
            record = await uow.submissions.get_list(list_id)
            if record is None:
                return None
            counts, done = await uow.submissions.state_counts(list_id, now=now)
            states = await uow.submissions.states(list_id, after=after, limit=limit + 1, now=now)
        shown = states[:limit]
        statuses = [None if one.state == "opted_out" else await self.status(one.host) for one in shown]
        return SubmissionListStatus(
            id=record.id,
            asked_at=record.asked_at,
            is_done=record.done_at is not None,
            counts=counts,
            done=done,
            refused=record.refused,
            hosts=[SubmittedHostStatus(one, about) for one, about in zip(shown, statuses, strict=True)],
            next_index=states[limit].index if len(states) > limit else None,
        )

    async def explain(self, host: str, *, visits: int) -> Explanation | None:
        """Return the explanation with the last `visits` visits; None if the domain is unknown."""
        now = self._clock()
        name = registrable_domain(host)
        async with self._store.begin() as uow:
            domain = await uow.domains.get(name)
            if domain is None:
                return None
            hosts = {record.host: record for record in await uow.hosts.of([name])}
            opted_out = is_covered(host, (await uow.opt_outs.of([name])).get(name, frozenset()))
            known = hosts.pop(host, None)
            documents = await uow.documents.of([name]) if known is not None else ()
            log = await uow.ledger.visits(name, host, limit=max(visits, LOG_READ))
            of_domain = (await uow.ledger.spent([name], since=now - BUDGET_WINDOW)).get(name, {})
        paths = UnprobedPaths()
        if known is not None:
            paths = unasked(known, documents, log, opted_out=opted_out, now=now)
        spent = sum(spent.requests for spent in of_domain.values())
        return Explanation(host, domain, known, tuple(hosts.values()), log[:visits], spent, opted_out, paths)

    async def visits(self, host: str, *, limit: int = 20) -> list[VisitRecord]:
        """Return the visits of a host, latest first."""
        async with self._store.begin() as uow:
            return await uow.ledger.visits(registrable_domain(host), host, limit=limit)

    async def overview(self) -> RegistryOverview:
        async with self._store.begin() as uow:
            counts = await uow.catalogue.counts()
            return RegistryOverview(
                outcomes=await uow.hosts.outcomes(),
                formats=counts["format"],
                trust_levels=counts["trust_level"],
                frontier=await uow.domains.counts(self._clock()),
                candidates=await uow.candidates.waiting(),
            )
