"""What finished visits mean for everything that is stored of their hosts: pure, from `Before` to `Writes`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from registry.actions.frontier.pending import probe_to_json
from registry.actions.frontier.seed import SEED_HEAD_START
from registry.actions.recording.present import Shown, Standing, held_documents, present
from registry.actions.recording.reconcile import SECOND_LOOK, Documents, is_detail, lose_all, reconcile, visit_record
from registry.core.documents import ABSENCE, Outcome
from registry.core.domains import registrable_domain, same_site
from registry.core.freshness import lifetime
from registry.core.listing import TrustLevel
from registry.core.next_visit import Why
from registry.core.optout import covered_host, is_covered
from registry.core.patience import SLOW_DELAY
from registry.core.revisit import History, earliest, next_visit, untouched_until
from registry.core.robots import PRODUCT, Robots
from registry.core.scoring.rubric import VERSION
from registry.core.visits import FinishedDomain, Visit
from registry.store.records import (
    CandidateRecord,
    CapabilityRecord,
    ChangeRecord,
    DocumentRecord,
    FindingRecord,
    HostRecord,
    OptOutRecord,
    ScoreRecord,
    ServiceRecord,
    VisitRecord,
)

Key = tuple[str, str]

FAILING_TIMES: Final = 3
FAILING_AFTER: Final = timedelta(days=3)
"""So many soft failures in a row, over so long: the service may not be there any more (probe-plan.md section 7)."""

NAMELESS_TIMES: Final = 3
"""Visits in a row that found no such name, hours apart: then the host is gone, with everything it served."""

PENDING_AFTER: Final = timedelta(hours=1)
SLOW_AFTER: Final = timedelta(days=1)
"""When a visit goes on that had no budget left: of a host whose robots.txt wants long pauses the next day."""

_SAYS_MORE: Final = re.compile(PRODUCT.encode() + rb"|crawl-delay", re.IGNORECASE)
_SOFT: Final = frozenset({Outcome.SERVER_ERROR, Outcome.UNREACHABLE, Outcome.TLS_ERROR})
_SAYS_NOTHING: Final = frozenset(
    {Outcome.REFUSED, Outcome.RATE_LIMITED, Outcome.DISALLOWED, Outcome.REFUSED_ADDRESS, Outcome.SKIPPED}
)
_MAY_BE_ASKED_AGAIN: Final = ABSENCE | {Outcome.MALFORMED, Outcome.UNREACHABLE, Outcome.TLS_ERROR, Outcome.SERVER_ERROR}
_ENDED_BY_HOST: Final = _SOFT | _SAYS_NOTHING
"""After these the policy's back-off holds, whatever is left to ask: otherwise a dead host would be asked every hour."""


@dataclass(frozen=True, slots=True)
class Before:
    """What was stored of the domains before."""

    hosts: Mapping[Key, HostRecord]
    documents: Sequence[DocumentRecord]
    services: Mapping[str, ServiceRecord]  # by host
    opted_out: Mapping[str, frozenset[str]]  # by domain


@dataclass(slots=True)
class Looked:
    """One visit, compared with what was stored. `is_merged_again`: the service is computed anew."""

    visit: Visit
    host: HostRecord  # as it is after the visit, without its next one
    documents: Documents
    is_failing: bool
    is_merged_again: bool
    is_hidden: bool = False
    opt_out: OptOutRecord | None = None
    previous: Outcome | None = None  # of the visit before
    is_slow: bool = False  # its robots.txt wants long pauses: visits are cut, days apart


@dataclass(slots=True)
class Writes:
    """Rows to write, by table."""

    hosts: list[HostRecord] = field(default_factory=list)
    new_hosts: list[HostRecord] = field(default_factory=list)
    bodies: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    documents: list[DocumentRecord] = field(default_factory=list)
    history: list[DocumentRecord] = field(default_factory=list)
    stamped: list[DocumentRecord] = field(default_factory=list)
    visits: list[VisitRecord] = field(default_factory=list)
    services: list[ServiceRecord] = field(default_factory=list)
    seen: list[ServiceRecord] = field(default_factory=list)
    delisted: list[Key] = field(default_factory=list)
    capabilities: dict[Key, Sequence[CapabilityRecord]] = field(default_factory=dict)
    findings: dict[Key, Sequence[FindingRecord]] = field(default_factory=dict)
    scores: list[ScoreRecord] = field(default_factory=list)
    changes: list[ChangeRecord] = field(default_factory=list)
    candidates: list[CandidateRecord] = field(default_factory=list)
    opt_outs: list[OptOutRecord] = field(default_factory=list)
    awaited: list[str] = field(default_factory=list)  # hosts that somebody submitted, and may be waiting for


