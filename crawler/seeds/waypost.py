"""Reads hosts from the list of services of another waypost registry (`GET /api/services`), the newest first.

A later run reads until the services that were listed when the last complete run began.
"""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Final

from crawler.seeds.online import Reader, ReadError
from crawler.seeds.pages import PAGE_CAP, Page, Since, cut_page, member, paged, readable_entries
from crawler.seeds.source import SeedSource
from registry.core.names.seeds import Checkpoint, Refusal, Seed

WAYPOST: Final = SeedSource("waypost", "the services of another waypost registry", "the host of that registry")

ROUTE: Final = "/api/services"
PAGE_SIZE: Final = 100
OVERLAP: Final = 10  # rows shared by two pages: if a service is removed meanwhile, later ones move forward
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
        entries, row_count = _entries(body, since.moment, referrer)
        is_last = row_count < PAGE_SIZE or len(entries) < row_count
        return Page(entries, "" if is_last else since.at(str(offset + PAGE_SIZE - OVERLAP)), since.later())

    return paged(url, reader, read_page, start)


def _entries(body: bytes, moment: str, referrer: str) -> tuple[list[Seed | Refusal], int]:
    """Return what the rows name, without services first listed before the moment, and the number of all rows. Raise
    ReadError."""
    listed = cut_page(body, "data")
    if not listed.is_list or not isinstance(listed.envelope, dict):
        raise ReadError("this is no list of services")
    entries: list[Seed | Refusal] = []
    row_count = 0
    for row in readable_entries(listed, referrer):
        row_count += 1
        created = member(row, "created_at", str)
        if moment and created and created < moment:  # ISO 8601 in UTC, which sorts as text
            continue
        if isinstance(row, Refusal):
            entries.append(row)
        elif (host := member(row, "domain", str)) is not None:
            entries.append(Seed(host, referrer))
        else:
            shown = {name: row.get(name) for name in ("domain", "created_at")} if isinstance(row, dict) else row
            message = "this row of the list is no service"
            entries.append(Refusal(str(shown)[:_MAX_NAME], "no_service", message, referrer))
    return entries, row_count
