"""Checks of sites on request: one visit of a host, or one request of a URL, whose result only the asker sees.

A worker makes the visit within all limits of visits: robots.txt, the guards, the pauses, the site's daily budget, to
which its requests count. Nothing else of the registry changes: no host is listed, recorded or scheduled by a check. The
result is at a secret address for KEPT_FOR, then it is deleted with the request.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import orjson

from registry.actions import Clock
from registry.actions.access import new_token
from registry.actions.frontier.lease import BUDGET_WINDOW
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.actions.queries.inspect import alias_reason, reasons_after
from registry.core.access.tokens import Token, parse_token
from registry.core.merging.merge import HeldDocument, held_from
from registry.core.model.documents import Outcome, Purpose
from registry.core.names.domains import InvalidName, canonical_host, host_of, parse_https
from registry.core.scoring.causes import causes_of
from registry.core.scoring.report import report
from registry.core.visiting.shares import Spent, Standing
from registry.core.visiting.visits import ProbeResult, Visit
from registry.store.site_checks import SiteCheckRecord as SiteCheckRecord  # interfaces name it
from registry.store.unit_of_work import Store, UnitOfWork

KIND: Final = "check"
"""The kind of the tokens."""

KEPT_FOR: Final = timedelta(days=1)
TAKEN_FOR: Final = timedelta(minutes=4)
"""Time after which another worker may make a check, because the first may have died: longer than a visit takes."""

AGAIN_AFTER: Final = timedelta(minutes=1)  # between two checks of a host
WINDOW: Final = timedelta(days=1)
MAX_OF_CLIENT: Final = 10  # in WINDOW
MAX_OF_DOMAIN: Final = 6  # in WINDOW, of all clients together
MAX_WAITING: Final = 200
MAX_DOCUMENTS: Final = 40
MAX_CAUSES: Final = 60
MAX_CAPABILITIES: Final = 30
_TEXT_CHARS: Final = 600

Refusal = Literal["opted_out", "blocked", "too_soon", "client_budget", "domain_budget", "busy"]
State = Literal["waiting", "running", "done"]

_NOT_SHOWN: Final = frozenset({Outcome.ABSENT, Outcome.SKIPPED})


@dataclass(frozen=True, slots=True)
class SiteCheckRefusal:
    """`retry_at`: when it may be asked again; None where time changes nothing."""

    why: Refusal
    host: str
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SiteCheckView:
    """A check as its asker sees it. `has_worker`: some process makes checks now. `is_listed`: the host has a page."""

    record: SiteCheckRecord
    state: State
    has_worker: bool
    is_listed: bool

    @property
    def result(self) -> Any:
        """Return the result, JSON-ready; None before the check was made."""
        return None if self.record.result is None else orjson.loads(self.record.result)


@dataclass(frozen=True, slots=True)
class SiteCheck:
    """A check to make. `url`: None for the whole host. `closed`: hosts of the domain that are never visited. `spent`:
    requests to the domain in the last day, by standing."""

    id: str
    domain: str
    host: str
    url: str | None
    closed: tuple[str, ...] = ()
    spent: Mapping[Standing, Spent] | None = None
    standing: Standing = Standing.SUBMITTED


def _client_of_day(client: str, now: datetime) -> str:
    """Return what stands for a client during one day. The address itself is never stored."""
    return hashlib.sha256(f"site check {now.date()} {client}".encode()).hexdigest()


def target_of(text: str, exempt: Collection[str] = ()) -> tuple[str, str, str | None]:
    """Return the domain, the host and the URL of a target: a host name, or an https URL on port 443. A URL without a
    path is its host. Raise InvalidName."""
    text = text.strip()
    if "://" not in text:
        host = canonical_host(text, exempt=exempt)
        return host.domain, host.host, None
    url = parse_https(text)
    if url is None:
        raise InvalidName("has_scheme")
    host = canonical_host(host_of(url) or "", exempt=exempt)
    is_host = url.rstrip("/") == f"https://{host.host}"
    return host.domain, host.host, None if is_host else url


@dataclass(eq=False)
class SiteCheckActions:
    """Checks of sites on request: asking, making and reading them. `_exempt`: names that may be special-use names."""

    _store: Store
    _clock: Clock
    _exempt: Collection[str] = ()

    async def ask(self, target: str, *, client: str) -> tuple[SiteCheckRecord, Token] | SiteCheckRefusal:
        """Queue a check and return it with its token; only the token's digest is stored. Raise InvalidName and
        DecidedAtOrigin."""
        now = self._clock().astimezone(UTC)
        domain, host, url = target_of(target, self._exempt)
        of_day, token = _client_of_day(client, now), new_token(KIND)
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow, host)
            limits = (await uow.holds.limits([domain]))[domain]
            if not limits.may_be_visited(host):  # guard: site-check-opt-out
                return SiteCheckRefusal("opted_out" if limits.has_opted_out(host) else "blocked", host)
            for name in (of_day, domain):
                await uow.site_checks.serialize(name)
            if (refusal := await _refusal(uow, domain, host, of_day, now)) is not None:
                return refusal
            record = SiteCheckRecord(domain, host, token.id, token.digest, url, now, now + KEPT_FOR)
            await uow.site_checks.add(record, client=of_day)
        return record, token

    async def status(self, text: str) -> SiteCheckView | None:
        """Return the check of a token; None for an unknown token or an expired check."""
        token, now = parse_token(text, KIND), self._clock()
        if token is None:
            return None
        async with self._store.begin() as uow:
            record = await uow.site_checks.get(token.id)
            is_right = record is not None and token.matches(record.digest)  # guard: site-check-token
            if record is None or not is_right or record.expires_at <= now:
                return None
            is_listed = await uow.catalogue.name(record.domain, record.host) is not None
            crawlers = await uow.jobs.crawlers()
        is_running = record.claimed_until is not None and record.claimed_until > now
        state: State = "done" if record.checked_at is not None else "running" if is_running else "waiting"
        return SiteCheckView(record, state, crawlers > 0, is_listed)

    async def take(self, limit: int) -> Sequence[SiteCheck]:
        """Return at most `limit` checks for the caller to make; other workers do not get them for TAKEN_FOR."""
        now = self._clock()
        async with self._store.begin() as uow:
            taken = await uow.site_checks.take(limit=limit, now=now, until=now + TAKEN_FOR)
            if not taken:
                return ()
            domains = sorted({one.domain for one in taken})
            limits = await uow.holds.limits(domains)
            spent = await uow.ledger.spent(domains, since=now - BUDGET_WINDOW)
            checks = []
            for one in taken:
                known = await uow.hosts.get(one.domain, one.host)
                standing = Standing.SUBMITTED if known is None else Standing(known.standing)
                closed = tuple(sorted(limits[one.domain].closed))
                if not limits[one.domain].may_be_visited(one.host):
                    await uow.site_checks.settle(
                        one.id, orjson.dumps(no_result(one.host, Outcome.DISALLOWED, "opt_out")), sent=0, now=now
                    )
                    continue
                checks.append(SiteCheck(one.id, one.domain, one.host, one.url, closed, spent.get(one.domain), standing))
        return checks

    async def settle(self, check: str, result: Mapping[str, Any], *, sent: int) -> None:
        """Store the result of a check."""
        async with self._store.begin() as uow:
            await uow.site_checks.settle(check, orjson.dumps(result), sent=sent, now=self._clock())


async def _refusal(uow: UnitOfWork, domain: str, host: str, client: str, now: datetime) -> SiteCheckRefusal | None:
    checks, since = uow.site_checks, now - WINDOW
    latest = await checks.count(since=now - AGAIN_AFTER, domain=domain, host=host)
    if latest.since is not None:
        return SiteCheckRefusal("too_soon", host, latest.since + AGAIN_AFTER)
    own = await checks.count(since=since, client=client)
    if own.since is not None and own.number >= MAX_OF_CLIENT:  # guard: site-check-client
        return SiteCheckRefusal("client_budget", host, own.since + WINDOW)
    of_domain = await checks.count(since=since, domain=domain)
    if of_domain.since is not None and of_domain.number >= MAX_OF_DOMAIN:  # guard: site-check-domain
        return SiteCheckRefusal("domain_budget", host, of_domain.since + WINDOW)
    if await checks.waiting() >= MAX_WAITING:
        return SiteCheckRefusal("busy", host, now + TAKEN_FOR)
    return None


def no_result(host: str, outcome: Outcome, reason: str) -> dict[str, Any]:
    """Return the result of a check in which nothing was requested."""
    return _result(host, outcome, reason, (), {})


def result_of_visit(target: str, visit: Visit, *, now: datetime) -> dict[str, Any]:
    """Return what a visit of a host found, JSON-ready and bounded. CPU-bound."""
    documents = [
        held_from(answer, visit.answers) for answer in visit.answers if answer.probe.purpose is not Purpose.RPC
    ]
    alias = (alias_reason(visit.host),) if visit.host != target else ()
    reasons = (*alias, *reasons_after(visit, now=now))
    return _result(visit.host, visit.outcome, visit.reason, documents, _sources(visit.answers), reasons)


def result_of_url(answer: ProbeResult) -> dict[str, Any]:
    """Return what the request of one URL found, JSON-ready and bounded. CPU-bound."""
    assessment, host = answer.assessment, host_of(answer.fetched.final_url) or ""
    documents = [held_from(answer, [answer])]
    return _result(host, assessment.outcome, assessment.reason, documents, _sources([answer]), keeps_all=True)


def _sources(answers: Sequence[ProbeResult]) -> dict[str, bytes]:
    return {answer.fetched.final_url: answer.fetched.body for answer in answers if answer.fetched.body}


def _result(
    host: str,
    outcome: Outcome,
    reason: str,
    documents: Sequence[HeldDocument],
    sources: Mapping[str, bytes],
    reasons: Sequence[str] = (),
    *,
    keeps_all: bool = False,
) -> dict[str, Any]:
    shown = [one for one in documents if keeps_all or one.assessment.outcome not in _NOT_SHOWN]
    found = report(host, documents, sources) if documents else None
    causes = causes_of(found.everything) if found else ()
    service, score = (found.service, found.score) if found else (None, None)
    return {
        "host": host,
        "outcome": outcome.value,
        "reason": reason,
        "reasons": list(reasons),
        "score": score.value if score else None,
        "sections": score.sections if score else None,
        "name": (service.name or "")[:_TEXT_CHARS] if service else None,
        "description": (service.description or "")[:_TEXT_CHARS] if service else None,
        "capabilities": [
            (one.name or one.id)[:_TEXT_CHARS] for one in (service.capabilities if service else ())[:MAX_CAPABILITIES]
        ],
        "capability_count": len(service.capabilities) if service else 0,
        "documents": [
            {
                "url": one.url,
                "outcome": one.assessment.outcome.value,
                "reason": one.assessment.reason,
                "format": one.assessment.format,
                "dialect": one.assessment.dialect,
                "entries": [entry.in_words() for entry in one.assessment.entries],
            }
            for one in shown[:MAX_DOCUMENTS]
        ],
        "causes": [{**one.to_json(), "document": one.first.document} for one in causes[:MAX_CAUSES]],
        "more_causes": max(0, len(causes) - MAX_CAUSES),
    }
