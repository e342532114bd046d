"""The start page and the pages with numbers: what is listed, and how the registry is doing. Charts are SVG."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import Response

from registry.core.formats import FORMAT_BY_SLUG
from registry.edge import inside
from registry.web.asking import ask
from registry.web.rendering import Links, links_of, respond
from registry.web.text import number, value_name, words

QUESTIONS: Final = (
    "send a parcel", "book a table for two", "weather for the next days", "translate a text", "buy groceries",
    "send an email",
)  # fmt: skip
"""Example questions; the sample web answers each. Pages show only what this registry answers."""

MAX_QUESTIONS: Final = 4
NEWEST: Final = 6
MAX_BARS: Final = 15
MAX_LINES: Final = 5
MAX_POINTS: Final = 120
"""Points of a line: more days are drawn in steps."""

RANGES: Final = {30: "30 days", 90: "90 days", 366: "a year", 1_100: "three years"}
DEFAULT_DAYS: Final = 90
TABLE_DAYS: Final = 31
_FORMATS: Final = 12
_UNITS: Final = ("B", "KiB", "MiB")
KEPT_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a chart. `share`: its length in percent of the longest bar; only 0 has no length. `link`: what is
    counted; None where it has no list."""

    label: str
    count: int
    share: float
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a chart over time. `path`: for an SVG of 100 by 100. `latest`: the number of the last day, in words."""

    label: str
    path: str
    latest: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Trend:
    """A chart over time. `top`: the number at its upper edge. `says`: the same as a sentence."""

    key: str
    title: str
    lines: Sequence[Line]
    top: float
    says: str


Row = tuple[str, int, str | None]
"""Label, number and link of a bar."""

Series = tuple[str, str | None, Sequence[float | None]]
"""Label, link and numbers of a line, one number for each day."""

Days = Sequence[Mapping[str, Any]]
"""Days of `/api/stats/history`, the earliest first."""


class Suggestions:
    """The first MAX_QUESTIONS example questions that this registry answers well, kept for KEPT_SECONDS."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._answered: Sequence[str] = ()
        self._until = 0.0

    async def get(self, request: Request) -> Sequence[str]:
        """Return the questions; none when search cannot answer now."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._answered = await self._find(request)
                self._until = time.monotonic() + KEPT_SECONDS
            return self._answered

    async def _find(self, request: Request) -> Sequence[str]:
        queries = ({"q": question, "limit": "1"} for question in QUESTIONS)
        asked = (ask(request, "/api/discover", query) for query in queries)
        answers: list[Any] = await asyncio.gather(*asked, return_exceptions=True)
        answered = (
            question
            for question, answer in zip(QUESTIONS, answers, strict=True)
            if not isinstance(answer, BaseException) and answer["confident"] and answer["data"]
        )
        return tuple(answered)[:MAX_QUESTIONS]


def about_registry(links: Links) -> dict[str, Any]:
    """Return what the start page says about itself to search engines (schema.org, as JSON-LD)."""
    address = links.absolute("/search") + "?q={search_term_string}"
    return {
        "@context": "https://schema.org",
        "@type": "WebSite",
        "name": "waypost",
        "url": links.absolute("/"),
        "potentialAction": {
            "@type": "SearchAction",
            "target": {"@type": "EntryPoint", "urlTemplate": address},
            "query-input": "required name=search_term_string",
        },
    }


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
        "known": counted["data"]["services"],
        "seen": counted["data"]["seen_last_day"],
        "categories": [(name, value_name("category", name), count) for name, count in categories],
        "format_count": len(formats),
        "formats": formats[:_FORMATS],
        "format_total": len(FORMAT_BY_SLUG),
        "json_ld": about_registry(links_of(request)),
    }
    return respond(request, "home.html", values, headers={"Link": request.app.state.start_links})


async def stats(request: Request) -> Response:
    days = {str(one): one for one in RANGES}.get(request.query_params.get("days", ""), DEFAULT_DAYS)
    answers = await asyncio.gather(ask(request, "/api/stats"), ask(request, "/api/stats/history", {"days": str(days)}))
    (counted, history), links = (answer["data"] for answer in answers), links_of(request)
    kept = history["days"]
    counts_of = {
        "identity": "identities", "auth_type": "auth_types", "pricing_type": "pricing_types",
        "category": "categories",
    }  # fmt: skip
    sizes = [(size_label(one), one["count"], None) for one in counted["document_bytes"]]
    values = {
        "counted": counted,
        "everything": everything(links),
        **{name: bars(_rows(links, name, counted[counts])) for name, counts in counts_of.items()},
        "format": bars(_rows(links, "format", counted["formats"]), others_at=links.to("/formats")),
        "scores": bars([_score_row(links, one) for one in counted["scores"]], ordered=True),
        "sizes": bars(_used(sizes), ordered=True),
        "days": days,
        "ranges": [(title, f"?days={most}", most == days) for most, title in RANGES.items()],
        "trends": trends(links, kept),
        "first": kept[0] if kept else None,
        "last": kept[-1] if kept else None,
        "table": kept[: -TABLE_DAYS - 1 : -1],
        "kept": len(kept),
        "step": _step(kept),
        "has_earlier": history["earlier"] is not None,
    }
    return respond(request, "stats.html", values)


def everything(links: Links, **filters: str) -> str:
    """Return the link to the list of all services that statistics count, with these filters."""
    return links.search(**filters, include_unverified="true")


def _rows(links: Links, name: str, counts: Mapping[str, int]) -> list[Row]:
    """Return the rows for the values of a filter."""
    return [(value_name(name, value), count, everything(links, **{name: value})) for value, count in counts.items()]


def _score_row(links: Links, one: Mapping[str, Any]) -> Row:
    bounds = {"min_score": str(one["least"]), "max_score": str(one["most"])}
    return f"{one['least']} to {one['most']}", one["count"], everything(links, **bounds) if one["count"] else None


def _used(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows without empty ones at both ends."""
    used = [index for index, row in enumerate(rows) if row[1]]
    return rows[used[0] : used[-1] + 1] if used else ()


