"""Shapes for operators: holds, keys, the queue, reports about hosts; and the public audit log."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, TypeAdapter

from registry.actions.reports import MOST_OF_REPORT, MOST_TEXTS
from registry.api.schemas.base import EXAMPLE_HOST, HostName, Shape, Succeeded, Timestamp, UntrustedText
from registry.core.model.reports import ANSWER_CHARS, CODE_MEANS, CODES, LEAST_REASON_CHARS, REASON_CHARS, STATES

BlockKind = Annotated[
    Literal["block", "quarantine"],
    Field(
        description="block: neither visited nor listed. quarantine: visited and judged, not listed until it is "
        "released. Both cover all hosts below, and keep what is stored.",
        examples=["block"],
    ),
]
NextCursor = Annotated[str | None, Field(description="Of the next page; null: this is the last one.", examples=[None])]
Reason = Annotated[str, Field(description="Shown to everybody.", examples=["It copies another site."])]


class BlockSubmission(Shape):
    domain: HostName
    kind: NotRequired[BlockKind]
    reason: Reason


class Block(Shape):
    domain: HostName
    kind: BlockKind
    reason: Reason
    by: Annotated[str, Field(description="Who decided it.", examples=["key:0123456789abcdef"])]
    since: Timestamp


class BlocksData(Shape):
    blocks: list[Block]
    cursor: NextCursor
    untrusted_text: UntrustedText


class Blocks(Succeeded):
    data: BlocksData


class BlockChangedData(Shape):
    domain: HostName
    kind: BlockKind
    changed: Annotated[bool, Field(description="false: it was so before.", examples=[True])]
    services: Annotated[
        Sequence[str],
        Field(description="Hosts whose services are hidden from now on, or shown again.", examples=[["a.example"]]),
    ]


class BlockChanged(Succeeded):
    data: BlockChangedData


class AuditEntry(Shape):
    id: Annotated[str, Field(examples=["0193a5a4-7a10-7cc3-9f00-1d2c3b4a5968"])]
    at: Timestamp
    actor: Annotated[
        str,
        Field(
            description="`operator:cli`: a command on the registry's machine; `key:` an API key; `owner:` the owner of "
            "a host; `system:` the registry itself; `client:anonymous`.",
            examples=["operator:cli"],
        ),
    ]
    action: Annotated[str, Field(examples=["host.blocked"])]
    domain: Annotated[str, Field(description="Empty: it concerns no host.", examples=["pigeonpost.example"])]
    host: Annotated[str, Field(description="Empty: it concerns no host.", examples=["api.pigeonpost.example"])]
    reason: Annotated[str, Field(examples=["It copies another site."])]
    detail: Annotated[Mapping[str, Any], Field(examples=[{"covers_below": True, "services": 1}])]


class AuditData(Shape):
    entries: list[AuditEntry]
    cursor: NextCursor
    untrusted_text: UntrustedText


class AuditLog(Succeeded):
    data: AuditData


class AuditDecision(Shape):
    at: Timestamp
    by: Annotated[
        str,
        Field(
            json_schema_extra={"enum": ["operator", "key", "owner", "system", "client"]},
            description="operator, key: an operator of this registry; owner: who proved to own the host; system: the "
            "registry, because of what the site declares.",
            examples=["operator"],
        ),
    ]
    action: Annotated[str, Field(examples=["host.blocked"])]
    host: Annotated[str, Field(description="The host, or one above it.", examples=["api.pigeonpost.example"])]
    reason: Annotated[str, Field(description="Empty where it may name persons.", examples=["It copies another site."])]


class DecisionsData(Shape):
    domain: HostName
    decisions: Annotated[list[AuditDecision], Field(description="The latest first, at most 100.")]
    untrusted_text: UntrustedText


class Decisions(Succeeded):
    data: DecisionsData


class PublicAuditData(Shape):
    decisions: list[AuditDecision]
    cursor: NextCursor
    untrusted_text: UntrustedText


class PublicAudit(Succeeded):
    data: PublicAuditData


class Workload(Shape):
    domains: Annotated[
        Mapping[str, int],
        Field(
            description="Domains by state: due now, leased to a crawler, waiting for their time, never visited again.",
            examples=[{"due": 3, "leased": 1, "waiting": 900, "never": 2}],
        ),
    ]
    submissions: Annotated[int, Field(description="Submitted hosts that wait for their visit.", examples=[2])]
    oldest_submission_at: Timestamp | None
    postponed: Annotated[int, Field(description="Submitted hosts whose visit was put off.", examples=[0])]
    by_client: Annotated[
        Sequence[int],
        Field(
            description="How many submitted hosts of each client are waiting, the ten largest numbers. Clients are not "
            "named.",
            examples=[[2]],
        ),
    ]
    candidates: Annotated[int, Field(description="Hosts that documents name and that are not queued.", examples=[7])]
    opt_out_requests: Annotated[int, Field(description="Opt-outs that wait for their check.", examples=[0])]
    oldest_opt_out_request_at: Timestamp | None
    index_lag: Annotated[int, Field(description="Services whose index entry is out of date.", examples=[0])]
    feed_lag: Annotated[int, Field(description="Events that have no place in the change feed yet.", examples=[0])]
    oldest_event_at: Timestamp | None


class Queue(Succeeded):
    data: Workload


_URL: Final = (
    "https://registry.example/api/reports/wp_report_0b8f4e9a6f0e4a51_3yMZ0QhPpJcVtq1vQ5nD2bYk8sWxUaL7oRfGhJiKlMn"
)
_Code = Annotated[
    str,
    Field(
        json_schema_extra={"enum": list(CODES)},
        description=" ".join(f"`{code}`: {means}" for code, means in CODE_MEANS.items()),
        examples=["dead"],
    ),
]
_State = Annotated[
    Literal["open", "in_review", "accepted", "rejected"],
    Field(json_schema_extra={"enum": list(STATES)}, examples=["open"]),
]
_Answer = Annotated[str | None, Field(description="Of this registry's operator.", examples=[None])]


class NewReport(Shape):
    """What is wrong with a host."""

    domain: Annotated[str, Field(max_length=2_048, description="A host name.", examples=[EXAMPLE_HOST])]
    reason: Annotated[
        str,
        Field(
            min_length=LEAST_REASON_CHARS,
            description=f"In your words; cut after {REASON_CHARS} characters. The registry's operator reads it.",
            examples=["Every call has answered 410 since last week."],
        ),
    ]
    code: NotRequired[_Code]


REPORT_SCHEMA: Final[dict[str, Any]] = TypeAdapter(NewReport).json_schema(ref_template="#/components/schemas/{model}")


class FiledData(Shape):
    message: Annotated[str, Field(examples=["Filed: `status_url` shows the answer. Keep it, it is shown only here."])]
    domain: HostName
    code: _Code
    status_url: Annotated[
        str | None,
        Field(
            description="The secret address of the answer; null: you filed the same before and have it already, or "
            "the report was only counted.",
            examples=[_URL],
        ),
    ]


class Filed(Succeeded):
    data: FiledData


class ReportData(Shape):
    domain: HostName
    code: _Code
    reason: Annotated[
        str, Field(description="What you wrote.", examples=["Every call has answered 410 since last week."])
    ]
    state: _State
    answer: _Answer
    filed_at: Timestamp
    updated_at: Timestamp
    untrusted_text: UntrustedText


class ReportStatus(Succeeded):
    data: ReportData


class AboutReport(Shape):
    id: Annotated[str, Field(examples=["0193a5a4-7a10-7cc3-9f00-1d2c3b4a5968"])]
    domain: HostName
    code: _Code
    state: _State
    answer: _Answer
    filings: Annotated[
        int,
        Field(
            description=f"How often it was filed. Up to {MOST_OF_REPORT}, by as many clients; further ones are counted "
            "without telling clients apart.",
            examples=[1],
        ),
    ]
    filed_at: Timestamp
    updated_at: Timestamp


class FiledReport(AboutReport):
    texts: Annotated[
        Sequence[str],
        Field(
            description=f"What was written, the first {MOST_TEXTS}.",
            examples=[["Every call has answered 410 since last week."]],
        ),
    ]


class ReportsData(Shape):
    reports: list[FiledReport]
    cursor: NextCursor
    untrusted_text: UntrustedText


class Reports(Succeeded):
    data: ReportsData


class Resolution(Shape):
    state: _State
    answer: NotRequired[
        Annotated[
            str,
            Field(
                max_length=ANSWER_CHARS,
                description="Read by the owner of the host and by everyone who filed the report.",
                examples=["It answers again."],
            ),
        ]
    ]


RESOLUTION_SCHEMA: Final[dict[str, Any]] = TypeAdapter(Resolution).json_schema(
    ref_template="#/components/schemas/{model}"
)


class ResolvedData(AboutReport):
    changed: Annotated[bool, Field(description="false: it was so before.", examples=[True])]


class ReportResolved(Succeeded):
    data: ResolvedData
