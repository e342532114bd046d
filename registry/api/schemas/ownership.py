"""Claims of ownership, and what owners see and set."""

from typing import Annotated, Literal, NotRequired, get_args

from registry.actions.ownership.owning import NOTE_CHARS
from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample
from registry.api.schemas.feedback import FeedbackAbout
from registry.core.access.claims import EndReason, OwnershipState
from registry.edge.bodies import ClosedBody

_Method = Literal["dns", "file"]
_Scope = Literal["host", "domain"]
_Token = Annotated[str, about("A secret, shown once.", "wp_owner_0123456789abcdef_" + "x" * 43)]


class ClaimSubmission(ClosedBody):
    domain: base.SubmittedName
    method: Annotated[_Method, about("Where the value is published.", "file")]
    scope: NotRequired[Annotated[_Scope, about("`domain`: all hosts of a registrable domain, by DNS only.", "host")]]


class NoteSubmission(ClosedBody):
    note: Annotated[str, about("Empty: none.", "Closed on Sundays.", max_length=NOTE_CHARS)]


class CanonicalSubmission(ClosedBody):
    canonical: Annotated[
        str | None, about("A host of the same domain that is proven too.", base.EXAMPLE_HOST, max_length=2_048)
    ]
    consent: NotRequired[
        Annotated[str | None, about("The owner's token of that host, if another one covers it.", max_length=120)]
    ]


class WebhookSubmission(ClosedBody):
    url: Annotated[str, about("https.", "https://api.pigeonpost.example/hook", max_length=2_048)]
    types: NotRequired[Annotated[list[str], about("As of the feed.", ["service.*"], max_length=30)]]
    receiver_token: NotRequired[
        Annotated[str, about("The owner's token of the receiver's host, where that is another one.")]
    ]


class OptOutByOwner(ClosedBody):
    undo: NotRequired[Annotated[bool, about("End the opt-out that an owner made.")]]


class ClaimData(Shape):
    id: Annotated[str, sample("0123456789abcdef")]
    domain: base.HostName
    method: Annotated[_Method, sample("file")]
    scope: Annotated[_Scope, sample("host")]
    state: Annotated[Literal["open", "proven", "expired", "ended"], sample("open")]
    publish: Annotated[
        str,
        about(
            "The text to publish: a TXT record, or a line of the file.",
            "waypost-claim=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
        ),
    ]
    at: Annotated[
        str,
        about(
            "Where: the name of the record, or the URL of the file.",
            f"https://{base.EXAMPLE_HOST}/.well-known/waypost-claim.txt",
        ),
    ]
    expires_at: Annotated[base.Timestamp, about("Until when it can be proven.")]
    waiting: Annotated[bool, about("A check waits for a worker.", False)]
    checked_at: Annotated[base.Timestamp | None, sample(None)]
    answer: Annotated[Literal["published", "missing", "unanswered"] | None, about("What the last check found.", None)]
    reason: Annotated[str, about("Why: `no_record`, `http_404`, `redirect` ... Empty if nothing is known.", "")]
    says: Annotated[str, sample("Not checked yet.")]
    fix: Annotated[str, about("What to do; empty: nothing.", "Publish the value, then have it checked.")]
    check_after: Annotated[
        base.Timestamp | None, about("From when a further check can be requested; null: at once.", None)
    ]
    next_check_at: Annotated[
        base.Timestamp | None, about("When it is looked up without a request; null: only on request.", None)
    ]
    token_taken: Annotated[bool, about("The owner's token was given out.", False)]
    ended_at: Annotated[base.Timestamp | None, sample(None)]
    end_reason: Annotated[str | None, sample(None)]
    url: Annotated[str, sample("https://registry.example/api/claims/0123456789abcdef")]
    claim_token: NotRequired[_Token]
    owner_token: NotRequired[_Token]


class OwnershipFacts(Shape):
    """Whether the ownership of the host is proven, as everybody sees it."""

    state: Annotated[OwnershipState, about("`at_origin`: this registry is a mirror, and its origin knows.", "proven")]
    method: Annotated[_Method | None, sample("dns")]
    scope: Annotated[_Scope | None, sample("host")]
    since: Annotated[base.Timestamp | None, about("When it was proven.")]
    checked_at: Annotated[base.Timestamp | None, about("When it was verified last.")]
    ended_at: Annotated[base.Timestamp | None, sample(None)]
    end_reason: Annotated[str | None, sample(None, enum=[*get_args(EndReason), None])]


