"""Turns finished visits into rows to write, given what is stored of their hosts. Pure, from StoredDomains to Writes.

The module is long because it decides every kind of row that a visit changes, in the order of their dependence.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Final, Literal

from registry.actions.frontier.submit import SEED_HEAD_START, SUB_HOST, probe_to_json
from registry.actions.recording import present as presenting
from registry.actions.recording.present import Capabilities, Presentation
from registry.actions.recording.reconcile import SECOND_LOOK, DocumentChanges, is_detail, lose_all, reconcile
from registry.core.access.holds import UNLIMITED, Limits
from registry.core.calling.server_records.record import NO_SERVERS, ServerRecords
from registry.core.changes.kinds import State
from registry.core.merging.speaking import NOTHING_KNOWN, Known
from registry.core.model.documents import ABSENCE, Outcome
from registry.core.model.listing import TrustLevel
from registry.core.names.domains import registrable_domain, same_site
from registry.core.names.opt_out import covered_host, is_covered
from registry.core.scheduling.policy import DueReason, VisitHistory, after_spent_budget, earliest, lifetime, next_visit
from registry.core.scoring.rubric import VERSION
from registry.core.visiting import limits
from registry.core.visiting.call_checks import CallCheck
from registry.core.visiting.limits import SLOW_DELAY
from registry.core.visiting.robots import PRODUCT, Robots
from registry.core.visiting.robots_record import rules_of
from registry.core.visiting.visits import FinishedDomain, Visit
from registry.store import records
from registry.store.records import ChangeRecord, DocumentRecord, HostRecord, OptOutRecord, ServiceRecord
from registry.store.repository import Key
from registry.store.visit_log_encoding import pack

FAILING_TIMES: Final = 3
FAILING_AFTER: Final = timedelta(days=3)
"""A service is marked failing after so many soft failures in a row over so long (docs/crawler.md, "Outcomes")."""

NAMELESS_TIMES: Final = 3
"""Visits in a row, over SECOND_LOOK at least, with no such name, after which the host and its documents are gone."""

PENDING_AFTER: Final = timedelta(hours=1)
SLOW_AFTER: Final = timedelta(days=1)
"""When an unfinished visit is continued; SLOW_AFTER for a host whose robots.txt demands long pauses."""

_NEEDS_PARSING: Final = re.compile(PRODUCT.encode() + rb"|crawl-delay", re.IGNORECASE)
_SOFT: Final = frozenset({Outcome.SERVER_ERROR, Outcome.UNREACHABLE, Outcome.TLS_ERROR})
_INCONCLUSIVE: Final = frozenset(
    {Outcome.REFUSED, Outcome.REFUSED_BY_FIREWALL, Outcome.RATE_LIMITED, Outcome.DISALLOWED, Outcome.REFUSED_ADDRESS,
     Outcome.SKIPPED}
)  # fmt: skip
_MAY_BE_ASKED_AGAIN: Final = ABSENCE | {Outcome.MALFORMED, Outcome.UNREACHABLE, Outcome.TLS_ERROR, Outcome.SERVER_ERROR}
_ENDED_BY_HOST: Final = _SOFT | _INCONCLUSIVE
"""After these the policy's back-off applies even with probes left: otherwise a dead host would be visited hourly."""


@dataclass(slots=True)
class StoredDomains:
    """Stored rows of the domains before the visits. `capabilities`: of the services that are merged again."""

    hosts: Mapping[Key, HostRecord]
    documents: Sequence[DocumentRecord]
    services: Mapping[str, ServiceRecord]  # by host
    limits: Mapping[str, Limits]  # by domain
    capabilities: Mapping[Key, Capabilities] = field(default_factory=dict)


