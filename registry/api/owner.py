"""`/api/owner/{domain}`: what the owner of a host sees and changes, with the owner's token."""

import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from fastapi import Request, Response

from registry.actions.ownership.claiming import TooMany
from registry.actions.ownership.owning import BadSetting, NotAnOwner, OtherHost, OwnershipActions, OwnershipOverview
from registry.actions.webhooks import BadReceiver, ClosedReceiver, ForeignReceiver, WebhookRecord
from registry.api.claims import MAX_NAME_CHARS, NOT_STORED, body_of, too_many
from registry.api.documents import errors, example, keyed
from registry.api.params import DomainPath, host_in
from registry.api.schemas import ownership as schemas
from registry.core.access.claims import OWNER
from registry.core.access.tokens import Token, parse_token
from registry.core.changes.kinds import Types, UnknownKind
from registry.core.names.domains import InvalidName, host_syntax
from registry.edge.problems import (
    BODY_TOO_LARGE,
    FORBIDDEN,
    INVALID_BODY,
    INVALID_NAME,
    MIRRORED,
    OPTED_OUT,
    RATE_LIMITED,
    UNAUTHORIZED,
    UNKNOWN_SERVICE,
    UNREADABLE_BODY,
    Problem,
)
from registry.edge.requests import base_url, bearer, registry_of, unauthorized
from registry.edge.responses import json_response, secret_response, service_url, timestamp
from registry.edge.routing import read_body, strict_router
from registry.wiring import utc_now

MAX_URL_CHARS: Final = 2_048
MAX_TYPES: Final = 30

_REFUSED: Final = (UNAUTHORIZED, FORBIDDEN, MIRRORED, UNKNOWN_SERVICE)
_BAD_BODY: Final = (UNREADABLE_BODY, INVALID_BODY, BODY_TOO_LARGE)
_CHANGE: Final = {200: example(schemas.Changed), **errors(*_REFUSED)}
_CHANGE_WITH_BODY: Final = {200: example(schemas.Changed), **errors(*_REFUSED, *_BAD_BODY)}
_WRITE: Final = {"x-side-effects": True}
_DELETE: Final = {**_WRITE, "x-openai-isConsequential": True}

P = ParamSpec("P")
T = TypeVar("T")

router = strict_router(tags=["owners"])


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
        return secret_response({"success": True, "data": data})


