"""Health of services and of this registry, visits to a host, statistics, the rubric and the problem types."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired, Required

from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample
from registry.core.scheduling.jobs import KINDS
from registry.edge.problems import ProblemType

CheckStatus = Literal["up", "degraded", "down", "unknown"]
_Status = Annotated[CheckStatus, sample("up")]
_ResponseTime = Annotated[int | None, sample(184)]


class Check(Shape):
    status: _Status
    response_time_ms: _ResponseTime
    checked_at: base.Timestamp
    outcome: Annotated[str, sample("found")]


class HealthLine(Shape):
    domain: base.HostName
    name: Annotated[str, sample("Pigeonpost")]
    status: _Status
    response_time_ms: _ResponseTime
    checked_at: base.Timestamp | None


class HealthData(Shape):
    status: Literal["healthy", "degraded"]
    total_monitored: Annotated[int, sample(1)]
    healthy: Annotated[int, sample(1)]
    degraded: Annotated[int, sample(0)]
    down: Annotated[int, sample(0)]
    services: list[HealthLine]
    untrusted_text: base.UntrustedText


class HostHealthData(Shape):
    domain: base.HostName
    name: Annotated[str, sample("Pigeonpost")]
    current_status: _Status
    response_time_ms: _ResponseTime
    uptime_percentage: Annotated[float | None, about("null: nothing was measured yet.", 100.0)]
    last_checked: base.Timestamp | None
    history: list[Check]
    untrusted_text: base.UntrustedText


class Alive(Shape):
    status: Literal["ok"]


class Readiness(Shape):
    status: Literal["ok", "failing"]
    parts: Annotated[dict[str, str], about("`ok`, or what is wrong, by part.")]
    notes: NotRequired[
        Annotated[list[str], about("Only where something is wrong that does not keep it from answering.")]
    ]


class IncidentNow(Shape):
    kind: Annotated[str, sample("job_failed", enum=list(KINDS))]
    since: base.Timestamp
    says: Annotated[str, sample("The last run of the job refresh failed.")]


Incidents = Annotated[
    list[IncidentNow],
    about(
        "Work of this registry that is late or has failed, the latest first: a job whose last run failed or "
        "that is late; changes that wait for the search index, or events for their place in the change "
        "feed; no visits although hosts are due; too little free space. Looked at no more than once a minute."
    ),
]


class NextVisit(Shape):
    at: Annotated[base.Timestamp | None, about("null: never on its own.", "2026-11-21T03:00:11.000Z")]
    why: Annotated[
        str, sample("policy", enum=["new", "asked", "policy", "second_look", "unfinished", "opted_out", "blocked"])
    ]
    says: Annotated[str, sample("1 d 2 h after a visit that ended with found, 2 times in a row")]


class RobotsRead(Shape):
    status: Annotated[int | None, about("HTTP status of robots.txt when it was last read; null: never read.", 404)]
    fetched_at: base.Timestamp | None


class CrawledHost(Shape):
    host: base.HostName
    source: Annotated[str, about("Who named it first.", "submission")]
    referrer: Annotated[
        str | None, about("Where it was named: a host whose document names it, a sitemap, a registry's server.", None)
    ]
    known_since: base.Timestamp
    outcome: Annotated[str | None, about("How the last visit ended.", "found")]
    reason: Annotated[str, sample("")]
    streak: Annotated[int, about("Successive visits that ended like the last.", 2)]
    alias_of: Annotated[str | None, sample(None)]
    last_visit_at: base.Timestamp | None
    last_found_at: base.Timestamp | None
    last_changed_at: base.Timestamp | None
    next_visit: NextVisit
    robots: RobotsRead


class ProbeAnswer(Shape, total=False):
    url: Required[Annotated[str, sample("https://api.pigeonpost.example/.well-known/agent")]]
    purpose: Required[Annotated[str, sample("manifest")]]
    outcome: Required[Annotated[str, sample("found")]]
    reason: Annotated[str, about("Refines the outcome.")]
    format: Annotated[str, sample("adp")]
    dialect: str
    status: Annotated[int, about("HTTP status.", 304)]
    type: Annotated[str, about("Media type.")]
    size: Annotated[int, about("Bytes.")]
    ms: Annotated[int, about("Milliseconds.", 41)]
    final_url: Annotated[str, about("After redirects, if it differs.")]
    via: Annotated[Any, about("Where the URL was found.")]


class HostVisit(Shape):
    started_at: base.Timestamp
    finished_at: base.Timestamp
    outcome: Annotated[str, sample("found")]
    reason: Annotated[str, sample("")]
    whole_plan: Annotated[bool, about("false: only known documents were requested, conditionally.", False)]
    requests: Annotated[int, about("What the plan asked for.", 2)]
    sent: Annotated[
        int | None,
        about(
            "Requests, repeated ones included, for which a connection was at least tried; only these count "
            "towards the daily budget. null: not counted, by an earlier version.",
            2,
        ),
    ]
    says: Annotated[str | None, about("Why nothing was requested, where a daily budget was spent; else null.", None)]
    address: Annotated[str | None, about("The address that was connected to.", "93.184.215.14")]
    answers: Annotated[list[ProbeAnswer], about("What was requested and what the host answered, in order.")]


class LedgerData(Shape):
    domain: base.HostName
    registrable_domain: Annotated[
        str, about("The unit of politeness: one visit at a time, one daily budget.", "pigeonpost.example")
    ]
    opted_out: Annotated[bool, sample(False)]
    being_visited: Annotated[bool, sample(False)]
    requests_last_24h: Annotated[int, sample(4)]
    host: Annotated[CrawledHost | None, about("null: only other hosts of the domain are known, or it opted out.")]
    visits: list[HostVisit]
    hosts: Annotated[list[CrawledHost], about("The other known hosts of the registrable domain, at most 100.", [])]
    status_url: base.StatusUrl
    untrusted_text: base.UntrustedText


Counts = dict[str, int]


class Bin(Shape):
    least: Annotated[int, about("The least value that is counted here.", 90)]
    most: Annotated[int | None, about("The greatest one; null: no bound.", 100)]
    count: Annotated[int, sample(1)]


class StatisticsData(Shape):
    at: Annotated[base.Timestamp, about("When these numbers were counted: at most a minute ago.")]
    services: Annotated[int, about("That are listed.", 1)]
    mean_score: Annotated[float | None, about("Of the listed services; null without services.", 94.0)]
    seen_last_day: Annotated[int, about("Services whose documents were seen in the last 24 hours.", 1)]
    capabilities: Annotated[int, about("Of all listed services.", 3)]
    formats: Annotated[Counts, about("Services by the formats that they serve.", {"adp": 1})]
    trust_levels: Annotated[Counts, about("Services by trust level.", {"verified": 1})]
    identities: Annotated[Counts, about("Services by `trust.identity`.", {"host-checked": 1})]
    auth_types: Annotated[Counts, about("Services by `auth_type`.", {"api_key": 1})]
    pricing_types: Annotated[Counts, about("Services by `pricing_type`.", {"freemium": 1})]
    categories: Annotated[Counts, about("Services by category.", {"logistics": 1})]
    scores: Annotated[list[Bin], about("Services by score.")]
    document_bytes: Annotated[list[Bin], about("Documents of the listed services by size, in bytes.")]


class DayFigures(Shape):
    day: Annotated[str, about("In UTC.", "2026-11-20")]
    at: Annotated[base.Timestamp, about("When these numbers were counted: at the end of the day, or just now.")]
    services: Annotated[int, about("That were listed.", 1)]
    capabilities: Annotated[int, about("Of all listed services.", 3)]
    hosts: Annotated[int, about("That were known.", 4)]
    mean_score: Annotated[float | None, about("Of the listed services; null: there were none.", 94.0)]
    scores: Annotated[Sequence[int], about("Services by score: in tens, the last with 100.", [0] * 9 + [1])]
    formats: Annotated[Counts, about("Services by the formats that they served.", {"adp": 1})]
    trust_levels: Annotated[Counts, about("Services by trust level.", {"verified": 1})]
    categories: Annotated[Counts, about("Services by category.", {"e-commerce": 1})]
    visited: Annotated[Counts, about("Hosts visited on this day, by the outcome of their last visit.", {"found": 1})]


class StatisticsHistoryData(Shape):
    days: Annotated[list[DayFigures], about("The earliest first. Days on which this registry did not run are missing.")]
    earlier: Annotated[str | None, about("`until` for the days before these; null at the first day.", None)]


class JobState(Shape):
    job: Annotated[str, sample("prune")]
    says: Annotated[str, about("What it does.", "forget what is too old or belongs to nothing")]
    outcome: Annotated[str, about("running, done, failed, stopped or lost.", "done")]
    started_at: base.Timestamp
    finished_at: Annotated[base.Timestamp | None, about("null: it still runs.")]


class OperationData(Shape):
    at: Annotated[base.Timestamp, about("When this was looked at: at most a minute ago.")]
    crawlers: Annotated[int, about("Processes that crawl now.", 1)]
    visited_last_hour: Annotated[int, about("Hosts visited in the last hour.", 1)]
    visited_last_day: Annotated[Counts, about("Hosts visited in the last 24 hours, by the outcome.", {"found": 1})]
    domains: Annotated[Counts, about("Registrable domains by their place in the queue.", {"waiting": 1})]
    queue_age_seconds: Annotated[float, about("How long the domain that is due for longest has waited.", 0.0)]
    candidates: Annotated[int, about("Hosts that documents name, not taken in yet.", 0)]
    index_lag: Annotated[int, about("Services whose search entry is out of date.", 0)]
    feed_lag_seconds: Annotated[float, about("How long the oldest event has waited for its place in the feed.", 0.0)]
    jobs: Annotated[list[JobState], about("The latest run of each recurring job.")]
    incidents: Incidents


class RubricRule(Shape):
    reason: str
    severity: base.Severity
    section: str
    points: float
    says: str
    fix: str
    spec: str


class FormatRow(Shape):
    slug: str
    title: str
    spec: str
    link: Annotated[str, about("Address of the specification; empty for a format without one.")]
    paths: Sequence[str]
    media_types: Sequence[str]
    role: str
    purpose: Annotated[str, about("What the format is for, and who reads it.")]
    example: Annotated[str, about("The smallest complete document, as it would be served.")]


class RubricSection(Shape):
    section: str
    points: Annotated[int, about("All of them; a score is the sum of what is left of each section.")]
    question: str


class ReasonRow(Shape):
    code: Annotated[str, sample("visit.disallowed")]
    says: str
    fix: str
    link: Annotated[str, about("Where to read on: a specification, or a page of this registry.")]


class ReasonDetail(ReasonRow):
    rule: Annotated[RubricRule | None, about("null: the code is of no rule of the rubric.")]
    formats: Annotated[Sequence[str], about("Slugs of the formats that have the rule.")]


class TrustLevelRow(Shape):
    trust_level: str
    checked: Annotated[str, about("The value of `trust.checked`.")]
    means: str


class IdentityRow(Shape):
    identity: base.IdentityWord
    label: Annotated[str, about("As pages show it.", "host checked")]
    means: str
    trust_level: Annotated[str, about("The level that ADP clients read in its place.", "verified")]


class TrustTable(Shape):
    levels: list[TrustLevelRow]
    identities: Annotated[list[IdentityRow], about("From the best known to the least.")]
    reasons: Annotated[list[base.TrustReason], about("Why a level is not higher, the gravest first.")]


class Rubric(base.Succeeded):
    version: str
    sections: dict[str, int]
    about_sections: list[RubricSection]
    method: Annotated[Sequence[str], about("How a score is computed, step by step.")]
    beside: Annotated[Sequence[str], about("What is shown beside a score but is not part of it.")]
    trust: Annotated[TrustTable, about("What the words of identity mean. They do not follow from the score.")]
    data: list[RubricRule]
    formats: list[FormatRow]


Health = answer_of("Health", HealthData)
HostHealth = answer_of("HostHealth", HostHealthData)
CrawlLedger = answer_of("CrawlLedger", LedgerData)
Statistics = answer_of("Statistics", StatisticsData)
StatisticsHistory = answer_of("StatisticsHistory", StatisticsHistoryData)
Operation = answer_of("Operation", OperationData)
Reasons = answer_of("Reasons", Sequence[ReasonRow])
OneReason = answer_of("OneReason", ReasonDetail)
ProblemTypes = answer_of("ProblemTypes", Sequence[ProblemType])
OneProblemType = answer_of("OneProblemType", ProblemType)
