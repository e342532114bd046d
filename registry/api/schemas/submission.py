"""Submissions of hosts and lists, the status of a host, opt-outs, checked documents and requested visits."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, TypeAdapter

from registry.api.schemas.base import (
    EXAMPLE_HOST,
    Confusable,
    ExplainedTrust,
    Freshness,
    HostName,
    InjectionFlags,
    Severity,
    Shape,
    StatusUrl,
    Succeeded,
    Timestamp,
    Trust,
    UntrustedText,
    Verified,
)
from registry.api.schemas.monitoring import CheckStatus, Incidents


class UnaskedPath(Shape):
    path: Annotated[str, Field(examples=["/.well-known/x402"])]
    format: Annotated[str | None, Field(description="The format hoped for.", examples=["x402"])]
    visit: Annotated[
        int, Field(description="Which of the coming visits with the whole plan requests it, from 1.", examples=[1])
    ]


class Unasked(Shape):
    paths: Sequence[UnaskedPath]
    next_whole_plan_at: Annotated[
        Timestamp | None, Field(description="null: never on its own.", examples=["2026-11-21T03:00:11.000Z"])
    ]


class StatusData(Shape):
    domain: HostName
    confusable: Confusable
    state: Annotated[
        Literal["queued", "visiting", "listed", "not_listed", "opted_out", "blocked"], Field(examples=["listed"])
    ]
    outcome: Annotated[str | None, Field(description="How the last visit ended.", examples=["found"])]
    reason: Annotated[str, Field(description="Refines the outcome; may be empty.", examples=[""])]
    reasons: Annotated[
        Sequence[str], Field(description="Why it is not listed, or what is wrong with it.", examples=[[]])
    ]
    next_visit_at: Annotated[
        Timestamp | None, Field(description="null: never on its own.", examples=["2026-11-21T03:00:11.000Z"])
    ]
    last_visit_at: Timestamp | None
    submitted_at: Annotated[Timestamp | None, Field(description="null: never submitted.", examples=[None])]
    alias_of: Annotated[
        str | None, Field(description="The host that answers for this one: the apex or www.", examples=[None])
    ]
    crawl_failures: Annotated[int, Field(examples=[0])]
    freshness: Freshness
    unasked: Annotated[
        Unasked, Field(description="Paths of the probe plan that were not requested yet, and when they will be.")
    ]
    status_url: StatusUrl
    injection_flags: InjectionFlags
    untrusted_text: UntrustedText


class HostStatus(Succeeded):
    data: StatusData


class SubmittedData(Shape):
    domain: HostName
    confusable: NotRequired[Confusable]
    name: Annotated[str, Field(examples=["Pigeonpost"])]
    trust_level: Trust
    trust: ExplainedTrust
    verified: Verified
    message: Annotated[str, Field(examples=["Listed."])]
    status_url: StatusUrl
    detail_url_ok: NotRequired[
        Annotated[bool, Field(description="The first capability detail could be read.", examples=[True])]
    ]
    response_time_ms: NotRequired[Annotated[int, Field(examples=[184])]]
    injection_flags: InjectionFlags
    untrusted_text: UntrustedText


class Submitted(Succeeded):
    data: SubmittedData


class QueuedData(Shape):
    domain: HostName
    confusable: Confusable
    status: Literal["queued"]
    status_url: StatusUrl
    message: Annotated[str, Field(examples=["Queued with priority; a visit takes up to a minute."])]


class Queued(Succeeded):
    data: QueuedData


class DomainSubmission(Shape):
    """A host for the registry to visit."""

    domain: Annotated[
        str,
        Field(
            max_length=2_048,
            description="A host name; a leading http(s):// and a path are removed.",
            examples=[EXAMPLE_HOST],
        ),
    ]


class ManifestSubmission(Shape):
    """A document to check. It is never listed: only what a host serves itself is."""

    manifest: Annotated[
        dict[str, Any],
        Field(
            examples=[
                {
                    "spec_version": "1.0",
                    "name": "Pigeonpost",
                    "description": "Books, prices and tracks parcels with local couriers.",
                    "base_url": "https://api.pigeonpost.example/v2",
                    "auth": {"type": "none"},
                    "capabilities": [
                        {
                            "name": "create_parcel",
                            "description": "Creates a parcel.",
                            "detail_url": "/caps/create_parcel",
                        }
                    ],
                }
            ]
        ),
    ]
    capability_details: NotRequired[dict[str, dict[str, Any]] | None]
    setup_guide: NotRequired[dict[str, Any] | None]


SUBMISSION_SCHEMA: Final[dict[str, Any]] = TypeAdapter(DomainSubmission | ManifestSubmission).json_schema(
    ref_template="#/components/schemas/{model}"
)
"""The schema of a request body. The route reads the body itself, so FastAPI cannot derive the schema."""


class OptOutSubmission(Shape):
    """A host whose opt-out is to be checked. The site itself has to confirm it; see `/bot`."""

    domain: Annotated[str, Field(max_length=2_048, description="A host name.", examples=[EXAMPLE_HOST])]
    undo: NotRequired[Annotated[bool, Field(description="The site wants to be listed again.")]]


OPT_OUT_SCHEMA: Final[dict[str, Any]] = TypeAdapter(OptOutSubmission).json_schema()


class OptOutRequest(Shape):
    undo: Annotated[bool, Field(examples=[False])]
    asked_at: Timestamp
    checked_at: Annotated[Timestamp | None, Field(description="null: waiting for a worker.", examples=[None])]
    verdict: Annotated[
        str | None,
        Field(
            description="opted_out, no_proof, served_elsewhere, unanswered, readmitted, still_says_so, by_operator, "
            "by_owner or not_opted_out.",
            examples=[None],
        ),
    ]
    message: Annotated[str, Field(examples=["Queued; a worker checks the site within seconds."])]
    again_at: Annotated[Timestamp | None, Field(description="When it can be requested again.", examples=[None])]


class OptOutData(Shape):
    domain: HostName
    opted_out: Annotated[bool, Field(examples=[False])]
    covered_by: Annotated[
        str | None,
        Field(description="The host whose opt-out covers it: itself, or one above it.", examples=[None]),
    ]
    how: Annotated[
        str | None,
        Field(
            json_schema_extra={"enum": ["robots", "file", "dns", "owner", "operator", "origin", "origin_block", None]},
            examples=[None],
        ),
    ]
    since: Annotated[Timestamp | None, Field(examples=[None])]
    request: Annotated[
        OptOutRequest | None, Field(description="The last request that was accepted; null: there was none.")
    ]
    status_url: Annotated[str, Field(examples=[f"https://registry.example/api/opt-outs/{EXAMPLE_HOST}"])]


class OptOut(Succeeded):
    data: OptOutData


_FAULT: Final = "A capability lacks name, description or detail_url; it was left out."
_Line = Annotated[int | None, Field(ge=1, description="In the body as it was sent.", examples=[24])]
_Column = Annotated[int | None, Field(ge=1, description="In characters.", examples=[5])]
_Reason = Annotated[str, Field(examples=["adp.capability_required"])]
_Fix = Annotated[str, Field(examples=["Add the missing member."])]
_Spec = Annotated[str, Field(examples=["ADP 1.0 section 2 and 7"])]


class ValidationFault(Shape):
    path: Annotated[
        str,
        Field(
            description="Dotted, with indexes: `capabilities[2].name`; `$` for the whole document.",
            examples=["capabilities[2].name"],
        ),
    ]
    message: Annotated[str, Field(examples=[_FAULT])]
    reason: NotRequired[Annotated[str, Field(examples=["adp.capability_required"])]]
    severity: NotRequired[Annotated[Severity, Field(examples=["error"])]]
    pointer: NotRequired[
        Annotated[
            str, Field(description="The same place as a JSON Pointer (RFC 6901).", examples=["/capabilities/2/name"])
        ]
    ]
    line: NotRequired[_Line]
    column: NotRequired[_Column]
    evidence: NotRequired[Annotated[str, Field(examples=[""])]]
    count: NotRequired[Annotated[int, Field(ge=1, examples=[1])]]
    fix: NotRequired[_Fix]
    spec: NotRequired[_Spec]


class Located(Shape):
    """A finding and its place in the body; line and column are null if it has no single place."""

    reason: _Reason
    severity: Annotated[Severity, Field(examples=["error"])]
    pointer: Annotated[str, Field(examples=["/capabilities/2/name"])]
    line: _Line
    column: _Column
    evidence: Annotated[str, Field(examples=[""])]
    count: Annotated[int, Field(ge=1, description="Findings that this one stands for.", examples=[1])]
    says: Annotated[str, Field(examples=[_FAULT])]
    fix: _Fix
    spec: _Spec


class LocatedLine(Located):
    section: Annotated[str, Field(examples=["conformance"])]
    points: Annotated[float, Field(examples=[3.33])]


class Validated(Shape):
    valid: Annotated[bool, Field(description="Recognised, and without findings of severity error.", examples=[False])]
    errors: list[ValidationFault]
    notes: Annotated[
        list[ValidationFault],
        Field(description="Warnings and notes: they do not make it invalid.", examples=[[]]),
    ]
    outcome: Annotated[str, Field(examples=["found"])]
    reason: Annotated[str, Field(description="Refines the outcome; may be empty.", examples=[""])]
    format: Annotated[str | None, Field(examples=["adp"])]
    dialect: Annotated[str | None, Field(examples=["1.0"])]
    score: Annotated[
        int | None,
        Field(ge=0, le=100, description="Of this document alone; null if it is no service.", examples=[97]),
    ]
    sections: Annotated[
        dict[str, float] | None,
        Field(
            description="The points left of each section.",
            examples=[
                {"conformance": 26.67, "completeness": 30.0, "safety": 15.0, "operability": 15.0, "identity": 10.0}
            ],
        ),
    ]
    findings: Annotated[list[Located], Field(description="All of `errors` and `notes`, in the order of the body.")]
    score_lines: Annotated[list[LocatedLine], Field(description="Every lost point; the most costly first.")]
    injection_flags: InjectionFlags
    untrusted_text: UntrustedText


EXAMPLE_LIST: Final = "5f0c2f0e-8d52-4a4e-9c0a-3b8f6f1f4d11"
_STATUS_URL = Annotated[str, Field(examples=[f"https://registry.example/api/submissions/{EXAMPLE_LIST}"])]
_Index = Annotated[int, Field(ge=0, description="The place in the list, from 0.", examples=[1])]


class ListSubmission(Shape):
    """Hosts to visit."""

    hosts: Annotated[
        list[Annotated[str, Field(max_length=2_048)]],
        Field(
            min_length=1,
            max_length=1_000,
            description="Host names; a leading http(s):// and a path are removed.",
            examples=[[EXAMPLE_HOST, "www.pigeonpost.example"]],
        ),
    ]


LIST_SCHEMA: Final[dict[str, Any]] = TypeAdapter(ListSubmission).json_schema(
    ref_template="#/components/schemas/{model}"
)


class RefusedHost(Shape):
    index: _Index
    code: Annotated[
        str,
        Field(
            description="`repeated`: named before in this list; `opted_out`; `too_many`, `client_domain`, "
            "`client_unresolved`: bounds of submissions; every other code: which rule of host names it breaks.",
            examples=["special_use"],
        ),
    ]
    says: Annotated[str, Field(examples=["Not the name of a public host."])]
    retry_at: Annotated[Timestamp | None, Field(description="When it can be submitted again.", examples=[None])]


class AcceptedList(Shape):
    id: Annotated[str, Field(examples=[EXAMPLE_LIST])]
    status_url: _STATUS_URL
    accepted: Annotated[int, Field(examples=[1])]
    refused: Annotated[Sequence[RefusedHost], Field(examples=[[]])]
    message: Annotated[str, Field(examples=["Queued: `status_url` shows the state of each host."])]


class SubmittedList(Succeeded):
    data: AcceptedList


class ShortFinding(Shape):
    reason: Annotated[str, Field(examples=["adp.capability_required"])]
    severity: Annotated[Severity, Field(examples=["error"])]
    document: Annotated[str | None, Field(examples=[f"https://{EXAMPLE_HOST}/.well-known/agent"])]
    pointer: Annotated[str, Field(examples=["/capabilities/2/name"])]
    evidence: Annotated[str, Field(examples=[""])]
    says: Annotated[str, Field(examples=["A capability lacks name, description or detail_url; it was left out."])]
    fix: Annotated[str, Field(examples=["Add the missing member."])]


class SubmittedHost(Shape):
    index: _Index
    domain: HostName
    confusable: Confusable
    state: Annotated[
        Literal["waiting", "visiting", "listed", "not_listed", "opted_out", "dropped"],
        Field(
            description="`dropped`: nothing is stored of it any more, or others took its place in a full queue.",
            examples=["listed"],
        ),
    ]
    outcome: NotRequired[Annotated[str | None, Field(description="How the last visit ended.", examples=["found"])]]
    reasons: Annotated[
        Sequence[str], Field(description="Why it is not listed, or what is wrong with it.", examples=[[]])
    ]
    findings: Annotated[
        Sequence[ShortFinding], Field(description="What a check would say: the first 20, errors first.", examples=[[]])
    ]
    finding_count: Annotated[int, Field(examples=[0])]
    alias_of: NotRequired[
        Annotated[str | None, Field(description="The host that answers for this one.", examples=[None])]
    ]
    last_visit_at: Timestamp | None
    next_visit_at: Annotated[
        Timestamp | None, Field(description="null: never on its own.", examples=["2026-11-21T03:00:11.000Z"])
    ]
    status_url: StatusUrl


class ListData(Shape):
    id: Annotated[str, Field(examples=[EXAMPLE_LIST])]
    submitted_at: Timestamp
    is_complete: Annotated[bool, Field(description="false: some of its hosts are still being queued.", examples=[True])]
    counts: Annotated[dict[str, int], Field(description="Number of hosts by state.", examples=[{"listed": 1}])]
    hosts: Sequence[SubmittedHost]
    next_offset: Annotated[
        int | None, Field(description="`offset` of the next page; null: this is the last one.", examples=[None])
    ]
    refused: Annotated[Sequence[RefusedHost], Field(examples=[[]])]
    status_url: _STATUS_URL
    untrusted_text: UntrustedText


class ListStatus(Succeeded):
    data: ListData


_Status = Annotated[CheckStatus, Field(examples=["up"])]
_ResponseTime = Annotated[int | None, Field(examples=[184])]
_Message = Annotated[str, Field(examples=["Queued with priority; a visit takes up to a minute."])]


class VerifiedData(Shape):
    domain: HostName
    verified: Verified
    trust_level: Trust
    message: Annotated[str, Field(examples=["Visited: its documents are listed as they are now."])]
    status_url: StatusUrl
    detail_url_ok: NotRequired[
        Annotated[bool, Field(description="The first capability detail could be read.", examples=[True])]
    ]
    response_time_ms: NotRequired[Annotated[int, Field(examples=[184])]]


class VerifiedNow(Succeeded):
    data: VerifiedData


class RecheckQueuedData(Shape):
    domain: HostName
    confusable: Confusable
    status: Literal["queued"]
    verified: Annotated[bool, Field(description="As of the visit before.", examples=[True])]
    trust_level: Annotated[
        str | None,
        Field(description="As of the visit before; null: it is not listed.", examples=["verified"]),
    ]
    message: _Message
    status_url: StatusUrl


class RecheckQueued(Succeeded):
    data: RecheckQueuedData


class CheckedData(Shape):
    domain: HostName
    status: _Status
    response_time_ms: _ResponseTime
    checked_at: Annotated[Timestamp | None, Field(description="null: nothing was measured yet.")]
    queued: Annotated[
        bool,
        Field(
            description="true: the new check is not made yet, and these are the results of the last one.",
            examples=[False],
        ),
    ]
    message: _Message
    status_url: StatusUrl


class Checked(Succeeded):
    data: CheckedData


class StatusLine(Shape):
    domain: HostName
    name: Annotated[str, Field(examples=["Pigeonpost"])]
    status: _Status
    response_time_ms: _ResponseTime
    uptime_percentage: Annotated[
        float | None, Field(description="Of the last seven days; null: nothing was measured.", examples=[100.0])
    ]
    last_checked: Timestamp | None
    trust_level: Trust
    freshness: Freshness


class RegistryStatusData(Shape):
    overall_status: Literal["healthy", "degraded", "down"]
    total_monitored: Annotated[int, Field(examples=[1])]
    healthy: Annotated[int, Field(examples=[1])]
    degraded: Annotated[int, Field(examples=[0])]
    down: Annotated[int, Field(examples=[0])]
    services: Annotated[list[StatusLine], Field(description="At most 100, the worst first.")]
    last_updated: Annotated[Timestamp | None, Field(description="When the last of these services was visited.")]
    incidents: Incidents
    untrusted_text: UntrustedText


class RegistryStatus(Succeeded):
    data: RegistryStatusData
