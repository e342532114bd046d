"""Shapes of the operations of this registry's operators, and of what everybody may know of their decisions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from registry.api.schemas.base import HostName, Shape, Succeeded, Timestamp, UntrustedText

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


class Decision(Shape):
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
    decisions: Annotated[list[Decision], Field(description="The latest first, at most 100.")]
    untrusted_text: UntrustedText


class Decisions(Succeeded):
    data: DecisionsData


class PublicAuditData(Shape):
    decisions: list[Decision]
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
            description="How many hosts each client submitted that wait, the ten largest numbers. Who they are is not "
            "told.",
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
