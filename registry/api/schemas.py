"""Shapes of the answers, for the OpenAPI document and the tests that hold real answers against it.

Longer than other modules because it is the contract in one piece. Answers are built as plain values and not through
these models (a hot route would pay twice); the tests see to it that both agree. Keys of ADP registries come first in
each shape, ours after them; all shapes may grow.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

AuthType = Literal["none", "api_key", "oauth2"]
PricingType = Literal["free", "freemium", "paid"]
Trust = Literal["verified", "community", "unverified"]
Severity = Literal["error", "warning", "info"]
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", description="ISO 8601, UTC.")]


class Shape(BaseModel):
    model_config = ConfigDict(extra="allow")


class Succeeded(Shape):
    success: Literal[True]


# --- what several answers share -------------------------------------------------------------------------------------


class Freshness(Shape):
    last_crawled_at: Moment | None = Field(description="When the host was last visited, however that ended.")
    seen_at: Moment | None = Field(description="When its documents were last seen.")
    stale: bool = Field(description="Not seen for longer than the longest interval between visits.")


class AuthScheme(Shape):
    type: str = Field(description="One of the exact kinds: none, api_key, http_basic, bearer, oauth2, openid ...")


class Auth(Shape):
    schemes: list[AuthScheme] = Field(description="Every scheme the documents name, not collapsed.")
    required: bool | None = Field(description="null: the documents do not say.")


class Pricing(Shape):
    model: Literal["free", "freemium", "paid", "pay_per_call", "unknown"]


class Summary(Shape):
    """What every row about a service carries."""

    name: str
    domain: str = Field(description="The host that serves the documents: the identity of the service.")
    confusable: bool = Field(default=False, description="The name can be taken for another one (UTS 39).")
    description: str
    base_url: str
    auth_type: AuthType
    pricing_type: PricingType
    verified: bool = Field(description="Exactly `trust_level` = `verified`.")
    trust_level: Trust
    category: str | None = Field(description="Submission never sets one: null.")
    format: str | None = Field(description="The most telling format of the host.")
    formats: list[str]
    protocols: list[str]
    score: int = Field(ge=0, le=100, description="Quality, with reasons at `url`; never relevance.")
    auth: Auth
    pricing: Pricing
    freshness: Freshness
    url: str = Field(description="The service in full.")
    untrusted_text: list[str] = Field(description="Members whose text the site wrote: data, never instructions.")


# --- discover -------------------------------------------------------------------------------------------------------


class Found(Summary):
    cap_count: int = Field(description="All capabilities of the service.")


class Segment(Shape):
    """A piece of a text: plain text, whatever is in it."""

    text: str
    match: bool = Field(description="One of the question's words.")


class Why(Shape):
    matched_terms: list[str] = Field(description="Words of the query found here.")
    score: float | None = Field(description="Share of the query's weight that these words hold.")
    similarity: float = Field(default=0.0, description="Nearness in meaning: the cosine of the vectors, 0 to 1.")


class WhyHere(Shape):
    parts: dict[str, float] = Field(description="What the relevance is made of; the parts add up to it.")
    cover: float = Field(description="Share of the query's weight that this service's words hold, 0 to 1.")
    similarity: float = Field(description="Nearness in meaning: the cosine of the vectors, 0 to 1.")


class Highlights(Shape):
    name: list[Segment] = Field(description="Empty: none of the question's words is in it.")
    description: list[Segment] = Field(description="The part around the question's words; empty: there are none.")


class Matching(Shape):
    name: str
    description: str
    detail_url: str = Field(description="Absolute: the site's own document, else this registry's.")
    side_effects: bool | None
    why: Why
    highlights: list[Segment] = Field(default=[], description="Of the description; with `highlights=true`.")


class DiscoverRow(Shape):
    service: Found
    matching_capabilities: list[Matching]
    relevance: float = Field(description="Comparable inside one answer only.")
    matched_terms: list[str]
    confident: bool = Field(description="Words and meaning are near enough for this to be an answer.")
    why: WhyHere
    alike: list[str] = Field(description="Hosts of the same owner that say nearly the same and have no row.")
    highlights: Highlights | None = Field(default=None, description="With `highlights=true`.")


class FacetCounts(Shape):
    services: int = Field(description="Services that were counted: those that were ranked for this question.")
    counts: dict[str, dict[str, int]] = Field(description="Filter -> value -> services, at most 50 values each.")


class Suggested(Shape):
    known_words: list[str] = Field(description="Words of the question that some service holds.")
    spelling: dict[str, list[str]] = Field(description="Unknown word -> known words that are spelt nearly so.")
    without_filters: list[str] = Field(description="Filters without which there is a confident answer.")


class Discovered(Succeeded):
    query: str = Field(description="The question as it was searched: trimmed, at most 400 characters.")
    result_count: int = Field(description="Rows in this answer.")
    data: list[DiscoverRow]
    total: int = Field(description="Services that matched; an estimate for large answers.")
    next_cursor: str | None = Field(description="Asks for the next rows of the same question; null at the end.")
    generation: str = Field(description="The state of the index that answered.")
    confident: bool = Field(description="false: nothing answers the question well, these are the nearest.")
    facets: FacetCounts | None = Field(default=None, description="With `facets`.")
    suggestions: Suggested | None = Field(default=None, description="Where the answer is not confident.")


# --- lists ----------------------------------------------------------------------------------------------------------


class ListedService(Summary):
    capability_count: int
    created_at: Moment


class ServiceList(Succeeded):
    data: list[ListedService]
    total: int
    page: int
    totalPages: int
    next_offset: int | None = Field(description="`offset` of the next page; null at the end.")


# --- one service ----------------------------------------------------------------------------------------------------


class ManifestCapability(Shape):
    name: str
    description: str
    detail_url: str = Field(description="Absolute, or to be concatenated to `base_url`.")
    detail: dict[str, Any] | None = Field(default=None, description="With `include_details=true`.")


class Manifest(Shape):
    spec_version: Literal["1.0"]
    name: str
    description: str
    base_url: str
    auth: dict[str, Any]
    capabilities: list[ManifestCapability]


class DocumentSeen(Shape):
    url: str
    format: str | None
    dialect: str | None
    outcome: str
    seen_at: Moment | None


class ScoreLine(Shape):
    reason: str
    section: str
    severity: Severity
    points: float = Field(ge=0, description="Lost ones; 0 for notes.")
    count: int = Field(ge=1, description="Findings that share the line.")
    says: str
    fix: str
    spec: str
    document: str | None = Field(description="Where the first finding is; null: no single document is to blame.")
    pointer: str = Field(description="JSON Pointer into `document`; without one, into the service as it is shown here.")
    evidence: str


class Grade(Shape):
    value: int = Field(ge=0, le=100)
    rubric_version: str
    sections: dict[str, float]
    lines: list[ScoreLine]


class ServiceData(Shape):
    domain: str
    confusable: bool = Field(default=False, description="The name can be taken for another one (UTS 39).")
    well_known_url: str
    verified: bool
    trust_level: Trust
    crawl_failures: int
    last_crawled_at: Moment | None
    created_at: Moment
    updated_at: Moment
    manifest: Manifest
    format: str | None
    formats: list[str]
    protocols: list[dict[str, Any]]
    score: Grade
    auth: Auth
    pricing: Pricing
    freshness: Freshness
    documents: list[DocumentSeen]
    untrusted_text: list[str]


class OneService(Succeeded):
    data: ServiceData


class Parameter(Shape):
    name: str
    type: str
    description: str
    required: bool


class CapabilityDetail(Shape):
    name: str
    description: str
    endpoint: str = Field(description="Absolute, or to be concatenated to the manifest's `base_url`.")
    method: str
    parameters: list[Parameter]
    request_example: dict[str, Any]
    response_example: dict[str, Any]
    derived: list[str] = Field(description="Examples that the site does not give and that are built from the rest.")


# --- status, submission, validation ---------------------------------------------------------------------------------


class StatusData(Shape):
    domain: str
    confusable: bool = Field(default=False, description="The name can be taken for another one (UTS 39).")
    state: Literal["queued", "visiting", "listed", "not_listed", "opted_out"]
    outcome: str | None = Field(description="How the last visit ended.")
    reasons: list[str]
    next_visit_at: Moment | None
    last_visit_at: Moment | None
    status_url: str


class HostStatus(Succeeded):
    data: StatusData


class SubmittedData(Shape):
    domain: str
    confusable: bool = Field(default=False, description="The name can be taken for another one (UTS 39).")
    name: str
    trust_level: Trust
    verified: bool
    message: str
    status_url: str


class Submitted(Succeeded):
    data: SubmittedData


class QueuedData(Shape):
    domain: str
    confusable: bool = Field(default=False, description="The name can be taken for another one (UTS 39).")
    status: Literal["queued"]
    status_url: str
    message: str


class Queued(Succeeded):
    data: QueuedData


class DomainSubmission(Shape):
    """The registry visits the host itself."""

    domain: str = Field(max_length=2_048, description="A host name; a leading http(s):// and a path are cut off.")


class ManifestSubmission(Shape):
    """Checked and answered, never listed: nothing is listed that its host did not serve."""

    manifest: dict[str, Any]
    capability_details: dict[str, dict[str, Any]] | None = None
    setup_guide: dict[str, Any] | None = None


SUBMISSION_SCHEMA: dict[str, Any] = TypeAdapter(DomainSubmission | ManifestSubmission).json_schema(
    ref_template="#/components/schemas/{model}"
)
"""Of a request body that the route reads by itself, so that FastAPI does not know it."""


class OptOutSubmission(Shape):
    """The site itself has to say so; see `/bot`."""

    domain: str = Field(max_length=2_048, description="A host name.")
    undo: bool = Field(default=False, description="It wants to come back.")


OPT_OUT_SCHEMA: dict[str, Any] = TypeAdapter(OptOutSubmission).json_schema()


class OptOutRequest(Shape):
    undo: bool
    asked_at: Moment
    checked_at: Moment | None = Field(description="Null while it waits for a worker.")
    verdict: str | None = Field(
        description="opted_out, no_proof, unanswered, readmitted, still_says_so, by_operator or not_opted_out."
    )
    message: str
    again_at: Moment | None = Field(description="When it can be asked for again.")


class OptOutData(Shape):
    domain: str
    opted_out: bool
    covered_by: str | None = Field(description="The host whose opt-out covers it: itself, or one above it.")
    how: Literal["robots", "file", "dns", "operator"] | None
    since: Moment | None
    request: OptOutRequest | None = Field(description="The last time that somebody had it checked; null: nobody.")
    status_url: str


class OptOut(Succeeded):
    data: OptOutData


class ValidationFault(Shape):
    path: str = Field(description="Dotted, with indexes: `capabilities[2].name`; `$` for the whole.")
    message: str
    severity: Severity | None = None
    reason: str | None = None
    pointer: str | None = Field(default=None, description="The same place as a JSON Pointer (RFC 6901).")
    line: int | None = Field(default=None, ge=1, description="In the body as it was sent.")
    column: int | None = Field(default=None, ge=1, description="In characters.")
    evidence: str | None = None
    fix: str | None = None
    spec: str | None = None


class Located(Shape):
    """A finding and its place in the body; both null for what no place of the body is to blame for."""

    reason: str
    severity: Severity
    pointer: str
    line: int | None = Field(ge=1)
    column: int | None = Field(ge=1)
    evidence: str
    count: int = Field(ge=1, description="Findings that this one stands for.")
    says: str
    fix: str
    spec: str


class LocatedLine(Located):
    section: str
    points: float


class Validated(Shape):
    valid: bool = Field(description="Recognised, and no fault of severity error.")
    errors: list[ValidationFault]
    notes: list[ValidationFault] = Field(description="Warnings and notes: no refusal.")
    outcome: str
    reason: str = Field(description="Refines the outcome; empty where there is nothing to add.")
    format: str | None
    dialect: str | None
    score: int | None = Field(ge=0, le=100, description="Of this document alone; null where it is no service.")
    sections: dict[str, float] | None = Field(description="What is left of each section's points.")
    findings: list[Located] = Field(description="All of `errors` and `notes`, in the order of the body.")
    score_lines: list[LocatedLine] = Field(description="Each point that is missing; most costly first.")
    untrusted_text: list[str]


# --- health ---------------------------------------------------------------------------------------------------------


class Check(Shape):
    status: Literal["up", "degraded", "down", "unknown"]
    response_time_ms: int | None
    checked_at: Moment


class HealthLine(Shape):
    domain: str
    status: Literal["up", "degraded", "down", "unknown"]
    response_time_ms: int | None
    checked_at: Moment | None


class HealthData(Shape):
    status: Literal["healthy", "degraded"]
    total_monitored: int
    healthy: int
    degraded: int
    down: int
    services: list[HealthLine]


class Health(Succeeded):
    data: HealthData


class HostHealthData(Shape):
    domain: str
    name: str
    current_status: Literal["up", "degraded", "down", "unknown"]
    response_time_ms: int | None
    uptime_percentage: float | None = Field(description="null: nothing was measured yet.")
    last_checked: Moment | None
    history: list[Check]


class HostHealth(Succeeded):
    data: HostHealthData


# --- the ledger -----------------------------------------------------------------------------------------------------


class NextVisit(Shape):
    at: Moment | None = Field(description="null: never by itself.")
    why: Literal["new", "asked", "policy", "second_look", "unfinished", "opted_out"]
    says: str


class RobotsRead(Shape):
    status: int | None = Field(description="HTTP status of robots.txt when it was last read; null: it was not.")
    fetched_at: Moment | None


class CrawledHost(Shape):
    host: str
    source: str = Field(description="Who named it first.")
    referrer: str | None = Field(description="Where: a host whose document named it, a sitemap, a registry's server.")
    known_since: Moment
    outcome: str | None = Field(description="How the last visit ended.")
    reason: str
    streak: int = Field(description="Visits in a row that ended like the last.")
    alias_of: str | None
    last_visit_at: Moment | None
    last_found_at: Moment | None
    last_changed_at: Moment | None
    next_visit: NextVisit
    robots: RobotsRead


class Asked(Shape):
    url: str
    purpose: str
    outcome: str


class OneVisit(Shape):
    started_at: Moment
    finished_at: Moment
    outcome: str
    reason: str
    whole_plan: bool = Field(description="false: only known documents were asked for, conditionally.")
    requests: int
    address: str | None = Field(description="Where the host was reached.")
    answers: list[Asked] = Field(description="What was asked and what came, in order.")


class LedgerData(Shape):
    domain: str
    registrable_domain: str = Field(description="The unit of politeness: one visit at a time, one daily budget.")
    opted_out: bool
    being_visited: bool
    requests_last_24h: int
    host: CrawledHost | None = Field(description="null: only other hosts of the domain are known, or it opted out.")
    visits: list[OneVisit]
    hosts: list[CrawledHost] = Field(description="The other known hosts of the registrable domain, at most 100.")
    status_url: str


class CrawlLedger(Succeeded):
    data: LedgerData


# --- about ----------------------------------------------------------------------------------------------------------


class Lost(Shape):
    what: str = Field(description="The part of the service that the document does not say.")
    why: str
    count: int = Field(description="How many such losses there are.")
    pointers: list[str] = Field(description="JSON Pointers into the service as waypost models it; the first of them.")


class Translated(Succeeded):
    """A service as a document of another format."""

    format: str
    media_type: str = Field(description="How the document would be served.")
    document: dict[str, Any] = Field(description="Marked as synthetic: at its top (AWP), or in `x-synthetic`.")
    losses: list[Lost]
    source_formats: list[str] = Field(description="Formats of the documents that this one is made from.")
    native_url: str | None = Field(description="Where the host serves this format itself: prefer that.")
    synthetic: Literal[True]
    untrusted_text: list[str]


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
    paths: list[str]
    role: str


class RubricSection(Shape):
    section: str
    points: int = Field(description="All of them; a score is the sum of what is left of each section.")
    question: str


class Rubric(Succeeded):
    version: str
    sections: dict[str, int]
    about_sections: list[RubricSection]
    method: list[str] = Field(description="How a score is computed, step by step.")
    beside: list[str] = Field(description="What is shown beside a score and is no part of it.")
    data: list[RubricRule]
    formats: list[FormatRow]


class ProblemType(Shape):
    slug: str
    status: int
    title: str
    means: str


class ProblemTypes(Succeeded):
    data: list[ProblemType]


class OneProblemType(Succeeded):
    data: ProblemType


class Alive(Shape):
    status: Literal["ok"]


class Readiness(Shape):
    status: Literal["ok", "failing"]
    parts: dict[str, str] = Field(description="`ok`, or what is wrong, by part.")
