"""Shapes for operators: holds, keys, the queue, reports about hosts; and the public audit log."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from registry.actions.reports import MOST_OF_REPORT, MOST_TEXTS
from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample
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
