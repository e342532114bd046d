"""A web of dictionaries for the pure plan: host -> path -> response, fetched as the transport fetches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.names.domains import host_of
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.pointers import STATUSES, Stop
from registry.core.visiting.probes import keeps_head
from registry.core.visiting.visits import HostJob, Visit

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NONCE = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Page:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Broken:
    failure: Outcome
    reason: str


Site = Mapping[str, Page | Broken] | Callable[[str], Page | Broken]


def page(body: str | bytes, kind: str = "application/json", status: int = 200, **headers: str) -> Page:
    raw = body.encode() if isinstance(body, str) else body
    return Page(
        status, raw, {"content-type": kind, **{name.replace("_", "-"): value for name, value in headers.items()}}
    )


def moved(location: str, status: int = 301) -> Page:
    return Page(status, b"", {"location": location})


class Web:
    """Answers like a transport that follows redirects by the plan's decision. `asked` holds all requested URLs."""

    def __init__(self, sites: Mapping[str, Site]) -> None:
        self.sites = sites
        self.asked: list[str] = []

    def fetch(self, plan: HostPlan, probe: Probe) -> FetchResult:
        url = probe.url
        hops: tuple[str, ...] = ()
        while True:
            self.asked.append(url)
            response = self._answer(url)
            if isinstance(response, Broken):
                return FetchResult(probe.url, url, NOW, hops=hops, failure=response.failure, reason=response.reason)
            if response.status not in STATUSES or probe.method is not None:
                break
            step = plan.redirect(probe, url, response.headers.get("location"), hops)
            if isinstance(step, Stop):
                return FetchResult(probe.url, url, NOW, hops=hops, failure=step.outcome, reason=step.reason)
            url, hops = step.url, (*hops, url)
        if probe.etag and response.headers.get("etag") == probe.etag:
            return FetchResult(probe.url, url, NOW, 304, response.headers, hops=hops)
        truncated = len(response.body) > probe.cap
        if truncated and not keeps_head(probe):
            return FetchResult(probe.url, url, NOW, hops=hops, failure=Outcome.TOO_LARGE, reason="body")
        body = response.body[: probe.cap]
        return FetchResult(
            probe.url,
            url,
            NOW,
            response.status,
            response.headers,
            body,
            hops,
            address="203.0.113.9",
            truncated=truncated,
        )

    def _answer(self, url: str) -> Page | Broken:
        site = self.sites.get(host_of(url) or "")
        if site is None:
            return Broken(Outcome.UNREACHABLE, "nxdomain")
        path = "/" + url.split("/", 3)[3]
        return site(path) if callable(site) else site.get(path, Page(404, b"not here", {"content-type": "text/plain"}))


def visit(
    web: Web,
    host: str = "shop.example",
    *,
    job: HostJob | None = None,
    steps: int = 500,
    now: datetime = NOW,
    budget: int = 40,
    detail_budget: int = 25,
) -> Visit:
    """Return the visit of a host: all of it, or its first `steps` requests."""
    exempt = frozenset(web.sites)
    plan = HostPlan(
        job or HostJob(host, whole_plan=True),
        now=now,
        nonce=NONCE,
        exempt=exempt,
        budget=budget,
        detail_budget=detail_budget,
    )
    while steps and (probe := plan.next()) is not None:
        plan.take(probe, web.fetch(plan, probe))
        steps -= 1
    return plan.finish(now, now + timedelta(seconds=20))
