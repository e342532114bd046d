"""Visits of sites that a test serves on loopback: the real guard with its connect-to table, the real transport."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyreqwest.client import Client

from crawler import transport, visit
from crawler.guards import Pin
from crawler.transport import Wire
from crawler.visit import Session, Visitor
from registry.core.documents import Fetched, Probe, Purpose
from registry.core.redirects import redirect
from registry.settings import Settings
from tests.support.sites import Site, Sites

JSON_CAP = 100_000


def probe(url: str, purpose: Purpose = Purpose.MANIFEST, cap: int = JSON_CAP, **more: Any) -> Probe:
    return Probe(url, purpose, "S2", "application/json, */*;q=0.1", cap, **more)


def settings(*connect_to: str, **more: Any) -> Settings:
    """Nothing but the table resolves, no pauses. Deadlines that no busy machine misses: a test of one sets its own."""
    defaults: dict[str, Any] = {
        "resolve": "table",
        "request_delay": 0,
        "connect_timeout": 20,
        "request_timeout": 20,
        "host_deadline": 60,
        "database_url": None,
    }
    return Settings(connect_to=connect_to, **(defaults | more))


@asynccontextmanager
async def visiting(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    sites: Mapping[str, Site],
    certificates: Mapping[str, str] | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Sites, Visitor]]:
    """The sites, whose authority is the only one that is trusted, and a visitor who knows where they are."""
    async with Sites(sites, certificates) as served:
        trust(monkeypatch, folder, served)
        keep_connections(monkeypatch)
        async with Visitor(settings(*served.connect_to(), **more)) as visitor:
            yield served, visitor


def trust(monkeypatch: pytest.MonkeyPatch, folder: Path, served: Sites) -> None:
    """Their authority, and nobody else."""
    monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(folder)))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


def keep_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a busy machine takes longer between two requests than an idle connection is kept."""
    monkeypatch.setattr(transport, "IDLE", 600.0)


def hasty(monkeypatch: pytest.MonkeyPatch, seconds: float, is_hasty: Callable[[str], bool]) -> None:
    """Requests whose URL says so have so many seconds, all others the time that they need on a busy machine."""
    patient = visit.ask

    async def ask(client: Client, pin: Pin, url: str, headers: Mapping[str, str], **how: Any) -> Wire:
        how["seconds"] = min(how["seconds"], seconds) if is_hasty(url) else how["seconds"]
        return await patient(client, pin, url, headers, **how)

    monkeypatch.setattr(visit, "ask", ask)


async def fetch(visitor: Visitor, *probes: Probe) -> list[Fetched]:
    """The answers to some probes in one session, redirects after the bare policy."""
    async with Session(visitor, visitor.pace(), far()) as session:
        return [
            await session.fetch(one, lambda p, url, location, hops: redirect(url, location, hops, p.purpose))
            for one in probes
        ]


def far() -> datetime:
    """A lease that does not run out."""
    return datetime.now(UTC) + timedelta(hours=1)
