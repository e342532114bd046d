"""`GET /api/stats`: counts of listed services; `GET /api/stats/operation`: how this registry is doing."""

from collections.abc import Mapping

from fastapi import Request, Response

from registry.actions.queries.statistics import SIZE_BINS
from registry.api.documents import describe_read
from registry.api.rows import project
from registry.api.schemas import monitoring as schemas
from registry.edge.requests import registry_of
from registry.edge.responses import data_response, timestamp
from registry.edge.routing import strict_router

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
    data: schemas.StatisticsData = {
        "at": timestamp(counted.at),
        "services": sum(services.trust_levels.values()),
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
        "jobs": [project(schemas.JobState, run, outcome=run.outcome.value) for run in state.runs],
        "incidents": [project(schemas.IncidentNow, one) for one in state.incidents],
    }
    return data_response(request, data)


def _most_first(counts: Mapping[str, int]) -> schemas.Counts:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
