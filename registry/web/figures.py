"""The start page and the pages with numbers: what is listed, and how the registry is doing. Charts are SVG."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging.trust import IDENTITIES
from registry.core.model.listing import IdentityState
from registry.edge import inside
from registry.web.asking import ask
from registry.web.rendering import respond
from registry.web.text import value_name

QUESTIONS: Final = (
    "send a parcel", "book a table for two", "weather for the next days", "translate a text", "buy groceries",
    "send an email",
)  # fmt: skip
"""Example questions; the sample web answers each. Pages show only those that this registry answers."""

MAX_QUESTIONS: Final = 4
NEWEST: Final = 6
MAX_BARS: Final = 15
_FORMATS: Final = 12
_UNITS: Final = ("B", "KiB", "MiB")
KEPT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a chart. `share`: its length in percent of the longest bar; only 0 has no length."""

    label: str
    count: int
    share: float


class Suggestions:
    """The first MAX_QUESTIONS example questions that this registry answers well, kept for KEPT_SECONDS."""

    def __init__(self) -> None:
        self._answered: Sequence[str] = ()
        self._until = 0.0

    async def get(self, request: Request) -> Sequence[str]:
        """Return the questions; none when search cannot answer now."""
        if time.monotonic() >= self._until:  # guard: suggestions-kept
            self._until = time.monotonic() + KEPT_SECONDS
            queries = ({"q": question, "limit": "1"} for question in QUESTIONS)
            asked = (ask(request, "/api/discover", query) for query in queries)
            answers: list[Any] = await asyncio.gather(*asked, return_exceptions=True)
            answered = (
                question
                for question, answer in zip(QUESTIONS, answers, strict=True)
                if not isinstance(answer, BaseException) and answer["confident"] and answer["data"]
            )
            self._answered = tuple(answered)[:MAX_QUESTIONS]
        return self._answered


async def home(request: Request) -> Response:
    newest, counted = await asyncio.gather(
        ask(request, "/api/services", {"limit": str(NEWEST), "facets": "category,format"}), ask(request, "/api/stats")
    )
    listed, facets = newest["total"], newest["facets"]["counts"]
    categories = sorted(facets["category"].items(), key=lambda one: (one[0] == "other", -one[1], one[0]))
    formats = sorted(facets["format"].items(), key=lambda one: (-one[1], one[0]))
    values = {
        "questions": await request.app.state.suggestions.get(request) if listed else (),
        "newest": newest["data"],
        "services": listed,
        "seen": counted["data"]["seen_last_day"],
        "categories": [(name, value_name("category", name), count) for name, count in categories],
        "format_count": len(formats),
        "formats": formats[:_FORMATS],
        "format_total": len(FORMAT_BY_SLUG),
    }
    return respond(request, "home.html", values, headers={"Link": request.app.state.start_links})


async def stats(request: Request) -> Response:
    counted = (await ask(request, "/api/stats"))["data"]
    values = {
        "counted": counted,
        "formats": bars(counted["formats"]),
        "auth": bars(counted["auth_types"]),
        "pricing": bars(counted["pricing_types"]),
        "trust": bars({IDENTITIES[IdentityState(word)].label: count for word, count in counted["identities"].items()}),
        "categories": bars(counted["categories"]),
        "scores": bars({f"{one['least']} to {one['most']}": one["count"] for one in counted["scores"]}, ordered=True),
        "sizes": bars({size_label(one): one["count"] for one in counted["document_bytes"]}, ordered=True),
    }
    return respond(request, "stats.html", values)


async def status(request: Request) -> Response:
    operation, ready = await asyncio.gather(
        ask(request, "/api/stats/operation"), inside.call(request.app.state.api, request.scope, "/readyz")
    )
    state = operation["data"]
    visited = state["visited_last_day"]
    values = {
        "state": state,
        "is_ready": ready.status == 200,
        "visited": bars(visited),
        "visited_total": sum(visited.values()),
    }
    return respond(request, "status.html", values)


def bars(counts: Mapping[str, int], *, ordered: bool = False) -> Sequence[Bar]:
    """Return the rows of a chart: the largest MAX_BARS and one row for all others; with `ordered`, all rows
    unchanged."""
    rows = list(counts.items())
    if not ordered:
        rows.sort(key=lambda row: (-row[1], row[0]))
        others = sum(count for _, count in rows[MAX_BARS:])
        rows = [*rows[:MAX_BARS], *([("others", others)] if others else [])]
    longest = max((count for _, count in rows), default=0) or 1
    return [Bar(label, count, round(max(100 * count / longest, 1 if count else 0), 1)) for label, count in rows]


def size_label(one: Mapping[str, Any]) -> str:
    """Return a bin of sizes in words: `under 512 B`, `4 KiB to 8 KiB`, `from 1 MiB`."""
    if one["least"] == 0:
        return f"under {_size(one['most'] + 1)}"
    if one["most"] is None:
        return f"from {_size(one['least'])}"
    return f"{_size(one['least'])} to {_size(one['most'] + 1)}"


def _size(size: int) -> str:
    power = 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size //= 1024
        power += 1
    return f"{size} {_UNITS[power]}"
