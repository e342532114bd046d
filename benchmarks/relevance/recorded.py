"""Services of a folder of recorded sites, read by the product's own plan and rules, without a server or a database.

The folder has the layout of `waypost demo --sites` (registry/demo/sites.py).
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from registry.core.merging.listing import make_listing
from registry.core.merging.merge import held_from, merge
from registry.core.merging.trust import trust_of
from registry.core.model.documents import FetchResult, Outcome, Probe
from registry.core.model.listing import Listing
from registry.core.names.domains import host_of, registrable_domain
from registry.core.scoring.score import score
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.pointers import STATUSES, Stop
from registry.core.visiting.probes import keeps_head
from registry.core.visiting.visits import HostJob, Visit
from registry.demo.sites import Site, load_sites

_NOW: Final = datetime(2026, 11, 21, tzinfo=UTC)
_NONCE: Final = "0123456789abcdef0123456789abcdef"
_BUDGET: Final = 60
"""Requests of one visit: enough for the whole plan, so that no site is read only in part."""


def listings_of(folder: Path) -> list[Listing]:
    """Return the listings of all sites that offer a service, by host. Raise BadSite (registry.demo.sites)."""
    sites = load_sites(folder)
    visits = [_visit(sites, host) for host in sites if sites[host].file.state == "up"]
    listings = [listing for visit in visits if (listing := _listing(visit)) is not None]
    return sorted(listings, key=lambda listing: listing.host)


def _visit(sites: dict[str, Site], host: str) -> Visit:
    plan = HostPlan(
        HostJob(host, whole_plan=True),
        now=_NOW,
        nonce=_NONCE,
        exempt=frozenset(sites),
        budget=_BUDGET,
        detail_budget=_BUDGET,
    )
    while (probe := plan.next()) is not None:
        plan.take(probe, _fetched(sites, plan, probe))
    return plan.finish(_NOW, _NOW)


def _fetched(sites: dict[str, Site], plan: HostPlan, probe: Probe) -> FetchResult:
    """Return what the transport would: redirects followed where the plan allows it, bodies cut at the probe's cap."""
    url = probe.url
    hops: tuple[str, ...] = ()
    while True:
        site = sites.get(host_of(url) or "")
        if site is None or site.file.state != "up":
            return FetchResult(probe.url, url, _NOW, hops=hops, failure=Outcome.UNREACHABLE, reason="no such host")
        reply = site.reply("/" + url.split("/", 3)[3].partition("?")[0])
        headers = {name.lower(): value for name, value in reply.headers.items()}
        if reply.status not in STATUSES:
            break
        step = plan.redirect(probe, url, headers.get("location"), hops)
        if isinstance(step, Stop):
            return FetchResult(probe.url, url, _NOW, hops=hops, failure=step.outcome, reason=step.reason)
        url, hops = step.url, (*hops, url)
    is_truncated = len(reply.body) > probe.cap
    if is_truncated and not keeps_head(probe):
        return FetchResult(probe.url, url, _NOW, hops=hops, failure=Outcome.TOO_LARGE, reason="body")
    return FetchResult(
        probe.url, url, _NOW, reply.status, headers, reply.body[: probe.cap], hops, truncated=is_truncated
    )  # fmt: skip


def _listing(visit: Visit) -> Listing | None:
    """Return what the registry would list of the host, or None."""
    merged = merge(visit.host, [held_from(answer) for answer in visit.answers])
    if merged.service is None:
        return None
    trust = trust_of(visit.host, merged.service, merged.findings)
    return make_listing(
        registrable_domain(visit.host),
        visit.host,
        merged.service,
        score(merged.service, merged.findings).value,
        trust.level,
        merged.formats,
        _NOW.date(),
        trust.reasons,
    )
