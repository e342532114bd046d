"""Submissions of hosts and lists, the status of a host, opt-outs, checked documents and requested visits."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from registry.actions.frontier.submit import MOST_HOSTS
from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample
from registry.api.schemas.monitoring import CheckStatus, Incidents
from registry.edge.bodies import schema_of


class UnaskedPath(Shape):
    path: Annotated[str, sample("/.well-known/x402")]
    format: Annotated[str | None, about("The format hoped for.", "x402")]
    visit: Annotated[int, about("Which of the coming visits with the whole plan requests it, from 1.", 1)]


class Unasked(Shape):
    paths: Sequence[UnaskedPath]
    next_whole_plan_at: Annotated[base.Timestamp | None, about("null: never on its own.", "2026-11-21T03:00:11.000Z")]


class NextStep(Shape):
    says: Annotated[str, sample("It is listed. Prove that it is yours to decide about the entry.")]
    page: Annotated[
        Literal["bot", "check", "claim", "formats", "opt_out", "owner", "recheck", "service", "submit"], sample("claim")
    ]
    title: Annotated[str, sample("Prove that it is yours")]
    url: Annotated[str, about("The page on which to go on.", f"https://registry.example/claim/{base.EXAMPLE_HOST}")]


_NextStep = Annotated[NextStep, about("What its operator can do now.")]
_RecheckBound = Annotated[
    str | None,
    about(
        "null: everyone can have it visited now. Otherwise what forbids it: too_soon, asked_for_time, domain_budget, "
        "opted_out, blocked, or a bound of submissions.",
        "too_soon",
    ),
]
_RecheckAt = Annotated[base.Timestamp | None, about("Until when `recheck_bound` holds.", "2026-11-20T03:01:11.000Z")]


class StatusData(Shape):
    domain: base.HostName
    confusable: base.Confusable
    state: Annotated[Literal["queued", "visiting", "listed", "not_listed", "opted_out", "blocked"], sample("listed")]
    outcome: Annotated[str | None, about("How the last visit ended.", "found")]
    reason: Annotated[str, about("Refines the outcome; may be empty.", "")]
    reasons: Annotated[Sequence[str], about("Why it is not listed, or what is wrong with it.", [])]
    next_visit_at: Annotated[base.Timestamp | None, about("null: never on its own.", "2026-11-21T03:00:11.000Z")]
    last_visit_at: base.Timestamp | None
    submitted_at: Annotated[base.Timestamp | None, about("null: never submitted.", None)]
    alias_of: Annotated[str | None, about("The host that answers for this one: the apex or www.", None)]
    crawl_failures: Annotated[int, sample(0)]
    freshness: base.Freshness
    recheck_bound: _RecheckBound
    recheck_at: _RecheckAt
    next_step: _NextStep
    unasked: Annotated[Unasked, about("Paths of the probe plan that were not requested yet, and when they will be.")]
    status_url: base.StatusUrl
    injection_flags: base.InjectionFlags
    untrusted_text: base.UntrustedText


class SubmittedData(Shape):
    domain: base.HostName
    confusable: NotRequired[base.Confusable]
    name: Annotated[str, sample("Pigeonpost")]
    trust_level: base.Trust
    trust: base.ExplainedTrust
    verified: base.Verified
    message: Annotated[str, sample("Listed.")]
    status_url: base.StatusUrl
    detail_url_ok: NotRequired[Annotated[bool, about("The first capability detail could be read.", True)]]
    response_time_ms: NotRequired[Annotated[int, sample(184)]]
    injection_flags: base.InjectionFlags
    untrusted_text: base.UntrustedText


class QueuedData(Shape):
    domain: base.HostName
    confusable: base.Confusable
    status: Literal["queued"]
    status_url: base.StatusUrl
    message: Annotated[str, sample("Queued with priority; a visit takes up to a minute.")]


class DomainSubmission(Shape):
    """A host for the registry to visit."""

    domain: Annotated[base.SubmittedName, about("A host name; a leading http(s):// and a path are removed.")]


class ManifestSubmission(Shape):
    """A document to check. It is never listed: only what a host serves itself is."""

    manifest: Annotated[
        dict[str, Any],
        sample(
            {
                "spec_version": "1.0",
                "name": "Pigeonpost",
                "description": "Books, prices and tracks parcels with local couriers.",
                "base_url": "https://api.pigeonpost.example/v2",
                "auth": {"type": "none"},
                "capabilities": [
                    {"name": "create_parcel", "description": "Creates a parcel.", "detail_url": "/caps/create_parcel"}
                ],
            }
        ),
    ]
    capability_details: NotRequired[dict[str, dict[str, Any]] | None]
    setup_guide: NotRequired[dict[str, Any] | None]


SUBMISSION_SCHEMA: Final = schema_of(DomainSubmission | ManifestSubmission)
"""The schema of a request body. The route reads the body itself, so FastAPI cannot derive the schema."""


class OptOutSubmission(Shape):
    """A host whose opt-out is to be checked. The site itself has to confirm it; see `/bot`."""

    domain: base.SubmittedName
    undo: NotRequired[Annotated[bool, about("The site wants to be listed again.")]]
    confirm: NotRequired[Annotated[base.SubmittedName, about("The host once more, as a person typed it again.")]]


class OptOutRequest(Shape):
    undo: Annotated[bool, sample(False)]
    asked_at: base.Timestamp
    checked_at: Annotated[base.Timestamp | None, about("null: waiting for a worker.", None)]
    verdict: Annotated[
        str | None,
        about(
            "opted_out, no_proof, served_elsewhere, unanswered, readmitted, still_says_so, by_operator, "
            "by_owner or not_opted_out.",
            None,
        ),
    ]
    message: Annotated[str, sample("Queued; a worker checks the site within seconds.")]
    again_at: Annotated[base.Timestamp | None, about("When it can be requested again.", None)]


class OptOutData(Shape):
    domain: base.HostName
    opted_out: Annotated[bool, sample(False)]
    covered_by: Annotated[str | None, about("The host whose opt-out covers it: itself, or one above it.", None)]
    how: Annotated[
        str | None, sample(None, enum=["robots", "file", "dns", "owner", "operator", "origin", "origin_block", None])
    ]
    since: Annotated[base.Timestamp | None, sample(None)]
    way_back: Annotated[str | None, about("How its operator ends the opt-out; null: it has not opted out.", None)]
    undo_at: Annotated[base.Timestamp | None, about("From when its end can be checked; null: now.", None)]
    request: Annotated[OptOutRequest | None, about("The last request that was accepted; null: there was none.")]
    status_url: Annotated[str, sample(f"https://registry.example/api/opt-outs/{base.EXAMPLE_HOST}")]


_FAULT: Final = "A capability lacks name, description or detail_url; it was left out."
_Line = Annotated[int | None, about("In the body as it was sent.", 24, ge=1)]
_Column = Annotated[int | None, about("In characters.", 5, ge=1)]
_Reason = Annotated[str, sample("adp.capability_required")]
_Fix = Annotated[str, sample("Add the missing member.")]
_Spec = Annotated[str, sample("ADP 1.0 section 2 and 7")]


class ValidationFault(Shape):
    path: Annotated[
        str, about("Dotted, with indexes: `capabilities[2].name`; `$` for the whole document.", "capabilities[2].name")
    ]
    message: Annotated[str, sample(_FAULT)]
    reason: NotRequired[Annotated[str, sample("adp.capability_required")]]
    severity: NotRequired[Annotated[base.Severity, sample("error")]]
    pointer: NotRequired[Annotated[str, about("The same place as a JSON Pointer (RFC 6901).", "/capabilities/2/name")]]
    line: NotRequired[_Line]
    column: NotRequired[_Column]
    evidence: NotRequired[Annotated[str, sample("")]]
    count: NotRequired[Annotated[int, sample(1, ge=1)]]
    fix: NotRequired[_Fix]
    spec: NotRequired[_Spec]


class Located(Shape):
    """A finding and its place in the body; line and column are null if it has no single place."""

    reason: _Reason
    severity: Annotated[base.Severity, sample("error")]
    pointer: Annotated[str, sample("/capabilities/2/name")]
    line: _Line
    column: _Column
    evidence: Annotated[str, sample("")]
    count: Annotated[int, about("Findings that this one stands for.", 1, ge=1)]
    says: Annotated[str, sample(_FAULT)]
    fix: _Fix
    spec: _Spec


class LocatedLine(Located):
    section: Annotated[str, sample("conformance")]
    points: Annotated[float, sample(3.33)]


class Place(Shape):
    pointer: Annotated[str, sample("/capabilities/2/name")]
    line: _Line
    column: _Column
    evidence: Annotated[str, sample("")]


class Consequence(Shape):
    reason: _Reason
    severity: Annotated[base.Severity, sample("warning")]
    points: Annotated[float, sample(8.0)]
    says: Annotated[str, sample(_FAULT)]
    fix: _Fix


class CauseRow(Shape):
    """One mistake: the findings of one rule about like places, with what follows from them."""

    reason: _Reason
    severity: Annotated[base.Severity, about("The gravest of all its findings.", "error")]
    points: Annotated[float, about("Lost by it, with what follows.", 3.33)]
    count: Annotated[int, about("How often it was made.", 1, ge=1)]
    says: Annotated[str, sample(_FAULT)]
    fix: _Fix
    spec: _Spec
    places: Annotated[list[Place], about("The first ones.")]
    follows: Annotated[list[Consequence], about("Other lost points that are gone when it is mended.", [])]


class CountedEntries(Shape):
    noun: Annotated[str, sample("capability")]
    read: Annotated[int, sample(3, ge=0)]
    not_read: Annotated[int, about("Left out with a finding, or not understood.", 0, ge=0)]


class Validated(Shape):
    valid: Annotated[bool, about("Recognised, and without findings of severity error.", False)]
    errors: list[ValidationFault]
    notes: Annotated[list[ValidationFault], about("Warnings and notes: they do not make it invalid.", [])]
    outcome: Annotated[str, sample("found")]
    reason: Annotated[str, about("Refines the outcome; may be empty.", "")]
    format: Annotated[str | None, sample("adp")]
    dialect: Annotated[str | None, sample("1.0")]
    score: Annotated[int | None, about("Of this document alone; null if it is no service.", 97, ge=0, le=100)]
    sections: Annotated[
        dict[str, float] | None,
        about(
            "The points left of each section.",
            {"conformance": 26.67, "completeness": 30.0, "safety": 15.0, "operability": 15.0, "identity": 10.0},
        ),
    ]
    entries: Annotated[list[CountedEntries], about("What was read of the document and what was not, by kind.")]
    findings: Annotated[list[Located], about("All of `errors` and `notes`, in the order of the body.")]
    score_lines: Annotated[list[LocatedLine], about("Every lost point; the most costly first.")]
    causes: Annotated[list[CauseRow], about("`findings` and `score_lines` by cause, each in one; the gravest first.")]
    injection_flags: base.InjectionFlags
    untrusted_text: base.UntrustedText


class SiteCheckSubmission(Shape):
    """A site to check."""

    target: Annotated[str, about("A host name, or an https URL on port 443.", base.EXAMPLE_HOST, max_length=2_048)]


class SiteCheckAbout(Shape):
    target: Annotated[str, sample(base.EXAMPLE_HOST)]
    domain: base.HostName
    asked_at: base.Timestamp
    expires_at: Annotated[base.Timestamp, about("Then the check and its result are deleted.")]


class SiteCheckAskedData(SiteCheckAbout):
    status_url: Annotated[
        str,
        about(
            "The secret address of the result.",
            "https://registry.example/api/checks/wp_check_0123456789abcdef_" + "A" * 43,
        ),
    ]


class SiteDocument(Shape):
    url: Annotated[str, sample(f"https://{base.EXAMPLE_HOST}/.well-known/agent")]
    outcome: Annotated[str, sample("found")]
    reason: Annotated[str, sample("")]
    format: Annotated[str | None, sample("adp")]
    dialect: Annotated[str | None, sample("1.0")]
    entries: Annotated[list[str], about("What was read, in words.", ["3 capabilities read"])]


class SiteCause(CauseRow):
    document: Annotated[
        str | None,
        about("null: it is about the service as a whole.", f"https://{base.EXAMPLE_HOST}/.well-known/agent"),
    ]


class SiteResult(Shape):
    host: Annotated[
        str, about("The visited host: another one of the domain may answer for the one asked for.", base.EXAMPLE_HOST)
    ]
    outcome: Annotated[str, sample("found")]
    reason: Annotated[str, about("Refines the outcome; may be empty.", "adp")]
    reasons: Annotated[list[str], about("Why the host would not be listed, or what is wrong with it.", [])]
    score: Annotated[int | None, sample(97, ge=0, le=100)]
    sections: Annotated[
        dict[str, float] | None,
        sample({"conformance": 26.67, "completeness": 30.0, "safety": 15.0, "operability": 15.0, "identity": 10.0}),
    ]
    name: Annotated[str | None, sample("Pigeonpost")]
    description: Annotated[str | None, sample("Sends parcels by pigeon.")]
    capabilities: Annotated[list[str], about("Names of the first ones.", ["create_parcel"])]
    capability_count: Annotated[int, sample(3, ge=0)]
    documents: list[SiteDocument]
    causes: list[SiteCause]
    more_causes: Annotated[int, about("Causes that are not shown.", 0)]


class SiteCheckData(SiteCheckAbout):
    state: Annotated[Literal["waiting", "running", "done"], sample("done")]
    worker: Annotated[bool, about("Whether a process makes checks now.", True)]
    listed: Annotated[bool, about("Whether the host has an entry in this registry.", False)]
    checked_at: Annotated[base.Timestamp | None, about("null: not made yet.")]
    result: Annotated[SiteResult | None, about("null: not made yet.")]
    untrusted_text: base.UntrustedText


SiteCheckAsked = answer_of("SiteCheckAsked", SiteCheckAskedData)
SiteCheckStatus = answer_of("SiteCheckStatus", SiteCheckData)

EXAMPLE_LIST: Final = "5f0c2f0e-8d52-4a4e-9c0a-3b8f6f1f4d11"
_STATUS_URL = Annotated[str, sample(f"https://registry.example/api/submissions/{EXAMPLE_LIST}")]
_Index = Annotated[int, about("The place in the list, from 0.", 1, ge=0)]


_LIST: Final = "Host names; a leading http(s):// and a path are removed."
_LISTED: Final = [base.EXAMPLE_HOST, "www.pigeonpost.example"]


class ListSubmission(Shape):
    """Hosts to visit."""

    # guard: list-length
    hosts: Annotated[list[base.SubmittedName], about(_LIST, _LISTED, min_length=1, max_length=MOST_HOSTS)]


class RefusedHost(Shape):
    index: _Index
    code: Annotated[
        str,
        about(
            "`repeated`: named before in this list; `opted_out`; `too_many`, `client_domain`, "
            "`client_unresolved`: bounds of submissions; every other code: which rule of host names it breaks.",
            "special_use",
        ),
    ]
    says: Annotated[str, sample("Names below this top level are not public web sites.")]
    fix: Annotated[str, sample("Write the name under which the internet reaches the site.")]
    retry_at: Annotated[base.Timestamp | None, about("When it can be submitted again.", None)]


class AcceptedList(Shape):
    id: Annotated[str, sample(EXAMPLE_LIST)]
    status_url: _STATUS_URL
    accepted: Annotated[int, sample(1)]
    refused: Annotated[Sequence[RefusedHost], sample([])]
    message: Annotated[str, sample("Queued: `status_url` shows the state of each host.")]


class ShortFinding(Shape):
    reason: Annotated[str, sample("adp.capability_required")]
    severity: Annotated[base.Severity, sample("error")]
    document: Annotated[str | None, sample(f"https://{base.EXAMPLE_HOST}/.well-known/agent")]
    pointer: Annotated[str, sample("/capabilities/2/name")]
    evidence: Annotated[str, sample("")]
    says: Annotated[str, sample("A capability lacks name, description or detail_url; it was left out.")]
    fix: Annotated[str, sample("Add the missing member.")]


class SubmittedHost(Shape):
    index: _Index
    domain: base.HostName
    confusable: base.Confusable
    state: Annotated[
        Literal["waiting", "visiting", "listed", "not_listed", "opted_out", "dropped"],
        about("`dropped`: nothing is stored of it any more, or others took its place in a full queue.", "listed"),
    ]
    outcome: NotRequired[Annotated[str | None, about("How the last visit ended.", "found")]]
    reasons: Annotated[Sequence[str], about("Why it is not listed, or what is wrong with it.", [])]
    findings: Annotated[Sequence[ShortFinding], about("What a check would say: the first 20, errors first.", [])]
    finding_count: Annotated[int, sample(0)]
    alias_of: NotRequired[Annotated[str | None, about("The host that answers for this one.", None)]]
    visited_since: Annotated[
        bool, about("false: the state is from a visit before the submission, or it was never visited.", True)
    ]
    recheck_bound: _RecheckBound
    recheck_at: _RecheckAt
    next_step: _NextStep
    last_visit_at: base.Timestamp | None
    next_visit_at: Annotated[base.Timestamp | None, about("null: never on its own.", "2026-11-21T03:00:11.000Z")]
    status_url: base.StatusUrl


class ListData(Shape):
    id: Annotated[str, sample(EXAMPLE_LIST)]
    submitted_at: base.Timestamp
    is_complete: Annotated[bool, about("false: some of its hosts are still being queued.", True)]
    counts: Annotated[dict[str, int], about("Number of hosts by state.", {"listed": 1})]
    done: Annotated[int, about("Accepted hosts that were visited since, or are not visited any more.", 1)]
    hosts: Sequence[SubmittedHost]
    next_offset: Annotated[int | None, about("`offset` of the next page; null: this is the last one.", None)]
    refused: Annotated[Sequence[RefusedHost], sample([])]
    status_url: _STATUS_URL
    untrusted_text: base.UntrustedText


_Status = Annotated[CheckStatus, sample("up")]
_ResponseTime = Annotated[int | None, sample(184)]
_Message = Annotated[str, sample("Queued with priority; a visit takes up to a minute.")]


class VerifiedData(Shape):
    domain: base.HostName
    verified: base.Verified
    trust_level: base.Trust
    message: Annotated[str, sample("Visited: its documents are listed as they are now.")]
    status_url: base.StatusUrl
    detail_url_ok: NotRequired[Annotated[bool, about("The first capability detail could be read.", True)]]
    response_time_ms: NotRequired[Annotated[int, sample(184)]]


class RecheckQueuedData(Shape):
    domain: base.HostName
    confusable: base.Confusable
    status: Literal["queued"]
    verified: Annotated[bool, about("As of the visit before.", True)]
    trust_level: Annotated[str | None, about("As of the visit before; null: it is not listed.", "verified")]
    message: _Message
    status_url: base.StatusUrl


class CheckedData(Shape):
    domain: base.HostName
    status: _Status
    response_time_ms: _ResponseTime
    checked_at: Annotated[base.Timestamp | None, about("null: nothing was measured yet.")]
    queued: Annotated[
        bool, about("true: the new check is not made yet, and these are the results of the last one.", False)
    ]
    message: _Message
    status_url: base.StatusUrl


class StatusLine(Shape):
    domain: base.HostName
    name: Annotated[str, sample("Pigeonpost")]
    status: _Status
    response_time_ms: _ResponseTime
    uptime_percentage: Annotated[float | None, about("Of the last seven days; null: nothing was measured.", 100.0)]
    last_checked: base.Timestamp | None
    trust_level: base.Trust
    freshness: base.Freshness


class RegistryStatusData(Shape):
    overall_status: Literal["healthy", "degraded", "down"]
    reasons: Annotated[list[str], about("Why it is not healthy.", ["1 service is down."])]
    total_monitored: Annotated[int, sample(1)]
    healthy: Annotated[int, sample(1)]
    degraded: Annotated[int, sample(0)]
    down: Annotated[int, sample(0)]
    services: Annotated[list[StatusLine], about("At most 100, the worst first.")]
    last_updated: Annotated[base.Timestamp | None, about("When the last of these services was visited.")]
    incidents: Incidents
    untrusted_text: base.UntrustedText


HostStatus = answer_of("HostStatus", StatusData)
Submitted = answer_of("Submitted", SubmittedData)
Queued = answer_of("Queued", QueuedData)
OptOut = answer_of("OptOut", OptOutData)
SubmittedList = answer_of("SubmittedList", AcceptedList)
ListStatus = answer_of("ListStatus", ListData)
VerifiedNow = answer_of("VerifiedNow", VerifiedData)
RecheckQueued = answer_of("RecheckQueued", RecheckQueuedData)
Checked = answer_of("Checked", CheckedData)
RegistryStatus = answer_of("RegistryStatus", RegistryStatusData)
