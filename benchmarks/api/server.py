"""The server of the benchmark, with the `registry` that is first on PYTHONPATH, so that two trees can take turns.

    fill DATABASE FOLDER COUNT    store COUNT generated services and the large ones, and build the index
    serve DATABASE FOLDER         serve with the default limits; prints the port on the first line

Clients are told apart by X-Forwarded-For, as behind a proxy on this machine. No worker runs.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

import uvloop
from pydantic import SecretStr

from benchmarks.api.documents import LARGE_SITES
from benchmarks.search import tree
from registry.actions.frontier.frontier import FrontierActions
from registry.core.model.documents import FetchResult, Probe
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import FinishedDomain, HostJob, Visit
from registry.settings import Settings
from registry.wiring import Waypost, open_waypost, utc_now


def settings(database: str, folder: str) -> Settings:
    return Settings(
        database_url=SecretStr(database), data=Path(folder), public_url="https://registry.example",
        trusted_proxies=("127.0.0.1",), log_level="WARNING", submit_wait=0,
    )  # fmt: skip


async def fill(waypost: Waypost, count: int) -> None:
    await _visit_large_sites(waypost)
    await tree.fill(waypost, count)


async def _visit_large_sites(waypost: Waypost) -> None:
    now = datetime.now(UTC)
    await FrontierActions(waypost._store, utc_now, set(LARGE_SITES)).seed(LARGE_SITES, source="benchmark")
    lease = await waypost.crawl.lease(limit=100, holder=1)
    assert lease is not None
    finished = [
        FinishedDomain(job.domain, tuple(_visit(host_job, now) for host_job in job.hosts)) for job in lease.domains
    ]
    await waypost.crawl.record_all([(lease.token, domain) for domain in finished])


def _visit(job: HostJob, now: datetime) -> Visit:
    plan = HostPlan(job, now=now, nonce="0123456789abcdef" * 2)
    while (probe := plan.next()) is not None:
        plan.take(probe, _answer(job.host, probe, now))
    return plan.finish(now, now)


def _answer(host: str, probe: Probe, now: datetime) -> FetchResult:
    path, document = LARGE_SITES[host]
    if probe.url != f"https://{host}{path}":
        return FetchResult(probe.url, probe.url, now, 404, {"content-type": "text/plain"}, b"nothing", elapsed_ms=9)
    headers = {"content-type": "application/json"}
    return FetchResult(probe.url, probe.url, now, 200, headers, document(host), elapsed_ms=9, address="192.0.2.1")


async def main() -> None:
    act, database, folder, *arguments = sys.argv[1:]
    async with open_waypost(settings(database, folder)) as waypost:
        await (fill(waypost, int(arguments[0])) if act == "fill" else tree.serve(waypost))


if __name__ == "__main__":
    uvloop.run(main())
