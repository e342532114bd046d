"""`GET /api/services/{domain}/crawl`: the ledger of a host, for whoever wants to know why it stands as it stands."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import Query, Request, Response

from registry.actions.answering.explain import Account, why_next
from registry.api.answers import FRESH, answer, moment, status_url
from registry.api.documents import errors, example, not_modified
from registry.api.params import DomainPath, base_url, host_in, limited, registry_of
from registry.api.problems import INVALID_PARAMETER, UNKNOWN_SERVICE, Problem
from registry.api.schemas import CrawlLedger
from registry.api.strict import strict_router
from registry.core.next_visit import upcoming
from registry.core.seeds import OWN_LISTS
from registry.store.records import HostRecord, VisitRecord
from registry.wiring import utc_now

MAX_VISITS: Final = 50
MAX_HOSTS: Final = 100

Visits = Annotated[int, *limited(MAX_VISITS), Query(description="Visits to answer, the latest first.", examples=[5])]

router = strict_router(tags=["services"])


@router.get(
    "/api/services/{domain}/crawl",
    response_model=CrawlLedger,
    responses={200: example("CRAWL"), **not_modified(), **errors(INVALID_PARAMETER, UNKNOWN_SERVICE)},
    summary="What the crawler did at a host",
    description="When it was visited, what was asked, what came, and why the next visit is when it is. Also for hosts "
    "where nothing was found; of a site that asked to be left alone only that.",
)
async def crawl(request: Request, domain: DomainPath, visits: Visits = 5) -> Response:
    host = host_in(domain)
    account = await registry_of(request).explain(host, visits=visits)
    if account is None:
        raise Problem(UNKNOWN_SERVICE, "Nobody ever named this host.")
    return answer(request, {"success": True, "data": _told(account, base_url(request), utc_now())}, cache=FRESH)


def _told(account: Account, base: str, now: datetime) -> dict[str, Any]:
    hidden = account.opted_out
    return {
        "domain": account.name,
        "registrable_domain": account.domain.domain,
        "opted_out": hidden,
        "being_visited": account.domain.is_leased,
        "requests_last_24h": account.spent,
        "host": None if hidden or account.host is None else _host(account.host, now),
        "visits": [] if hidden else [_visit(one) for one in account.visits],
        "hosts": [] if hidden else [_host(one, now) for one in account.hosts[:MAX_HOSTS]],
        "status_url": status_url(base, account.name),
        "untrusted_text": [
            "host.referrer",
            "hosts.referrer",
            "visits.answers.url",
            "visits.answers.final_url",
            "visits.answers.type",
        ],
    }


def _host(host: HostRecord, now: datetime) -> dict[str, Any]:
    return {
        "host": host.host,
        "source": host.source,
        "referrer": None if host.source in OWN_LISTS else host.referrer,
        "known_since": moment(host.created_at),
        "outcome": host.outcome,
        "reason": host.reason,
        "streak": host.streak,
        "alias_of": host.alias_of,
        "last_visit_at": moment(host.last_visit_at),
        "last_found_at": moment(host.last_found_at),
        "last_changed_at": moment(host.last_changed_at),
        "next_visit": {
            "at": moment(upcoming(host.next_visit_at, now)),
            "why": host.next_visit_why,
            "says": why_next(host),
        },
        "robots": {"status": host.robots_status, "fetched_at": moment(host.robots_at)},
    }


def _visit(visit: VisitRecord) -> dict[str, Any]:
    return {
        "started_at": moment(visit.started_at),
        "finished_at": moment(visit.finished_at),
        "outcome": visit.outcome,
        "reason": visit.reason,
        "whole_plan": visit.whole_plan,
        "requests": visit.requests,
        "address": visit.address,
        "answers": [_answer(one) for one in visit.vector],
    }


_SHOWN: Final = (
    "url", "purpose", "outcome", "reason", "format", "dialect", "status", "type", "size", "ms", "final_url", "via",
)  # fmt: skip


def _answer(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in _SHOWN if key in entry}
