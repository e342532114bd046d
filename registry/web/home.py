"""The start page."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.requests import registry_of
from registry.web.asking import ask
from registry.web.rendering import pages_of

QUESTIONS: Final = ("send a parcel", "book a table for two", "weather for the next days", "translate a text")
"""Example questions; the sample web answers each."""

NEWEST: Final = 6
COUNTED_SECONDS: Final = 60.0
_FORMATS: Final = 12


@dataclass(frozen=True, slots=True)
class Counts:
    """Listed services, how many of them serve each format, and how many were visited in the last day."""

    services: int
    formats: Mapping[str, int]
    seen: int
    until: float


async def home(request: Request) -> Response:
    newest, counts = await asyncio.gather(ask(request, "/api/services", {"limit": str(NEWEST)}), counted(request))
    formats = sorted(counts.formats.items(), key=lambda entry: (-entry[1], entry[0]))
    values = {
        "questions": QUESTIONS,
        "newest": newest["data"],
        "services": counts.services,
        "seen": counts.seen,
        "format_count": len(formats),
        "formats": formats[:_FORMATS],
    }
    return pages_of(request).respond(request, "home.html", values, headers={"Link": request.app.state.start_links})


async def counted(request: Request) -> Counts:
    """Return the numbers of the start page, counted at most once in COUNTED_SECONDS: it reads whole tables."""
    kept: Counts | None = getattr(request.app.state, "counts", None)
    if kept is not None and kept.until > time.monotonic():
        return kept
    seen, overview = await asyncio.gather(
        ask(request, "/api/services", {"limit": "0", "seen_within_days": "1"}),
        registry_of(request).queries.overview(),
    )
    until = time.monotonic() + COUNTED_SECONDS
    counts = Counts(overview.services, overview.formats, seen["total"], until)
    request.app.state.counts = counts
    return counts


ROUTES: Final = (Route("/", home),)