@dataclass(slots=True)
class VisitComparison:
    """One visit compared with the stored rows. `is_merged_again`: the service is recomputed."""

    visit: Visit
    host: HostRecord  # after the visit, not yet rescheduled
    documents: DocumentChanges
    is_failing: bool
    is_merged_again: bool
    is_hidden: bool
    hidden_as: State | None
    may_be_visited: bool
    opt_out: OptOutRecord | None = None
    previous: Outcome | None = None  # of the visit before
    is_slow: bool = False  # its robots.txt asks for long pauses, so visits are split over days


@dataclass(slots=True)
class Writes:
    """Rows to write, by table."""

    hosts: list[HostRecord] = field(default_factory=list)
    new_hosts: list[HostRecord] = field(default_factory=list)
    bodies: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    documents: list[DocumentRecord] = field(default_factory=list)
    history: list[DocumentRecord] = field(default_factory=list)
    stamped: list[DocumentRecord] = field(default_factory=list)
    visits: list[records.VisitRecord] = field(default_factory=list)
    services: list[ServiceRecord] = field(default_factory=list)
    seen: list[ServiceRecord] = field(default_factory=list)
    delisted: list[Key] = field(default_factory=list)
    capabilities: dict[Key, Sequence[records.CapabilityRecord]] = field(default_factory=dict)
    findings: dict[Key, Sequence[records.FindingRecord]] = field(default_factory=dict)
    scores: list[records.ScoreRecord] = field(default_factory=list)
    mcp_servers: dict[Key, ServerRecords] = field(default_factory=dict)
    calls: dict[Key, Sequence[CallCheck]] = field(default_factory=dict)
    changes: list[ChangeRecord] = field(default_factory=list)
    candidates: list[records.CandidateRecord] = field(default_factory=list)
    opt_outs: list[OptOutRecord] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)  # submitted hosts, whose submitters may be waiting
    resolved: list[tuple[str, str, bool]] = field(default_factory=list)  # submitted hosts: may it have an address


def compare(finished: Sequence[FinishedDomain], before: StoredDomains, now: datetime) -> list[VisitComparison]:
    """Compare every visit with what was stored. Raise ValueError for a visit of a host outside its domain."""
    documents: dict[Key, list[DocumentRecord]] = {}
    for document in before.documents:
        documents.setdefault((document.domain, document.host), []).append(document)
    comparisons = []
    for domain in finished:
        robots = {visit.host: _robots(visit) for visit in domain.visits}
        opt_outs = {host: _opt_out(domain.domain, host, rules, now) for host, rules in robots.items()}
        limits = before.limits.get(domain.domain, UNLIMITED)
        declared = {opt_out.host: opt_out.how for opt_out in opt_outs.values() if opt_out}
        limits = Limits({**declared, **limits.opted_out}, limits.holds)
        for visit in domain.visits:
            # Do not use the suffix list, which may have changed since the lease, in this process or another.
            if not is_covered(visit.host, {domain.domain}):
                raise ValueError("a visit of a host that is not of its domain")
            key = (domain.domain, visit.host)
            host = before.hosts.get(key) or HostRecord(*key, "visit", now, now)
            service = before.services.get(visit.host)
            compared = _compare_visit(visit, host, documents.get(key, ()), service, limits, now)
            compared.opt_out = opt_outs[visit.host]
            compared.is_slow = (robots[visit.host].crawl_delay or 0) > SLOW_DELAY
            comparisons.append(compared)
    return comparisons


