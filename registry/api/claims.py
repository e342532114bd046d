"""`/api/claims`: prove that a host is yours. The API fetches nothing: a worker reads the published value."""

from typing import Annotated, Any, Final, cast, get_args

from fastapi import Path, Request, Response

from registry.actions.ownership.claiming import BadClaim, ClaimView, NotTheClaimant, TooMany
from registry.api.documents import errors, example, keyed
from registry.api.params import Wait
from registry.api.schemas import ownership as schemas
from registry.api.schemas.base import example_of
from registry.core.access.claims import CLAIM, Method, Scope
from registry.core.access.tokens import Token
from registry.core.names.domains import InvalidName
from registry.edge.connections import long_poll
from registry.edge.problems import (
    BODY_TOO_LARGE,
    INVALID_BODY,
    INVALID_NAME,
    MIRRORED,
    RATE_LIMITED,
    UNAUTHORIZED,
    UNREADABLE_BODY,
    Problem,
)
from registry.edge.requests import base_url, bearer, client_of, registry_of, unauthorized
from registry.edge.responses import json_response, secret_response, timestamp
from registry.edge.routing import read_body, strict_router

NOT_STORED: Final = "no-store"
MAX_NAME_CHARS: Final = 2_048

_SAYS: Final = {
    None: "Not checked yet.",
    "published": "The value was read.",
    "missing": "The value is not there: the record or file is missing, or has other content.",
    "unanswered": "No definite answer came. Nothing changed; try again.",
}

ClaimPath = Annotated[str, Path(max_length=40, description="The id of the claim.", examples=["0123456789abcdef"])]

router = strict_router(tags=["owners"])


def body_of(schema: dict[str, Any], shape: Any, *, required: bool = True) -> dict[str, Any]:
    """Return the `requestBody` of an operation for OpenAPI."""
    content = {
        "application/json": {
            "schema": schema,
            "examples": {"one": {"summary": shape.__name__, "value": example_of(shape)}},
        }
    }
    return {"requestBody": {"required": required, "content": content}}


def too_many(refusal: TooMany) -> Problem:
    headers = {"Retry-After": str(max(1, round(refusal.retry_after.total_seconds())))}
    return Problem(RATE_LIMITED, str(refusal), headers=headers, limit="ownership")


@router.post(
    "/api/claims",
    status_code=201,
    response_model=schemas.Claim,
    responses={
        201: {"description": "Publish the value, then have it checked.", **example(schemas.Claim)},
        **errors(
            UNREADABLE_BODY, INVALID_BODY, INVALID_NAME, MIRRORED, BODY_TOO_LARGE,
            own={INVALID_NAME.slug: {"code": "special_use"}},
        ),
    },
    summary="Claim a host",
    description="Returns the text to publish and the claim token, a secret that is shown once. Only its bearer can "
    "have the claim checked. What others published proves nothing for it: each claim has its own text. It can be "
    "proven for seven days; the text has to stay published, because it is verified again.",
    openapi_extra={"x-side-effects": True, **body_of(schemas.CLAIM_SCHEMA, schemas.ClaimSubmission)},
)  # fmt: skip
async def claim(request: Request) -> Response:
    body = await read_body(request)
    fields = body if isinstance(body, dict) else {}
    name, method, scope = fields.get("domain"), fields.get("method"), fields.get("scope", "host")
    if not isinstance(name, str) or set(fields) - {"domain", "method", "scope"}:
        raise Problem(INVALID_BODY, "The body must be an object with `domain` (text), `method` and `scope`.")
    if method not in get_args(Method) or scope not in get_args(Scope):
        raise Problem(INVALID_BODY, "`method` must be dns or file, `scope` must be host or domain.")
    if len(name) > MAX_NAME_CHARS:
        raise Problem(INVALID_NAME, "The name is too long.", code="too_long")
    try:
        claimed, token = await registry_of(request).claims.claim(
            name.strip(), cast(Method, method), cast(Scope, scope), client=client_of(request)
        )
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a host to claim: {refusal}.", code=refusal.code) from None
    except BadClaim as refusal:
        raise Problem(INVALID_BODY, f"Not possible: {refusal}.") from None
    except TooMany as refusal:
        raise too_many(refusal) from None
    data = _data(claimed, base_url(request))
    data["claim_token"] = token.text
    content: schemas.Claim = {"success": True, "data": data}
    return secret_response(content, status=201, headers={"Location": data["url"]})


@router.get(
    "/api/claims/{id}",
    response_model=schemas.Claim,
    responses={200: example(schemas.Claim), **errors(UNAUTHORIZED)},
    summary="The state of a claim",
    description="Needs the claim token.",
    openapi_extra=keyed(),
)
async def status(request: Request, id: ClaimPath) -> Response:
    token = _token(request, id)
    try:
        claimed = await registry_of(request).claims.claim_status(token)
    except NotTheClaimant:
        raise unauthorized() from None
    content: schemas.Claim = {"success": True, "data": _data(claimed, base_url(request))}
    return json_response(request, content, cache=NOT_STORED)


@router.post(
    "/api/claims/{id}/check",
    response_model=schemas.Claim,
    responses={
        200: {"description": "Checked, or still waiting.", **example(schemas.Claim)},
        **errors(UNAUTHORIZED, INVALID_BODY, MIRRORED),
    },
    summary="Have a claim checked",
    description="A worker reads the record or the file, with priority; the answer waits up to `wait` seconds for it. "
    "The first answer after the proof has the owner's token, a secret that is shown once. Needs the claim token.",
    openapi_extra=keyed({"x-side-effects": True}),
)
async def check(request: Request, id: ClaimPath, wait: Wait = None) -> Response:
    token, waypost = _token(request, id), registry_of(request)
    seconds = waypost.settings.submit_wait if wait is None else wait
    try:
        with long_poll(request.scope) as may_wait:
            claimed, owner = await waypost.claims.check_claim(token, seconds=seconds if may_wait else 0)
    except NotTheClaimant:
        raise unauthorized() from None
    except BadClaim as refusal:
        raise Problem(INVALID_BODY, f"Not possible: {refusal}.") from None
    except TooMany as refusal:
        raise too_many(refusal) from None
    data = _data(claimed, base_url(request))
    if owner is not None:
        data["owner_token"] = owner.text
    content: schemas.Claim = {"success": True, "data": data}
    return secret_response(content)


def _token(request: Request, claim_id: str) -> Token:
    """Return the claim token that the path names. Raise Problem."""
    token = bearer(request, CLAIM)
    if token.id != claim_id:
        raise unauthorized()
    return token


def _data(claimed: ClaimView, base: str) -> schemas.ClaimData:
    record = claimed.record
    return {
        "id": record.id,
        "domain": record.host,
        "method": record.method,
        "scope": record.scope,
        "state": claimed.state,
        "publish": claimed.publish,
        "at": claimed.at,
        "expires_at": timestamp(record.expires_at),
        "waiting": claimed.state == "open" and record.due_at is not None,
        "checked_at": timestamp(record.checked_at),
        "answer": record.answer,
        "says": _SAYS[record.answer],
        "ended_at": timestamp(record.ended_at),
        "end_reason": record.end_reason,
        "url": f"{base}/api/claims/{record.id}",
    }