class WebhookState(Shape):
    id: Annotated[str, sample("wh_0123456789ab")]
    url: Annotated[str, sample("https://api.pigeonpost.example/hook")]
    types: Annotated[list[str], sample(["service.*"])]
    state: Annotated[str, sample("unverified")]
    disabled_reason: Annotated[str | None, sample(None)]
    next_attempt_at: Annotated[base.Timestamp | None, about("After a failed attempt.", None)]
    created_at: base.Timestamp
    secret: NotRequired[Annotated[str, about("Signs messages; shown once.", "whsec_...")]]


class WebhookDelivery(Shape):
    at: base.Timestamp
    id: Annotated[str, about("The same for each attempt to send a message.", "msg_0192f3c4a1b27c3d8e9f0a1b2c3d4e5f")]
    event: Annotated[str, about("`feed.changed`, `webhook.challenge` or `webhook.test`.", "webhook.test")]
    delivered: Annotated[bool, sample(True)]
    status: Annotated[int | None, about("Of the answer; null without one.", 204)]
    reason: Annotated[str, about("Why it was not delivered; empty if it was.", "")]
    duration_ms: Annotated[int, sample(35)]


class WebhookTested(Shape):
    domain: base.HostName
    says: Annotated[str, sample("Delivered.")]
    delivery: Annotated[WebhookDelivery | None, about("null: a worker has not sent it yet.")]


class OwnershipOfToken(Shape):
    domain: Annotated[str, about("The host that was proven.", base.EXAMPLE_HOST)]
    scope: Annotated[_Scope, sample("host")]
    since: base.Timestamp | None


class OwnerDecision(Shape):
    at: base.Timestamp
    actor: Annotated[str, sample("owner:0123456789abcdef")]
    action: Annotated[str, sample("host.hidden")]
    reason: Annotated[str, sample("hidden by its owner")]


class ReportAboutHost(Shape):
    code: Annotated[str, about("What is said to be wrong.", "dead")]
    state: Annotated[str, sample("open")]
    answer: Annotated[str | None, about("Of the registry's operator.", None)]
    clients: Annotated[int, about("How often it was filed; it changes nothing.", 1)]
    filed_at: base.Timestamp
    updated_at: base.Timestamp


class OwnedData(Shape):
    domain: base.HostName
    claim: Annotated[str, about("Id of the claim.", "0123456789abcdef")]
    method: Annotated[_Method, sample("dns")]
    scope: Annotated[_Scope, sample("host")]
    since: base.Timestamp | None
    verified_at: base.Timestamp | None
    next_check_at: base.Timestamp | None
    failures: Annotated[int, about("Failed verifications in a row; three end it.", 0)]
    hidden: Annotated[bool, sample(False)]
    holds: Annotated[list[str], about("What keeps it from being listed.", [])]
    note: Annotated[str, sample("Closed on Sundays.")]
    canonical_host: Annotated[str | None, about("In effect.", None)]
    pinned_host: Annotated[str | None, about("Wanted; without effect until its owner agrees.", None)]
    webhook: WebhookState | None
    deliveries: Annotated[list[WebhookDelivery], about("Latest attempts to send to the webhook, at most 20.")]
    checks_calls: Annotated[bool, about("Addresses for calls may be checked.", True)]
    decisions: list[OwnerDecision]
    reports: Annotated[list[ReportAboutHost], about("About the host, the latest first.")]
    feedback: Annotated[FeedbackAbout, about("Verdicts of clients on answers; they change nothing.")]
    service_url: Annotated[str, sample(f"https://registry.example/api/services/{base.EXAMPLE_HOST}")]
    untrusted_text: base.UntrustedText


class OwnerChange(Shape):
    domain: base.HostName
    changed: Annotated[bool, about("false: it was so before.", True)]
    says: Annotated[str, sample("Hidden: it is visited and not listed.")]
    note: NotRequired[str]
    canonical_host: NotRequired[str | None]
    pinned_host: NotRequired[str | None]
    owner_token: NotRequired[_Token]


Claim = answer_of("Claim", ClaimData)
Webhook = answer_of("Webhook", WebhookState)
Tested = answer_of("WebhookTest", WebhookTested)
TokenOwnership = answer_of("TokenOwnership", OwnershipOfToken)
Owned = answer_of("Owned", OwnedData)
Changed = answer_of("Changed", OwnerChange)