def trends(links: Links, days: Days) -> Sequence[Trend]:
    """Return the charts over these days; none for no days."""
    if not days:
        return ()
    services: Series = ("Services", everything(links), [one["services"] for one in days])
    hosts: Series = ("Known hosts", links.to("/status"), [one["hosts"] for one in days])
    score: Series = ("Mean score", everything(links, sort="score"), [one["mean_score"] for one in days])
    formats: list[Series] = [
        (value_name("format", name), everything(links, format=name), [one["formats"].get(name, 0) for one in days])
        for name in _largest(days, "formats")
    ]
    visits: list[Series] = [
        (words(name), None, [one["visited"].get(name, 0) for one in days]) for name in _largest(days, "visited")
    ]
    return [
        _trend(days, "services", "Services", [services]),
        _trend(days, "hosts", "Known hosts", [hosts]),
        _trend(days, "score", "Mean score", [score], top=100),
        _trend(days, "formats", "Services by format", formats),
        _trend(days, "visits", "Visited hosts by outcome", visits),
    ]


def _largest(days: Days, counts: str) -> Sequence[str]:
    """Return the values with the largest numbers on the last day that has any: at most MAX_LINES."""
    latest: Mapping[str, int] = next((one[counts] for one in reversed(days) if one[counts]), {})
    return sorted(latest, key=lambda name: (-latest[name], name))[:MAX_LINES]


def _trend(days: Days, key: str, title: str, series: Sequence[Series], top: float = 0) -> Trend:
    top = top or max((value for _, _, values in series for value in values if value is not None), default=0) or 1
    places = _places(days)
    lines = [
        Line(label, _path([(step, x, values[index]) for index, step, x in places], top), _said(values[-1]), link)
        for label, link, values in series
    ]
    said = "; ".join(f"{label} {_said(values[0])} to {_said(values[-1])}" for label, _, values in series)
    return Trend(key, title, lines, top, f"From {days[0]['day']} to {days[-1]['day']}: {said}")


def _said(value: float | None) -> str:
    return "none" if value is None else number(value)


def _step(days: Days) -> int:
    """Return how many days one point of a chart stands for."""
    return -(-_offset(days, -1) // MAX_POINTS) or 1 if days else 1


def _offset(days: Days, index: int) -> int:
    return (date.fromisoformat(days[index]["day"]) - date.fromisoformat(days[0]["day"])).days


def _places(days: Days) -> Sequence[tuple[int, int, float]]:
    """Return, for the last day of each step: its index, the number of the step, its place on the axis of 0 to 100."""
    step, span = _step(days), _offset(days, -1)
    last_of = {_offset(days, index) // step: index for index in range(len(days))}
    return [(index, one, 100 * _offset(days, index) / span if span else 50) for one, index in last_of.items()]


def _path(points: Sequence[tuple[int, float, float | None]], top: float) -> str:
    """Return a path through the points. A step without a number interrupts it."""
    parts: list[str] = []
    before: int | None = None
    for step, x, value in points:
        is_next = before is not None and step == before + 1
        if value is not None:
            place = f"{x:.4g} {100 - 100 * min(value / top, 1):.4g}"
            parts.append(f"L{place}" if is_next else f"M{place}h0")  # `h0` shows a point without neighbours
        before = None if value is None else step
    return "".join(parts)


async def status(request: Request) -> Response:
    operation, counted, ready = await asyncio.gather(
        ask(request, "/api/stats/operation"),
        ask(request, "/api/stats"),
        inside.call(request.app.state.api, request.scope, "/readyz"),
    )
    state = operation["data"]
    visited = state["visited_last_day"]
    values = {
        "state": state,
        "services": counted["data"]["services"],
        "failing": _failing(ready),
        "visited": bars([(words(outcome), count, None) for outcome, count in visited.items()]),
        "visited_total": sum(visited.values()),
    }
    return respond(request, "status.html", values)


def _failing(ready: inside.InsideAnswer) -> Mapping[str, str]:
    """Return the parts that are not ready, each with its state."""
    if ready.status == 200:
        return {}
    parts = orjson.loads(bytes(ready.body)).get("parts", {})
    return {part: state for part, state in parts.items() if state != "ok"} or {"registry": "does not answer"}


def bars(rows: Sequence[Row], *, ordered: bool = False, others_at: str | None = None) -> Sequence[Bar]:
    """Return the rows of a chart: the largest MAX_BARS and one row for all others, with the link `others_at`; with
    `ordered`, all rows unchanged."""
    if not ordered:
        rows = sorted(rows, key=lambda row: (-row[1], row[0]))
        others = sum(row[1] for row in rows[MAX_BARS:])
        rows = [*rows[:MAX_BARS], *([("others", others, others_at)] if others else [])]
    longest = max((count for _, count, _ in rows), default=0) or 1
    return [
        Bar(label, count, round(max(100 * count / longest, 1 if count else 0), 1), link) for label, count, link in rows
    ]


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
