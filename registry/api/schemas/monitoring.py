"""Health of services and of this registry, visits to a host, statistics, the rubric and the problem types."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from registry.api.schemas.base import (
    HostName,
    Severity,
    Shape,
    StatusUrl,
    Succeeded,
    Timestamp,
    TrustReason,
    UntrustedText,
)
from registry.core.scheduling.jobs import KINDS
from registry.edge.problems import ProblemType

CheckStatus = Literal["up", "degraded", "down", "unknown"]
_Status = Annotated[CheckStatus, Field(examples=["up"])]
_ResponseTime = Annotated[int | None, Field(examples=[184])]


class Check(Shape):
    status: _Status
    response_time_ms: _ResponseTime
    checked_at: Timestamp
    outcome: Annotated[str, Field(examples=["found"])]


class HealthLine(Shape):
    domain: HostName
    name: Annotated[str, Field(examples=["Pigeonpost"])]
    status: _Status
    response_time_ms: _ResponseTime
    checked_at: Timestamp | None


class HealthData(Shape):
    status: Literal["healthy", "degraded"]
    total_monitored: Annotated[int, Field(examples=[1])]
    healthy: Annotated[int, Field(examples=[1])]
    degraded: Annotated[int, Field(examples=[0])]
    down: Annotated[int, Field(examples=[0])]
    services: list[HealthLine]
    untrusted_text: UntrustedText


class Health(Succeeded):
    data: HealthData


class HostHealthData(Shape):
    domain: HostName
    name: Annotated[str, Field(examples=["Pigeonpost"])]
    current_status: _Status
    response_time_ms: _ResponseTime
    uptime_percentage: Annotated[float | None, Field(description="null: nothing was measured yet.", examples=[100.0])]
    last_checked: Timestamp | None
    history: list[Check]
    untrusted_text: UntrustedText


class HostHealth(Succeeded):
    data: HostHealthData


class Alive(Shape):
    status: Literal["ok"]


class Readiness(Shape):
    status: Literal["ok", "failing"]
    parts: Annotated[dict[str, str], Field(description="`ok`, or what is wrong, by part.")]


class IncidentNow(Shape):
    kind: Annotated[str, Field(json_schema_extra={"enum": list(KINDS)}, examples=["job_failed"])]
    since: Timestamp
    says: Annotated[str, Field(examples=["The last run of the job refresh failed."])]


Incidents = Annotated[
    list[IncidentNow],
    Field(
        description="Work of this registry that is late or has failed, the latest first: a job whose last run failed "
        "or that is late; changes that wait for the search index, or events for their place in the change feed; no "
        "visits although hosts are due. Looked at no more than once a minute."
    ),
]


class NextVisit(Shape):
    at: Annotated[Timestamp | None, Field(description="null: never on its own.", examples=["2026-11-21T03:00:11.000Z"])]
    why: Annotated[
        str,
        Field(
            json_schema_extra={"enum": ["new", "asked", "policy", "second_look", "unfinished", "opted_out", "blocked"]},
            examples=["policy"],
        ),
    ]
    says: Annotated[str, Field(examples=["1 d 2 h after a visit that ended with found, 2 times in a row"])]


class RobotsRead(Shape):
    status: Annotated[
        int | None,
        Field(description="HTTP status of robots.txt when it was last read; null: never read.", examples=[404]),
    ]
    fetched_at: Timestamp | None


class CrawledHost(Shape):
    host: HostName
    source: Annotated[str, Field(description="Who named it first.", examples=["submission"])]
    referrer: Annotated[
        str | None,
        Field(
            description="Where it was named: a host whose document names it, a sitemap, a registry's server.",
            examples=[None],
        ),
    ]
    known_since: Timestamp
    outcome: Annotated[str | None, Field(description="How the last visit ended.", examples=["found"])]
    reason: Annotated[str, Field(examples=[""])]
    streak: Annotated[int, Field(description="Successive visits that ended like the last.", examples=[2])]
    alias_of: Annotated[str | None, Field(examples=[None])]
    last_visit_at: Timestamp | None
    last_found_at: Timestamp | None
    last_changed_at: Timestamp | None
    next_visit: NextVisit
    robots: RobotsRead


class ProbeAnswer(Shape):
    url: Annotated[str, Field(examples=["https://api.pigeonpost.example/.well-known/agent"])]
    purpose: Annotated[str, Field(examples=["manifest"])]
    outcome: Annotated[str, Field(examples=["found"])]
    reason: NotRequired[Annotated[str, Field(description="Refines the outcome.")]]
    format: NotRequired[Annotated[str, Field(examples=["adp"])]]
    dialect: NotRequired[str]
    status: NotRequired[Annotated[int, Field(description="HTTP status.", examples=[304])]]
    type: NotRequired[Annotated[str, Field(description="Media type.")]]
    size: NotRequired[Annotated[int, Field(description="Bytes.")]]
    ms: NotRequired[Annotated[int, Field(description="Milliseconds.", examples=[41])]]
    final_url: NotRequired[Annotated[str, Field(description="After redirects, if it differs.")]]
    via: NotRequired[Annotated[Any, Field(description="Where the URL was found.")]]


class HostVisit(Shape):
    started_at: Timestamp
    finished_at: Timestamp
    outcome: Annotated[str, Field(examples=["found"])]
    reason: Annotated[str, Field(examples=[""])]
    whole_plan: Annotated[
        bool, Field(description="false: only known documents were requested, conditionally.", examples=[False])
    ]
    requests: Annotated[int, Field(description="What the plan asked for.", examples=[2])]
    sent: Annotated[
        int | None,
        Field(
            description="Requests, repeated ones included, for which a connection was at least tried; only these count "
            "towards the daily budget. null: not counted, by an earlier version.",
            examples=[2],
        ),
    ]
    says: Annotated[
        str | None,
        Field(description="Why nothing was requested, where a daily budget was spent; else null.", examples=[None]),
    ]
    address: Annotated[str | None, Field(description="The address that was connected to.", examples=["93.184.215.14"])]
    answers: Annotated[list[ProbeAnswer], Field(description="What was requested and what the host answered, in order.")]


class LedgerData(Shape):
    domain: HostName
    registrable_domain: Annotated[
        str,
        Field(
            description="The unit of politeness: one visit at a time, one daily budget.",
            examples=["pigeonpost.example"],
        ),
    ]
    opted_out: Annotated[bool, Field(examples=[False])]
    being_visited: Annotated[bool, Field(examples=[False])]
    requests_last_24h: Annotated[int, Field(examples=[4])]
    host: Annotated[
        CrawledHost | None,
        Field(description="null: only other hosts of the domain are known, or it opted out."),
    ]
    visits: list[HostVisit]
    hosts: Annotated[
        list[CrawledHost],
        Field(description="The other known hosts of the registrable domain, at most 100.", examples=[[]]),
    ]
    status_url: StatusUrl
    untrusted_text: UntrustedText


class CrawlLedger(Succeeded):
    data: LedgerData


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


class RubricRule(Shape):
    reason: str
    severity: Severity
    section: str
    points: float
    says: str
    fix: str
    spec: str


class FormatRow(Shape):
    slug: str
    title: str
    spec: str
    paths: Sequence[str]
    role: str


class RubricSection(Shape):
    section: str
    points: Annotated[int, Field(description="All of them; a score is the sum of what is left of each section.")]
    question: str


class TrustLevelRow(Shape):
    trust_level: str
    checked: Annotated[str, Field(description="The value of `trust.checked`.")]
    means: str


class TrustTable(Shape):
    levels: list[TrustLevelRow]
    reasons: Annotated[list[TrustReason], Field(description="Why a level is not higher, the gravest first.")]


class Rubric(Succeeded):
    version: str
    sections: dict[str, int]
    about_sections: list[RubricSection]
    method: Annotated[Sequence[str], Field(description="How a score is computed, step by step.")]
    beside: Annotated[Sequence[str], Field(description="What is shown beside a score but is not part of it.")]
    trust: Annotated[TrustTable, Field(description="What trust levels mean. They do not follow from the score.")]
    data: list[RubricRule]
    formats: list[FormatRow]


class ProblemTypes(Succeeded):
    data: Sequence[ProblemType]


class OneProblemType(Succeeded):
    data: ProblemType
