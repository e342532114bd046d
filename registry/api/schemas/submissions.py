"""Lists of submitted hosts."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

from pydantic import Field, TypeAdapter

from registry.api.schemas.base import (
    EXAMPLE_HOST,
    Confusable,
    HostName,
    Severity,
    Shape,
    StatusUrl,
    Succeeded,
    Timestamp,
    UntrustedText,
)

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
