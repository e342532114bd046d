"""`POST /api/services`: a host is queued before everything else that is due; the answer waits a little for its visit.

This door never fetches: a worker does, and tells through the database. A manifest that is pasted is judged and
answered, never listed: nothing stands under a host that did not serve it.
"""

import asyncio
import re
from typing import Any, Final

import orjson
from fastapi import Request, Response

from registry.actions.answering.inspect import HostStatus
from registry.api import examples
from registry.api.answers import answer, status_url
from registry.api.documents import errors, example
from registry.api.params import Wait, base_url, registry_of
from registry.api.problems import (
    ALREADY_KNOWN,
    BODY_TOO_LARGE,
    INVALID_BODY,
    INVALID_NAME,
    NOT_LISTED,
    OPTED_OUT,
    RATE_LIMITED,
    UNREADABLE_BODY,
    Problem,
)
from registry.api.schemas import SUBMISSION_SCHEMA, Queued, Submitted
from registry.api.strict import read_body, strict_router
from registry.api.validate import ADP_PATH, Judged, judge
from registry.core.domains import InvalidName, is_confusable
from registry.core.listing import TrustLevel
from registry.wiring import Waypost, utc_now

MAX_NAME_CHARS: Final = 2_048
_DOMAIN_BUSY_SECONDS: Final = 3_600

router = strict_router(tags=["submission"])


@router.post(
    "/api/services",
    status_code=201,
    response_model=Submitted,
    responses={
        200: {
            "model": Submitted,
            "description": "A pasted manifest is valid. It is not listed: submit the domain that serves it.",
        },
        201: {"description": "Visited and listed.", **example("SUBMITTED")},
        202: {
            "model": Queued,
            "description": "Queued; `status_url` tells when the visit is over.",
            **example("QUEUED"),
        },
        **errors(
            UNREADABLE_BODY,
            INVALID_BODY,
            INVALID_NAME,
            OPTED_OUT,
            ALREADY_KNOWN,
            BODY_TOO_LARGE,
            NOT_LISTED,
            own={
                NOT_LISTED.slug: {"errors": ["capabilities[0].name: A capability has no name."]},
                ALREADY_KNOWN.slug: {"status_url": examples.STATUS["data"]["status_url"]},
                INVALID_NAME.slug: {"code": "special_use"},
            },
        ),
    },
    summary="Submit a host",
    description="`{domain}` queues the host for a visit and waits up to `wait` seconds for it. `{manifest}` is checked "
    "and answered, but never listed: a service is listed when its own host serves the manifest.",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {key: value for key, value in SUBMISSION_SCHEMA.items() if key != "$defs"},
                    "examples": {
                        "domain": {"summary": "Have a host visited", "value": examples.SUBMISSION},
                        "manifest": {"summary": "Check a manifest", "value": examples.PASTED},
                    },
                }
            },
        }
    },
)
async def submit(request: Request, wait: Wait = None) -> Response:
    body = await read_body(request)
    if not isinstance(body, dict):
        raise Problem(INVALID_BODY, "The body must be an object with `domain` or `manifest`.")
    if "manifest" in body:
        return await _pasted(request, body["manifest"])
    domain = body.get("domain")
    if not isinstance(domain, str):
        raise Problem(INVALID_BODY, "`domain` (text) or `manifest` (object) is required.")
    seconds = registry_of(request).settings.submit_wait if wait is None else wait
    return await _submitted(request, _bare(domain), seconds)


def _bare(domain: str) -> str:
    """What people paste: a URL is cut down to its host, as ADP registries do. Everything else is judged strictly."""
    if len(domain) > MAX_NAME_CHARS:
        raise Problem(INVALID_NAME, "The name is too long.", code="too_long")
    return re.sub("^https?://", "", domain.strip(), flags=re.IGNORECASE).partition("/")[0]


async def _submitted(request: Request, name: str, seconds: float) -> Response:
    waypost, asked_at = registry_of(request), utc_now()
    try:
        asked = await waypost.submit(name)
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a host to visit: {refusal}.", code=refusal.code) from None
    url = status_url(base_url(request), asked.host)
    if asked.state == "opted_out":
        raise Problem(OPTED_OUT, "The operator of this domain asked to be left out.")
    if asked.state == "known":
        raise Problem(ALREADY_KNOWN, "This host is known already.", status_url=url, domain=asked.host)
    if asked.state == "too_many":
        headers = {"Retry-After": str(_DOMAIN_BUSY_SECONDS)}
        raise Problem(RATE_LIMITED, "Enough hosts of this domain are waiting for their first visit.", headers=headers)
    if await waypost.wait_recorded(asked.domain, asked.host, since=asked_at, seconds=seconds):
        return await _visited(request, waypost, asked.host, url)
    return _queued(request, asked.host, url)


async def _visited(request: Request, waypost: Waypost, host: str, url: str) -> Response:
    status = await waypost.status(host)
    if status is not None and status.alias_of is not None:  # apex or www: what is listed is the host that answers
        host, url = status.alias_of, status_url(base_url(request), status.alias_of)
        status = await waypost.status(host)
        if status is None or status.state == "queued":
            return _queued(request, host, url)
    view = await waypost.service(host, include_details=True)
    if view is None:
        raise _nothing(host, status, url)
    trust = view.record.trust_level
    data: dict[str, Any] = {
        "domain": host,
        "confusable": is_confusable(host),
        "name": view.record.name,
        "trust_level": trust,
        "verified": trust is TrustLevel.VERIFIED,
        "message": "Listed.",
        "status_url": url,
    }
    asked_for = [one for one in view.service.capabilities if one.detail_url is not None]
    if asked_for:
        data["detail_url_ok"] = asked_for[0].detail is not None
    if view.response_ms is not None:
        data["response_time_ms"] = view.response_ms
    return answer(request, {"success": True, "data": data}, status=201, headers={"Location": url})


def _queued(request: Request, host: str, url: str) -> Response:
    message = "Queued before everything else; a visit takes up to a minute."
    told = {"domain": host, "confusable": is_confusable(host)}
    data = {**told, "status": "queued", "status_url": url, "message": message}
    return answer(request, {"success": True, "data": data}, status=202, headers={"Location": url})


def _nothing(host: str, status: HostStatus | None, url: str) -> Problem:
    reasons = list(status.reasons) if status else []
    said = "The host was visited; it serves no document of an agent service."
    return Problem(NOT_LISTED, said, errors=reasons or [said], domain=host, status_url=url)


async def _pasted(request: Request, manifest: Any) -> Response:
    if not isinstance(manifest, dict):
        raise Problem(INVALID_BODY, "`manifest` must be an object.")
    judged = await asyncio.to_thread(judge, orjson.dumps(manifest), ADP_PATH)
    host = judged.host
    if not judged.valid or host is None:
        raise Problem(NOT_LISTED, "The manifest is not valid.", errors=_said(judged))
    service = judged.assessment.service
    data = {
        "domain": host,
        "name": (service.name if service else None) or host,
        "trust_level": TrustLevel.UNVERIFIED,
        "verified": False,
        "message": "Valid, but not listed: serve it from its own host and submit that domain.",
        "status_url": status_url(base_url(request), host),
    }
    return answer(request, {"success": True, "data": data})


def _said(judged: Judged) -> list[str]:
    """`path: message`, as ADP registries tell the faults of a manifest."""
    faults = [f"{one['path']}: {one['message']}" for one in judged.errors]
    return faults or ["base_url: names no public host"]