def conclude(
    comparisons: Sequence[VisitComparison],
    before: StoredDomains,
    bodies: Mapping[tuple[str, bytes], bytes],
    now: datetime,
    known: Known = NOTHING_KNOWN,
) -> Writes:
    """Return everything to write. `bodies`: stored bodies of documents that the visits did not fetch or replaced;
    `known`: hosts on which the trust of the services depends. Safe to repeat."""
    writes = Writes()
    for compared in comparisons:
        domain, host = compared.host.domain, compared.host.host
        presenting.note_breaking_changes(compared.documents, bodies)
        writes.bodies |= compared.documents.bodies
        writes.documents += compared.documents.put.values()
        writes.history += compared.documents.history
        writes.stamped += compared.documents.stamped.values()
        visit, vector = compared.visit, pack(host, compared.visit.answers)
        writes.visits.append(
            records.VisitRecord(
                domain, host, visit.started_at, visit.finished_at, visit.outcome, visit.reason, visit.whole_plan,
                visit.requests, visit.address, vector, visit.sent, visit.standing,
            )
        )  # fmt: skip
        if visit.calls:
            writes.calls[domain, host] = visit.calls
        writes.opt_outs += [compared.opt_out] if compared.opt_out else []
        writes.candidates += [
            records.CandidateRecord(registrable_domain(one.host), one.host, host, one.rel, one.document, now)
            for one in visit.candidates
        ]
        writes.hosts.append(_scheduled(compared, now))
        if compared.host.submitted_at is not None:
            writes.awaited.append(host)
            if not _is_untouched(visit):
                writes.resolved.append((domain, host, not visit.has_no_address))
        if visit.alias_of is not None and compared.may_be_visited and same_site(visit.alias_of, host):
            writes.new_hosts.append(_alias_target(compared.host, visit.alias_of, now))
        previous = before.services.get(host)
        is_found = visit.outcome is Outcome.FOUND
        if compared.is_merged_again:
            facts = presenting.ListingFacts(
                seen_at=visit.finished_at if is_found or previous is None else previous.seen_at,
                crawl_failures=compared.host.soft_failures,
                is_failing=compared.is_failing,
                is_hidden=compared.is_hidden,
                known=known,
            )
            held = presenting.held_documents(compared.documents.current.values(), bodies)
            shown = presenting.present(domain, host, held, previous, facts, now)
            gone = {"outcome": visit.outcome.value, "reason": visit.reason}
            hidden_as = compared.hidden_as
            add_shown(writes, (domain, host), before, shown, now, cause="visit", hidden_as=hidden_as, gone=gone)
        elif previous is not None:
            seen = replace(previous, crawl_failures=compared.host.soft_failures)
            if is_found:
                seen.seen_at = visit.finished_at
                seen.listing = replace(previous.listing, seen_on=visit.finished_at.date())
            writes.seen.append(seen)
            writes.changes += presenting.freshened(previous, seen, now)
        opted_out = before.limits.get(domain, UNLIMITED).opted_out
        if compared.opt_out is not None and compared.opt_out.host not in opted_out:
            data = {"state": "opted_out", "how": compared.opt_out.how}
            writes.changes.append(ChangeRecord(domain, compared.opt_out.host, "host.opted_out", now, data))
    return writes


def _compare_visit(
    visit: Visit,
    host: HostRecord,
    stored: Sequence[DocumentRecord],
    service: ServiceRecord | None,
    limits: Limits,
    now: datetime,
) -> VisitComparison:
    documents = reconcile(host.domain, visit, stored, now)
    after = _after_visit(host, visit, documents, now)
    failing_for = timedelta() if after.first_failure_at is None else now - after.first_failure_at
    is_nameless = visit.outcome is Outcome.UNREACHABLE and visit.reason == "nxdomain"
    if is_nameless and after.streak >= NAMELESS_TIMES and failing_for >= SECOND_LOOK:
        lose_all(documents, "nxdomain", now)
    is_failing = after.soft_failures >= FAILING_TIMES and failing_for >= FAILING_AFTER
    is_hidden = not limits.may_be_listed(host.host)
    return VisitComparison(
        visit=visit,
        host=after,
        documents=documents,
        is_failing=is_failing,
        is_merged_again=documents.has_news or _is_outdated(service, documents, is_failing, is_hidden),
        is_hidden=is_hidden,
        hidden_as=limits.state(host.host),
        may_be_visited=limits.may_be_visited(host.host),
        previous=host.outcome,
    )


