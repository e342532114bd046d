"""Leases: acquire domains to visit, release them, and recover them when their worker has died.

Also applies opt-outs to stored rows: services are hidden, hosts unscheduled, and the texts of events redacted.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from registry.actions.frontier.submit import SUB_HOST, probes_from_json
from registry.core.model.documents import Outcome
from registry.core.model.services import capability_from_json
from registry.core.scheduling.policy import DueReason
from registry.core.visiting import limits, tool_lists
from registry.core.visiting.call_checks import CallAddress, CallChecks, choose_addresses
from registry.core.visiting.probes import Step
from registry.core.visiting.shares import Standing
from registry.core.visiting.visits import DomainJob, HostJob, KnownDocument, RobotsRecord
from registry.store.domains import MAX_ATTEMPTS, SUSPECT_FOR
from registry.store.records import ChangeRecord, DocumentRecord, HostRecord
from registry.store.repository import Key
from registry.store.unit_of_work import UnitOfWork

WHOLE_PLAN_EVERY: Final = timedelta(days=14)
ROBOTS_FOR: Final = timedelta(hours=24)
BUDGET_WINDOW: Final = timedelta(days=1)
STRANGE_HOSTS: Final = 5
"""Hosts of the last two standings that one lease visits, so that a better known host submitted meanwhile does not wait
for more of them."""

ANSWERED: Final = frozenset({
    Outcome.FOUND, Outcome.NEGATIVE, Outcome.NOT_A_MANIFEST, Outcome.MALFORMED, Outcome.ABSENT, Outcome.GONE,
    Outcome.TOO_LARGE, Outcome.UNSUPPORTED_ENCODING,
})  # fmt: skip
"""Outcomes of a last visit in which the host answered for itself, so that the next one is a revisit."""

_KNOWN: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})


async def recover(uow: UnitOfWork, *, now: datetime) -> int:
    """Free the leases of dead workers without waiting for their expiry; return their number. A domain whose workers
    died MAX_ATTEMPTS times is set aside, because it may have killed them."""
    orphans = await uow.domains.orphans()
    suspects = [domain for domain, attempts in orphans if attempts >= MAX_ATTEMPTS]
    await uow.domains.end_lease([domain for domain, attempts in orphans if attempts < MAX_ATTEMPTS], forgiven=0)
    await uow.domains.set_aside(suspects, now=now, step=SUSPECT_FOR)
    return len(orphans)


async def make_jobs(
    uow: UnitOfWork, domains: Sequence[str], now: datetime, call_checks: CallChecks
) -> tuple[DomainJob, ...]:
    """Return the jobs of leased domains. `call_checks`: which hosts have their addresses for calls checked."""
    limits = await uow.holds.limits(domains)
    hosts = []
    for host in await uow.hosts.due(domains, now=now):
        if not limits[host.domain].may_be_visited(host.host):  # guard: opt-out-lease
            why = DueReason.OPTED_OUT if limits[host.domain].has_opted_out(host.host) else DueReason.BLOCKED
            await uow.hosts.unschedule(host.domain, host.host, why)  # otherwise its domain would stay due for ever
        else:
            hosts.append(host)
    spent = await uow.ledger.spent(domains, since=now - BUDGET_WINDOW)
    documents: dict[str, list[DocumentRecord]] = {}
    for document in await uow.documents.of(domains):
        documents.setdefault(document.host, []).append(document)
    calls = await _due_calls(uow, {(host.domain, host.host) for host in hosts}, now, call_checks)
    return tuple(
        DomainJob(
            domain,
            tuple(
                host_job(
                    record,
                    documents.get(record.host, ()),
                    now,
                    closed=limits[domain].closed,
                    calls=calls.get(record.host, ()),
                )
                for record in _in_order(domain_hosts)
            ),
            spent.get(domain, {}),
        )
        for domain, domain_hosts in groupby(hosts, key=lambda record: record.domain)
    )


async def _due_calls(
    uow: UnitOfWork, hosts: set[Key], now: datetime, call_checks: CallChecks
) -> dict[str, tuple[CallAddress, ...]]:
    """Return by host the addresses for calls that are to be checked. Costs one query where nothing is owned."""
    if call_checks == "off" or not hosts:
        return {}
    checked_hosts = hosts if call_checks == "all" else await uow.claims.owned(hosts)  # guard: call-check-owned
    if not checked_hosts:
        return {}
    # guard: call-check-switched-off
    checked_hosts -= await uow.owner_settings.without_call_checks({domain for domain, _ in checked_hosts})
    last = await uow.call_checks.last_of(checked_hosts)
    due = {}
    for key, stored in (await uow.services.capabilities(checked_hosts)).items():
        capabilities = []
        for data in stored.values():
            with suppress(ValueError):
                capabilities.append(capability_from_json(data))
        due[key[1]] = choose_addresses(key[1], capabilities, last.get(key, {}), now)
    return due


def _in_order(hosts: Iterable[HostRecord]) -> list[HostRecord]:
    """Return the due hosts of one domain in visiting order, without the hosts left to a later lease. Well-known hosts
    come first. Of hosts that strangers submitted, the first of each submitter come first, so a client who submits many
    waits longer."""
    # guard: lease-order
    ordered = sorted(
        hosts, key=lambda host: (host.standing, host.turn, host.submitted_at or host.created_at, host.host)
    )
    known = [host for host in ordered if host.standing < Standing.SUBMITTED]
    return ordered[: len(known) + STRANGE_HOSTS]  # guard: strange-hosts


def host_job(
    host: HostRecord, documents: Iterable[DocumentRecord], now: datetime, *, closed: Iterable[str] = (),
    calls: tuple[CallAddress, ...] = (),
) -> HostJob:  # fmt: skip
    """Return the job: only known documents, or the whole plan every WHOLE_PLAN_EVERY and if no document is known.

    A host that was submitted or named in `waypost crawl HOST` gets all paths of all formats; a submitted one until each
    path was requested once. `documents`: all current ones of the host. `closed`: hosts of the domain that are never
    visited. `calls`: addresses for calls that are to be checked.
    """
    known = [document for document in documents if document.outcome in _KNOWN and document.alias_of is None]
    has_any = any(document.outcome is Outcome.FOUND for document in known)
    whole_plan = host.whole_plan_at is None or not has_any or now - host.whole_plan_at >= WHOLE_PLAN_EVERY
    is_revisit = not host.pending and host.outcome in ANSWERED
    needs_turns = whole_plan and (is_revisit or host.submitted_at is not None)
    further = further_steps(host, known, now) if needs_turns else []  # A first bulk visit needs no query for turns.
    was_submitted = host.submitted_at is not None and any(step.path not in host.asked for step in further)
    named = whole_plan and (host.next_visit_why is DueReason.ASKED or was_submitted)
    rotates = is_revisit and not named
    has_tool_list = any(document.via is not None and document.via.rel == tool_lists.REL for document in known)
    robots = None
    if host.robots_at is not None and now - host.robots_at < ROBOTS_FOR:
        robots = RobotsRecord(host.robots_status, host.robots_body or b"", host.robots_at)
    return HostJob(
        host.host,
        whole_plan,
        tuple(map(_known_document, known)),
        probes_from_json(host.pending),
        robots,
        short=is_short(host, has_any) and not named,
        closed=tuple(sorted(closed)),
        named=named,
        lists_tools=named or host.submitted_at is not None or has_tool_list,
        further=tuple(step.path for step in further[: limits.PER_VISIT]) if rotates else (),
        standing=host.standing,
        calls=calls,
    )


def _known_document(document: DocumentRecord) -> KnownDocument:
    """Return the document; with validators only if it was readable and not missed, so that a 304 confirms it."""
    use_validators = document.outcome is not Outcome.MALFORMED and document.missed_at is None
    etag, last_modified = (document.etag, document.last_modified) if use_validators else (None, None)
    return KnownDocument(
        document.url, document.format, document.outcome, document.sha256, etag, last_modified, document.via,
        document.reason,
    )  # fmt: skip


def further_steps(host: HostRecord, documents: Iterable[DocumentRecord], now: datetime) -> list[Step]:
    """Return the steps that a bulk visit skips although they are allowed, in the order of their turns."""
    home = f"https://{host.host}"
    found = {document.url.removeprefix(home) for document in documents if document.outcome is Outcome.FOUND}
    steps = limits.further_steps(host.host, short=is_short(host, bool(found)))
    return limits.in_turn(steps, host.asked, found, now.date())


def is_short(host: HostRecord, has_documents: bool) -> bool:
    """Return whether bulk visits request only the short list of the host's label."""
    return host.source == SUB_HOST and host.submitted_at is None and not has_documents


async def apply_opt_out(uow: UnitOfWork, domain: str, host: str, *, now: datetime) -> int:
    """Apply an opt-out to the host and every host below it; return the number of services that are now hidden. The
    caller has locked the domain and stored the opt-out. Nothing else is deleted; `forget` does that."""
    await uow.hosts.unschedule(domain, host)
    hidden = await uow.services.hide(domain, [host])
    await uow.feed.redact(domain, host)  # guard: feed-hidden-redacted
    if hidden:
        data = {"state": (await uow.holds.limits([domain]))[domain].state(host)}
        await uow.ledger.add_changes([ChangeRecord(domain, name, "service.hidden", now, data) for name in hidden])
    return len(hidden)
