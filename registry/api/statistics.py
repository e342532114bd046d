"""`GET /api/stats`: counts of listed services, also by day; `GET /api/stats/operation`: how this registry is doing."""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Final

from fastapi import Query, Request, Response

from registry.actions.queries.statistics import SIZE_BINS, DailyFigures
from registry.api.documents import describe_read, errors, not_modified
from registry.api.rows import project
from registry.api.schemas import monitoring as schemas
from registry.edge import parsers
from registry.edge.limiter import charge
from registry.edge.problems import INVALID_PARAMETER
from registry.edge.requests import base_url, registry_of
from registry.edge.responses import data_response, encoded_response, timestamp
from registry.edge.routing import strict_router
from registry.wiring.schedule import JOB_BY_NAME

CSV: Final = "/api/stats/history.csv"
MAX_DAYS: Final = 1_100
"""Days of one answer: three years. Earlier ones are in the next."""

_DAYS_OF_A_UNIT: Final = 100
_PLAIN: Final = ("day", "at", "services", "capabilities", "hosts", "mean_score")
_PREFIXES: Final = {"trust": "trust_levels", "format": "formats", "category": "categories", "visited": "visited"}
_ORDER: Final = ("score", *_PREFIXES)

HistoryDays = Annotated[
    int, *parsers.limited(MAX_DAYS, least=1), Query(description="The most days to return.", examples=[366])
]
Until = Annotated[
    date | None,
    *parsers.day(),
    Query(description="The last day (UTC) to return; by default today.", examples=["2026-11-20"]),
]

router = strict_router(tags=["about"])


@router.get(
    "/api/stats",
    **describe_read(schemas.Statistics),
    summary="The registry in numbers",
    description="What is listed: services by format, trust level, authentication, pricing, category and score, and "
    "their documents by size. Counted at most once a minute.",
)
async def statistics(request: Request) -> Response:
    counted = await registry_of(request).figures.statistics()
    services, last = counted.services, len(counted.services.scores) - 1
    listed = sum(services.trust_levels.values())
    data: schemas.StatisticsData = {
        "at": timestamp(counted.at),
        "services": listed,
        "mean_score": round(services.points / listed, 1) if listed else None,
        "seen_last_day": services.seen,
        "capabilities": services.capabilities,
        "formats": _most_first(services.formats),
        "trust_levels": _most_first(services.trust_levels),
        "identities": _most_first(services.identities),
        "auth_types": _most_first(services.auth_types),
        "pricing_types": _most_first(services.pricing_types),
        "categories": _most_first(services.categories),
        "scores": [  # bins of ten points; the last has eleven
            {"least": 10 * index, "most": 100 if index == last else 10 * index + 9, "count": count}
            for index, count in enumerate(services.scores)
        ],
        "document_bytes": [  # bins that double in size
            {
                "least": 0 if index == 0 else 2 ** (index + 8),
                "most": None if index == SIZE_BINS - 1 else 2 ** (index + 9) - 1,
                "count": count,
            }
            for index, count in enumerate(counted.document_sizes)
        ],
    }
    return data_response(request, data)


@router.get(
    "/api/stats/history",
    **describe_read(schemas.StatisticsHistory, INVALID_PARAMETER),
    summary="The registry in numbers, by day",
    description="One line a day: services, formats, scores, and the outcomes of visits. The current day is counted "
    "again every ten minutes. Lines are kept for ever, and a missed day stays a gap.",
)
async def history(request: Request, days: HistoryDays = 366, until: Until = None) -> Response:
    charge(request, days // _DAYS_OF_A_UNIT)
    found = await registry_of(request).figures.history(until=until, most=days)
    data: schemas.StatisticsHistoryData = {
        "days": [project(schemas.DayFigures, one, day=one.day.isoformat()) for one in found.days],
        "earlier": None if found.earlier is None else found.earlier.isoformat(),
    }
    return data_response(request, data)


@router.get(
    CSV,
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}}
    | not_modified()
    | errors(INVALID_PARAMETER),
    summary="The registry in numbers, by day, as a table",
    description="The lines of `/api/stats/history` as CSV (RFC 4180) with a column for each number, such as "
    "`format_adp` or `score_90_100`. Where earlier days exist, the field `Link` has their address.",
)
async def history_table(request: Request, days: HistoryDays = 366, until: Until = None) -> Response:
    charge(request, days // _DAYS_OF_A_UNIT)
    found = await registry_of(request).figures.history(until=until, most=days)
    headers = {"Content-Disposition": 'attachment; filename="waypost-history.csv"'}
    if found.earlier is not None:
        headers["Link"] = f'<{base_url(request)}{CSV}?days={days}&until={found.earlier}>; rel="prev"'
    body = _table(found.days).encode()
    return encoded_response(request, body, headers=headers, media_type="text/csv; charset=utf-8; header=present")


def _table(days: Sequence[DailyFigures]) -> str:
    """Return the days as CSV, with a column for each value that occurs on one of them."""
    lines = []
    for one in days:
        line: dict[str, object] = {name: getattr(one, name) for name in _PLAIN} | {"at": timestamp(one.at)}
        for index, count in enumerate(one.scores):
            line[f"score_{_bounds(index, len(one.scores))}"] = count
        for prefix, counts in _PREFIXES.items():
            line |= {f"{prefix}_{value}": count for value, count in sorted(getattr(one, counts).items())}
        lines.append(line)
    names = {name: None for line in lines for name in line}
    ordered = sorted(names, key=lambda name: -1 if name in _PLAIN else _ORDER.index(name.partition("_")[0]))
    written = io.StringIO()
    table = csv.DictWriter(written, ordered or _PLAIN, restval=0)
    table.writeheader()
    table.writerows(lines)
    return written.getvalue()


def _bounds(index: int, bins: int) -> str:
    return f"{10 * index}_{100 if index == bins - 1 else 10 * index + 9}"


@router.get(
    "/api/stats/operation",
    **describe_read(schemas.Operation),
    summary="How this registry is doing",
    description="Its queue of visits, the visits of the last day by outcome, how far index and feed are behind, and "
    "the latest run of each recurring job. Looked at no more than once a minute; `/readyz` says whether it can answer.",
)
async def operation(request: Request) -> Response:
    state = await registry_of(request).figures.operation()
    data: schemas.OperationData = {
        "at": timestamp(state.at),
        "crawlers": state.crawlers,
        "visited_last_hour": state.visited_last_hour,
        "visited_last_day": _most_first(state.visited),
        "domains": dict(state.queue.domains),
        "queue_age_seconds": round(state.queue.age.total_seconds(), 1),
        "candidates": state.queue.candidates,
        "index_lag": state.queue.index_lag,
        "feed_lag_seconds": round(state.feed_waits.total_seconds(), 1),
        "jobs": [project(schemas.JobState, run, says=_says(run.job), outcome=run.outcome.value) for run in state.runs],
        "incidents": [project(schemas.IncidentNow, one) for one in state.incidents],
    }
    return data_response(request, data)


def _says(job: str) -> str:
    """Return what a job does; "" for a job of another version of the program."""
    return JOB_BY_NAME[job].says if job in JOB_BY_NAME else ""


def _most_first(counts: Mapping[str, int]) -> schemas.Counts:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
