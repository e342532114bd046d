"""`/api/opt-outs`: a site wants to be left alone, or no longer does. Anybody may ask; only the site itself can say it.

This door never fetches: a worker looks at the site, and acts only on what stands there.
"""

from typing import Any, Final

from fastapi import Request, Response

from registry.actions.keeping.opt_out import AGAIN_AFTER, Asked
from registry.api import examples
from registry.api.answers import FRESH, answer, moment
from registry.api.documents import errors, example, not_modified
from registry.api.params import DomainPath, base_url, host_in, registry_of
from registry.api.problems import BODY_TOO_LARGE, INVALID_BODY, INVALID_NAME, UNKNOWN_SERVICE, UNREADABLE_BODY, Problem
from registry.api.schemas import OPT_OUT_SCHEMA, OptOut
from registry.api.strict import read_body, strict_router
from registry.core.domains import InvalidName
from registry.store.records import OptOutRequestRecord

_SAYS: Final = {
    None: "Queued; a worker looks at the site within a minute.",
    "opted_out": "The site says so: everything stored of it is deleted, and it stays out.",
    "no_proof": "Neither its well-known file nor its TXT record says so. Nothing changed.",
    "unanswered": "The places that decide could not be read. Nothing changed.",
    "readmitted": "The site no longer says so; it may be visited again.",
    "still_says_so": "The site, or a host above it, still says that it wants to be left alone. Nothing changed.",
    "by_operator": "An operator of this registry took it down; write to the address on /bot.",
    "not_opted_out": "It has not opted out.",
}

router = strict_router(tags=["submission"])


@router.post(
    "/api/opt-outs",
    status_code=202,
    response_model=OptOut,
    responses={
        202: {"description": "Queued, or looked at a short while ago: then with what was found.", **example("OPT_OUT")},
        **errors(
            UNREADABLE_BODY, INVALID_BODY, INVALID_NAME, BODY_TOO_LARGE,
            own={INVALID_NAME.slug: {"code": "special_use"}},
        ),
    },
    summary="Have an opt-out checked",
    description="`{domain}` has a worker look at the site: at `/.well-known/waypost-optout.txt` and at the TXT record "
    "of `_waypost.{domain}`. Where one of them begins with `opt-out`, everything stored of the site is deleted and it "
    "stays out. With `undo` the opt-out ends, if the site says so nowhere any more, robots.txt included. A site is "
    "looked at every two hours at most, for `undo` once in a day, and three hosts of a domain in a day: `request` is "
    "null for another.",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": OPT_OUT_SCHEMA,
                    "examples": {
                        "out": {"summary": "Leave", "value": examples.OPT_OUT_ASKED},
                        "undo": {"summary": "Come back", "value": {**examples.OPT_OUT_ASKED, "undo": True}},
                    },
                }
            },
        }
    },
)  # fmt: skip
async def ask(request: Request) -> Response:
    body = await read_body(request)
    name = body.get("domain") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(name, str):
        raise Problem(INVALID_BODY, "The body must be an object with `domain` (text).")
    undo = body.get("undo", False)
    if not isinstance(undo, bool):
        raise Problem(INVALID_BODY, "`undo` is true or false.")
    try:
        asked = await registry_of(request).ask_opt_out(name.strip(), "in" if undo else "out")
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a host to visit: {refusal}.", code=refusal.code) from None
    return answer(request, _told(asked, base_url(request)), status=202)


@router.get(
    "/api/opt-outs/{domain}",
    response_model=OptOut,
    responses={200: example("OPT_OUT"), **not_modified(), **errors(UNKNOWN_SERVICE)},
    summary="Whether a host opted out",
    description="Whether it did, how it said so, and what came of the last time that somebody had it checked.",
)
async def standing(request: Request, domain: DomainPath) -> Response:
    asked = await registry_of(request).opt_out_standing(host_in(domain))
    return answer(request, _told(asked, base_url(request)), cache=FRESH)


def _told(asked: Asked, base: str) -> dict[str, Any]:
    row = asked.opt_out
    return {
        "success": True,
        "data": {
            "domain": asked.host,
            "opted_out": row is not None,
            "covered_by": row and row.host,
            "how": row and row.how,
            "since": moment(row.created_at) if row else None,
            "request": asked.request and _request(asked.request),
            "status_url": f"{base}/api/opt-outs/{asked.host}",
        },
    }


def _request(last: OptOutRequestRecord) -> dict[str, Any]:
    again_at = last.checked_at and last.checked_at + AGAIN_AFTER["in" if last.wish == "in" else "out"]
    return {
        "undo": last.wish == "in",
        "asked_at": moment(last.asked_at),
        "checked_at": moment(last.checked_at),
        "verdict": last.verdict,
        "message": _SAYS[last.verdict],
        "again_at": moment(again_at),
    }
