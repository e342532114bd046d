"""`/api/opt-outs`: request that a site's opt-out is checked, or that it ends.

Anyone may request a check. A worker then reads the site and acts only on what the site declares.
"""

from contextlib import suppress
from datetime import datetime
from typing import Final

from fastapi import Request, Response

from registry.actions.maintenance.opt_out import AGAIN_AFTER, OptOutRequestRecord, OptOutStatus, TooManyRequests, Wish
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.params import DomainPath, host_in
from registry.api.rows import project
from registry.api.schemas import submission as schemas
from registry.core.names.domains import InvalidName, host_syntax, is_spelling
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL, WORD
from registry.core.visiting.robots import PRODUCT
from registry.edge.bodies import read_as
from registry.edge.problems import (
    BODY_TOO_LARGE,
    INVALID_BODY,
    INVALID_NAME,
    OPTED_OUT,
    RATE_LIMITED,
    UNKNOWN_SERVICE,
    Problem,
    ProblemType,
)
from registry.edge.requests import base_url, client_of, registry_of
from registry.edge.responses import REVALIDATE, data_response, timestamp
from registry.edge.routing import strict_router
from registry.wiring import utc_now

_MESSAGES: Final = {
    None: "Queued; a worker checks the site within seconds.",
    "opted_out": "The site confirms it: everything stored about it is deleted, and it is not visited again.",
    "no_proof": "Neither its well-known file nor its TXT record confirms it. Nothing changed.",
    "served_elsewhere": "Its well-known file leads to another host, which cannot speak for it, and no TXT record "
    "confirms it. Nothing changed. Serve the file on the host itself.",
    "unanswered": "The well-known file and the TXT record could not be read. Nothing changed.",
    "readmitted": "The site no longer opts out; it may be visited again.",
    "still_says_so": "The site, or a host above it, still opts out. Nothing changed.",
    "by_owner": "Its owner opted out with a token, and ends that with a token. Nothing changed.",
    "by_operator": "An operator of this registry took it down. Nothing changed.",
    "not_opted_out": "It has not opted out.",
}

_DECLARED: Final = (
    f"Remove the word {WORD} from https://%s{FILE_PATH} and from the TXT record of {TXT_LABEL}.%s, and any rule of "
    f"robots.txt that shuts out {PRODUCT}. Then have the end of the opt-out checked."
)
_AT_ORIGIN: Final = "The registry that this one mirrors says so. Ask there."
_WAYS_BACK: Final = {
    "owner": "Its owner opted out with a token. Prove by DNS that the host is yours, then end the opt-out with the new "
    "token.",
    "operator": "An operator of this registry took it down. Write to the contact address on the page about the "
    "crawler.",
    "origin": _AT_ORIGIN,
    "origin_block": _AT_ORIGIN,
}
"""How it was declared -> how it ends; any other way is a declaration of the site."""

router = strict_router(tags=["submission"])


@router.post(
    "/api/opt-outs",
    **describe_write(
        schemas.OptOut, INVALID_NAME, BODY_TOO_LARGE,
        status=202, says="Queued; if it was checked recently, with the result.",
        body=describe_body(schemas.OptOutSubmission, undo={"undo": True})
    ),
    summary="Have an opt-out checked",
    description="`{domain}` has a worker check the site: `/.well-known/waypost-optout.txt` and the TXT record of "
    "`_waypost.{domain}`. If one of them begins with `opt-out`, everything stored about the site is deleted and it is "
    "not visited again. With `undo` the opt-out ends, provided that the site no longer opts out anywhere, robots.txt "
    "included. A `confirm` that does not name the same host is refused. A host is checked at most every two hours, for "
    "`undo` once a day, and of each domain, besides its apex, `www.` and the hosts that were visited, three hosts a "
    "day. Where a request causes no check, `request` is the last one or null. A client may have 50 requests that wait.",
)  # fmt: skip
async def ask(request: Request) -> Response:
    body = await read_as(request, schemas.OptOutSubmission)
    wish: Wish = "in" if body.get("undo") else "out"
    check_confirmed(body.get("confirm"), body["domain"])
    try:
        opt_out_status = await registry_of(request).opt_outs.request(
            body["domain"].strip(), wish, client=client_of(request)
        )
    except TooManyRequests as refusal:
        headers = {"Retry-After": str(round(refusal.retry_after.total_seconds()))}
        raise Problem(RATE_LIMITED, "Too many of your requests wait for their checks.", headers=headers) from None
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a host to visit: {refusal}.", code=refusal.code) from None
    return data_response(request, _data(opt_out_status, base_url(request)), status=202)


