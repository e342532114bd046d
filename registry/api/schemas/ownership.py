"""Claims of ownership, and what owners see and set."""

from typing import Annotated, Any, Final, Literal, NotRequired, get_args

from pydantic import Field, TypeAdapter

from registry.api.schemas.base import EXAMPLE_HOST, HostName, Shape, Succeeded, Timestamp, UntrustedText
from registry.core.access.claims import EndReason, OwnershipState

_Method = Literal["dns", "file"]
_Scope = Literal["host", "domain"]
_Token = Annotated[str, Field(description="A secret, shown once.", examples=["wp_owner_0123456789abcdef_" + "x" * 43])]


class ClaimSubmission(Shape):
    domain: Annotated[str, Field(max_length=2_048, description="A host name.", examples=[EXAMPLE_HOST])]
    method: Annotated[_Method, Field(description="Where the value is published.", examples=["file"])]
    scope: NotRequired[
        Annotated[
            _Scope,
            Field(description="`domain`: all hosts of a registrable domain, by DNS only.", examples=["host"]),
        ]
    ]


class NoteSubmission(Shape):
    note: Annotated[str, Field(max_length=500, description="Empty: none.", examples=["Closed on Sundays."])]


class CanonicalSubmission(Shape):
    canonical: Annotated[
        str | None,
        Field(max_length=2_048, description="A host of the same domain that is proven too.", examples=[EXAMPLE_HOST]),
    ]
    consent: NotRequired[
        Annotated[str, Field(max_length=120, description="The owner's token of that host, if another one covers it.")]
    ]


class WebhookSubmission(Shape):
    url: Annotated[str, Field(max_length=2_048, description="https.", examples=["https://api.pigeonpost.example/hook"])]
    types: NotRequired[
        Annotated[list[str], Field(max_length=30, description="As of the feed.", examples=[["service.*"]])]
    ]
    receiver_token: NotRequired[
        Annotated[str, Field(description="The owner's token of the receiver's host, where that is another one.")]
    ]


class OptOutByOwner(Shape):
    undo: NotRequired[Annotated[bool, Field(description="End the opt-out that an owner made.")]]


CLAIM_SCHEMA: Final[dict[str, Any]] = TypeAdapter(ClaimSubmission).json_schema()
NOTE_SCHEMA: Final[dict[str, Any]] = TypeAdapter(NoteSubmission).json_schema()
CANONICAL_SCHEMA: Final[dict[str, Any]] = TypeAdapter(CanonicalSubmission).json_schema()
WEBHOOK_SCHEMA: Final[dict[str, Any]] = TypeAdapter(WebhookSubmission).json_schema()
OPT_OUT_SCHEMA: Final[dict[str, Any]] = TypeAdapter(OptOutByOwner).json_schema()


class ClaimData(Shape):
    id: Annotated[str, Field(examples=["0123456789abcdef"])]
    domain: HostName
    method: Annotated[_Method, Field(examples=["file"])]
    scope: Annotated[_Scope, Field(examples=["host"])]
    state: Annotated[Literal["open", "proven", "expired", "ended"], Field(examples=["open"])]
    publish: Annotated[
        str,
        Field(
            description="The text to publish: a TXT record, or a line of the file.",
            examples=["waypost-claim=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"],
        ),
    ]
    at: Annotated[
        str,
        Field(
            description="Where: the name of the record, or the URL of the file.",
            examples=[f"https://{EXAMPLE_HOST}/.well-known/waypost-claim.txt"],
        ),
    ]
    expires_at: Annotated[Timestamp, Field(description="Until when it can be proven.")]
    waiting: Annotated[bool, Field(description="A check waits for a worker.", examples=[False])]
    checked_at: Annotated[Timestamp | None, Field(examples=[None])]
    answer: Annotated[
        Literal["published", "missing", "unanswered"] | None,
        Field(description="What the last check found.", examples=[None]),
    ]
    says: Annotated[str, Field(examples=["Not checked yet."])]
    ended_at: Annotated[Timestamp | None, Field(examples=[None])]
    end_reason: Annotated[str | None, Field(examples=[None])]
    url: Annotated[str, Field(examples=["https://registry.example/api/claims/0123456789abcdef"])]
    claim_token: NotRequired[_Token]
    owner_token: NotRequired[_Token]