def _is_outdated(service: ServiceRecord | None, documents: DocumentChanges, is_failing: bool, is_hidden: bool) -> bool:
    """Return whether the service must be recomputed although no document changed."""
    if service is None:
        return any(current.record.outcome is Outcome.FOUND for current in documents.current.values())
    was_failing = service.trust_level is TrustLevel.UNVERIFIED
    return (service.rubric_version, was_failing, service.hidden) != (VERSION, is_failing, is_hidden)


def _after_visit(host: HostRecord, visit: Visit, documents: DocumentChanges, now: datetime) -> HostRecord:
    """Return the host after the visit. Any answer ends a run of soft failures, except a refusal. If a spent budget
    prevented every request, the host was not visited and is returned unchanged."""
    if _is_untouched(visit):
        return host
    # robots.txt that could not be fetched (5xx, no answer) is a soft failure, not a wish of the site
    has_no_robots = visit.outcome is Outcome.DISALLOWED and visit.reason.startswith("robots_")
    is_soft = visit.outcome in _SOFT or has_no_robots
    is_inconclusive = visit.outcome in _INCONCLUSIVE
    is_repeated = (host.outcome, host.reason) == (visit.outcome, visit.reason)
    is_found = visit.outcome is Outcome.FOUND
    whole_plan_at = visit.started_at if visit.whole_plan else host.whole_plan_at
    robots = visit.robots
    times = [answer.fetched.elapsed_ms for answer in visit.answers if answer.fetched.status is not None]
    return replace(
        host,
        outcome=visit.outcome,
        reason=visit.reason,
        streak=min(host.streak + 1, 1_000) if is_repeated else 1,
        soft_failures=min(host.soft_failures + 1, 1_000) if is_soft else host.soft_failures if is_inconclusive else 0,
        first_failure_at=(host.first_failure_at or now)
        if is_soft
        else host.first_failure_at
        if is_inconclusive
        else None,
        last_visit_at=visit.finished_at,
        last_found_at=visit.finished_at if is_found else host.last_found_at,
        last_changed_at=now if documents.has_news else host.last_changed_at,
        whole_plan_at=None if documents.has_losses else whole_plan_at,  # a missed document may be at another path
        alias_of=visit.alias_of,
        address=visit.address or host.address,
        response_ms=round(median(times)) if times else host.response_ms,
        robots_status=robots.status if robots else host.robots_status,
        robots_body=robots.body if robots else host.robots_body,
        robots_at=host.robots_at if robots is None else robots.fetched_at if robots.is_own else None,
        pending=[probe_to_json(probe) for probe in visit.pending],
        asked=limits.after_visit(host.asked, visit, short=host.source == SUB_HOST),
    )


def _scheduled(compared: VisitComparison, now: datetime) -> HostRecord:
    """Return the host with its next visit: by policy, or sooner for a second look, pending probes or a submission."""
    host, visit = compared.host, compared.visit
    if compared.is_hidden:
        return replace(host, next_visit_at=None, next_visit_why=DueReason.OPTED_OUT, pending=[])
    if _is_untouched(visit):
        why = DueReason.ASKED if host.next_visit_why is DueReason.ASKED else DueReason.UNFINISHED
        return replace(host, next_visit_at=after_spent_budget(host.host, now), next_visit_why=why)
    history = VisitHistory(
        host=host.host,
        streak=host.streak,
        interval=None if host.interval_s is None else timedelta(seconds=host.interval_s),
        has_changed=compared.documents.has_news,
        max_age=_max_age(compared),
        retry_after=None if visit.retry_after is None else timedelta(seconds=visit.retry_after),
        previous=compared.previous,
    )
    due = next_visit(visit.outcome, history, now)
    interval_s = None if due is None else round((due - now).total_seconds())
    moments = [(due, DueReason.POLICY), (compared.documents.second_look_at, DueReason.SECOND_LOOK)]
    if host.pending and visit.outcome not in _ENDED_BY_HOST:
        moments.append((now + (SLOW_AFTER if compared.is_slow else PENDING_AFTER), DueReason.UNFINISHED))
    if host.submitted_at is not None and visit.started_at < host.submitted_at and visit.outcome in _MAY_BE_ASKED_AGAIN:
        moments.append((now, DueReason.ASKED))
    next_visit_at = min((moment for moment, _ in moments if moment is not None), default=None)
    reason = next(reason for moment, reason in moments if moment == next_visit_at)
    if next_visit_at is not None:
        next_visit_at = max(next_visit_at, earliest(history.retry_after, now))
    return replace(host, next_visit_at=next_visit_at, next_visit_why=reason, interval_s=interval_s)