@router.get(
    "/api/opt-outs/{domain}",
    **describe_read(schemas.OptOut, UNKNOWN_SERVICE),
    summary="The opt-out status of a host",
    description="Whether it opted out, how, and the result of the last check that was requested.",
)
async def standing(request: Request, domain: DomainPath) -> Response:
    opt_out_status = await registry_of(request).opt_outs.status(host_in(domain))
    return data_response(request, _data(opt_out_status, base_url(request)), cache=REVALIDATE)


def check_confirmed(confirmed: str | None, host: str) -> None:
    """Raise Problem unless the name that was typed again names this host. None: the client confirms nothing. An
    impossible host passes: the use case refuses it."""
    if confirmed is None:
        return
    with suppress(InvalidName):
        if not is_spelling(confirmed, host_syntax(host.strip())):  # guard: opt-out-confirmed
            raise Problem(INVALID_BODY, "confirm: must be the name of the host to opt out.", code="not_confirmed")


async def refuse_opted_out(request: Request, host: str, kind: ProblemType = OPTED_OUT) -> None:
    """Raise Problem of this kind if the host opted out, with how its operator can return."""
    opt_out_status = await registry_of(request).opt_outs.status(host)
    if opt_out_status.opt_out is None:
        return
    way_back, base = _way_back(opt_out_status), base_url(request)
    is_own = opt_out_status.opt_out.how not in ("operator", "origin_block")
    says = "The operator of this site opted out: it" if is_own else "This site"
    raise Problem(
        kind,
        f"{says} is neither visited nor listed. {way_back}",
        domain=host,
        how=opt_out_status.opt_out.how,
        way_back=way_back,
        opt_out_url=f"{base}/opt-out/{host}",
        status_url=_url(base, host),
    )


def _way_back(opt_out_status: OptOutStatus) -> str | None:
    """Return how the opt-out ends, for the operator of the site."""
    opt_out = opt_out_status.opt_out
    if opt_out is None:
        return None
    return _WAYS_BACK.get(opt_out.how) or _DECLARED % (opt_out.host, opt_out.host)


def _undo_at(opt_out_status: OptOutStatus) -> datetime | None:
    """Return from when the end of the opt-out can be checked; None: at once, or without an opt-out."""
    last = opt_out_status.request
    if opt_out_status.opt_out is None or last is None or last.checked_at is None:
        return None
    at = last.checked_at + AGAIN_AFTER["in"]
    return at if at > utc_now() else None


def _url(base: str, host: str) -> str:
    return f"{base}/api/opt-outs/{host}"


def _data(opt_out_status: OptOutStatus, base: str) -> schemas.OptOutData:
    opt_out = opt_out_status.opt_out
    return {
        "domain": opt_out_status.host,
        "opted_out": opt_out is not None,
        "covered_by": opt_out.host if opt_out else None,
        "how": opt_out.how if opt_out else None,
        "since": timestamp(opt_out.created_at) if opt_out else None,
        "request": _request(opt_out_status.request) if opt_out_status.request else None,
        "way_back": _way_back(opt_out_status),
        "undo_at": timestamp(_undo_at(opt_out_status)),
        "status_url": _url(base, opt_out_status.host),
    }


def _request(record: OptOutRequestRecord) -> schemas.OptOutRequest:
    undo = record.wish == "in"
    again_at = timestamp(record.checked_at and record.checked_at + AGAIN_AFTER["in" if undo else "out"])
    message = _MESSAGES[record.verdict]
    return project(schemas.OptOutRequest, record, undo=undo, message=message, again_at=again_at)