def look(finished: Sequence[FinishedDomain], before: Before, now: datetime) -> list[Looked]:
    """Every visit beside what was stored. Raises ValueError for a visit of a host outside its domain."""
    documents: dict[Key, list[DocumentRecord]] = {}
    for one in before.documents:
        documents.setdefault((one.domain, one.host), []).append(one)
    looked = []
    for domain in finished:
        robots = {visit.host: _robots(visit) for visit in domain.visits}
        opt_outs = {host: _opt_out(domain.domain, host, said, now) for host, said in robots.items()}
        hidden = before.opted_out.get(domain.domain, frozenset()) | {one.host for one in opt_outs.values() if one}
        for visit in domain.visits:
            # Not by the suffix list, which may have changed since the lease was taken, in this process or another.
            if not is_covered(visit.host, {domain.domain}):
                raise ValueError("a visit of a host that is not of its domain")
            key = (domain.domain, visit.host)
            host = before.hosts.get(key) or HostRecord(*key, "visit", now, now)
            service = before.services.get(visit.host)
            is_hidden = is_covered(visit.host, hidden)
            compared = _looked(visit, host, documents.get(key, ()), service, now)
            compared.opt_out, compared.is_hidden = opt_outs[visit.host], is_hidden
            compared.is_slow = (robots[visit.host].crawl_delay or 0) > SLOW_DELAY
            looked.append(compared)
    return looked


def conclude(
    looked: Sequence[Looked], before: Before, bodies: Mapping[tuple[str, bytes], bytes], now: datetime
) -> Writes:
    """Everything to write. `bodies`: stored ones of documents that the visits did not bring."""
    writes = Writes()
    for one in looked:
        domain, host = one.host.domain, one.host.host
        writes.bodies |= one.documents.bodies
        writes.documents += one.documents.put.values()
        writes.history += one.documents.history
        writes.stamped += one.documents.stamped.values()
        writes.visits.append(visit_record(domain, one.visit))
        writes.opt_outs += [one.opt_out] if one.opt_out else []
        writes.candidates += _candidates(one, now)
        writes.hosts.append(_scheduled(one, now))
        if one.host.submitted_at is not None:
            writes.awaited.append(host)
        if one.visit.alias_of is not None and not one.is_hidden and same_site(one.visit.alias_of, host):
            writes.new_hosts.append(_answering_host(one, one.visit.alias_of, now))
        previous = before.services.get(host)
        if one.is_merged_again:
            _show(writes, one, previous, bodies, now)
        elif previous is not None:
            writes.seen.append(_seen_again(one, previous))
    return writes


def _looked(
    visit: Visit,
    host: HostRecord,
    stored: Sequence[DocumentRecord],
    service: ServiceRecord | None,
    now: datetime,
) -> Looked:
    documents = reconcile(host.domain, visit, stored, now)
    after = _after(host, visit, documents, now)
    first = after.first_failure_at
    if _is_nameless(visit) and after.streak >= NAMELESS_TIMES and first is not None and now - first >= SECOND_LOOK:
        lose_all(documents, "nxdomain", now)
    is_failing = after.soft_failures >= FAILING_TIMES and first is not None and now - first >= FAILING_AFTER
    return Looked(
        visit=visit,
        host=after,
        documents=documents,
        is_failing=is_failing,
        is_merged_again=documents.has_news or _is_outdated(service, documents, is_failing),
        previous=host.outcome,
    )


def _is_outdated(service: ServiceRecord | None, documents: Documents, is_failing: bool) -> bool:
    """Whether the service must be computed anew although no document changed."""
    if service is None:
        return any(one.record.outcome is Outcome.FOUND for one in documents.current.values())
    was_failing = service.trust_level is TrustLevel.UNVERIFIED
    return (service.rubric_version, was_failing) != (VERSION, is_failing)