def _max_age(compared: VisitComparison) -> timedelta | None:
    """Return the longest freshness lifetime of the host's documents; None if no document declares one. Header fields of
    this visit, also of a 304, take precedence over stored ones (RFC 9111 section 3.2). Details do not count, because
    they are not requested separately."""
    fetched = {answer.probe.url: answer.fetched for answer in compared.visit.answers if answer.fetched.failure is None}
    ages = []
    for current in compared.documents.current.values():
        record = current.record
        if record.outcome is not Outcome.FOUND or is_detail(record):
            continue
        response = fetched.get(record.url)
        headers = record.headers if response is None else {**record.headers, **response.headers}
        ages.append(lifetime(headers, record.seen_at if response is None else response.at))
    return max((age for age in ages if age is not None), default=None)


def add_shown(
    writes: Writes,
    key: Key,
    before: StoredDomains,
    shown: Presentation,
    now: datetime,
    *,
    cause: Literal["visit", "rescore"],
    hidden_as: State | None,
    gone: Mapping[str, str],
) -> None:
    """Add the rows of a recomputed service. `gone`: facts for the event, if it is a service no longer."""
    domain, host = key
    previous = before.services.get(host)
    writes.findings[key] = shown.findings
    was_mcp = previous is not None and ("mcp" in previous.protocols or bool(previous.model.get("packages")))
    if was_mcp or shown.servers != NO_SERVERS:
        writes.mcp_servers[key] = shown.servers
    if shown.service is None or shown.score is None:
        if previous is not None:
            writes.delisted.append(key)
            writes.changes.append(ChangeRecord(domain, host, "service.delisted", now, {"state": "gone", **gone}))
        return
    writes.services.append(shown.service)
    writes.capabilities[key] = shown.capabilities
    writes.scores.append(shown.score)
    capabilities = before.capabilities.get(key, {})
    writes.changes += presenting.change_of(previous, capabilities, shown, now, cause=cause, hidden_as=hidden_as)


def _robots(visit: Visit) -> Robots:
    """Return the rules of robots.txt. Parse it only if it names our product or a crawl delay, which is rare."""
    if visit.robots is None or not _NEEDS_PARSING.search(visit.robots.body):
        return Robots()
    return rules_of(visit.robots)


def _opt_out(domain: str, host: str, robots: Robots, now: datetime) -> OptOutRecord | None:
    """Return an opt-out when robots.txt names our product and disallows everything."""
    if not robots.opted_out:
        return None
    return OptOutRecord(domain, covered_host(host, domain), "robots", f"https://{host}/robots.txt", now)


def _alias_target(alias: HostRecord, host: str, now: datetime) -> HostRecord:
    """Return the target of this alias, to be visited in its place."""
    due = now - SEED_HEAD_START
    why = DueReason.ASKED if alias.next_visit_why is DueReason.ASKED else DueReason.NEW
    return HostRecord(alias.domain, host, "alias", now, due, alias.host, alias.submitted_at, next_visit_why=why)


def _is_untouched(visit: Visit) -> bool:
    """Return whether nothing was requested because a daily budget was spent before the visit began."""
    return visit.outcome is Outcome.SKIPPED and visit.requests == 0
