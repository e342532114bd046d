"""`GET /api/services/{domain}/crawl`: the visits to a host, and the time of the next visit with its reason."""

from datetime import datetime
from typing import Annotated, Final

from fastapi import Query, Request, Response

from registry.actions.queries.inspect import Explanation, HostRecord, why_next, why_not_visited
from registry.api.documents import describe_read
from registry.api.params import DomainPath, existing, host_in
from registry.api.rows import project
from registry.api.schemas import monitoring as schemas
from registry.core.names.seeds import OWN_LISTS
from registry.core.scheduling.policy import shown_time
from registry.edge import parsers
from registry.edge.problems import INVALID_PARAMETER, UNKNOWN_SERVICE
from registry.edge.requests import base_url, registry_of
from registry.edge.responses import REVALIDATE, data_response, status_url, timestamp
from registry.edge.routing import strict_router
from registry.wiring import utc_now

_UNTRUSTED: Final = (
    "host.referrer", "hosts.referrer", "visits.answers.url", "visits.answers.final_url", "visits.answers.type",
    "visits.answers.dialect", "visits.answers.via",
)  # fmt: skip

MAX_VISITS: Final = 50
MAX_HOSTS: Final = 100

Visits = Annotated[
    int, *parsers.limited(MAX_VISITS), Query(description="Visits to return, the latest first.", examples=[5])
]

router = strict_router(tags=["services"])


@router.get(
    "/api/services/{domain}/crawl",
    **describe_read(schemas.CrawlLedger, INVALID_PARAMETER, UNKNOWN_SERVICE),
    summary="The visits to a host",
    description="The visits with their requests and answers, and the reason for the time of the next visit. Also for "
    "hosts where nothing was found. For a site that opted out, only the opt-out.",
)
async def crawl(request: Request, domain: DomainPath, visits: Visits = 5) -> Response:
    host = host_in(domain)
    account = existing(await registry_of(request).queries.explain(host, visits=visits), detail="Unknown host.")
    return data_response(request, _ledger(account, base_url(request), utc_now()), cache=REVALIDATE)


def _ledger(account: Explanation, base: str, now: datetime) -> schemas.LedgerData:
    opted_out = account.opted_out
    return {
        "domain": account.name,
        "registrable_domain": account.domain.domain,
        "opted_out": opted_out,
        "being_visited": account.domain.is_leased,
        "requests_last_24h": account.spent,
        "host": None if opted_out or account.host is None else _host(account.host, now),
        "visits": []
        if opted_out
        else [
            project(
                schemas.HostVisit,
                visit,
                says=why_not_visited(visit),
                answers=[{key: entry[key] for key in _ANSWER_KEYS if key in entry} for entry in visit.vector],
            )
            for visit in account.visits
        ],
        "hosts": [] if opted_out else [_host(host, now) for host in account.hosts[:MAX_HOSTS]],
        "status_url": status_url(base, account.name),
        "untrusted_text": _UNTRUSTED,
    }


def _host(host: HostRecord, now: datetime) -> schemas.CrawledHost:
    return project(
        schemas.CrawledHost,
        host,
        referrer=None if host.source in OWN_LISTS else host.referrer,
        known_since=timestamp(host.created_at),
        next_visit={
            "at": timestamp(shown_time(host.next_visit_at, now)),
            "why": host.next_visit_why,
            "says": why_next(host),
        },
        robots={"status": host.robots_status, "fetched_at": timestamp(host.robots_at)},
    )


_ANSWER_KEYS: Final = tuple(schemas.ProbeAnswer.__annotations__)