def _after(host: HostRecord, visit: Visit, documents: Documents, now: datetime) -> HostRecord:
    """The host as the visit leaves it. A row of failures is broken by any answer, not by being refused.

    Where a spent budget kept us from asking anything, it was not visited: what was known of it stays as it was.
    """
    if _is_untouched(visit):
        return host
    is_soft = visit.outcome in _SOFT or _has_no_robots(visit)
    keeps = visit.outcome in _SAYS_NOTHING
    same = (host.outcome, host.reason) == (visit.outcome, visit.reason)
    is_found = visit.outcome is Outcome.FOUND
    whole_plan_at = visit.started_at if visit.whole_plan else host.whole_plan_at
    robots = visit.robots
    return replace(
        host,
        outcome=visit.outcome,
        reason=visit.reason,
        streak=min(host.streak + 1, 1_000) if same else 1,
        soft_failures=min(host.soft_failures + 1, 1_000) if is_soft else host.soft_failures if keeps else 0,
        first_failure_at=(host.first_failure_at or now) if is_soft else host.first_failure_at if keeps else None,
        last_visit_at=visit.finished_at,
        last_found_at=visit.finished_at if is_found else host.last_found_at,
        last_changed_at=now if documents.has_news else host.last_changed_at,
        whole_plan_at=None if documents.has_losses else whole_plan_at,  # what is missed here may be elsewhere
        alias_of=visit.alias_of,
        address=visit.address or host.address,
        response_ms=host.response_ms if (took := _response_ms(visit)) is None else took,
        robots_status=robots.status if robots else host.robots_status,
        robots_body=robots.body if robots else host.robots_body,
        robots_at=robots.fetched_at if robots else host.robots_at,
        pending=[probe_to_json(probe) for probe in visit.pending],
    )


def _scheduled(one: Looked, now: datetime) -> HostRecord:
    """The host with its next visit: the policy's, or sooner for a second look, for what is pending, for who asked."""
    host, visit = one.host, one.visit
    if one.is_hidden:
        return replace(host, next_visit_at=None, next_visit_why=Why.OPTED_OUT, pending=[])
    if _is_untouched(visit):
        return replace(host, next_visit_at=untouched_until(host.host, now), next_visit_why=Why.UNFINISHED)
    history = _history(one)
    due = next_visit(visit.outcome, history, now)
    interval_s = None if due is None else round((due - now).total_seconds())
    moments = [(due, Why.POLICY), (one.documents.second_look_at, Why.SECOND_LOOK)]
    if host.pending and visit.outcome not in _ENDED_BY_HOST:
        moments.append((now + (SLOW_AFTER if one.is_slow else PENDING_AFTER), Why.UNFINISHED))
    if host.submitted_at is not None and visit.started_at < host.submitted_at and visit.outcome in _MAY_BE_ASKED_AGAIN:
        moments.append((now, Why.ASKED))
    first = min((moment for moment, _ in moments if moment is not None), default=None)
    why = next(why for moment, why in moments if moment == first)
    if first is not None:
        first = max(first, earliest(history.retry_after, now))
    return replace(host, next_visit_at=first, next_visit_why=why, interval_s=interval_s)


def _history(one: Looked) -> History:
    return History(
        host=one.host.host,
        streak=one.host.streak,
        interval=None if one.host.interval_s is None else timedelta(seconds=one.host.interval_s),
        has_changed=one.documents.has_news,
        max_age=_max_age(one),
        retry_after=None if one.visit.retry_after is None else timedelta(seconds=one.visit.retry_after),
        previous=one.previous,
    )


def _max_age(one: Looked) -> timedelta | None:
    """The longest that a document of the host may be kept; None where none says so.

    By the fields that came with this visit, a 304 included, before those that are stored (RFC 9111 section 3.2).
    Details are left out: they are not asked for by themselves.
    """
    fetched = {answer.probe.url: answer.fetched for answer in one.visit.answers if answer.fetched.failure is None}
    ages = []
    for current in one.documents.current.values():
        record = current.record
        if record.outcome is not Outcome.FOUND or is_detail(record):
            continue
        now = fetched.get(record.url)
        headers = record.headers if now is None else {**record.headers, **now.headers}
        ages.append(lifetime(headers, record.seen_at if now is None else now.at))
    return max((age for age in ages if age is not None), default=None)


