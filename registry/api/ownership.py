"""`/api/claims`: prove that a host is yours; `/api/owner/{domain}`: see and change what its owner decides.

The API fetches nothing: a worker reads the published value.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeVar

from fastapi import Path, Request, Response

from registry.actions.ownership.claiming import BadClaim, ClaimView, NotTheClaimant, TooMany
from registry.actions.ownership.owning import BadSetting, NotAnOwner, OtherHost, OwnershipActions, OwnershipOverview
from registry.actions.webhooks import BadReceiver, ClosedReceiver, DeliveryRecord, ForeignReceiver, WebhookRecord
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.feedback import feedback_about, untrusted_feedback
from registry.api.params import DomainPath, Wait, host_in
from registry.api.rows import project
from registry.api.schemas import ownership as schemas
from registry.api.submit import bounded_name
from registry.core.access.claim_outcomes import explain
from registry.core.access.claims import CLAIM, OWNER
from registry.core.access.tokens import Token, parse_token
from registry.core.changes.kinds import Types, UnknownKind
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.webhooks import CHALLENGE, EVENTS, TEST
from registry.edge.bodies import read_as
from registry.edge.connections import long_poll
from registry.edge.problems import (
    BODY_TOO_LARGE,
    FORBIDDEN,
    INVALID_BODY,
    INVALID_NAME,
    MIRRORED,
    OPTED_OUT,
    RATE_LIMITED,
    UNKNOWN_SERVICE,
    Problem,
)
from registry.edge.requests import base_url, bearer, client_of, registry_of, unauthorized
from registry.edge.responses import NOT_STORED, data_response, secret_response, service_url, timestamp
from registry.edge.routing import strict_router
from registry.wiring import utc_now

_EVENTS: Final = {"events": EVENTS, "challenge": CHALLENGE, "test": TEST}

router = strict_router(tags=["owners"])

ClaimPath = Annotated[str, Path(max_length=40, description="The id of the claim.", examples=["0123456789abcdef"])]


@router.post(
    "/api/claims",
    **describe_write(
        schemas.Claim, INVALID_NAME, MIRRORED, BODY_TOO_LARGE,
        status=201, says="Publish the value, then have it checked.", body=describe_body(schemas.ClaimSubmission)
    ),
    summary="Claim a host",
    description="Returns the text to publish and the claim token, a secret that is shown once. Only its bearer can "
    "have the claim checked. What others published proves nothing for it: each claim has its own text. It can be "
    "proven for seven days; the text has to stay published, because it is verified again.",
)  # fmt: skip
async def claim(request: Request) -> Response:
    body = await read_as(request, schemas.ClaimSubmission)
    name, scope = bounded_name(body["domain"]), body.get("scope", "host")
    with _refusals(needed="a host to claim"):
        claimed, token = await registry_of(request).claims.claim(name, body["method"], scope, client=client_of(request))
    data = _data(claimed, base_url(request))
    data["claim_token"] = token.text
    return secret_response(data, status=201, headers={"Location": data["url"]})


@router.get(
    "/api/claims/{id}",
    **describe_read(schemas.Claim, needs_token=True, revalidates=False),
    summary="The state of a claim",
    description="Needs the claim token.",
)
async def status(request: Request, id: ClaimPath) -> Response:
    token = _token(request, id)
    with _refusals():
        claimed = await registry_of(request).claims.claim_status(token)
    return data_response(request, _data(claimed, base_url(request)), cache=NOT_STORED)


@router.post(
    "/api/claims/{id}/check",
    **describe_write(schemas.Claim, INVALID_BODY, MIRRORED, says="Checked, or still waiting.", needs_token=True),
    summary="Have a claim checked",
    description="A worker reads the record or the file, with priority; the answer waits up to `wait` seconds for it. "
    "The first answer after the proof has the owner's token, a secret that is shown once. Needs the claim token.",
)
async def check(request: Request, id: ClaimPath, wait: Wait = None) -> Response:
    token, waypost = _token(request, id), registry_of(request)
    seconds = waypost.settings.submit_wait if wait is None else wait
    with _refusals(), long_poll(request.scope) as may_wait:
        claimed, owner = await waypost.claims.check_claim(token, seconds=seconds if may_wait else 0)
    data = _data(claimed, base_url(request))
    if owner is not None:
        data["owner_token"] = owner.text
    return secret_response(data)


def _token(request: Request, claim_id: str) -> Token:
    """Return the claim token that the path names. Raise Problem."""
    token = bearer(request, CLAIM)
    if token.id != claim_id:
        raise unauthorized()
    return token


def _data(claimed: ClaimView, base: str) -> schemas.ClaimData:
    record = claimed.record
    found = explain(record.method, record.answer, record.reason)
    return project(
        schemas.ClaimData,
        record,
        domain=record.host,
        state=claimed.state,
        publish=claimed.publish,
        at=claimed.at,
        waiting=claimed.waiting,
        says=found.says,
        fix=found.fix,
        check_after=timestamp(claimed.check_after),
        next_check_at=None if claimed.waiting or claimed.state == "expired" else timestamp(record.due_at),
        token_taken=record.owner_digest is not None or claimed.state == "ended",
        url=f"{base}/api/claims/{record.id}",
    )


# --- what the owner sees and changes

_REFUSED: Final = (FORBIDDEN, MIRRORED, UNKNOWN_SERVICE)
_CHANGE: Final = describe_write(schemas.Changed, *_REFUSED, needs_token=True)
_DELETE: Final = describe_write(schemas.Changed, *_REFUSED, needs_token=True, is_consequential=True)


def _describe_change(body: Any, *, required: bool = True) -> dict[str, Any]:
    return describe_write(
        schemas.Changed, *_REFUSED, BODY_TOO_LARGE, body=describe_body(body, required=required), needs_token=True
    )


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Owner:
    """The bearer of an owner's token, and the host that the request is about."""

    actions: OwnershipActions
    token: Token
    host: str

    @classmethod
    def of(cls, request: Request, domain: str) -> "_Owner":
        """Return the owner of a request. Raise Problem without an owner's token, and for an invalid host name."""
        return cls(registry_of(request).ownership, bearer(request, OWNER), host_in(domain))

    async def run(
        self,
        action: Callable[Concatenate[OwnershipActions, Token, str, P], Awaitable[T]],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run the action and return its result. Raise Problem when it is refused."""
        with _refusals():
            return await action(self.actions, self.token, self.host, *arguments, **options)

    def changed(self, is_changed: bool, says: str, **more: Any) -> Response:
        """Return the response to a change."""
        data = {"domain": self.host, "changed": is_changed, "says": says, **more}
        return secret_response(data)


@router.get(
    "/api/owner",
    **describe_read(schemas.TokenOwnership, needs_token=True, revalidates=False),
    summary="The host of an owner's token",
    description="Returns the host that was proven. With the scope `domain` the token is valid for all hosts of it.",
)
async def host_of_token(request: Request) -> Response:
    token = bearer(request, OWNER)
    with _refusals():
        claim = await registry_of(request).ownership.ownership_of(token)
    data = {"domain": claim.host, "scope": claim.scope, "since": timestamp(claim.proven_at)}
    return data_response(request, data, cache=NOT_STORED)


@router.get(
    "/api/owner/{domain}",
    **describe_read(schemas.Owned, FORBIDDEN, MIRRORED, UNKNOWN_SERVICE, needs_token=True, revalidates=False),
    summary="What the owner of a host sees",
    description="The ownership and its next verification, the settings, the webhook, and the decisions about the host. "
    "Needs the owner's token, as does everything below this address.",
)
async def owned(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    found = await owner.run(OwnershipActions.overview)
    return data_response(request, _owned(found, base_url(request)), cache=NOT_STORED)


@router.post(
    "/api/owner/{domain}/recheck",
    **describe_write(schemas.Changed, *_REFUSED, OPTED_OUT, needs_token=True),
    summary="Visit the host at once",
    description="Queues a visit with the whole plan before everything that is scheduled. The daily budgets apply.",
)
async def recheck(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    result = await owner.run(OwnershipActions.recheck)
    if result.state in ("opted_out", "blocked"):
        raise Problem(OPTED_OUT, "This host is not visited: it opted out, or is blocked.")
    if result.state == "unknown":
        raise Problem(UNKNOWN_SERVICE, "This host has not been submitted yet. Submit it with `POST /api/services`.")
    if result.retry_at is not None:
        seconds = max(1, round((result.retry_at - utc_now()).total_seconds()))
        detail = "The host asks crawlers to wait. Try again after `Retry-After`."
        raise Problem(RATE_LIMITED, detail, headers={"Retry-After": str(seconds)})
    return owner.changed(True, "Queued; a visit takes up to a minute.")


@router.post(
    "/api/owner/{domain}/hide", **_CHANGE,
    summary="Hide the host",
    description="It leaves every answer at once, and is visited and judged as before. Hosts below it stay.",
)  # fmt: skip
async def hide(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    held = await owner.run(OwnershipActions.hide)
    return owner.changed(held.changed, "Hidden: it is visited and not listed.")


@router.post(
    "/api/owner/{domain}/show", **_CHANGE,
    summary="Show the host again", description="Ends `hide`. What operators of this registry decided stays.",
)  # fmt: skip
async def show(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    held = await owner.run(OwnershipActions.show)
    return owner.changed(held.changed, "Not hidden.")


@router.put(
    "/api/owner/{domain}/note",
    **_describe_change(schemas.NoteSubmission),
    summary="Leave a public note",
    description="At most 500 characters, shown as the owner's words. An empty one deletes it.",
)
async def note(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    text = (await read_as(request, schemas.NoteSubmission))["note"]
    shown = await owner.run(OwnershipActions.set_note, text)
    return owner.changed(True, "Shown with the service." if shown else "There is no note.", note=shown)


@router.post(
    "/api/owner/{domain}/call-checks", **_CHANGE,
    summary="Have addresses for calls checked",
    description="Visits ask whether the addresses that its documents name for calls answer, without a call. On by "
    "default, unless this registry checks none.",
)  # fmt: skip
async def call_checks(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    changed = await owner.run(OwnershipActions.set_call_checks, enabled=True)
    return owner.changed(changed, "Checked with the next visits.")


@router.delete(
    "/api/owner/{domain}/call-checks", **_DELETE,
    summary="Have no addresses for calls checked", description="Earlier results stay until they are too old.",
)  # fmt: skip
async def no_call_checks(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    changed = await owner.run(OwnershipActions.set_call_checks, enabled=False)
    return owner.changed(changed, "Not checked.")


@router.put(
    "/api/owner/{domain}/canonical",
    **_describe_change(schemas.CanonicalSubmission),
    summary="Pin the canonical host",
    description="Another host of the registrable domain, proven too, that stands for this one; null ends that. It "
    "takes effect once the owner of the other host agrees: with an ownership of both hosts, or with its token as "
    "`consent`.",
)
async def canonical(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    body = await read_as(request, schemas.CanonicalSubmission)
    name, agreed = body["canonical"], body.get("consent")
    needed = "`consent` must be the owner's token of the canonical host."
    consent = None if agreed is None else _other_token(agreed, needed)
    with _refusals():
        target = None if name is None else host_syntax(name.strip())
    pinned = await owner.run(OwnershipActions.pin, target, consent)
    if pinned.wanted is None:
        says = "It stands for itself."
    elif pinned.canonical is None:
        says = (
            "Stored, and without effect until the owner of the canonical host agrees and that host points to no other."
        )
    else:
        says = "The canonical host stands for it."
    return owner.changed(True, says, canonical_host=pinned.canonical, pinned_host=pinned.wanted)


@router.put(
    "/api/owner/{domain}/webhook",
    **describe_write(
        schemas.Webhook, *_REFUSED, OPTED_OUT, BODY_TOO_LARGE, body=describe_body(schemas.WebhookSubmission),
        needs_token=True
    ),
    summary="Have changes sent to a webhook",
    description="Events of this host and those below it. The receiver is on this host or below it; elsewhere only with "
    "the owner's token of its host as `receiver_token`. It has to answer a challenge first. It replaces an earlier "
    "one; the secret is shown once. The same `url` again sends no challenge, unless the webhook was disabled; it makes "
    "a new secret; for 24 hours the earlier one signs too.",
)  # fmt: skip
async def webhook(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    body = await read_as(request, schemas.WebhookSubmission)
    receiver_token = None
    if "receiver_token" in body:
        needed = "`receiver_token` must be the owner's token of the receiver's host."
        receiver_token = _other_token(body["receiver_token"], needed)
    with _refusals():
        wanted = Types.of(body.get("types", []))
    record = await owner.run(OwnershipActions.set_webhook, body["url"], wanted, receiver_token)
    data = _webhook(record)
    data["secret"] = record.secret
    return secret_response(data)


@router.delete(
    "/api/owner/{domain}/webhook", **_DELETE,
    summary="Delete the webhook", description="Nothing more is sent.",
)  # fmt: skip
async def no_webhook(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    existed = await owner.run(OwnershipActions.remove_webhook)
    return owner.changed(existed, "There is no webhook.")


@router.post(
    "/api/owner/{domain}/webhook/test",
    **describe_write(schemas.Tested, *_REFUSED, OPTED_OUT, says="Sent, or waiting for a worker.", needs_token=True),
    summary="Send a test message to the webhook",
    description="A worker sends a signed message without events; the answer waits up to `wait` seconds for it. "
    "A receiver that has not answered its challenge yet gets a challenge at once instead.",
)
async def webhook_test(request: Request, domain: DomainPath, wait: Wait = None) -> Response:
    owner = _Owner.of(request, domain)
    seconds = registry_of(request).settings.submit_wait if wait is None else wait
    with long_poll(request.scope) as may_wait:
        made = await owner.run(OwnershipActions.test_webhook, seconds=seconds if may_wait else 0)
    if made is None:
        says = "A worker sends it within seconds."
    else:
        says = "Delivered." if not made.reason else "Not delivered."
    data = {"domain": owner.host, "says": says, "delivery": None if made is None else _delivery(made)}
    return secret_response(data)


@router.post(
    "/api/owner/{domain}/token", **_CHANGE,
    summary="Replace the owner's token", description="The new one is shown once; the old one is no longer valid.",
)  # fmt: skip
async def rotate(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    new = await owner.run(OwnershipActions.rotate)
    return owner.changed(True, "The old token is no longer valid.", owner_token=new.text)


@router.delete(
    "/api/owner/{domain}/token", **_DELETE,
    summary="Give the ownership up",
    description="Ends the ownership and all that its owner has set: a hidden host is shown, note, pin and webhook go.",
)  # fmt: skip
async def give_up(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    await owner.run(OwnershipActions.give_up)
    return owner.changed(True, "The ownership has ended.")


@router.post(
    "/api/owner/{domain}/opt-out",
    **_describe_change(schemas.OptOutByOwner, required=False),
    summary="Opt out, or end an owner's opt-out",
    description="Deletes everything stored about the host and those below it, the ownership included; they are not "
    "visited again. Refused while a host below has an owner that the token does not cover. To return, prove the "
    "ownership by DNS again, then send `undo`.",
)
async def opt_out(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    if await request.body() and (await read_as(request, schemas.OptOutByOwner)).get("undo"):
        await owner.run(OwnershipActions.come_back)
        return owner.changed(True, "It may be visited again.")
    await owner.run(OwnershipActions.opt_out)
    return owner.changed(True, "Deleted, and never visited again.")


def _other_token(text: str, needed: str) -> Token:
    """Return the owner's token of another host. Raise Problem, which says what is `needed`, for anything else."""
    token = parse_token(text, OWNER)
    if token is None:
        raise Problem(INVALID_BODY, needed)
    return token


@contextlib.contextmanager
def _refusals(needed: str = "a public host") -> Iterator[None]:
    """Raise the refusals of the actions as Problem. `needed`: what an invalid name is not."""
    try:
        yield
    except (NotAnOwner, NotTheClaimant):
        raise unauthorized() from None
    except OtherHost:
        raise Problem(FORBIDDEN, "This token belongs to another host.") from None
    except TooMany as refusal:
        headers = {"Retry-After": str(max(1, round(refusal.retry_after.total_seconds())))}
        raise Problem(RATE_LIMITED, str(refusal), headers=headers, limit="ownership") from None
    except ForeignReceiver as refusal:
        raise Problem(
            FORBIDDEN,
            f"Not possible: {refusal}. Use an address on the owned host, or claim the receiver's host too.",
            code="foreign_receiver",
            remedy="Prove the receiver's host by POST /api/claims, and send its owner's token as `receiver_token`.",
        ) from None
    except ClosedReceiver as refusal:
        raise Problem(OPTED_OUT, f"Not possible: {refusal}.", code="closed_receiver") from None
    except (BadClaim, BadSetting, BadReceiver, UnknownKind) as refusal:
        raise Problem(INVALID_BODY, f"Not possible: {refusal}.") from None
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not {needed}: {refusal}.", code=refusal.code) from None


def _owned(found: OwnershipOverview, base: str) -> schemas.OwnedData:
    claim, setting = found.claim, found.setting
    return project(
        schemas.OwnedData,
        claim,
        domain=found.host,
        claim=claim.id,
        since=timestamp(claim.proven_at),
        next_check_at=timestamp(claim.due_at),
        hidden="hidden" in found.holds,
        holds=sorted(found.holds),
        note=setting.note if setting else "",
        canonical_host=setting.canonical if setting else None,
        pinned_host=setting.pinned if setting else None,
        webhook=_webhook(found.webhook) if found.webhook else None,
        deliveries=[_delivery(attempt) for attempt in found.deliveries],
        checks_calls=setting.checks_calls if setting else True,
        decisions=[project(schemas.OwnerDecision, entry) for entry in found.audit],
        reports=[
            project(schemas.ReportAboutHost, report, answer=report.answer or None, clients=report.filings)
            for report in found.reports
        ],
        feedback=feedback_about(found.feedback),
        service_url=service_url(base, found.host),
        untrusted_text=["note", "decisions.reason", *untrusted_feedback("feedback.")],
    )


def _webhook(record: WebhookRecord) -> schemas.WebhookState:
    has_failed = record.failures > 0 and record.disabled_at is None
    return project(
        schemas.WebhookState, record, types=list(record.types),
        next_attempt_at=timestamp(record.due_at) if has_failed else None,
    )  # fmt: skip


def _delivery(attempt: DeliveryRecord) -> schemas.WebhookDelivery:
    return project(
        schemas.WebhookDelivery, attempt, id=attempt.message_id, event=_EVENTS[attempt.purpose],
        delivered=not attempt.reason,
    )  # fmt: skip