@router.get(
    "/api/owner/{domain}",
    response_model=schemas.Owned,
    responses={200: example(schemas.Owned), **errors(UNAUTHORIZED, FORBIDDEN, UNKNOWN_SERVICE)},
    summary="What the owner of a host sees",
    description="The ownership and its next verification, the settings, the webhook, and the decisions about the host. "
    "Needs the owner's token, as does everything below this address.",
    openapi_extra=keyed(),
)
async def owned(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    found = await owner.run(OwnershipActions.overview)
    content: schemas.Owned = {"success": True, "data": _owned(found, base_url(request))}
    return json_response(request, content, cache=NOT_STORED)


@router.post(
    "/api/owner/{domain}/recheck",
    response_model=schemas.Changed,
    responses={200: example(schemas.Changed), **errors(*_REFUSED, OPTED_OUT)},
    summary="Visit the host at once",
    description="Queues a visit with the whole plan before everything that is scheduled. The daily budgets apply.",
    openapi_extra=keyed(_WRITE),
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
        raise Problem(
            RATE_LIMITED,
            "The host asks crawlers to wait. Try again after `Retry-After`.",
            headers={"Retry-After": str(seconds)},
        )
    return owner.changed(True, "Queued; a visit takes up to a minute.")


@router.post(
    "/api/owner/{domain}/hide", response_model=schemas.Changed, responses=_CHANGE, openapi_extra=keyed(_WRITE),
    summary="Hide the host",
    description="It leaves every answer at once, and is visited and judged as before. Hosts below it stay.",
)  # fmt: skip
async def hide(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    held = await owner.run(OwnershipActions.hide)
    return owner.changed(held.changed, "Hidden: it is visited and not listed.")


@router.post(
    "/api/owner/{domain}/show", response_model=schemas.Changed, responses=_CHANGE, openapi_extra=keyed(_WRITE),
    summary="Show the host again", description="Ends `hide`. What operators of this registry decided stays.",
)  # fmt: skip
async def show(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    held = await owner.run(OwnershipActions.show)
    return owner.changed(held.changed, "Not hidden.")


@router.put(
    "/api/owner/{domain}/note",
    response_model=schemas.Changed,
    responses=_CHANGE_WITH_BODY,
    summary="Leave a public note",
    description="At most 500 characters, shown as the owner's words. An empty one deletes it.",
    openapi_extra=keyed({**_WRITE, **body_of(schemas.NOTE_SCHEMA, schemas.NoteSubmission)}),
)
async def note(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    text = (await _body(request, {"note"})).get("note")
    if not isinstance(text, str):
        raise Problem(INVALID_BODY, "The body must be an object with `note` (text).")
    shown = await owner.run(OwnershipActions.set_note, text)
    return owner.changed(True, "Shown with the service." if shown else "There is no note.", note=shown)


@router.put(
    "/api/owner/{domain}/canonical",
    response_model=schemas.Changed,
    responses=_CHANGE_WITH_BODY,
    summary="Pin the canonical host",
    description="Another host of the registrable domain, proven too, that stands for this one; null ends that. It "
    "takes effect once the owner of the other host agrees: with an ownership of both hosts, or with its token as "
    "`consent`.",
    openapi_extra=keyed({**_WRITE, **body_of(schemas.CANONICAL_SCHEMA, schemas.CanonicalSubmission)}),
)
async def canonical(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    body = await _body(request, {"canonical", "consent"})
    name, agreed = body.get("canonical"), body.get("consent")
    if "canonical" not in body or not (name is None or (isinstance(name, str) and len(name) <= MAX_NAME_CHARS)):
        raise Problem(INVALID_BODY, "The body must be an object with `canonical` (a host name, or null).")
    consent = (
        None if agreed is None else _other_token(agreed, "`consent` must be the owner's token of the canonical host.")
    )
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
    response_model=schemas.Webhook,
    responses={200: example(schemas.Webhook), **errors(*_REFUSED, OPTED_OUT, *_BAD_BODY)},
    summary="Have changes sent to a webhook",
    description="Events of this host and those below it. The receiver is on this host or below it; elsewhere only with "
    "the owner's token of its host as `receiver_token`. It has to answer a challenge first. It replaces an earlier "
    "one; the secret is shown once. The same `url` again sends no challenge, unless the webhook was disabled; it makes "
    "a new secret; for 24 hours the earlier one signs too.",
    openapi_extra=keyed({**_WRITE, **body_of(schemas.WEBHOOK_SCHEMA, schemas.WebhookSubmission)}),
)
async def webhook(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    body = await _body(request, {"url", "types", "receiver_token"})
    url, types = body.get("url"), body.get("types", [])
    if not isinstance(url, str) or len(url) > MAX_URL_CHARS:
        raise Problem(INVALID_BODY, "The body must be an object with `url` (text).")
    if not isinstance(types, list) or len(types) > MAX_TYPES or not all(isinstance(kind, str) for kind in types):
        raise Problem(INVALID_BODY, "`types` must be a list of kinds of events.")
    receiver_token = None
    if "receiver_token" in body:
        needed = "`receiver_token` must be the owner's token of the receiver's host."
        receiver_token = _other_token(body["receiver_token"], needed)
    with _refusals():
        wanted = Types.of(types)
    record = await owner.run(OwnershipActions.set_webhook, url, wanted, receiver_token)
    data = _webhook(record)
    data["secret"] = record.secret
    content: schemas.Webhook = {"success": True, "data": data}
    return secret_response(content)


@router.delete(
    "/api/owner/{domain}/webhook", response_model=schemas.Changed, responses=_CHANGE, openapi_extra=keyed(_DELETE),
    summary="Delete the webhook", description="Nothing more is sent.",
)  # fmt: skip
async def no_webhook(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    existed = await owner.run(OwnershipActions.remove_webhook)
    return owner.changed(existed, "There is no webhook.")


@router.post(
    "/api/owner/{domain}/token", response_model=schemas.Changed, responses=_CHANGE, openapi_extra=keyed(_WRITE),
    summary="Replace the owner's token", description="The new one is shown once; the old one is no longer valid.",
)  # fmt: skip
async def rotate(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    new = await owner.run(OwnershipActions.rotate)
    return owner.changed(True, "The old token is no longer valid.", owner_token=new.text)


@router.delete(
    "/api/owner/{domain}/token", response_model=schemas.Changed, responses=_CHANGE, openapi_extra=keyed(_DELETE),
    summary="Give the ownership up",
    description="Ends the ownership and all that its owner has set: a hidden host is shown, note, pin and webhook go.",
)  # fmt: skip
async def give_up(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    await owner.run(OwnershipActions.give_up)
    return owner.changed(True, "The ownership has ended.")


@router.post(
    "/api/owner/{domain}/opt-out",
    response_model=schemas.Changed,
    responses=_CHANGE_WITH_BODY,
    summary="Opt out, or end an owner's opt-out",
    description="Deletes everything stored about the host and those below it, the ownership included; they are not "
    "visited again. Refused while a host below has an owner that the token does not cover. To return, prove the "
    "ownership by DNS again, then send `undo`.",
    openapi_extra=keyed({**_WRITE, **body_of(schemas.OPT_OUT_SCHEMA, schemas.OptOutByOwner, required=False)}),
)
async def opt_out(request: Request, domain: DomainPath) -> Response:
    owner = _Owner.of(request, domain)
    undo = (await _body(request, {"undo"}) if await request.body() else {}).get("undo", False)
    if not isinstance(undo, bool):
        raise Problem(INVALID_BODY, "`undo` must be true or false.")
    if undo:
        await owner.run(OwnershipActions.come_back)
        return owner.changed(True, "It may be visited again.")
    await owner.run(OwnershipActions.opt_out)
    return owner.changed(True, "Deleted, and never visited again.")


async def _body(request: Request, known: set[str]) -> dict[str, Any]:
    body = await read_body(request)
    if not isinstance(body, dict) or set(body) - known:
        raise Problem(INVALID_BODY, f"The body must be an object with {', '.join(sorted(known))}.")
    return body


def _other_token(text: object, needed: str) -> Token:
    """Return the owner's token of another host. Raise Problem, which says what is `needed`, for anything else."""
    token = parse_token(text, OWNER) if isinstance(text, str) else None
    if token is None:
        raise Problem(INVALID_BODY, needed)
    return token


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Raise the refusals of the actions as Problem."""
    try:
        yield
    except NotAnOwner:
        raise unauthorized() from None
    except OtherHost:
        raise Problem(FORBIDDEN, "This token belongs to another host.") from None
    except TooMany as refusal:
        raise too_many(refusal) from None
    except ForeignReceiver as refusal:
        raise Problem(
            FORBIDDEN,
            f"Not possible: {refusal}. Use an address on the owned host, or claim the receiver's host too.",
            code="foreign_receiver",
            remedy="Prove the receiver's host by POST /api/claims, and send its owner's token as `receiver_token`.",
        ) from None
    except ClosedReceiver as refusal:
        raise Problem(OPTED_OUT, f"Not possible: {refusal}.", code="closed_receiver") from None
    except (BadSetting, BadReceiver, UnknownKind) as refusal:
        raise Problem(INVALID_BODY, f"Not possible: {refusal}.") from None
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a public host: {refusal}.", code=refusal.code) from None


def _owned(found: OwnershipOverview, base: str) -> schemas.OwnedData:
    claim, setting = found.claim, found.setting
    return {
        "domain": found.host,
        "claim": claim.id,
        "method": claim.method,
        "scope": claim.scope,
        "since": timestamp(claim.proven_at),
        "verified_at": timestamp(claim.verified_at),
        "next_check_at": timestamp(claim.due_at),
        "failures": claim.failures,
        "hidden": "hidden" in found.holds,
        "holds": sorted(found.holds),
        "note": setting.note if setting else "",
        "canonical_host": setting.canonical if setting else None,
        "pinned_host": setting.pinned if setting else None,
        "webhook": _webhook(found.webhook) if found.webhook else None,
        "decisions": [
            {"at": timestamp(entry.at), "actor": entry.actor, "action": entry.action, "reason": entry.reason}
            for entry in found.audit
        ],
        "reports": [
            {
                "code": report.code,
                "state": report.state,
                "answer": report.answer or None,
                "clients": report.filings,
                "filed_at": timestamp(report.filed_at),
                "updated_at": timestamp(report.updated_at),
            }
            for report in found.reports
        ],
        "service_url": service_url(base, found.host),
        "untrusted_text": ["note", "decisions.reason"],
    }


def _webhook(record: WebhookRecord) -> schemas.WebhookState:
    return {
        "id": record.id,
        "url": record.url,
        "types": list(record.types),
        "state": record.state,
        "disabled_reason": record.disabled_reason,
        "created_at": timestamp(record.created_at),
    }