class Claim(Succeeded):
    data: ClaimData


class OwnershipFacts(Shape):
    """Whether the ownership of the host is proven, as everybody sees it."""

    state: Annotated[
        OwnershipState,
        Field(description="`at_origin`: this registry is a mirror, and its origin knows.", examples=["proven"]),
    ]
    method: Annotated[_Method | None, Field(examples=["dns"])]
    scope: Annotated[_Scope | None, Field(examples=["host"])]
    since: Annotated[Timestamp | None, Field(description="When it was proven.")]
    checked_at: Annotated[Timestamp | None, Field(description="When it was verified last.")]
    ended_at: Annotated[Timestamp | None, Field(examples=[None])]
    end_reason: Annotated[
        str | None,
        Field(
            json_schema_extra={"enum": [*get_args(EndReason), None]},
            examples=[None],
        ),
    ]


class WebhookState(Shape):
    id: Annotated[str, Field(examples=["wh_0123456789ab"])]
    url: Annotated[str, Field(examples=["https://api.pigeonpost.example/hook"])]
    types: Annotated[list[str], Field(examples=[["service.*"]])]
    state: Annotated[str, Field(examples=["unverified"])]
    disabled_reason: Annotated[str | None, Field(examples=[None])]
    created_at: Timestamp
    secret: NotRequired[Annotated[str, Field(description="Signs messages; shown once.", examples=["whsec_..."])]]


class Webhook(Succeeded):
    data: WebhookState


class OwnerDecision(Shape):
    at: Timestamp
    actor: Annotated[str, Field(examples=["owner:0123456789abcdef"])]
    action: Annotated[str, Field(examples=["host.hidden"])]
    reason: Annotated[str, Field(examples=["hidden by its owner"])]


class ReportAboutHost(Shape):
    code: Annotated[str, Field(description="What is said to be wrong.", examples=["dead"])]
    state: Annotated[str, Field(examples=["open"])]
    answer: Annotated[str | None, Field(description="Of the registry's operator.", examples=[None])]
    clients: Annotated[int, Field(description="How often it was filed; it changes nothing.", examples=[1])]
    filed_at: Timestamp
    updated_at: Timestamp


class OwnedData(Shape):
    domain: HostName
    claim: Annotated[str, Field(description="Id of the claim.", examples=["0123456789abcdef"])]
    method: Annotated[_Method, Field(examples=["dns"])]
    scope: Annotated[_Scope, Field(examples=["host"])]
    since: Timestamp | None
    verified_at: Timestamp | None
    next_check_at: Timestamp | None
    failures: Annotated[int, Field(description="Failed verifications in a row; three end it.", examples=[0])]
    hidden: Annotated[bool, Field(examples=[False])]
    holds: Annotated[list[str], Field(description="What keeps it from being listed.", examples=[[]])]
    note: Annotated[str, Field(examples=["Closed on Sundays."])]
    canonical_host: Annotated[str | None, Field(description="In effect.", examples=[None])]
    pinned_host: Annotated[
        str | None, Field(description="Wanted; without effect until its owner agrees.", examples=[None])
    ]
    webhook: WebhookState | None
    decisions: list[OwnerDecision]
    reports: Annotated[list[ReportAboutHost], Field(description="About the host, the latest first.")]
    service_url: Annotated[str, Field(examples=[f"https://registry.example/api/services/{EXAMPLE_HOST}"])]
    untrusted_text: UntrustedText


class Owned(Succeeded):
    data: OwnedData


class OwnerChange(Shape):
    domain: HostName
    changed: Annotated[bool, Field(description="false: it was so before.", examples=[True])]
    says: Annotated[str, Field(examples=["Hidden: it is visited and not listed."])]
    note: NotRequired[str]
    canonical_host: NotRequired[str | None]
    pinned_host: NotRequired[str | None]
    owner_token: NotRequired[_Token]


class Changed(Succeeded):
    data: OwnerChange
