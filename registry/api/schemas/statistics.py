"""The registry in numbers."""

from typing import Annotated

from pydantic import Field

from registry.api.schemas.base import Shape, Succeeded, Timestamp
from registry.api.schemas.monitoring import Incidents

Counts = dict[str, int]


class Bin(Shape):
    least: Annotated[int, Field(description="The least value that is counted here.", examples=[90])]
    most: Annotated[int | None, Field(description="The greatest one; null: no bound.", examples=[100])]
    count: Annotated[int, Field(examples=[1])]


class StatisticsData(Shape):
    at: Annotated[Timestamp, Field(description="When these numbers were counted: at most a minute ago.")]
    services: Annotated[int, Field(description="That are listed.", examples=[1])]
    seen_last_day: Annotated[
        int, Field(description="Services whose documents were seen in the last 24 hours.", examples=[1])
    ]
    capabilities: Annotated[int, Field(description="Of all listed services.", examples=[3])]
    formats: Annotated[Counts, Field(description="Services by the formats that they serve.", examples=[{"adp": 1}])]
    trust_levels: Annotated[Counts, Field(description="Services by trust level.", examples=[{"verified": 1}])]
    auth_types: Annotated[Counts, Field(description="Services by `auth_type`.", examples=[{"api_key": 1}])]
    pricing_types: Annotated[Counts, Field(description="Services by `pricing_type`.", examples=[{"freemium": 1}])]
    categories: Annotated[Counts, Field(description="Services by category.", examples=[{"logistics": 1}])]
    scores: Annotated[list[Bin], Field(description="Services by score.")]
    document_bytes: Annotated[list[Bin], Field(description="Documents of the listed services by size, in bytes.")]


class Statistics(Succeeded):
    data: StatisticsData


class JobState(Shape):
    job: Annotated[str, Field(examples=["prune"])]
    outcome: Annotated[str, Field(description="running, done, failed, stopped or lost.", examples=["done"])]
    started_at: Timestamp
    finished_at: Annotated[Timestamp | None, Field(description="null: it still runs.")]


class OperationData(Shape):
    at: Annotated[Timestamp, Field(description="When this was looked at: at most a minute ago.")]
    crawlers: Annotated[int, Field(description="Processes that crawl now.", examples=[1])]
    visited_last_hour: Annotated[int, Field(description="Hosts visited in the last hour.", examples=[1])]
    visited_last_day: Annotated[
        Counts, Field(description="Hosts visited in the last 24 hours, by the outcome.", examples=[{"found": 1}])
    ]
    domains: Annotated[
        Counts, Field(description="Registrable domains by their place in the queue.", examples=[{"waiting": 1}])
    ]
    queue_age_seconds: Annotated[
        float, Field(description="How long the domain that is due for longest has waited.", examples=[0.0])
    ]
    candidates: Annotated[int, Field(description="Hosts that documents name, not taken in yet.", examples=[0])]
    index_lag: Annotated[int, Field(description="Services whose search entry is out of date.", examples=[0])]
    feed_lag_seconds: Annotated[
        float, Field(description="How long the oldest event has waited for its place in the feed.", examples=[0.0])
    ]
    jobs: Annotated[list[JobState], Field(description="The latest run of each recurring job.")]
    incidents: Incidents


class Operation(Succeeded):
    data: OperationData