def _show(
    writes: Writes,
    one: Looked,
    previous: ServiceRecord | None,
    bodies: Mapping[tuple[str, bytes], bytes],
    now: datetime,
) -> None:
    domain, host = key = (one.host.domain, one.host.host)
    seen_at = one.visit.finished_at if one.visit.outcome is Outcome.FOUND or previous is None else previous.seen_at
    standing = Standing(seen_at, one.host.soft_failures, one.is_failing, one.is_hidden)
    held = held_documents(one.documents.current.values(), bodies)
    shown = present(domain, host, held, previous, standing, now)
    writes.findings[key] = shown.findings
    if shown.service is None or shown.score is None:
        if previous is not None:
            writes.delisted.append(key)
            writes.changes.append(ChangeRecord(domain, host, "service.delisted", now, {"reason": one.visit.reason}))
        return
    writes.services.append(shown.service)
    writes.capabilities[key] = shown.capabilities
    writes.scores.append(shown.score)
    writes.changes += change_of(previous, shown, now)


def change_of(previous: ServiceRecord | None, shown: Shown, now: datetime) -> list[ChangeRecord]:
    """What subscribers are told of a service that was computed anew; of a hidden one only that."""
    service = shown.service
    if service is None or (previous is not None and service.updated_at != now):
        return []
    if service.hidden:
        was_shown = previous is not None and not previous.hidden
        return [ChangeRecord(service.domain, service.host, "service.hidden", now, {})] if was_shown else []
    data = {"name": service.name, "score": service.score, "trust_level": service.trust_level.value}
    kind = "service.listed" if previous is None or previous.hidden else "service.changed"
    return [ChangeRecord(service.domain, service.host, kind, now, {**data, "formats": list(service.formats)})]


def _seen_again(one: Looked, previous: ServiceRecord) -> ServiceRecord:
    again = replace(previous, crawl_failures=one.host.soft_failures)
    if one.visit.outcome is not Outcome.FOUND:
        return again
    seen_at = one.visit.finished_at
    return replace(again, seen_at=seen_at, listing=replace(previous.listing, seen_on=seen_at.date()))


def _robots(visit: Visit) -> Robots:
    """What the file says to us in particular, and how slowly it wants to be asked. Most say neither: not read again."""
    if visit.robots is None or not _SAYS_MORE.search(visit.robots.body):
        return Robots()
    return Robots.from_answer(visit.robots.status, visit.robots.body)


def _opt_out(domain: str, host: str, robots: Robots, now: datetime) -> OptOutRecord | None:
    """robots.txt names us and disallows everything."""
    if not robots.opted_out:
        return None
    return OptOutRecord(domain, covered_host(host, domain), "robots", f"https://{host}/robots.txt", now)


def _candidates(one: Looked, now: datetime) -> list[CandidateRecord]:
    return [
        CandidateRecord(registrable_domain(named.host), named.host, one.host.host, named.rel, named.document, now)
        for named in one.visit.candidates
    ]


def _answering_host(one: Looked, host: str, now: datetime) -> HostRecord:
    """The host that answers for this one stands in for it, also in the queue."""
    due = now - SEED_HEAD_START
    return HostRecord(one.host.domain, host, "alias", now, due, one.host.host, one.host.submitted_at)


def _is_untouched(visit: Visit) -> bool:
    """Nothing was asked: a budget of the day was spent before the visit began."""
    return visit.outcome is Outcome.SKIPPED and visit.requests == 0


def _has_no_robots(visit: Visit) -> bool:
    """robots.txt could not be had (5xx, no answer): a failure of the host like any other, not its wish."""
    return visit.outcome is Outcome.DISALLOWED and visit.reason.startswith("robots_")


def _is_nameless(visit: Visit) -> bool:
    return visit.outcome is Outcome.UNREACHABLE and visit.reason == "nxdomain"


def _response_ms(visit: Visit) -> int | None:
    times = [one.fetched.elapsed_ms for one in visit.answers if one.fetched.status is not None]
    return round(median(times)) if times else None
