"""Shapes for operators: holds, keys, the queue, reports about hosts; and the public audit log."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from registry.actions.reports import MOST_OF_REPORT, MOST_TEXTS
from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample
from registry.core.access.tokens import MOST_NAME_CHARS, SCOPES
from registry.core.model import reports
from registry.core.model.reports import Code, ReportState

BlockKind = Annotated[
    Literal["block", "quarantine"],
    about(
        "block: neither visited nor listed. quarantine: visited and judged, not listed until it is "
        "released. Both cover all hosts below, and keep what is stored.",
        "block",
    ),
]
NextCursor = Annotated[str | None, about("Of the next page; null: this is the last one.", None)]
Reason = Annotated[str, about("Shown to everybody.", "It copies another site.")]


KeyName = Annotated[str | None, about("The name of the key; null: no key of this registry did it.", None)]

BLOCK_REASON_CHARS: Final = 500


class BlockSubmission(Shape):
    domain: Annotated[base.HostName, about("A host name.", json_schema_extra={"maxLength": 300})]
    kind: NotRequired[Annotated[BlockKind, sample(json_schema_extra={"default": "block"})]]
    reason: Annotated[Reason, sample(min_length=1, max_length=BLOCK_REASON_CHARS)]


class Block(Shape):
    domain: base.HostName
    kind: BlockKind
    reason: Reason
    by: Annotated[str, about("Who decided it.", "key:0123456789abcdef")]
    key_name: KeyName
    since: base.Timestamp


class BlocksData(Shape):
    blocks: list[Block]
    cursor: NextCursor
    untrusted_text: base.UntrustedText


class BlockChangedData(Shape):
    domain: base.HostName
    kind: BlockKind
    changed: Annotated[bool, about("false: it was so before.", True)]
    services: Annotated[
        Sequence[str], about("Hosts whose services are hidden from now on, or shown again.", ["a.example"])
    ]


class AuditEntry(Shape):
    id: Annotated[str, sample("0193a5a4-7a10-7cc3-9f00-1d2c3b4a5968")]
    at: base.Timestamp
    actor: Annotated[
        str,
        about(
            "`operator:cli`: a command on the registry's machine; `key:` an API key; `owner:` the owner of a "
            "host; `system:` the registry itself; `client:anonymous`.",
            "operator:cli",
        ),
    ]
    key_name: KeyName
    action: Annotated[str, sample("host.blocked")]
    domain: Annotated[str, about("Empty: it concerns no host.", "pigeonpost.example")]
    host: Annotated[str, about("Empty: it concerns no host.", "api.pigeonpost.example")]
    reason: Annotated[str, sample("It copies another site.")]
    detail: Annotated[Mapping[str, Any], sample({"covers_below": True, "services": 1})]


class AuditData(Shape):
    entries: list[AuditEntry]
    cursor: NextCursor
    untrusted_text: base.UntrustedText


class AuditDecision(Shape):
    at: base.Timestamp
    by: Annotated[
        str,
        about(
            "operator, key: an operator of this registry; owner: who proved to own the host; system: the "
            "registry, because of what the site declares.",
            "operator",
            enum=["operator", "key", "owner", "system", "client"],
        ),
    ]
    action: Annotated[str, sample("host.blocked")]
    host: Annotated[str, about("The host, or one above it.", "api.pigeonpost.example")]
    reason: Annotated[str, about("Empty where it may name persons.", "It copies another site.")]


class DecisionsData(Shape):
    domain: base.HostName
    decisions: Annotated[list[AuditDecision], about("The latest first, at most 100.")]
    untrusted_text: base.UntrustedText


class PublicAuditData(Shape):
    decisions: list[AuditDecision]
    cursor: NextCursor
    untrusted_text: base.UntrustedText


class Workload(Shape):
    domains: Annotated[
        Mapping[str, int],
        about(
            "Domains by state: due now, leased to a crawler, waiting for their time, never visited again.",
            {"due": 3, "leased": 1, "waiting": 900, "never": 2},
        ),
    ]
    submissions: Annotated[int, about("Submitted hosts that wait for their visit.", 2)]
    oldest_submission_at: base.Timestamp | None
    postponed: Annotated[int, about("Submitted hosts whose visit was put off.", 0)]
    by_client: Annotated[
        Sequence[int],
        about(
            "How many submitted hosts of each client are waiting, the ten largest numbers. Clients are not named.", [2]
        ),
    ]
    candidates: Annotated[int, about("Hosts that documents name and that are not queued.", 7)]
    opt_out_requests: Annotated[int, about("Opt-outs that wait for their check.", 0)]
    oldest_opt_out_request_at: base.Timestamp | None
    index_lag: Annotated[int, about("Services whose index entry is out of date.", 0)]
    feed_lag: Annotated[int, about("Events that have no place in the change feed yet.", 0)]
    oldest_event_at: base.Timestamp | None


_Scopes = Annotated[
    list[str],
    about(
        "What it may do. audit: read the audit log. blocks: block, quarantine, and end both. keys: make keys, and "
        "revoke them. queue: look at the queue, the jobs and the seeded lists. read: look at everything that the other "
        "scopes show. reports: read and resolve reports. visits: have hosts visited next.",
        ["blocks", "queue"],
    ),
]
_KeyNote = Annotated[str, about("Why; kept in the audit log.", "Ann looks after reports.")]


class Key(Shape):
    id: Annotated[str, sample("0123456789abcdef")]
    name: Annotated[str, about("Whose key it is, or what for.", "Ann")]
    scopes: _Scopes
    created_at: base.Timestamp
    expires_at: Annotated[base.Timestamp | None, about("null: never.")]
    revoked_at: Annotated[base.Timestamp | None, about("null: it was not revoked.")]
    last_used_on: Annotated[str | None, about("A day (UTC), no finer; null: never used.", "2026-11-20")]


class KeysData(Shape):
    keys: list[Key]
    cursor: NextCursor


class NewKey(Shape):
    name: Annotated[str, about("Whose key it is, or what for.", "Ann", min_length=1, max_length=MOST_NAME_CHARS)]
    scopes: Annotated[_Scopes, sample(min_length=1, max_length=len(SCOPES))]
    days: NotRequired[Annotated[int, about("How long it is valid. Without it: for ever.", 90, ge=1, le=3_650)]]
    reason: NotRequired[Annotated[_KeyNote, sample(max_length=BLOCK_REASON_CHARS)]]


class MadeKeyData(Key):
    token: Annotated[
        str,
        about(
            "The key. It is shown only here: its digest is stored.",
            "wp_key_0123456789abcdef_3yMZ0QhPpJcVtq1vQ5nD2bYk8sWxUaL7oRfGhJiKlMn",
        ),
    ]


class QueuedDomain(Shape):
    domain: Annotated[str, sample("pigeonpost.example")]
    until: Annotated[base.Timestamp, about("due: its place, earlier ones first. leased: when the lease ends.")]
    source: Annotated[str, about("Who named it first.", "submission")]
    attempts: Annotated[int, about("Visits begun since the last completed one.", 0)]
    hosts: Annotated[int, about("Hosts of it that are due; 0 for leased ones.", 1)]
    host: Annotated[str | None, about("The first of them.", base.EXAMPLE_HOST)]
    why: Annotated[str | None, about("Why that host is due.", "asked")]


class QueuedDomainsData(Shape):
    domains: list[QueuedDomain]
    cursor: NextCursor


class FailingHost(Shape):
    host: base.HostName
    outcome: Annotated[str | None, about("Of the last visit.", "unreachable")]
    reason: Annotated[str, sample("timeout")]
    failures: Annotated[int, about("Failed visits in a row.", 3)]
    since: base.Timestamp | None
    last_visit_at: base.Timestamp | None
    next_visit_at: base.Timestamp | None


class FailingHostsData(Shape):
    hosts: Annotated[list[FailingHost], about("At most 200, the most failures first; counted once a minute.")]


class SeededList(Shape):
    source: Annotated[str, about("How the hosts became known.", "file")]
    list: Annotated[str | None, about("The name of the operator's list; null for other sources.", "shops.txt")]
    hosts: Annotated[int, sample(900)]
    waiting: Annotated[int, about("Not visited yet.", 400)]
    found: Annotated[int, about("A document was found.", 20)]
    absent: Annotated[int, about("There is no document.", 450)]
    failed: Annotated[int, about("Could not be read.", 28)]
    closed: Annotated[int, about("Not visited: the site opted out, or it is blocked.", 2)]
    first_at: base.Timestamp
    last_at: base.Timestamp


class SeededListsData(Shape):
    lists: Annotated[Sequence[SeededList], about("At most 200, the last added first; counted once a minute.")]
    untrusted_text: base.UntrustedText


class Run(Shape):
    started_at: base.Timestamp
    finished_at: Annotated[base.Timestamp | None, about("null: it still runs.")]
    outcome: Annotated[str, about("running, done, failed, stopped or lost.", "done")]
    error: Annotated[str | None, about("Why it failed.", None)]
    figures: Annotated[Mapping[str, Any], about("What it did.", {"folded": 3})]


class AdminJob(Shape):
    job: Annotated[str, sample("prune")]
    says: Annotated[str, about("What it does.", "forget what is too old or belongs to nothing")]
    interval_seconds: Annotated[int, about("0: never by itself.", 86_400)]
    next_at: Annotated[base.Timestamp | None, about("In the past: it is due. null: never by itself.")]
    runs: Annotated[list[Run], about("The last ones, the newest first.")]


class JobsData(Shape):
    scheduled: Annotated[bool, about("Whether a process runs the schedule now.", True)]
    jobs: list[AdminJob]


class VisitSubmission(Shape):
    domain: Annotated[base.HostName, about("A known host.", json_schema_extra={"maxLength": 300})]
    reason: NotRequired[Annotated[str, about("Why; kept in the audit log.", "It was mended.", max_length=500)]]


class VisitQueuedData(Shape):
    domain: base.HostName
    next_visit_at: base.Timestamp
    status_url: base.StatusUrl


_URL: Final = (
    "https://registry.example/api/reports/wp_report_0b8f4e9a6f0e4a51_3yMZ0QhPpJcVtq1vQ5nD2bYk8sWxUaL7oRfGhJiKlMn"
)
_CODES: Final = about(
    " ".join(f"`{code}`: {means}" for code, means in reports.CODE_MEANS.items()), "dead", enum=reports.CODES
)
_Code = Annotated[str, _CODES]
_State = Annotated[str, sample("open", enum=reports.STATES)]
_Answer = Annotated[str | None, about("Of this registry's operator.", None)]


class NewReport(Shape):
    """What is wrong with a host."""

    domain: base.SubmittedName
    reason: Annotated[
        str,
        about(
            f"In your words; cut after {reports.REASON_CHARS} characters. The registry's operator reads it.",
            "Every call has answered 410 since last week.",
            min_length=reports.LEAST_REASON_CHARS,
        ),
    ]
    code: NotRequired[Annotated[Code, _CODES]]


class FiledData(Shape):
    message: Annotated[str, sample("Filed: `status_url` shows the answer. Keep it, it is shown only here.")]
    domain: base.HostName
    code: _Code
    status_url: Annotated[
        str | None,
        about(
            "The secret address of the answer; null: you filed the same before and have it already, or the "
            "report was only counted.",
            _URL,
        ),
    ]


class ReportData(Shape):
    domain: base.HostName
    code: _Code
    reason: Annotated[str, about("What you wrote.", "Every call has answered 410 since last week.")]
    state: _State
    answer: _Answer
    filed_at: base.Timestamp
    updated_at: base.Timestamp
    untrusted_text: base.UntrustedText


class AboutReport(Shape):
    id: Annotated[str, sample("0193a5a4-7a10-7cc3-9f00-1d2c3b4a5968")]
    domain: base.HostName
    code: _Code
    state: _State
    answer: _Answer
    filings: Annotated[
        int,
        about(
            f"How often it was filed. Up to {MOST_OF_REPORT}, by as many clients; further ones are counted "
            "without telling clients apart.",
            1,
        ),
    ]
    filed_at: base.Timestamp
    updated_at: base.Timestamp


class FiledReport(AboutReport):
    texts: Annotated[
        Sequence[str],
        about(f"What was written, the first {MOST_TEXTS}.", ["Every call has answered 410 since last week."]),
    ]


class ReportsData(Shape):
    reports: list[FiledReport]
    cursor: NextCursor
    untrusted_text: base.UntrustedText


class Resolution(Shape):
    state: Annotated[ReportState, sample("rejected")]
    answer: NotRequired[
        Annotated[
            str,
            about(
                "Read by the owner of the host and by everyone who filed the report.",
                "It answers again.",
                max_length=reports.ANSWER_CHARS,
            ),
        ]
    ]


class ResolvedData(AboutReport):
    changed: Annotated[bool, about("false: it was so before.", True)]


Keys = answer_of("Keys", KeysData)
OwnKey = answer_of("OwnKey", Key)
MadeKey = answer_of("MadeKey", MadeKeyData)
RevokedKey = answer_of("RevokedKey", Key)
QueuedDomains = answer_of("QueuedDomains", QueuedDomainsData)
FailingHosts = answer_of("FailingHosts", FailingHostsData)
SeededLists = answer_of("SeededLists", SeededListsData)
Jobs = answer_of("Jobs", JobsData)
VisitQueued = answer_of("VisitQueued", VisitQueuedData)
Blocks = answer_of("Blocks", BlocksData)
BlockChanged = answer_of("BlockChanged", BlockChangedData)
AuditLog = answer_of("AuditLog", AuditData)
Decisions = answer_of("Decisions", DecisionsData)
PublicAudit = answer_of("PublicAudit", PublicAuditData)
Queue = answer_of("Queue", Workload)
Filed = answer_of("Filed", FiledData)
ReportStatus = answer_of("ReportStatus", ReportData)
Reports = answer_of("Reports", ReportsData)
ReportResolved = answer_of("ReportResolved", ResolvedData)
