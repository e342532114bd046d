"""Reads hosts from the list of services of another waypost registry (`GET /api/services`), the newest first.

A later run reads until the services that were listed when the last complete run began.
"""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, Final

from crawler.seeds.online import Reader, ReadError
from crawler.seeds.pages import PAGE_CAP, Page, Since, cut_page, paged, readable_entries
from crawler.seeds.source import SeedSource
from registry.core.names.seeds import Checkpoint, Refusal, Seed

WAYPOST: Final = SeedSource("waypost", "the services of another waypost registry", "the host of that registry")

ROUTE: Final = "/api/services"
PAGE_SIZE: Final = 100
OVERLAP: Final = 10
"""Rows shared by two pages: if a service is removed meanwhile, later ones move forward."""

_MAX_NAME = 200


def base_of(url: str) -> str:
    """Return the base URL of a registry, also from the URL of its list."""
    return url.rstrip("/").removesuffix(ROUTE).rstrip("/")


def names(
    url: str, reader: Reader, start: str = "", clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> AsyncIterator[Seed | Refusal | Checkpoint]:
    """Yield the hosts of all services from the place `start` on, as `paged` does. `url`: canonical, of the registry."""
    base = base_of(url)
    referrer = base.partition("://")[2][:_MAX_NAME]

    async def read_page(place: str) -> Page:
        since = Since.of(place, clock)
        offset = int(since.cursor) if since.cursor.isascii() and since.cursor.isdigit() else 0
        page_url = f"{base}{ROUTE}?sort=newest&limit={PAGE_SIZE}&offset={offset}"
        _, body = await reader.read(page_url, accept="application/json", cap=PAGE_CAP)
        rows = _rows(body, referrer)
        new = [row for row in rows if not (since.moment and _created(row) and _created(row) < since.moment)]
        entries = [_entry(row, referrer) for row in new]
        is_last = len(rows) < PAGE_SIZE or len(new) < len(rows)
        return Page(entries, "" if is_last else since.at(str(offset + PAGE_SIZE - OVERLAP)), since.later())

    return paged(url, reader, read_page, start)


def _rows(body: bytes, referrer: str) -> list[dict[str, Any] | Refusal]:
    """Return the two needed members of each row. Raise ReadError."""
    listed = cut_page(body, "data")
    if not listed.is_list or not isinstance(listed.envelope, dict):
        raise ReadError("this is no list of services")
    return [
        {name: row.get(name) for name in ("domain", "created_at")}
        if isinstance(row, dict)
        else row
        if isinstance(row, Refusal)
        else _no_service(row, referrer)
        for row in readable_entries(listed, referrer)
    ]


def _no_service(row: Any, referrer: str) -> Refusal:
    return Refusal(str(row)[:_MAX_NAME], "no_service", "this row of the list is no service", referrer)


def _created(row: Any) -> str:
    """Return when a service was first listed: ISO 8601 in UTC, which sorts as text."""
    created = row.get("created_at") if isinstance(row, dict) else None
    return created if isinstance(created, str) else ""


def _entry(row: dict[str, Any] | Refusal, referrer: str) -> Seed | Refusal:
    if isinstance(row, Refusal):
        return row
    host = row["domain"]
    return Seed(host, referrer) if isinstance(host, str) else _no_service(row, referrer)
