"""Make visits as the crawler makes them, without a network: the real probe plan runs against a dict of pages.

`Page` is the response of a path. Every other path of the host returns a plain 404. A host may also fail as a whole.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from registry.actions.queries.inspect import HostReport, ServiceView
from registry.actions.recording.record import RecordCounts
from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.names.domains import registrable_domain
from registry.core.ranking import Embedder
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import DomainJob, FinishedDomain, HostJob, Lease, Visit
from registry.search.backend import Backend
from registry.settings import Settings
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost
from registry.wiring.reference import Reference

if TYPE_CHECKING:
    from registry.actions.queries.discover import SearchActions

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LEASE_FOR = timedelta(minutes=30)
HOLDER = 1
PUBLIC_URL = "https://registry.example"
ADP = "/.well-known/agent"
UNSENT = frozenset({"nxdomain", "no_address"})
"""Reasons of a page that was never requested, because its host has no address."""


@dataclass(frozen=True)
class Page:
    """`body`: text, bytes, or a JSON value. With `etag`, a conditional request that sends it gets 304."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    media_type: str = "application/json"
    etag: str | None = None
    failure: Outcome | None = None
    reason: str = ""

    @property
    def raw(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


Site = Mapping[str, Page] | Page
"""Pages by path, or one page for every path (a host that fails as a whole)."""


def adp_manifest(host: str, *names: str, **members: Any) -> dict[str, Any]:
    """Return a valid ADP manifest whose capabilities are `names`, with details below /caps/."""
    return {
        "spec_version": "1.0",
        "name": "Pigeon post of " + host.partition(".")[0],
        "description": "Books, prices and tracks parcels with the local couriers of a town.",
        "base_url": f"https://{host}",
        "auth": {"type": "api_key", "header": "X-Key"},
        "pricing": {"type": "freemium"},
        "capabilities": [
            {"name": name, "description": f"Does what {name} says, carefully.", "detail_url": f"/caps/{name}"}
            for name in names
        ],
        **members,
    }


def adp_detail(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "endpoint": f"/v1/{name}",
        "method": "POST",
        "parameters": [{"name": "weight", "type": "number", "description": "Grams.", "required": True, "example": 1}],
        "request_example": {"method": "POST", "url": f"https://x.example/v1/{name}"},
        "response_example": {"status": 200, "body": {}},
    }


def adp_site(host: str, *names: str, etag: str | None = None, **members: Any) -> dict[str, Page]:
    """Return the pages of a host that serves an ADP manifest and a detail for each capability."""
    names = names or ("create_parcel",)
    pages = {ADP: Page(adp_manifest(host, *names, **members), etag=etag)}
    return pages | {f"/caps/{name}": Page(adp_detail(name)) for name in names}


def awp_manifest(host: str) -> dict[str, Any]:
    return {
        "awp_version": "0.2",
        "domain": host,
        "intent": "Rents bicycles by the hour in three cities.",
        "actions": [
            {
                "id": "rent_bike",
                "description": "Rents one bicycle.",
                "endpoint": "/rent",
                "method": "POST",
                "auth_required": False,
                "inputs": {"station": {"type": "string", "required": True}},
                "outputs": {"code": {"type": "string"}},
            }
        ],
    }


def visit(job: HostJob, site: Site, now: datetime = NOW) -> Visit:
    """Return the visit that the plan makes of a host with these pages. It starts and ends at `now`."""
    plan = HostPlan(job, now=now, nonce="0123456789abcdef" * 2, lists_tools=job.lists_tools)
    sent = 0
    while (probe := plan.next()) is not None:
        fetched = answer(probe, site, now)
        sent += fetched.reason not in UNSENT
        plan.take(probe, fetched)
    return plan.finish(now, now, sent)


def answer(probe: Probe, site: Site, now: datetime) -> FetchResult:
    path = "/" + probe.url.split("/", 3)[3]
    page = site if isinstance(site, Page) else site.get(path, Page("gone fishing", 404, media_type="text/plain"))
    if page.failure is not None:
        return FetchResult(probe.url, probe.url, now, failure=page.failure, reason=page.reason)
    headers = {"content-type": page.media_type, **page.headers} | ({"etag": page.etag} if page.etag else {})
    if page.etag is not None and probe.etag == page.etag:
        return FetchResult(probe.url, probe.url, now, 304, headers, elapsed_ms=5)
    return FetchResult(probe.url, probe.url, now, page.status, headers, page.raw, elapsed_ms=20, address="192.0.2.1")


def finish(job: DomainJob, sites: Mapping[str, Site], now: datetime = NOW) -> FinishedDomain:
    return FinishedDomain(
        job.domain, tuple(visit(host_job, sites.get(host_job.host, {}), now) for host_job in job.hosts)
    )


def on(
    store: Store, now: datetime = NOW, *, exempt: Collection[str] = (), backend: Backend | None = None,
    embedder: Embedder | None = None,
) -> Waypost:  # fmt: skip
    """Return the use cases on this store, with a clock that stands still and no chance in retries.

    `exempt`: names that may be special-use names.
    """

    def open_search() -> "SearchActions":
        from registry.actions.queries.discover import SearchActions

        assert backend is not None, "this use case needs an index"
        return SearchActions(store, lambda: now, backend, embedder)

    settings = _settings(frozenset(exempt))
    waypost = Waypost(settings, store, open_search, RecordedListener(store), Reference(store), lambda: now)
    waypost.webhooks._chance = lambda: 0.5
    return waypost


@cache
def _settings(exempt: frozenset[str]) -> Settings:
    connect_to = tuple(f"{host}:443:127.0.0.1:443" for host in sorted(exempt))
    lease_seconds = round(LEASE_FOR.total_seconds())
    return Settings(connect_to=connect_to, lease_seconds=lease_seconds, public_url=PUBLIC_URL)


async def take(store: Store, *, limit: int = 100, now: datetime = NOW, holder: int = HOLDER) -> Lease | None:
    return await on(store, now).crawl.lease(limit=limit, holder=holder)


async def leased(store: Store, *, limit: int = 100, now: datetime = NOW, holder: int = HOLDER) -> Lease:
    """Return a lease of what is due, of which there must be something."""
    lease = await take(store, limit=limit, now=now, holder=holder)
    assert lease is not None, "nothing is due"
    return lease


async def record(store: Store, token: UUID, finished: Sequence[FinishedDomain], now: datetime = NOW) -> RecordCounts:
    return await on(store, now).crawl.record_all([(token, domain) for domain in finished])


async def crawl(store: Store, sites: Mapping[str, Site], now: datetime = NOW) -> RecordCounts:
    """Seed the sites, lease what is due and record its visits, once."""
    await on(store, now, exempt=sites).frontier.seed(sites, source="test")
    lease = await leased(store, limit=1_000, now=now)
    return await record(store, lease.token, [finish(job, sites, now) for job in lease.domains], now)


async def again(store: Store, sites: Mapping[str, Site], now: datetime) -> RecordCounts:
    """Lease what is due, visit it again and record the visits."""
    lease = await leased(store, now=now)
    return await record(store, lease.token, [finish(job, sites, now) for job in lease.domains], now)


async def service_of(store: Store, host: str, *, include_details: bool = False) -> ServiceView:
    service = await on(store).queries.service(host, include_details=include_details)
    assert service is not None
    return service


async def status_of(store: Store, host: str, now: datetime) -> HostReport:
    status = await on(store, now).queries.status(host)
    assert status is not None
    return status


async def changes_of(store: Store, host: str) -> list[str]:
    """Return the kinds of the changes of a host in the change feed, oldest first."""
    async with store.begin() as uow:
        return [change.kind for change in await uow.ledger.changes(registrable_domain(host), host)]


def hosts_of(lease: Lease | None) -> list[str]:
    return [] if lease is None else [host.host for job in lease.domains for host in job.hosts]


def domains_of(lease: Lease | None) -> list[str]:
    return [] if lease is None else [job.domain for job in lease.domains]
