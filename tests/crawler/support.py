"""Visits of sites that a test serves on loopback: the real guard with its connect-to table, the real transport."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from pyreqwest.client import Client

from crawler import session, transport
from crawler.guards import Pin
from crawler.handler import LeasedDomain
from crawler.handler import visit as visit_leased
from crawler.politeness import ConnectionLimiter
from crawler.stats import CrawlCounts
from crawler.transport import RawAnswer
from crawler.visit import Visitor
from registry.core.model.documents import FetchResult, Probe, Purpose
from registry.core.visiting.visits import DomainJob, FinishedDomain, HostJob
from registry.settings import Settings
from registry.store.embedded_postgres import server as embedded
from registry.store.migrate import upgrade
from tests.support.database import new_database, on
from tests.support.hang import NETWORK_LIMITS
from tests.support.sites import Exchange, Reply, Sites

JSON_CAP = 100_000
NOTHING = Reply(b"nothing", 404)

Visiting: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Sites, Visitor]]]
Web: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Sites, Settings]]]
Crawled: TypeAlias = Callable[..., Awaitable[tuple[Sites, CrawlCounts]]]
"""Fixtures: see conftest.py."""


def probe(url: str, purpose: Purpose = Purpose.MANIFEST, cap: int = JSON_CAP, **fields: Any) -> Probe:
    return Probe(url, purpose, "S2", "application/json, */*;q=0.1", cap, **fields)


def settings(*connect_to: str, **overrides: Any) -> Settings:
    """Return settings without pauses, under which only the table resolves, with deadlines for slow machines."""
    defaults: dict[str, Any] = {
        "resolve": "table",
        "request_delay": 0,
        "database_url": None,
        **NETWORK_LIMITS,
    }
    return Settings(connect_to=connect_to, **(defaults | overrides))


@asynccontextmanager
async def connection_slot(limiter: ConnectionLimiter, key: str) -> AsyncIterator[None]:
    """Hold a slot of the limiter, as a visit does, while the block runs."""
    limits = await limiter.acquire(key)
    try:
        yield
    finally:
        limiter.release(limits)


def trust(monkeypatch: pytest.MonkeyPatch, folder: Path, served: Sites) -> None:
    """Trust the authority of these sites only."""
    monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(folder)))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


def keep_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep idle connections open for longer than a busy machine may take between two requests."""
    monkeypatch.setattr(transport, "IDLE_SECONDS", 600.0)


def hasty(monkeypatch: pytest.MonkeyPatch, seconds: float, is_hasty: Callable[[str], bool]) -> None:
    """Give `seconds` to requests whose URL is hasty; all others keep the time that a busy machine needs."""
    original_ask = session.ask

    async def ask(client: Client, pin: Pin, url: str, headers: Mapping[str, str], **options: Any) -> RawAnswer:
        options["seconds"] = min(options["seconds"], seconds) if is_hasty(url) else options["seconds"]
        return await original_ask(client, pin, url, headers, **options)

    monkeypatch.setattr(session, "ask", ask)


async def fetch(visitor: Visitor, *probes: Probe) -> list[FetchResult]:
    """Return the responses to some probes in one session; redirects follow the policy alone, without a plan."""
    async with visitor.session(far()) as session:
        return [await session.fetch(single_probe) for single_probe in probes]


def far() -> datetime:
    """Return the end of a lease that does not expire during a test."""
    return datetime.now(UTC) + timedelta(hours=1)


async def visit_all(visitor: Visitor, *domains: str) -> AsyncIterator[tuple[str, FinishedDomain | Exception]]:
    """Visit domains of one host each at the same time, as the download handler does; yield each as it ends."""

    async def visit_result(domain: str) -> tuple[str, FinishedDomain | Exception]:
        try:
            job = DomainJob(domain, (HostJob(domain, whole_plan=True),))
            return domain, await visit_leased(visitor, LeasedDomain(uuid4(), far(), job))
        except Exception as error:
            return domain, error

    for visit_task in asyncio.as_completed([asyncio.create_task(visit_result(domain)) for domain in domains]):
        yield await visit_task


async def silent(_: Exchange) -> None:
    await asyncio.Event().wait()


async def silent_txt(name: str) -> tuple[bytes, ...]:
    """Stand in for a name server that does not answer."""
    await asyncio.Event().wait()
    return ()


@contextmanager
def new_registry(purpose: str) -> Iterator[str]:
    """Yield a database of the embedded server, whose socket in the file system a network namespace does not hide."""
    server = embedded.start(Path(tempfile.gettempdir()) / f"waypost-tests-{os.geteuid()}")
    try:
        with new_database(server.dsn, purpose) as name:
            upgrade(on(server.dsn, name))
            yield on(server.dsn, name)
    finally:
        server.release()
