"""The start page."""

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.web.asking import ask
from registry.web.rendering import pages_of

QUESTIONS: Final = ("send a parcel", "book a table for two", "weather for the next days", "translate a text")
"""Example questions; the sample web answers each."""

NEWEST: Final = 6
_FORMATS: Final = 12


async def home(request: Request) -> Response:
    newest, counted = await asyncio.gather(
        ask(request, "/api/services", {"limit": str(NEWEST)}), ask(request, "/api/stats")
    )
    formats = counted["data"]["formats"]
    values = {
        "questions": QUESTIONS,
        "newest": newest["data"],
        "services": counted["data"]["services"],
        "seen": counted["data"]["seen_last_day"],
        "format_count": len(formats),
        "formats": list(formats.items())[:_FORMATS],
    }
    return pages_of(request).respond(request, "home.html", values, headers={"Link": request.app.state.start_links})


ROUTES: Final = (Route("/", home),)
